# fio writes in several ways, reads back and compares checksums.
# carriers: all
# timeout: 180
. "$KILN_TESTS/lib.sh"
need_cmd fio
setup
cat >"$KILN_TMP/job" <<JOB
[global]
directory=$MNT
size=24m
verify=crc32c
verify_fatal=1
do_verify=1
[seq]
rw=write
bs=128k
[random]
stonewall
rw=randwrite
bs=4k
end_fsync=1
[odd]
stonewall
rw=randwrite
bsrange=512-77k
bs_unaligned=1
[two-writers-mapped]
stonewall
ioengine=mmap
rw=randwrite
bs=8k
numjobs=2
[aio]
stonewall
ioengine=libaio
iodepth=16
rw=randrw
bs=16k
[uring]
stonewall
ioengine=io_uring
iodepth=16
rw=randwrite
bs=12k
[small-files]
stonewall
nrfiles=200
size=4m
bs=3k
rw=write
JOB
fio --output="$KILN_TMP/fio.out" "$KILN_TMP/job" || fail "$(tail -n 30 "$KILN_TMP/fio.out")"
grep -E 'err= *[1-9]' "$KILN_TMP/fio.out" && fail "fio reports errors"
umount_volume "$MNT"
mount_volume v "$MNT"
sed -i 's/^do_verify=1/verify_only=1/; /^\[aio\]/,/^bs=16k/d' "$KILN_TMP/job"
fio --output="$KILN_TMP/fio.out" "$KILN_TMP/job" || fail "after mounting again: $(tail -n 30 "$KILN_TMP/fio.out")"
finish
