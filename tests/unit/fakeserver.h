/* A server of a few lines, for tests of clients: a script in its own thread takes connections,
 * reads messages, answers what it likes.  Everything that goes wrong in it aborts the
 * test program. */
#ifndef TESTS_UNIT_FAKESERVER_H
#define TESTS_UNIT_FAKESERVER_H

#include <linux/fuse.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hello.h"

struct fake;
typedef void fake_script(struct fake *f);

/* fake_start: listens on a new Unix socket and runs script; fake_join: waits until it is done. */
struct fake *fake_start(fake_script *script);
void fake_join(struct fake *f);
const char *fake_target(const struct fake *f); /* "unix:.../v" */
const char *fake_socket(const struct fake *f); /* the path alone */

/* --- for the script --- */

/* fake_hello: takes the next connection and its hello, which is left in *got (or NULL), and
 * accepts it, with these flags. */
void fake_hello(struct fake *f, struct hello *got, uint32_t flags);
/* fake_refuse: takes the next connection and refuses its hello. */
void fake_refuse(struct fake *f, int eno, const char *text);
void fake_hang_up(struct fake *f);
/* fake_read: one whole message, in memory that the next call reuses. */
struct fuse_in_header *fake_read(struct fake *f);
void fake_send(struct fake *f, const void *bytes, size_t n);
/* fake_answer: to `in` (its resent mark taken off): error, or n bytes of body. */
void fake_answer(struct fake *f, const struct fuse_in_header *in, int error, const void *body,
		 size_t n);
/* fake_init: reads INIT and answers it. */
void fake_init(struct fake *f);
/* fake_begin: fake_hello and fake_init. */
void fake_begin(struct fake *f);
/* fake_ended: the client closes this connection, having sent nothing more. */
void fake_ended(struct fake *f);
int fake_fd(const struct fake *f);
/* must: for scripts, in place of assertions of the test library, which knows one thread. */
#define must(condition) fake_must(condition, #condition, __FILE__, __LINE__)
void fake_must(bool ok, const char *text, const char *file, int line);

#endif
