# copy_file_range(2), within one file and between small and large ones.
# carriers: all
. "$KILN_TESTS/lib.sh"
setup
py <<'PY'
def copy(fd1, fd2, n, at1, at2):
    done = 0
    while done < n:
        got = os.copy_file_range(fd1, fd2, n - done, at1 + done, at2 + done)
        if got == 0:
            break
        done += got
    return done

for n in 100, 30000, 65536, 3000000:
    data = os.urandom(n)
    write_file('a', data)
    write_file('b', b'old' * 10)
    a, b = os.open('a', os.O_RDWR), os.open('b', os.O_RDWR)
    same(copy(a, b, n, 0, 0), n)
    check(read_file('b') == data)
    os.ftruncate(b, 0)
    at, size = n // 5, n // 2
    same(copy(a, b, size, at, 7), size)
    check(read_file('b') == bytes(7) + data[at:at + size], 'a part, moved')
    same(copy(a, b, 1000, n, 0), 0, 'nothing behind the end')
    same(copy(a, b, 1000, n - 10, 0), 10, 'as far as there is')
    same(copy(a, a, n // 4, 0, n // 2), n // 4)
    want = data[:n // 2] + data[:n // 4] + data[n // 2 + n // 4:]
    check(read_file('a') == want, 'within one file')
    expect(EINVAL, os.copy_file_range, a, a, n // 2, 0, 10)
    os.close(a)
    os.close(b)
r = os.open('a', os.O_RDONLY)
expect(EBADF, os.copy_file_range, r, r, 10, 0, 100)
PY
finish
