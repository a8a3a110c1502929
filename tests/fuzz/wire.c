/* libFuzzer target on wire_parse.  Each input is tried twice: as it came, and with the header's
 * length made right, which is what gets it past the first check.  The message lies at the end of
 * a heap block of exactly its size, so that AddressSanitizer sees the first byte read too far;
 * what a parsed request claims about itself is checked here. */
#include "server/dispatch.h"
#include "server/wire.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static bool inside(const void *at, size_t len, const uint8_t *message, size_t message_len)
{
	const uint8_t *p = at;

	return p >= message && len <= message_len && p + len <= message + message_len;
}

static void check_names(const struct request *req, const uint8_t *message, size_t len)
{
	for (unsigned i = 0; i < 2; i++) {
		bool target = i == 1 && req->in.opcode == FUSE_SYMLINK;

		if (!req->name[i] || req->op->flags & OP_NAME_ANY)
			continue;
		require(req->name_len[i] > 0);
		require(inside(req->name[i], req->name_len[i] + 1, message, len));
		require(strlen(req->name[i]) == req->name_len[i]);
		require(req->name_len[i] <= (target ? LINK_BYTES_MAX : NAME_BYTES_MAX));
	}
}

/* A request that moves must read the same bytes in its new place. */
static void check_move(struct request *req, const uint8_t *message, size_t len)
{
	uint8_t *copy = malloc(len);
	uint32_t sum = 0;

	require(copy != NULL);
	memcpy(copy, message, len);
	wire_rebase(req, message, copy);
	check_names(req, copy, len);
	if (req->data) {
		require(inside(req->data, req->data_len, copy, len));
		for (size_t i = 0; i < req->data_len; i++)
			sum += ((const uint8_t *)req->data)[i];
	}
	require(sum <= 255 * len);
	free(copy);
}

static void parse(const uint8_t *message, size_t len)
{
	struct request *req = calloc(1, sizeof *req);
	int err;

	require(req != NULL);
	err = wire_parse(message, len, req);
	require(err <= 0);
	if (!err) {
		require(req->op != NULL);
		require(!(req->in.unique & WIRE_UNIQUE_RESEND));
		require(!req->data || inside(req->data, req->data_len, message, len));
		check_names(req, message, len);
		check_move(req, message, len);
	} else if (err != -KILN_EBADMSG) {
		require(req->op != NULL); /* it will be answered */
		require(err == -KILN_ENAMETOOLONG || err == -KILN_EINVAL);
	}
	free(req);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	uint8_t *message;
	uint32_t right = (uint32_t)len;

	if (len < WIRE_MESSAGE_MIN || len > WIRE_MESSAGE_MAX)
		return 0;
	message = malloc(len);
	require(message != NULL);
	memcpy(message, bytes, len);
	if (wire_length(message) > 0)
		parse(message, len);
	memcpy(message, &right, sizeof right);
	require(wire_length(message) == (int64_t)len);
	parse(message, len);
	free(message);
	return 0;
}
