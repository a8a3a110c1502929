/* Where a server is, and which of its volumes is meant, as people write it:
 *
 *   VOLUME, kiln:VOLUME             a volume of the default server
 *   unix:PATH/VOLUME                the server's Unix socket is PATH
 *   /PATH/VOLUME, kiln:///PATH/VOLUME   the same; the last component is the volume
 *   tcp:HOST:PORT/VOLUME, kiln://HOST:PORT/VOLUME   IPv6 addresses in brackets
 *
 * The default server is $KILN_SERVER, else unix:/run/kiln/kiln.sock for root, else
 * unix:$XDG_RUNTIME_DIR/kiln/kiln.sock.  Everything here is plain text work but
 * address_connect; any thread may call. */
#ifndef BASE_ADDRESS_H
#define BASE_ADDRESS_H

#include <stddef.h>
#include <stdint.h>

enum address_kind { ADDRESS_UNIX, ADDRESS_TCP };
enum { ADDRESS_TEXT = 400, ADDRESS_VOLUME = 65 };

struct address {
	enum address_kind kind;
	char path[108];   /* ADDRESS_UNIX: as in sockaddr_un, NUL-terminated */
	char host[256];   /* ADDRESS_TCP: without brackets */
	uint16_t port;    /* ADDRESS_TCP: never 0 after a parse */
};

struct target {
	struct address server;
	char volume[ADDRESS_VOLUME];
};

/* All three: 0, or -KILN_EINVAL with one sentence in why (cap bytes, never NULL).
 * address_parse takes the server alone: "unix:PATH", "/PATH", "tcp:HOST:PORT",
 * "kiln://HOST:PORT". */
int address_parse(struct address *a, const char *text, char *why, size_t cap);
int address_default(struct address *a, char *why, size_t cap);
int address_parse_target(struct target *t, const char *text, char *why, size_t cap);

/* address_volume_check: 0, or -KILN_EVOLNAME. */
int address_volume_check(const char *name);
/* address_text: the address in its first form above; returns out. */
const char *address_text(const struct address *a, char out[ADDRESS_TEXT]);
/* address_connect: a blocking, close-on-exec stream socket whose connect and later sends and
 * receives give up after timeout_ms (0: never); or a negated code, with one sentence in why.
 * The caller closes it. */
int address_connect(const struct address *a, unsigned timeout_ms, char *why, size_t cap);

#endif
