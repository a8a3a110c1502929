/* How a connection opens, before FUSE messages flow; docs/protocol.md is the page.
 *
 * All integers are in the sender's byte order, as FUSE's own are; a magic that reads reversed
 * is refused.  The first four bytes tell a hello from an HTTP request on the same socket.
 *
 *   client: struct hello                     server: struct hello_reply
 *   HELLO_FUSE_FD only: one byte 'F' with the mounted /dev/fuse descriptor (SCM_RIGHTS); the
 *     connection stays open and silent; when it breaks the client hands its duplicate over anew
 *   HELLO_RELAY, HELLO_LIBRARY: FUSE messages, whole, each as long as its header says.  The
 *     sender puts the request's slot into fuse_in_header.padding: a number below hello.slots
 *     that no unanswered request of its own has.  FORGET, BATCH_FORGET and INTERRUPT need none.
 *     A client that ends for good (unmount, disconnect) sends FUSE_DESTROY; one that merely
 *     loses the connection is waited for until session_timeout has passed. */
#ifndef BASE_HELLO_H
#define BASE_HELLO_H

#include <stdint.h>

#define HELLO_MAGIC 0x4e4c494bu /* "KILN" */
enum { HELLO_VERSION = 1, HELLO_SLOTS_MAX = 1024 };
enum { HELLO_FUSE_FD = 1, HELLO_RELAY = 2, HELLO_LIBRARY = 3 };
enum {
	HELLO_RESUME = 1, /* request: I was here; reply: and you are known, go on */
	HELLO_READ_ONLY = 2, /* reply: the volume takes no changes */
};

struct hello {
	uint32_t magic;
	uint16_t version, kind;
	uint32_t flags, slots;
	uint64_t client, secret; /* random, chosen by the client for the life of one mount */
	char volume[72];         /* NUL-terminated */
	char host[64];           /* for people; NUL-terminated */
	uint8_t volume_id[16];   /* with HELLO_RESUME: as the first reply said; zero: by name */
	uint8_t reserved[8];     /* zero */
};

struct hello_reply {
	uint32_t magic;
	uint16_t version, reserved;
	int32_t error;           /* 0, or a positive errno */
	uint32_t flags;
	uint64_t session_timeout_ns;
	uint8_t volume_id[16];   /* stays when the volume is renamed, never names another one */
	char text[152];          /* with an error: one sentence for the user */
};

_Static_assert(sizeof(struct hello) == 192, "wire format");
_Static_assert(sizeof(struct hello_reply) == 192, "wire format");

#endif
