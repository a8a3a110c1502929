/* Error codes.  Every function that can fail returns 0 or one of these, negated
 * (return -KILN_EXXX).  A code names the reason, not the errno: err_errno() is the only
 * place that maps to what a program sees, err_text() the only place with the sentence.
 * Add a code in the table below where a new reason appears; the values are private to one
 * build and never stored or sent. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

/*        name            errno          sentence */
#define KILN_ERRORS(X) \
	X(NOMEM,          ENOMEM,        "out of memory") \
	X(WOULDBLOCK,     EAGAIN,        "would block here; hand over to a pool thread") \
	X(PARKED,         EAGAIN,        "taken over; the reply comes later") \
	X(NOENT,          ENOENT,        "no such name") \
	X(EXIST,          EEXIST,        "the name exists already") \
	X(NOTDIR,         ENOTDIR,       "not a directory") \
	X(ISDIR,          EISDIR,        "is a directory") \
	X(NOTEMPTY,       ENOTEMPTY,     "the directory is not empty") \
	X(STALE,          ESTALE,        "the inode is gone") \
	X(DOOMED,         ESTALE,        "the inode is being removed") \
	X(NAMETOOLONG,    ENAMETOOLONG,  "the name is longer than 255 bytes") \
	X(MLINK,          EMLINK,        "too many links") \
	X(LOOP,           EINVAL,        "the rename would make a directory its own ancestor") \
	X(PERM,           EPERM,         "not permitted") \
	X(ACCES,          EACCES,        "permission denied") \
	X(INVAL,          EINVAL,        "invalid argument") \
	X(NOSYS,          ENOSYS,        "operation not known") \
	X(NOTSUP,         EOPNOTSUPP,    "operation not supported") \
	X(FBIG,           EFBIG,         "the file would be too large") \
	X(NXIO,           ENXIO,         "no data or hole at or beyond that offset") \
	X(NODATA,         ENODATA,       "no such extended attribute") \
	X(RANGE,          ERANGE,        "the buffer is too small for the value") \
	X(TOOBIG,         E2BIG,         "the value is too large") \
	X(NOSPC,          ENOSPC,        "no space left on the store's file system") \
	X(QUOTA,          ENOSPC,        "the volume's quota is used up") \
	X(ROFS,           EROFS,         "the volume is read-only") \
	X(IO,             EIO,           "input/output error") \
	X(BADSTORE,       EIO,           "the store failed a sync or write and takes no changes until reopened") \
	X(CORRUPT,        EIO,           "a stored record is damaged") \
	X(AGAIN,          EAGAIN,        "resource busy, try again") \
	X(INTR,           EINTR,         "interrupted") \
	X(DEADLK,         EDEADLK,       "a lock cycle would arise") \
	X(NOLCK,          ENOLCK,        "this client has too many file locks") \
	X(BADMSG,         EPROTO,        "malformed message") \
	X(VERSION,        EPROTO,        "written or spoken by a newer version") \
	X(NOVOLUME,       ENOENT,        "no such volume") \
	X(VOLEXIST,       EEXIST,        "a volume of that name exists") \
	X(VOLNAME,        EINVAL,        "a volume's name is 1 to 64 of A-Z a-z 0-9 . _ - and does not start with . or -") \
	X(VOLBUSY,        EBUSY,         "the volume is in use by a client") \
	X(LOCKED,         EBUSY,         "the data directory is in use by another server") \
	X(NOTKILN,        EINVAL,        "not a kiln data directory") \
	X(CLOSED,         ECONNRESET,    "the connection is closed") \
	X(EXPIRED,        ESTALE,        "the client's session has expired") \
	X(SHUTDOWN,       ESHUTDOWN,     "the server is stopping") \
	X(MFILE,          EMFILE,        "too many open files in this process") \
	X(NOTHREAD,       EAGAIN,        "no further thread is allowed here (see ulimit -u and the limits of the service)") \
	X(XDEV,           EXDEV,         "the names are on different file systems") \
	X(NOTCONN,        ENOTCONN,      "the file system's server is gone") \
	X(VERIFY,         EIO,           "what was read is not what was written") \
	X(SYS,            EIO,           "a system call failed")

enum kiln_err {
	KILN_OK = 0,
#define X(name, eno, text) KILN_E##name,
	KILN_ERRORS(X)
#undef X
	KILN_ERR_COUNT
};

/* err_errno: the positive errno a program sees for code, which may be given positive or
 * negative; 0 for 0. */
int err_errno(int code);
/* err_text: one plain clause without a full stop; static, never NULL. */
const char *err_text(int code);
/* err_name: "NOENT"; for logs and tests. */
const char *err_name(int code);
/* err_from_errno: the negated code that fits a system call's errno best; -KILN_ESYS if none.
 * err_errno(err_from_errno(e)) == e for every errno in the table. */
int err_from_errno(int eno);

#endif
