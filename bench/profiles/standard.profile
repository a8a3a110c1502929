about All suites: metadata, small and large files, load, creation, synchronous writers.

# Creates, lookups and deletes, each succeeding and failing: first one after the other, then
# mixed.
suite meta
test CREATE_SUC shape=create
test CREATE_ERR shape=create_exist weight=5
test LOOKUP_SUC shape=lookup weight=5
test LOOKUP_ERR shape=lookup_missing weight=5
test DELETE_ERR shape=unlink_missing weight=5
test DELETE_SUC shape=unlink
test mixed set=mixed files=50 weight=15 \
	shape=create:2,create_exist,lookup,lookup_missing,unlink:2,unlink_missing

# What a user of small and large files and of directory trees meets.
suite files
test emptyfiles_create set=empty shape=create
test emptyfiles_delete set=empty shape=unlink
test smallfiles_create set=small size=64k shape=create
test smallfiles_rewrite set=small size=64k shape=rewrite
test smallfiles_read set=small size=64k shape=read cold=yes files=64
test smallfiles_reread set=small size=64k shape=read warm=yes
test smallfiles_delete set=small size=64k shape=unlink
test largefile_create set=large size=64M limit=256M shape=stream_write
test largefile_rewrite set=large size=64M shape=stream_rewrite
test largefile_read set=large size=64M shape=stream_read cold=yes
test largefile_reread set=large size=64M shape=stream_read warm=yes
test largefile_delete set=large size=64M shape=unlink weight=3
test directory_crawl_create set=tree shape=tree_create
test directory_crawl set=tree shape=tree_walk cold=yes
test directory_recrawl set=tree shape=tree_walk warm=yes
test metadata_modify set=modify files=200 shape=chmod,utimes,rename total=yes
test directory_crawl_delete set=tree shape=tree_delete

# What not every file system has.
suite extra
test hard_link files=20 shape=link weight=5
test symbolic_link shape=symlink weight=5
test set_xattr shape=setxattr weight=5
test get_xattr shape=getxattr weight=5

# Many clients over several directories (or over all the directories on the command line).
suite load
test load threads=16 dirs=8 files=20 size=8k shape=create:2,read:2,unlink:2 weight=20

# One directory that all clients create in, then churn.
suite create
test create dirs=1 shape=create weight=15
test churn dirs=1 shape=churn rounds=10 weight=15

# Writers that make each file durable: does the rate grow with their number?
suite syncwrite
test writers_1 threads=1 size=16k fsync=yes shape=create scale=yes
test writers_2 threads=2 size=16k fsync=yes shape=create scale=yes
test writers_4 threads=4 size=16k fsync=yes shape=create scale=yes
test writers_8 threads=8 size=16k fsync=yes shape=create scale=yes
test writers_16 threads=16 size=16k fsync=yes shape=create scale=yes

# Readers alone, and beside writers that commit.
suite mixed
test idle
role readers threads=2 files=200 size=4k shape=lookup,read
test busy
role readers threads=2 files=200 size=4k shape=lookup,read
role writers threads=4 set=writers size=16k fsync=yes files=0 shape=create,unlink
