# Others have filled the disk under the store when the database has to write its files: changes find
# what is held back, or no space; reads go on, and a new start has everything that was synced.
# allow-log: No space left|no space left|could not be applied|could not be flushed
# timeout: 90
. "$KILN_TESTS/lib.sh"
need_fuse
small_disk 200M -b 1024
setup
py <<'PY'
for i in range(500):
    write_file('f%d' % i, b'%04d' % i * 1000)
os.sync()
PY
for round in 1 2; do
	cat /dev/zero >"$DATA/other" 2>/dev/null || true
	# The journal wraps around, which makes the database write its files.
	PY_TIMEOUT=60 py <<-'PY'
		def change():
		    for n in range(400):
		        for i in range(500):
		            os.chmod('f%d' % i, 0o600 + n % 8)
		failed = None
		try:
		    change()
		except OSError as e:
		    failed = e.errno
		check(failed in (None, ENOSPC), 'a full disk: %s' % failed)
		for i in range(500):
		    same(read_file('f%d' % i), b'%04d' % i * 1000)
	PY
	"$KILN" status >/dev/null
	rm "$DATA/other"
	server_stop
	server_start
	py <<-PY
		for i in range(500):
		    same(read_file('f%d' % i), b'%04d' % i * 1000)
		write_file('after$round', b'z' * 100000)
		os.sync()
	PY
done
finish
umount "$DATA"
