#include "bench/janitor.h"

#include "base/err.h"
#include "bench/target.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct janitor {
	int fd; /* the benchmark writes lines, in one write each */
	pid_t pid;
};

enum { NOTES = 256, LINE = 4000 };

struct note {
	char kind; /* 'd' directory, 'c' command */
	char *text, *run_name;
};

static struct note notes[NOTES]; /* the janitor's process only */
static unsigned n_notes;

static void note_free_all(void)
{
	for (unsigned i = 0; i < n_notes; i++)
		free(notes[i].text); /* run_name points into it */
	n_notes = 0;
}

static void note_line(const char *line)
{
	struct note *n = &notes[n_notes];
	char *tab;

	if (line[0] == 'f') {
		note_free_all();
		return;
	}
	if (n_notes == NOTES)
		return;
	n->kind = line[0];
	n->text = strdup(line + 1);
	if (!n->text)
		return;
	tab = strchr(n->text, '\t');
	n->run_name = n->kind == 'd' && tab ? tab + 1 : NULL;
	if (n->run_name)
		*tab = 0;
	n_notes++;
}

static void remove_dir(const char *where, const char *run_name)
{
	struct target *t;
	struct target_session *s;
	struct target_dir root;

	if (target_open(where, &t) < 0)
		return;
	if (t->ops->attach(t, &s) == 0) {
		if (t->ops->root(s, &root) == 0) {
			target_remove_tree(s, root, run_name);
			t->ops->dir_close(s, root);
		}
		t->ops->detach(s);
	}
	t->ops->close(t);
}

/* Latest first: directories go before the command that unmounts what they are in. */
static void clean(void)
{
	while (n_notes) {
		struct note *n = &notes[--n_notes];

		if (n->kind == 'd' && n->run_name)
			remove_dir(n->text, n->run_name);
		else if (n->kind == 'c' && system(n->text) != 0)
			fprintf(stderr, "kiln-bench: cleaning up: '%s' failed\n", n->text);
		free(n->text);
	}
}

static void serve(int fd)
{
	FILE *in = fdopen(fd, "r");
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;

	while (in && (n = getline(&line, &cap, in)) > 0) {
		line[n - 1] = 0;
		note_line(line);
	}
	free(line);
	clean();
}

int janitor_start(struct janitor **out)
{
	struct janitor *j = calloc(1, sizeof *j);
	int pipe_fd[2];

	if (!j)
		return -KILN_ENOMEM;
	if (pipe2(pipe_fd, O_CLOEXEC) < 0) {
		free(j);
		return err_from_errno(errno);
	}
	j->pid = fork();
	if (j->pid == 0) {
		close(pipe_fd[1]);
		setsid();
		signal(SIGINT, SIG_IGN);
		signal(SIGTERM, SIG_IGN);
		signal(SIGHUP, SIG_IGN);
		serve(pipe_fd[0]);
		_exit(0);
	}
	close(pipe_fd[0]);
	if (j->pid < 0) {
		close(pipe_fd[1]);
		free(j);
		return -KILN_EAGAIN;
	}
	j->fd = pipe_fd[1];
	*out = j;
	return 0;
}

static void tell(struct janitor *j, const char *line, size_t len)
{
	if (write(j->fd, line, len) != (ssize_t)len)
		fprintf(stderr, "kiln-bench: the clean-up process is gone\n");
}

void janitor_note_dir(struct janitor *j, const char *target, const char *run_name)
{
	char line[LINE], *full = realpath(target, NULL);
	int n = snprintf(line, sizeof line, "d%s\t%s\n", full ? full : target, run_name);

	free(full);
	if (n < LINE)
		tell(j, line, (size_t)n);
}

void janitor_note_command(struct janitor *j, const char *command)
{
	char line[LINE];
	int n = snprintf(line, sizeof line, "c%s\n", command);

	for (int i = 1; i < n - 1 && i < LINE; i++)
		if (line[i] == '\n')
			line[i] = ';';
	if (n < LINE)
		tell(j, line, (size_t)n);
}

void janitor_forget(struct janitor *j)
{
	tell(j, "f\n", 2);
}

void janitor_leave(struct janitor *j)
{
	close(j->fd);
	free(j);
}

void janitor_end(struct janitor *j)
{
	close(j->fd);
	waitpid(j->pid, NULL, 0);
	free(j);
}
