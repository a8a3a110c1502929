about The same loads as fio, fs_mark and dbench can make: see bench/crosscheck.sh.

suite cross threads=1
test writers_1 set=w1 size=16k fsync=yes shape=create
test writers_4 set=w4 size=16k fsync=yes shape=create threads=4
test churn_sync set=churn size=16k fsync=yes files=1 shape=churn
test append set=append size=4k limit=64M fsync=yes shape=append
test create set=create shape=create
test rewrite set=large size=128M files=1 shape=stream_rewrite
test reread set=large size=128M files=1 shape=stream_read warm=yes
