about Eight short tests of what differs most between file systems, for comparisons.

suite quick
test create shape=create
test lookup shape=lookup
test lookup_missing shape=lookup_missing
test write_small set=small size=16k shape=create
test read_small set=small size=16k shape=read warm=yes
test write_sync set=sync size=4k fsync=yes shape=create
test rename shape=rename
test delete shape=unlink
