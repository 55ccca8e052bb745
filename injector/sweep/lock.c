/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Only one sweep at a time uses an injector: two would change the delay during each other's runs. The lock is on a file
 * next to the injector's control socket (in a lab, in the lab's state folder), which all network namespaces see. The
 * kernel releases the lock when its holder ends. The file contains the holder's process number and its note of delays
 * (delay_note.c).
 */
#include <injector/sweep/sweeper.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "injector_client_priv.h"
#include "host_priv.h"

enum { FILE_BYTES = 500 }; /* longer than the whole file: process number and note of delays */

static void name_file(const char *control, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s.sweep", control);
}

static pid_t read_holder(int descriptor)
{
	char text[24] = "";
	ssize_t bytes = pread(descriptor, text, sizeof text - 1, 0);

	return bytes > 0 ? (pid_t)strtol(text, NULL, 10) : 0;
}

/* Writes our process number to the first line. Keeps the second line, the note of delays that a killed sweep left. */
static int write_holder(int descriptor)
{
	char old[FILE_BYTES], text[FILE_BYTES + 24];
	ssize_t bytes = pread(descriptor, old, sizeof old - 1, 0);
	const char *line;
	int length;

	old[bytes > 0 ? bytes : 0] = '\0';
	line = strchr(old, '\n');
	length = snprintf(text, sizeof text, "%d\n%s", (int)getpid(), line ? line + 1 : "");
	return ftruncate(descriptor, 0) == 0 && pwrite(descriptor, text, (size_t)length, 0) == length ? 0 : -errno;
}

/* Returns 0 and sets *descriptor; -EWOULDBLOCK and sets *holder to the process that has the lock; or another -errno. */
static int try_lock(const char *path, int *descriptor, pid_t *holder)
{
	struct stat held, named;
	int code;

	for (;;) {
		*descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
		if (*descriptor < 0)
			return -errno;
		if (flock(*descriptor, LOCK_EX | LOCK_NB) != 0) {
			code = errno;
			*holder = read_holder(*descriptor);
			close(*descriptor);
			return -code;
		}
		/*
		 * The last holder may have removed the file that we locked. Then tries again, with the file that has
		 * the name now.
		 */
		if (fstat(*descriptor, &held) == 0 && stat(path, &named) == 0 && held.st_ino == named.st_ino &&
		    held.st_dev == named.st_dev)
			break;
		close(*descriptor);
	}
	code = write_holder(*descriptor);
	if (code)
		close(*descriptor);
	return code;
}

int injector_client_lock(const char *control, int *lock, struct error *err)
{
	char path[PATH_MAX];
	pid_t holder = 0;
	int code;

	name_file(control, path);
	code = try_lock(path, lock, &holder);
	if (code == -EWOULDBLOCK)
		return error_set(err, EBUSY,
				 "another sweep, process %d, uses the injector at %s: wait until it has ended, or stop "
				 "it by 'kill %d'",
				 (int)holder, control, (int)holder);
	return code ? error_set(err, -code, "cannot lock %s: %s", path, strerror(-code)) : 0;
}

void injector_client_unlock(const char *control, int lock)
{
	char path[PATH_MAX];

	name_file(control, path);
	unlink(path);
	close(lock);
}

int sweeper_find_other(const char *control)
{
	char path[PATH_MAX];
	pid_t holder = 0;
	int descriptor;

	name_file(control, path);
	descriptor = open(path, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0)
		return 0;
	if (flock(descriptor, LOCK_SH | LOCK_NB) != 0)
		holder = read_holder(descriptor);
	close(descriptor);
	return (int)holder;
}
