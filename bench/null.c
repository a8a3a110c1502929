/* kiln-null: a server that does nothing, as the upper limit of what a server behind the same
 * carriers can reach.  It speaks kiln's hello, takes handed-over /dev/fuse descriptors and
 * streams, and answers every FUSE request with constants: no store, no locks, no permissions.
 * One thread, one epoll descriptor, a message read, a reply written.
 *
 * So that a benchmark's creates, lookups and deletes succeed and fail as they should, it knows
 * which names there are, and which are directories: a hash of (directory, name) each, nothing
 * else.  Every other inode is an empty file; reads are zeros, writes vanish.
 *
 *   kiln-null SOCKET        then: KILN_SERVER=unix:SOCKET kiln mount any DIR */
#include "base/clock.h"
#include "base/hello.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
	MESSAGE_MAX = (1 << 20) + 4096,
	NAMES_MAX = 1 << 24, /* 128 MiB of address space; only touched pages are used */
	BATCH_MAX = 32,
	DIR_BIT = 1,         /* node ids of directories are odd, the root's is 1 */
	NAME_DIR = 4,        /* in a hash that is kept: the name is a directory's */
};

enum peer_kind { PEER_LISTEN, PEER_HELLO, PEER_COMPANION, PEER_FUSE, PEER_STREAM };

struct peer {
	enum peer_kind kind;
	int fd;
	size_t len;      /* bytes of an unfinished message in `part` */
	uint8_t *part;
	size_t out_len;  /* stream: replies gathered while a batch is handled */
	uint8_t *out;
};

static uint64_t names[NAMES_MAX]; /* hashes, open addressing; 0: free, 1: was deleted */
static uint8_t message[MESSAGE_MAX] __attribute__((aligned(4096)));
static uint8_t zeros[MESSAGE_MAX];
static int epoll_fd;

static uint64_t name_hash(uint64_t dir, const char *name)
{
	return (XXH3_64bits_withSeed(name, strlen(name), dir) | 2) & ~(uint64_t)NAME_DIR;
}

static uint64_t *name_find(uint64_t hash)
{
	uint64_t i = hash >> 8;

	while (names[i % NAMES_MAX] != 0 && (names[i % NAMES_MAX] & ~(uint64_t)NAME_DIR) != hash)
		i++;
	return &names[i % NAMES_MAX];
}

static bool name_known(uint64_t hash)
{
	return *name_find(hash) != 0;
}

static bool name_is_dir(uint64_t hash)
{
	return *name_find(hash) & NAME_DIR;
}

static void name_add(uint64_t hash, bool dir)
{
	*name_find(hash) = hash | (dir ? NAME_DIR : 0);
}

static void name_drop(uint64_t hash)
{
	uint64_t *slot = name_find(hash);

	if (*slot)
		*slot = 1;
}

static uint64_t node_of(uint64_t hash, bool dir)
{
	return ((hash | 2) & ~(uint64_t)DIR_BIT) | (dir ? DIR_BIT : 0);
}

static void fill_attr(struct fuse_attr *a, uint64_t node)
{
	*a = (struct fuse_attr){
		.ino = node,
		.mode = node & DIR_BIT ? S_IFDIR | 0755 : S_IFREG | 0644,
		.nlink = node & DIR_BIT ? 2 : 1,
		.blksize = 4096,
	};
}

static void fill_entry(struct fuse_entry_out *e, uint64_t node)
{
	*e = (struct fuse_entry_out){ .nodeid = node, .entry_valid = 1, .attr_valid = 1 };
	fill_attr(&e->attr, node);
}

/* --- replies ------------------------------------------------------------------------------- */

static void gather(struct peer *p, const struct iovec *iov, int count)
{
	for (int i = 0; i < count; i++) {
		if (!iov[i].iov_len) /* an empty body has no address */
			continue;
		memcpy(p->out + p->out_len, iov[i].iov_base, iov[i].iov_len);
		p->out_len += iov[i].iov_len;
	}
}

/* The benchmark's clients read their replies, so waiting for room is fine here. */
static void send_all(int fd, const uint8_t *at, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return;
		if (n > 0) {
			at += n;
			len -= (size_t)n;
		}
	}
}

static void flush(struct peer *p)
{
	if (p->kind == PEER_STREAM && p->out_len)
		send_all(p->fd, p->out, p->out_len);
	p->out_len = 0;
}

static void reply(struct peer *p, uint64_t unique, int error, const void *body, size_t len)
{
	struct fuse_out_header out = { (uint32_t)(sizeof out + len), error, unique };
	struct iovec iov[2] = { { &out, sizeof out }, { (void *)(uintptr_t)body, len } };

	if (p->kind == PEER_STREAM) {
		if (p->out_len + out.len > MESSAGE_MAX)
			flush(p);
		gather(p, iov, 2);
	} else if (writev(p->fd, iov, len ? 2 : 1) < 0 && errno != ENOENT && errno != ENODEV) {
		perror("kiln-null: reply");
	}
}

/* --- operations ------------------------------------------------------------------------------ */

static void do_init(struct peer *p, const struct fuse_in_header *in, const void *arg)
{
	const struct fuse_init_in *init = arg;
	uint64_t flags = (init->flags | (uint64_t)init->flags2 << 32) &
			 (FUSE_ASYNC_READ | FUSE_ATOMIC_O_TRUNC | FUSE_BIG_WRITES | FUSE_DONT_MASK |
			  FUSE_AUTO_INVAL_DATA | FUSE_DO_READDIRPLUS | FUSE_READDIRPLUS_AUTO |
			  FUSE_ASYNC_DIO | FUSE_PARALLEL_DIROPS | FUSE_HANDLE_KILLPRIV_V2 |
			  FUSE_POSIX_ACL | FUSE_MAX_PAGES | FUSE_CACHE_SYMLINKS | FUSE_SETXATTR_EXT |
			  FUSE_INIT_EXT | 1ull << 39);
	struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = init->max_readahead,
		.flags = (uint32_t)flags,
		.flags2 = (uint32_t)(flags >> 32),
		.max_background = 64,
		.congestion_threshold = 48,
		.max_write = 1 << 20,
		.time_gran = 1,
		.max_pages = 256,
	};

	reply(p, in->unique, 0, &out, sizeof out);
}

static void do_entry(struct peer *p, const struct fuse_in_header *in, const char *name, bool make,
		     bool dir)
{
	uint64_t hash = name_hash(in->nodeid, name);
	struct fuse_entry_out e;

	if (!make && !name_known(hash)) {
		reply(p, in->unique, -ENOENT, NULL, 0);
		return;
	}
	if (make && name_known(hash)) {
		reply(p, in->unique, -EEXIST, NULL, 0);
		return;
	}
	if (make)
		name_add(hash, dir);
	fill_entry(&e, node_of(hash, name_is_dir(hash)));
	reply(p, in->unique, 0, &e, sizeof e);
}

static void do_create(struct peer *p, const struct fuse_in_header *in,
		      const struct fuse_create_in *arg)
{
	uint64_t hash = name_hash(in->nodeid, (const char *)(arg + 1));
	struct {
		struct fuse_entry_out entry;
		struct fuse_open_out open;
	} out = { 0 };

	if (arg->flags & O_EXCL && name_known(hash)) {
		reply(p, in->unique, -EEXIST, NULL, 0);
		return;
	}
	name_add(hash, false);
	fill_entry(&out.entry, node_of(hash, false));
	reply(p, in->unique, 0, &out, sizeof out);
}

static void do_remove(struct peer *p, const struct fuse_in_header *in, const char *name)
{
	uint64_t hash = name_hash(in->nodeid, name);
	int error = name_known(hash) ? 0 : -ENOENT;

	name_drop(hash);
	reply(p, in->unique, error, NULL, 0);
}

static void do_rename(struct peer *p, const struct fuse_in_header *in, uint64_t to_dir,
		      const char *from)
{
	uint64_t hash = name_hash(in->nodeid, from);
	bool dir = name_is_dir(hash);

	name_drop(hash);
	name_add(name_hash(to_dir, from + strlen(from) + 1), dir);
	reply(p, in->unique, 0, NULL, 0);
}

static void do_attr(struct peer *p, const struct fuse_in_header *in)
{
	struct fuse_attr_out out = { .attr_valid = 1 };

	fill_attr(&out.attr, in->nodeid);
	reply(p, in->unique, 0, &out, sizeof out);
}

static void do_statfs(struct peer *p, const struct fuse_in_header *in)
{
	struct fuse_statfs_out out = { .st = { .blocks = 1 << 28, .bfree = 1 << 28,
					       .bavail = 1 << 28, .files = 1 << 28, .ffree = 1 << 28,
					       .bsize = 4096, .frsize = 4096, .namelen = 255 } };

	reply(p, in->unique, 0, &out, sizeof out);
}

static void answer(struct peer *p, const uint8_t *bytes)
{
	const struct fuse_in_header *in = (const void *)bytes;
	const void *arg = bytes + sizeof *in;
	struct fuse_write_out wrote = { 0 };
	struct fuse_open_out open = { 0 };

	switch (in->opcode) {
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return;
	case FUSE_INIT:
		do_init(p, in, arg);
		return;
	case FUSE_LOOKUP:
		do_entry(p, in, arg, false, false);
		return;
	case FUSE_MKDIR:
		do_entry(p, in, (const char *)arg + sizeof(struct fuse_mkdir_in), true, true);
		return;
	case FUSE_MKNOD:
		do_entry(p, in, (const char *)arg + sizeof(struct fuse_mknod_in), true, false);
		return;
	case FUSE_CREATE:
		do_create(p, in, arg);
		return;
	case FUSE_UNLINK:
	case FUSE_RMDIR:
		do_remove(p, in, arg);
		return;
	case FUSE_RENAME:
		do_rename(p, in, ((const struct fuse_rename_in *)arg)->newdir,
			  (const char *)arg + sizeof(struct fuse_rename_in));
		return;
	case FUSE_RENAME2:
		do_rename(p, in, ((const struct fuse_rename2_in *)arg)->newdir,
			  (const char *)arg + sizeof(struct fuse_rename2_in));
		return;
	case FUSE_GETATTR:
	case FUSE_SETATTR:
		do_attr(p, in);
		return;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		open.open_flags = FOPEN_KEEP_CACHE;
		reply(p, in->unique, 0, &open, sizeof open);
		return;
	case FUSE_WRITE:
		wrote.size = ((const struct fuse_write_in *)arg)->size;
		reply(p, in->unique, 0, &wrote, sizeof wrote);
		return;
	case FUSE_READ:
		reply(p, in->unique, 0, zeros, ((const struct fuse_read_in *)arg)->size);
		return;
	case FUSE_READDIR:
	case FUSE_READDIRPLUS:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_FLUSH:
	case FUSE_FSYNC:
	case FUSE_FSYNCDIR:
	case FUSE_SYNCFS:
	case FUSE_DESTROY:
		reply(p, in->unique, 0, NULL, 0);
		return;
	case FUSE_STATFS:
		do_statfs(p, in);
		return;
	case FUSE_GETXATTR:
		reply(p, in->unique, -ENODATA, NULL, 0);
		return;
	default:
		reply(p, in->unique, -ENOSYS, NULL, 0);
	}
}

/* --- peers ------------------------------------------------------------------------------------ */

static struct peer *peer_add(enum peer_kind kind, int fd)
{
	struct peer *p = calloc(1, sizeof *p);
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = p };

	if (!p || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev) != 0) {
		perror("kiln-null");
		exit(1);
	}
	p->kind = kind;
	p->fd = fd;
	return p;
}

static void peer_end(struct peer *p)
{
	epoll_ctl(epoll_fd, EPOLL_CTL_DEL, p->fd, NULL);
	close(p->fd);
	free(p->part);
	free(p->out);
	free(p);
}

static void hello_ready(struct peer *p)
{
	struct hello_reply out = { .magic = HELLO_MAGIC, .version = HELLO_VERSION,
				   .session_timeout_ns = 300 * NS_PER_S };
	struct hello in;

	if (recv(p->fd, &in, sizeof in, MSG_WAITALL) != sizeof in || in.magic != HELLO_MAGIC) {
		peer_end(p);
		return;
	}
	send_all(p->fd, (const uint8_t *)&out, sizeof out);
	if (in.kind == HELLO_FUSE_FD) {
		p->kind = PEER_COMPANION;
		return;
	}
	p->kind = PEER_STREAM;
	p->part = malloc(MESSAGE_MAX);
	p->out = malloc(MESSAGE_MAX);
	if (!p->part || !p->out)
		peer_end(p);
}

static void companion_ready(struct peer *p)
{
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof control };
	int fd;

	if (recvmsg(p->fd, &msg, MSG_CMSG_CLOEXEC) <= 0 || !CMSG_FIRSTHDR(&msg)) {
		peer_end(p);
		return;
	}
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof fd);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	peer_add(PEER_FUSE, fd);
}

static void fuse_ready(struct peer *p)
{
	for (int i = 0; i < BATCH_MAX; i++) {
		ssize_t n = read(p->fd, message, sizeof message);

		if (n < 0 && errno == ENODEV) {
			peer_end(p);
			return;
		}
		if (n < 0)
			return;
		answer(p, message);
	}
}

static void stream_ready(struct peer *p)
{
	ssize_t n = recv(p->fd, p->part + p->len, MESSAGE_MAX - p->len, MSG_DONTWAIT);
	size_t used = 0;

	if (n <= 0) {
		if (n == 0 || errno != EAGAIN)
			peer_end(p);
		return;
	}
	p->len += (size_t)n;
	while (p->len - used >= sizeof(struct fuse_in_header)) {
		struct fuse_in_header in;

		memcpy(&in, p->part + used, sizeof in);
		if (in.len > p->len - used)
			break;
		memcpy(message, p->part + used, in.len); /* aligned */
		answer(p, message);
		used += in.len;
	}
	memmove(p->part, p->part + used, p->len - used);
	p->len -= used;
	flush(p);
}

static void ready(struct peer *p)
{
	switch (p->kind) {
	case PEER_LISTEN:
		peer_add(PEER_HELLO, accept4(p->fd, NULL, NULL, SOCK_CLOEXEC));
		break;
	case PEER_HELLO:
		hello_ready(p);
		break;
	case PEER_COMPANION:
		companion_ready(p);
		break;
	case PEER_FUSE:
		fuse_ready(p);
		break;
	case PEER_STREAM:
		stream_ready(p);
		break;
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (argc != 2 || strlen(argv[1]) >= sizeof sun.sun_path) {
		fprintf(stderr, "usage: kiln-null SOCKET\n");
		return 2;
	}
	memcpy(sun.sun_path, argv[1], strlen(argv[1]));
	unlink(argv[1]);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (fd < 0 || epoll_fd < 0 || bind(fd, (struct sockaddr *)(void *)&sun, sizeof sun) != 0 ||
	    listen(fd, 64) != 0) {
		perror("kiln-null");
		return 1;
	}
	peer_add(PEER_LISTEN, fd);
	for (;;) {
		struct epoll_event events[64];
		int n = epoll_wait(epoll_fd, events, 64, -1);

		for (int i = 0; i < n; i++)
			ready(events[i].data.ptr);
	}
}
