/* SPDX-License-Identifier: BSD-3-Clause */
#include "machine_priv.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <base/array.h>
#include <base/file.h>

enum { WATCH_NS = 500000000 /* the kernel counts in hundredths of a second */, COMMAND_BYTES = 32, LAB_BYTES = 16 };

static const double rival_percent = 5;

/* A thread of a process, from /proc/PID/task/TID/stat. */
struct thread {
	int process, id, cpu;
	unsigned long long ticks;
};

struct threads {
	size_t count, capacity;
	struct thread *items;
};

/* Returns the process that listens on the socket, or 0 if it is not known. */
static int find_injector(const char *control)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct ucred who = {0};
	socklen_t length = sizeof who;
	int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (descriptor < 0)
		return 0;
	snprintf(address.sun_path, sizeof address.sun_path, "%s", control);
	if (connect(descriptor, (const struct sockaddr *)&address, sizeof address) != 0 ||
	    getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &who, &length) != 0)
		who.pid = 0;
	close(descriptor);
	return who.pid;
}

/*
 * Parses /proc/PID/task/TID/stat, see proc(5): the command is in parentheses and may have any characters; utime and
 * stime are fields 14 and 15, the processor is field 39. Returns false if the text is invalid.
 */
static bool parse_stat(const char *text, struct thread *thread)
{
	const char *close = strrchr(text, ')');
	unsigned long long user, system;

	if (!close ||
	    sscanf(close + 1,
		   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d %*d %*u %*u %*d %*u "
		   "%*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d %d",
		   &user, &system, &thread->cpu) != 3)
		return false;
	thread->ticks = user + system;
	return true;
}

static void read_process(int process, struct threads *threads)
{
	char path[64];
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof path, "/proc/%d/task", process);
	folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		struct thread thread = {.process = process, .id = atoi(entry->d_name)};
		struct thread *grown;
		char *text;

		if (thread.id <= 0)
			continue;
		snprintf(path, sizeof path, "/proc/%d/task/%d/stat", process, thread.id);
		text = file_read_all(path, 4096, NULL, NULL);
		grown = text && parse_stat(text, &thread)
				? array_grow(threads->items, threads->count, &threads->capacity, sizeof thread)
				: NULL;
		free(text);
		if (!grown)
			continue;
		threads->items = grown;
		threads->items[threads->count++] = thread;
	}
	if (folder)
		closedir(folder);
}

static struct threads read_all(void)
{
	struct threads threads = {0};
	DIR *folder = opendir("/proc");
	struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		if (isdigit((unsigned char)entry->d_name[0]))
			read_process(atoi(entry->d_name), &threads);
	if (folder)
		closedir(folder);
	return threads;
}

/* Returns the ticks that a thread has used since `before` was read, or since it began if `before` is NULL. */
static unsigned long long ticks_since(const struct threads *before, const struct thread *now)
{
	if (!before)
		return now->ticks;
	for (size_t i = 0; i < before->count; i++)
		if (before->items[i].id == now->id && before->items[i].process == now->process)
			return now->ticks - before->items[i].ticks;
	return 0;
}

/*
 * Returns the thread that has used the most ticks (ticks_since()), and their number in *most; NULL if none has used
 * any. Considers only threads
 * - of `process`, or if `process` is negative, of all processes but -process
 * - on CPU `cpu`, or on any CPU if `cpu` is -1
 */
static const struct thread *find_busiest(const struct threads *before, const struct threads *now, int process, int cpu,
					 unsigned long long *most)
{
	const struct thread *busiest = NULL;

	*most = 0;
	for (size_t i = 0; i < now->count; i++) {
		const struct thread *thread = &now->items[i];
		bool counts = process > 0 ? thread->process == process : thread->process != -process;
		unsigned long long ticks = ticks_since(before, thread);

		if (!counts || (cpu >= 0 && thread->cpu != cpu) || ticks <= *most)
			continue;
		*most = ticks;
		busiest = thread;
	}
	return busiest;
}

/* Reads the name of a process; its threads may have other names. */
static void name_process(int process, char name[COMMAND_BYTES])
{
	char path[64], *text;

	snprintf(path, sizeof path, "/proc/%d/comm", process);
	text = file_read_all(path, COMMAND_BYTES, NULL, NULL);
	snprintf(name, COMMAND_BYTES, "%.*s", text ? (int)strcspn(text, "\n") : 0, text ? text : "");
	free(text);
}

/*
 * Writes " of lab NAME" if the process is an injector of a lab, else "". An injector of a lab has a file of the labs'
 * folder, such as its control socket, in its command line.
 */
static void name_lab(int process, char text[LAB_BYTES + 16])
{
	static const char folder[] = "/run/nomora/";
	char path[64], *line;
	size_t bytes = 0, length;

	text[0] = '\0';
	snprintf(path, sizeof path, "/proc/%d/cmdline", process);
	line = file_read_all(path, 1 << 16, &bytes, NULL);
	for (char *word = line; word && word < line + bytes; word += strlen(word) + 1) {
		char *name = strstr(word, folder);

		if (!name)
			continue;
		name += strlen(folder);
		length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789");
		if (length > 0 && length < LAB_BYTES)
			snprintf(text, LAB_BYTES + 16, " of lab %.*s", (int)length, name);
		break;
	}
	free(line);
}

bool poller_find_rival(const char *control, char *text, size_t bytes)
{
	double ticks_per_watch = (double)sysconf(_SC_CLK_TCK) * WATCH_NS / 1e9, percent = 0;
	int injector = find_injector(control);
	const struct thread *polling, *rival = NULL;
	struct threads before, now;
	unsigned long long ticks;
	char lab[LAB_BYTES + 16], name[COMMAND_BYTES];

	if (injector <= 0)
		return false;
	before = read_all();
	nanosleep(&(struct timespec){.tv_nsec = WATCH_NS}, NULL);
	now = read_all();
	/*
	 * Finds the polling thread by the ticks since it began, not by those during the watch: a rival may leave it no
	 * CPU time.
	 */
	polling = find_busiest(NULL, &now, injector, -1, &ticks);
	if (polling)
		rival = find_busiest(&before, &now, -injector, polling->cpu, &ticks);
	if (rival)
		percent = 100 * (double)ticks / ticks_per_watch;
	if (percent >= rival_percent) {
		name_lab(rival->process, lab);
		name_process(rival->process, name);
		snprintf(text, bytes, "%s %d%s uses %.0f %% of CPU %d, which the injector polls on", name,
			 rival->process, lab, percent > 100 ? 100 : percent, polling->cpu);
	}
	free(before.items);
	free(now.items);
	return percent >= rival_percent;
}
