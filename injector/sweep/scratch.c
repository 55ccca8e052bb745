/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The folder that the plan's commands may write to. If a sweep is killed, its folder remains: the next sweep kills the
 * processes that the killed sweep left, and removes its folder.
 */
#include "sweeper_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <base/file.h>

/*
 * By descriptors, not paths: other users may write to the folder, and could replace a folder in it by a link to one
 * elsewhere while it is removed.
 */
static void remove_in(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    unlinkat(fd, entry->d_name, 0) != 0 && errno == EISDIR)
			remove_in(fd, entry->d_name);
	}
	if (folder)
		closedir(folder);
	else if (fd >= 0)
		close(fd);
	unlinkat(parent, name, AT_REMOVEDIR);
}

void scratch_remove(const char *path)
{
	remove_in(AT_FDCWD, path);
}

/* Kills the processes of this user's sweeps that have ended, and removes their folders. */
static void remove_orphans(void)
{
	DIR *folder = opendir("/tmp");
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		char path[300];
		struct stat status;
		int pid;

		snprintf(path, sizeof path, "/tmp/%s", entry->d_name);
		if (sscanf(entry->d_name, "nomora-sweep.%d.", &pid) == 1 && pid > 0 && kill(pid, 0) != 0 &&
		    errno == ESRCH && lstat(path, &status) == 0 && S_ISDIR(status.st_mode) &&
		    status.st_uid == geteuid()) {
			orphans_end(ORPHANS_OF_SWEEP, path);
			scratch_remove(path);
		}
	}
	if (folder)
		closedir(folder);
}

int scratch_make(char *path, size_t bytes, struct error *err)
{
	char private[128];

	remove_orphans();
	snprintf(path, bytes, "/tmp/nomora-sweep.%d.XXXXXX", (int)getpid());
	if (!mkdtemp(path)) {
		*path = '\0';
		return error_set(err, errno, "cannot create a folder in /tmp: %s", strerror(errno));
	}
	snprintf(private, sizeof private, "%s/ssh", path);
	/* Open to all: the plan's commands may run as another user and write here. */
	if (mkdir(private, 0700) != 0 || chmod(path, 01777) != 0) {
		int code = error_set(err, errno, "cannot create a folder in %s: %s", path, strerror(errno));

		scratch_remove(path);
		*path = '\0';
		return code;
	}
	return 0;
}

/*
 * Processes that a sweep's commands left behind. They are killed at different times: those of a benchmark before the
 * next run, those of other commands when the sweep ends, those of a killed sweep when the next sweep begins.
 *
 * When the sweep dies, the kernel kills the programs that the sweep started, but not their children, nor a program that
 * changed its user. Killing a process group does not reach processes that left the group. So processes are found by a
 * mark in their environment. Some servers overwrite their environment to show a title; these are found by the file to
 * which they print.
 */

enum { PASSES = 5, PATIENCE_MS = 2000 }; /* several passes over /proc, as processes may fork during one */

void orphans_mark(enum orphans_of of, const char *scratch, char *mark, size_t bytes)
{
	static const char *const variables[] = {
		[ORPHANS_OF_SERVER] = "NOMORA_SWEEP_SERVER",
		[ORPHANS_OF_CLIENT] = "NOMORA_SWEEP_CLIENT",
		[ORPHANS_OF_GUARD] = "NOMORA_SWEEP_GUARD",
		[ORPHANS_OF_SWEEP] = "NOMORA_SCRATCH", /* also tells the commands the scratch folder */
	};

	snprintf(mark, bytes, "%s=%s", variables[of], of == ORPHANS_OF_SWEEP ? scratch : strrchr(scratch, '/') + 1);
}

void orphans_name_log(const char *scratch, char *path, size_t bytes)
{
	snprintf(path, bytes, "%s/server.log", scratch);
}

static bool is_marked(int pid, const char *mark)
{
	char path[64];
	size_t bytes = 0;
	char *environment;
	bool found = false;

	snprintf(path, sizeof path, "/proc/%d/environ", pid);
	environment = file_read_all(path, 16 << 20, &bytes, NULL);
	if (!environment)
		return false;
	for (size_t at = 0; at < bytes && !found; at += strlen(environment + at) + 1)
		found = strcmp(environment + at, mark) == 0;
	free(environment);
	return found;
}

static bool prints_to(int pid, const char *log)
{
	bool found = false;

	for (int descriptor = STDOUT_FILENO; descriptor <= STDERR_FILENO; descriptor++) {
		char path[64], target[300];
		ssize_t length;

		snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, descriptor);
		length = readlink(path, target, sizeof target - 1);
		target[length > 0 ? length : 0] = '\0';
		found = found || strcmp(target, log) == 0;
	}
	return found;
}

/*
 * Kills the process if it has the mark or prints to the file `log` (NULL: only the mark is checked), and waits for its
 * end. Returns true if it was killed. A signal through a pidfd cannot reach another process that reuses the number.
 */
static bool end_process(int pid, const char *mark, const char *log)
{
	struct pollfd process = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
	bool ours;

	if (process.fd < 0)
		return false;
	ours = (is_marked(pid, mark) || (log && prints_to(pid, log))) &&
	       syscall(SYS_pidfd_send_signal, process.fd, SIGKILL, NULL, 0) == 0;
	/* Waits, because the ports of the process are free only after it has ended. */
	if (ours)
		poll(&process, 1, PATIENCE_MS);
	close(process.fd);
	return ours;
}

static bool end_all(const char *mark, const char *log)
{
	DIR *folder = opendir("/proc");
	struct dirent *entry;
	bool any = false;

	while (folder && (entry = readdir(folder))) {
		int pid = atoi(entry->d_name);

		if (pid > 0 && pid != getpid() && end_process(pid, mark, log))
			any = true;
	}
	if (folder)
		closedir(folder);
	return any;
}

void orphans_end(enum orphans_of of, const char *scratch)
{
	char mark[ORPHANS_MARK_BYTES], log[320];

	orphans_mark(of, scratch, mark, sizeof mark);
	orphans_name_log(scratch, log, sizeof log);
	for (int pass = 0; pass < PASSES && end_all(mark, of == ORPHANS_OF_SWEEP ? log : NULL); pass++)
		;
}

/*
 * Like orphans_end(), the shell line makes several passes over /proc. After each pass it pauses, to let the killed
 * processes end.
 */
void orphans_print_line(enum orphans_of of, const char *scratch, char *line, size_t bytes)
{
	char mark[ORPHANS_MARK_BYTES];

	orphans_mark(of, scratch, mark, sizeof mark);
	snprintf(line, bytes,
		 "for i in 1 2 3 4 5; do f=$(grep -lszxF '%s' /proc/[0-9]*/environ); test \"$f\" || break; "
		 "for e in $f; do e=${e%%/environ}; kill -KILL ${e#/proc/} 2>/dev/null; done; sleep 0.05; done; true",
		 mark);
}
