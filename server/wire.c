/* Happy path: header; fixed struct, copied to where it is aligned; names; the bytes behind.
 * Every length is checked against what is left of the message before it is used, and nothing
 * may be left over. */
#include "server/wire.h"

#include "server/dispatch.h"

struct cursor {
	const uint8_t *at;
	size_t left;
};

static const void *take(struct cursor *c, size_t len)
{
	const void *at = c->at;

	if (len > c->left)
		return NULL;
	c->at += len;
	c->left -= len;
	return at;
}

int64_t wire_length(const void *bytes)
{
	struct fuse_in_header in;

	memcpy(&in, bytes, sizeof in);
	if (in.len < WIRE_MESSAGE_MIN || in.len > WIRE_MESSAGE_MAX)
		return -KILN_EBADMSG;
	return in.len;
}

static bool is_dots(const char *name, size_t len)
{
	return name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.'));
}

/* Says whether name number i of the message is one that its operation can take. */
static int check_name(const struct request *req, unsigned i)
{
	bool target = req->in.opcode == FUSE_SYMLINK && i == 1;
	const char *name = req->name[i];
	size_t len = req->name_len[i];
	unsigned flags = req->op->flags;

	if (flags & OP_NAME_ANY)
		return 0;
	if (len > (target ? LINK_BYTES_MAX : NAME_BYTES_MAX))
		return -KILN_ENAMETOOLONG;
	if (target || (flags & OP_NAME_XATTR))
		return 0;
	if (memchr(name, '/', len))
		return -KILN_EBADMSG;
	if (is_dots(name, len) && !(flags & OP_NAME_DOTS))
		return -KILN_EINVAL;
	return 0;
}

static int take_names(struct request *req, struct cursor *c)
{
	int err = 0;

	for (unsigned i = 0; i < req->op->names; i++) {
		const uint8_t *end = memchr(c->at, 0, c->left);
		int bad;

		if (!end || end == c->at)
			return -KILN_EBADMSG;
		req->name_len[i] = (size_t)(end - c->at);
		req->name[i] = take(c, req->name_len[i] + 1);
		bad = check_name(req, i);
		if (bad == -KILN_EBADMSG)
			return bad;
		if (bad)
			err = bad;
	}
	return err;
}

static int take_arg(struct request *req, struct cursor *c)
{
	const struct op *op = req->op;
	size_t len = op->arg_full;
	const void *at;

	_Static_assert(sizeof req->arg_space >= sizeof(struct fuse_setattr_in), "largest struct");
	if (op->arg_min < op->arg_full && c->left < len)
		len = c->left; /* only INIT, which has nothing behind its struct */
	at = len >= op->arg_min ? take(c, len) : NULL;
	if (!at)
		return -KILN_EBADMSG;
	memcpy(req->arg_space, at, len);
	req->arg = req->arg_space;
	return 0;
}

static size_t tail_length(const struct request *req)
{
	const struct fuse_write_in *write = req->arg;
	const struct fuse_setxattr_in *xattr = req->arg;
	const struct fuse_batch_forget_in *forget = req->arg;

	switch (req->op->tail) {
	case TAIL_WRITE:
		return write->size;
	case TAIL_XATTR:
		return xattr->size;
	case TAIL_FORGETS:
		return (size_t)forget->count * sizeof(struct fuse_forget_one);
	case TAIL_NONE:
	case TAIL_ANY:
		break;
	}
	return 0;
}

static int take_tail(struct request *req, struct cursor *c)
{
	if (req->op->tail == TAIL_ANY)
		return 0;
	req->data_len = tail_length(req);
	req->data = take(c, req->data_len);
	if (!req->data || c->left != 0)
		return -KILN_EBADMSG;
	if (req->op->tail == TAIL_WRITE && req->data_len > WIRE_WRITE_MAX)
		return -KILN_EBADMSG;
	return 0;
}

/* The target of a copy is what changes and whose turn is taken, so it is the request's inode. */
static void swap_copy_target(struct request *req)
{
	struct fuse_copy_file_range_in *copy = (void *)req->arg_space;
	uint64_t source = req->in.nodeid;

	req->in.nodeid = copy->nodeid_out;
	copy->nodeid_out = source;
}

int wire_parse(const void *message, size_t len, struct request *req)
{
	struct cursor c = { message, len };
	const void *header = take(&c, sizeof req->in);
	int bad_name, err;

	if (!header)
		return -KILN_EBADMSG;
	memcpy(&req->in, header, sizeof req->in);
	if (req->in.len != len || req->in.total_extlen != 0)
		return -KILN_EBADMSG;
	req->resent = req->in.unique & WIRE_UNIQUE_RESEND;
	req->in.unique &= ~WIRE_UNIQUE_RESEND;
	req->slot = req->in.padding;
	req->op = op_find(req->in.opcode);
	req->no_reply = req->op->flags & OP_SILENT;
	err = take_arg(req, &c);
	if (err)
		return err;
	bad_name = take_names(req, &c);
	if (bad_name == -KILN_EBADMSG)
		return bad_name;
	err = take_tail(req, &c);
	if (err)
		return err;
	if (req->in.opcode == FUSE_COPY_FILE_RANGE)
		swap_copy_target(req);
	req->op = op_choose(req);
	return bad_name;
}

void wire_rebase(struct request *req, const void *from, const void *to)
{
	for (unsigned i = 0; i < 2; i++)
		if (req->name[i])
			req->name[i] = (const char *)to + (req->name[i] - (const char *)from);
	if (req->data)
		req->data = (const uint8_t *)to +
			    ((const uint8_t *)req->data - (const uint8_t *)from);
}
