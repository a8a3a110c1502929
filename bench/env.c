#include "bench/env.h"

#include "base/clock.h"
#include "bench/counters.h"
#include "bench/target.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { FLUSH_TRIES = 20 };

/* The first line of a file, without its newline; "" if there is none. */
static const char *first_line(const char *path, char *buf, size_t cap)
{
	FILE *f = fopen(path, "re");

	buf[0] = 0;
	if (!f)
		return buf;
	if (fgets(buf, (int)cap, f))
		buf[strcspn(buf, "\n")] = 0;
	fclose(f);
	return buf;
}

/* "key : value" in /proc/cpuinfo and /proc/meminfo. */
static void find_value(const char *path, const char *key, char *buf, size_t cap)
{
	char line[512];
	FILE *f = fopen(path, "re");

	buf[0] = 0;
	while (f && !buf[0] && fgets(line, sizeof line, f)) {
		char *colon = strchr(line, ':');

		if (!colon || strncmp(line, key, strlen(key)) != 0)
			continue;
		colon += 1 + strspn(colon + 1, " \t");
		colon[strcspn(colon, "\n")] = 0;
		snprintf(buf, cap, "%s", colon);
	}
	if (f)
		fclose(f);
}

static void put_text(json_t *o, const char *key, const char *text)
{
	json_t *value = json_string(text);

	json_object_set_new(o, key, value ? value : json_string("(not UTF-8)"));
}

json_t *env_machine(void)
{
	json_t *o = json_object();
	struct utsname u;
	char text[512];
	double load[3] = { 0 };

	if (uname(&u) == 0) {
		put_text(o, "kernel", u.release);
		put_text(o, "architecture", u.machine);
	}
	find_value("/proc/cpuinfo", "model name", text, sizeof text);
	put_text(o, "processor", text);
	json_object_set_new(o, "processors", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
	find_value("/proc/meminfo", "MemTotal", text, sizeof text);
	json_object_set_new(o, "memory_bytes", json_integer(atoll(text) * 1024));
	put_text(o, "governor",
		 first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", text,
			    sizeof text));
	put_text(o, "clock",
		 first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", text,
			    sizeof text));
	if (getloadavg(load, 3) == 3)
		json_object_set_new(o, "load", json_pack("[f,f,f]", load[0], load[1], load[2]));
	snprintf(text, sizeof text, "%lld", (long long)clock_wall().tv_sec);
	json_object_set_new(o, "unix_time", json_integer(clock_wall().tv_sec));
	return o;
}

/* Splits a line of mountinfo: fields[0..9] up to the separator "-", then type, source, super
 * options.  Returns whether it is whole. */
static bool split_mountinfo(char *line, char *fields[6], char *after[3])
{
	char *save = NULL, *dash = strstr(line, " - ");

	if (!dash)
		return false;
	*dash = 0;
	fields[0] = strtok_r(line, " ", &save);
	for (int i = 1; i < 6; i++)
		fields[i] = strtok_r(NULL, " ", &save);
	after[0] = strtok_r(dash + 3, " \n", &save);
	after[1] = strtok_r(NULL, " \n", &save);
	after[2] = strtok_r(NULL, " \n", &save);
	return fields[5] && after[2];
}

static void put_mount(json_t *o, dev_t dev)
{
	char line[4096], want[32], *f[6], *after[3];
	FILE *in = fopen("/proc/self/mountinfo", "re");

	snprintf(want, sizeof want, "%u:%u", major(dev), minor(dev));
	while (in && fgets(line, sizeof line, in)) {
		if (!split_mountinfo(line, f, after) || strcmp(f[2], want) != 0)
			continue;
		put_text(o, "mount_point", f[4]);
		put_text(o, "mount_options", f[5]);
		put_text(o, "file_system", after[0]);
		put_text(o, "source", after[1]);
		put_text(o, "super_options", after[2]);
	}
	if (in)
		fclose(in);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static size_t time_flushes(int fd, double *us)
{
	char block[4096] = { 1 };
	uint64_t give_up = clock_mono() + NS_PER_S / 4;
	size_t n = 0;

	while (n < FLUSH_TRIES && (n < 3 || clock_mono() < give_up)) {
		uint64_t before = clock_mono();

		if (pwrite(fd, block, sizeof block, 0) != sizeof block || fdatasync(fd) < 0)
			break;
		us[n++] = (double)(clock_mono() - before) / 1000;
	}
	return n;
}

/* An unnamed file where there are such: nothing to leave behind. */
static void put_flush(json_t *o, const char *where)
{
	double us[FLUSH_TRIES];
	int fd = open(where, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	size_t n;

	if (fd < 0)
		return;
	n = time_flushes(fd, us);
	close(fd);
	if (!n)
		return;
	qsort(us, n, sizeof us[0], by_value);
	json_object_set_new(o, "flush_us_median", json_real(us[n / 2]));
	json_object_set_new(o, "flush_us_min", json_real(us[0]));
}

static void put_space(json_t *o, const char *where)
{
	struct target_space space;
	struct target *t;

	if (target_open(where, &t) < 0)
		return;
	put_text(o, "kind", t->ops->kind);
	if (t->ops->space(t, &space) == 0) {
		json_object_set_new(o, "bytes_free", json_integer((json_int_t)space.bytes_free));
		json_object_set_new(o, "bytes_total", json_integer((json_int_t)space.bytes_total));
		if (space.inodes_free != UINT64_MAX)
			json_object_set_new(o, "inodes_free",
					    json_integer((json_int_t)space.inodes_free));
	}
	t->ops->close(t);
}

json_t *env_target(const char *where)
{
	json_t *o = json_object();
	struct stat st;

	put_text(o, "where", where);
	put_space(o, where);
	if (stat(where, &st) < 0 || !S_ISDIR(st.st_mode))
		return o;
	put_mount(o, st.st_dev);
	if (counters_device_of(where)) {
		char path[64], link[256];
		ssize_t n;

		snprintf(path, sizeof path, "/sys/dev/block/%u:%u", major(st.st_dev),
			 minor(st.st_dev));
		n = readlink(path, link, sizeof link - 1);
		link[n > 0 ? n : 0] = 0;
		put_text(o, "device", strrchr(link, '/') ? strrchr(link, '/') + 1 : link);
	}
	put_flush(o, where);
	return o;
}

static void warn(json_t *list, const char *text)
{
	json_array_append_new(list, json_string(text));
}

static void warn_target(json_t *list, const json_t *t)
{
	double free_bytes = (double)json_integer_value(json_object_get(t, "bytes_free"));
	double total = (double)json_integer_value(json_object_get(t, "bytes_total"));
	const json_t *inodes = json_object_get(t, "inodes_free");
	char text[512];

	if (total > 0 && (free_bytes < 0.1 * total || free_bytes < 1 << 30)) {
		snprintf(text, sizeof text, "%.200s: only %.0f MiB free (%.0f %%): full file systems are slow",
			 json_string_value(json_object_get(t, "where")), free_bytes / (1 << 20),
			 100 * free_bytes / total);
		warn(list, text);
	}
	if (inodes && json_integer_value(inodes) < 100000) {
		snprintf(text, sizeof text, "%.200s: only %lld inodes free",
			 json_string_value(json_object_get(t, "where")),
			 (long long)json_integer_value(inodes));
		warn(list, text);
	}
}

json_t *env_warnings(const json_t *machine, const json_t *targets)
{
	json_t *list = json_array();
	const json_t *load = json_array_get(json_object_get(machine, "load"), 0), *t;
	const char *governor = json_string_value(json_object_get(machine, "governor"));
	const char *clock = json_string_value(json_object_get(machine, "clock"));
	double cpus = (double)json_integer_value(json_object_get(machine, "processors"));
	char text[256];
	size_t i;

	if (load && json_real_value(load) > 0.3 * cpus) {
		snprintf(text, sizeof text,
			 "the machine is busy: load %.1f on %.0f processors before the run",
			 json_real_value(load), cpus);
		warn(list, text);
	}
	if (governor && *governor && strcmp(governor, "performance") != 0) {
		snprintf(text, sizeof text, "processor governor is '%.60s', not 'performance'",
			 governor);
		warn(list, text);
	}
	if (clock && *clock && !strstr("tsc kvm-clock arch_sys_counter", clock)) {
		snprintf(text, sizeof text, "slow clock '%.60s': short operations look longer",
			 clock);
		warn(list, text);
	}
	json_array_foreach(targets, i, t)
		warn_target(list, t);
	return list;
}
