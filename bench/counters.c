#include "bench/counters.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <stdlib.h>
#include <dirent.h>

dev_t counters_device_of(const char *path)
{
	char sys[64];
	struct stat st;

	if (stat(path, &st) < 0)
		return 0;
	snprintf(sys, sizeof sys, "/sys/dev/block/%u:%u/stat", major(st.st_dev), minor(st.st_dev));
	return access(sys, R_OK) == 0 ? st.st_dev : 0;
}

static uint64_t tv_ns(struct timeval tv)
{
	return (uint64_t)tv.tv_sec * NS_PER_S + (uint64_t)tv.tv_usec * NS_PER_US;
}

static void read_self(struct counters *out)
{
	struct rusage ru;

	if (getrusage(RUSAGE_SELF, &ru) < 0)
		return;
	out->user_ns = tv_ns(ru.ru_utime);
	out->system_ns = tv_ns(ru.ru_stime);
	out->switches = (uint64_t)ru.ru_nvcsw;
	out->preemptions = (uint64_t)ru.ru_nivcsw;
}

static uint64_t tick_ns(void)
{
	return NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
}

static void read_machine(struct counters *out)
{
	unsigned long long user, nice, sys, idle, iowait, irq, softirq;
	FILE *f = fopen("/proc/stat", "re");

	if (!f)
		return;
	if (fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &sys, &idle, &iowait,
		   &irq, &softirq) == 7)
		out->machine_busy_ns = (user + nice + sys + irq + softirq) * tick_ns();
	fclose(f);
}

/* The fields of /sys/dev/block/M:N/stat: 5 writes, 7 sectors written, 16 flushes (Linux 5.5). */
static void read_device(dev_t device, struct counters *out)
{
	unsigned long long v[17] = { 0 };
	char path[64];
	int n = 0;
	FILE *f;

	snprintf(path, sizeof path, "/sys/dev/block/%u:%u/stat", major(device), minor(device));
	f = fopen(path, "re");
	if (!f)
		return;
	while (n < 17 && fscanf(f, "%llu", &v[n]) == 1)
		n++;
	fclose(f);
	out->has_device = n > 7;
	out->device_writes = v[4];
	out->device_bytes = v[6] * 512;
	out->device_flushes = v[15];
}

/* utime and stime stand behind the command's name, which may hold spaces and parentheses. */
static uint64_t server_ticks(pid_t pid)
{
	char path[64], line[1024], *at;
	unsigned long long user = 0, sys = 0;
	size_t n;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(line, 1, sizeof line - 1, f);
	fclose(f);
	line[n] = 0;
	at = strrchr(line, ')');
	if (!at || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user,
			  &sys) != 2)
		return 0;
	return user + sys;
}

static uint64_t switches_in(const char *path)
{
	unsigned long long total = 0, v;
	char line[256];
	FILE *f = fopen(path, "re");

	if (!f)
		return 0;
	while (fgets(line, sizeof line, f))
		if (sscanf(line, "voluntary_ctxt_switches: %llu", &v) == 1 ||
		    sscanf(line, "nonvoluntary_ctxt_switches: %llu", &v) == 1)
			total += v;
	fclose(f);
	return total;
}

/* status counts one thread: the server's are summed. */
static uint64_t server_switches(pid_t pid)
{
	char path[320];
	uint64_t total = 0;
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	d = opendir(path);
	if (!d)
		return 0;
	while ((e = readdir(d))) {
		snprintf(path, sizeof path, "/proc/%d/task/%s/status", (int)pid, e->d_name);
		total += e->d_name[0] == '.' ? 0 : switches_in(path);
	}
	closedir(d);
	return total;
}

void counters_read(const struct counters_source *src, struct counters *out)
{
	memset(out, 0, sizeof *out);
	read_self(out);
	read_machine(out);
	if (src->device)
		read_device(src->device, out);
	if (src->server) {
		out->server_ns = server_ticks(src->server) * tick_ns();
		out->server_switches = server_switches(src->server);
		out->has_server = out->server_ns > 0 || out->server_switches > 0;
	}
}

void counters_since(struct counters *now, const struct counters *before)
{
	/* a server's thread may have ended meanwhile and taken its count along: never below 0 */
#define X(field, ...) now->field = now->field > before->field ? now->field - before->field : 0;
	COUNTERS(X)
#undef X
}

void counters_add(struct counters *into, const struct counters *more)
{
#define X(field, ...) into->field += more->field;
	COUNTERS(X)
#undef X
	into->has_server |= more->has_server;
	into->has_device |= more->has_device;
}

void counters_add_own(struct counters *into, const struct counters *more)
{
	into->user_ns += more->user_ns;
	into->system_ns += more->system_ns;
	into->switches += more->switches;
	into->preemptions += more->preemptions;
}
