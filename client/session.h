/* A client's side of one session: who it says it is, and how it comes back.
 *
 * A session is a random id and secret, chosen once and kept for the life of one mount or one
 * library handle.  Each connection opens with a hello; every one but the first asks to resume.
 * One thread at a time uses a session.  (csession: the server has a struct session of its own,
 * and tests link both.) */
#ifndef CLIENT_SESSION_H
#define CLIENT_SESSION_H

#include "base/address.h"

#include <stdbool.h>
#include <stdint.h>

struct csession {
	struct target target;
	uint32_t kind, slots;         /* as in struct hello */
	uint64_t client, secret;
	uint8_t volume_id[16];        /* which volume it is whatever it is called now; [opened] */
	bool opened;                  /* a hello has succeeded once */
	bool known;                   /* the server knew us at the last hello */
	bool read_only;               /* the volume takes no changes */
	uint64_t timeout_ns;          /* the server forgets a client away for longer */
	uint64_t since_ns;            /* when the last hello succeeded */
	unsigned tries;               /* connects in a row that failed or did not last */
	char text[768];               /* why the last connect failed, one sentence */
};

/* csession_init: kind is HELLO_FUSE_FD, HELLO_RELAY or HELLO_LIBRARY.  0, or -KILN_ESYS when
 * the kernel gives no random numbers. */
int csession_init(struct csession *s, const struct target *t, uint32_t kind, uint32_t slots);
/* csession_connect: connects and says hello.  Returns a blocking socket that the caller closes,
 * or a negated code with a sentence in s->text: ENOVOLUME, EVERSION, EACCES, EVOLBUSY,
 * EEXPIRED, or ECLOSED when the server is not there (the code to try again on). */
int csession_connect(struct csession *s);
/* csession_broke: the connection ended; one that lasted counts as success, so that a server which
 * takes hellos and then hangs up is not asked in a tight circle. */
void csession_broke(struct csession *s);
/* csession_delay_ms: how long to wait before the next connect: at once, 10 ms, doubling to 1 s. */
int csession_delay_ms(const struct csession *s);
/* csession_forget: a new id, as after the server forgot the old one. */
int csession_forget(struct csession *s);

#endif
