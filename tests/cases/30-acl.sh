# POSIX ACLs: access and default, mask, inheritance, chmod.
# carriers: all
. "$KILN_TESTS/lib.sh"
need_cmd setfacl getfacl
setup
cd "$MNT"
chmod 777 .
echo secret >f
chmod 600 f
allowed() { # UID GID COMMAND...
	python3 -c 'import os, sys
u, g = int(sys.argv[1]), int(sys.argv[2])
os.setgroups([]); os.setgid(g); os.setuid(u); os.execvp(sys.argv[3], sys.argv[3:])' "$@" >/dev/null 2>&1
}
! allowed 1001 1001 cat f || fail "no ACL: 1001 reads"
setfacl -m u:1001:r f
allowed 1001 1001 cat f || fail "a named user reads"
! allowed 1002 1002 cat f || fail "another user reads"
! allowed 1001 1001 sh -c 'echo x >>f' || fail "a named reader writes"
expect_eq "$(stat -c %A f)" "-rw-r-----" "mask shows as group bits"
setfacl -m g:2000:rw,m::r f
! allowed 1005 2000 sh -c 'echo x >>f' || fail "the mask is ignored"
setfacl -m m::rw f
allowed 1005 2000 sh -c 'echo x >>f' || fail "a named group writes"
chmod 600 f # takes the mask away
! allowed 1001 1001 cat f || fail "chmod did not change the mask"
expect_eq "$(getfacl -c --omit-header f | grep -c '^mask::---')" 1
setfacl -b f
expect_eq "$(getfattr -d -m - f 2>/dev/null | wc -l)" 0 "no attribute is left"

mkdir d
setfacl -d -m u:1001:rwx,g::rx,o::- d
(umask 077 && echo x >d/file && mkdir d/sub)
expect_eq "$(getfacl -cn d/sub | grep -c '^default:user:1001:rwx')" 1 "inherited default"
expect_eq "$(getfacl -cn d/file | grep '^user:1001:')" "user:1001:rwx	#effective:rw-"
expect_eq "$(stat -c %a d/file)" 660 "mode is cut by the default ACL, not the umask"
expect_eq "$(stat -c %a d/sub)" 770
mkdir d/sub/deeper
expect_eq "$(getfacl -cn d/sub/deeper | grep -c '^default:user:1001:rwx')" 1
mkfifo d/fifo
expect_eq "$(getfacl -cn d/fifo | grep -c '^user:1001:rwx')" 1
setfacl -k d
mkdir d/plain
expect_eq "$(getfacl -cn d/plain | grep -c default || true)" 0

# a minimal ACL is the mode; a bad one is refused
setfacl -m u::rwx,g::r,o::- f
expect_eq "$(stat -c %a f)" 740
py <<'PY'
expect(EOPNOTSUPP, os.setxattr, 'f', 'system.posix_acl_access', b'nonsense')
expect(EINVAL, os.setxattr, 'f', 'system.posix_acl_access', b'\2\0\0\0\7\0\7\0\0\0\0\0')
try:
    os.setxattr('f', 'system.posix_acl_default', b'\2\0\0\0\1\0\7\0\xff\xff\xff\xff\4\0\5\0\xff\xff\xff\xff \0\5\0\xff\xff\xff\xff')
    check(False, 'a default ACL on a file')
except OSError as e:
    check(e.errno == EACCES, e.errno)
os.chown('f', 1001, 1001)
def stranger():
    expect(EPERM, os.setxattr, 'f', 'system.posix_acl_access',
           b'\2\0\0\0\1\0\7\0\xff\xff\xff\xff\4\0\5\0\xff\xff\xff\xff \0\5\0\xff\xff\xff\xff')
as_user(1002, stranger)
PY
cd /
finish
