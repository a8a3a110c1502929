about Four tests with one client each, in which a known slow-down must be found.

suite selftest threads=1
test create shape=create
test lookup shape=lookup
test write_sync set=sync size=4k fsync=yes shape=create
test delete shape=unlink
