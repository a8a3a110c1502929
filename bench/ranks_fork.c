/* Ranks without MPI: rank 0 forks the others and talks to each over a socket pair.  Everything
 * is a message of a length and its bytes; a barrier is one message each way. */
#include "bench/ranks.h"

#include "base/err.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct ranks {
	unsigned id, count;
	int *fd;     /* rank 0: one per rank (its own unused); others: fd[0] is rank 0's */
	pid_t *pid;  /* rank 0 only */
};

static int put(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -KILN_ECLOSED;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

static int get(int fd, void *data, size_t len)
{
	char *at = data;

	while (len) {
		ssize_t n = recv(fd, at, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -KILN_ECLOSED;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

static void become_child(struct ranks *r, unsigned id, int fd)
{
	for (unsigned i = 1; i < id; i++)
		close(r->fd[i]);
	r->id = id;
	r->fd[0] = fd;
	prctl(PR_SET_PDEATHSIG, SIGTERM); /* a killed rank 0 must not leave loads running */
}

static int fork_one(struct ranks *r, unsigned id)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_from_errno(errno);
	r->pid[id] = fork();
	if (r->pid[id] < 0) {
		close(pair[0]);
		close(pair[1]);
		return err_from_errno(errno);
	}
	if (r->pid[id] == 0) {
		close(pair[0]);
		become_child(r, id, pair[1]);
		return 0;
	}
	close(pair[1]);
	r->fd[id] = pair[0];
	return 0;
}

int ranks_start(int *argc, char ***argv, unsigned procs, struct ranks **out)
{
	struct ranks *r = calloc(1, sizeof *r);
	int rc = 0;

	if (!r)
		return -KILN_ENOMEM;
	r->count = procs;
	r->fd = calloc(procs, sizeof *r->fd);
	r->pid = calloc(procs, sizeof *r->pid);
	if (!r->fd || !r->pid)
		rc = -KILN_ENOMEM;
	for (unsigned i = 1; rc == 0 && r->id == 0 && i < procs; i++)
		rc = fork_one(r, i);
	if (rc < 0)
		ranks_end(r);
	else
		*out = r;
	return rc;
}

void ranks_end(struct ranks *r)
{
	for (unsigned i = r->id ? 0 : 1; i < (r->id ? 1 : r->count); i++)
		if (r->fd && r->fd[i])
			close(r->fd[i]);
	for (unsigned i = 1; r->id == 0 && r->pid && i < r->count; i++)
		if (r->pid[i] > 0)
			waitpid(r->pid[i], NULL, 0);
	free(r->fd);
	free(r->pid);
	free(r);
}

unsigned ranks_id(const struct ranks *r)
{
	return r->id;
}

unsigned ranks_count(const struct ranks *r)
{
	return r->count;
}

static int agree_as_child(struct ranks *r, int rc)
{
	int all = 0, sent = put(r->fd[0], &rc, sizeof rc);

	if (sent == 0)
		sent = get(r->fd[0], &all, sizeof all);
	return sent < 0 ? sent : all;
}

int ranks_agree(struct ranks *r, int rc)
{
	int lost = 0;

	if (r->id)
		return agree_as_child(r, rc);
	for (unsigned i = 1; i < r->count; i++) {
		int theirs = 0;

		if (get(r->fd[i], &theirs, sizeof theirs) < 0)
			lost = -KILN_ECLOSED;
		if (theirs < rc)
			rc = theirs;
	}
	if (lost)
		rc = lost;
	for (unsigned i = 1; i < r->count; i++)
		if (put(r->fd[i], &rc, sizeof rc) < 0)
			rc = -KILN_ECLOSED;
	return rc;
}

int ranks_share(struct ranks *r, void *buf, size_t len)
{
	int rc = 0;

	if (r->id)
		return get(r->fd[0], buf, len);
	for (unsigned i = 1; i < r->count; i++)
		if (put(r->fd[i], buf, len) < 0)
			rc = -KILN_ECLOSED;
	return rc;
}

static int collect_one(int fd, ranks_take take, void *ctx)
{
	uint64_t len;
	void *data;
	int rc = get(fd, &len, sizeof len);

	if (rc < 0)
		return rc;
	data = malloc(len + 1);
	if (!data)
		return -KILN_ENOMEM;
	rc = get(fd, data, len);
	if (rc == 0)
		rc = take(ctx, data, len);
	free(data);
	return rc;
}

int ranks_collect(struct ranks *r, const void *mine, size_t len, ranks_take take, void *ctx)
{
	uint64_t size = len;
	int rc = 0;

	if (r->id) {
		rc = put(r->fd[0], &size, sizeof size);
		return rc < 0 ? rc : put(r->fd[0], mine, len);
	}
	for (unsigned i = 1; i < r->count; i++) {
		int one = collect_one(r->fd[i], take, ctx);

		if (one < 0)
			rc = one;
	}
	return rc;
}

void ranks_interrupt(struct ranks *r)
{
	for (unsigned i = 1; r->id == 0 && i < r->count; i++)
		if (r->pid[i] > 0)
			kill(r->pid[i], SIGTERM);
}
