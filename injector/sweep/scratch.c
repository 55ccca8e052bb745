/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The folder that the plan's commands may write to. If a sweep is killed, its folder remains: the next sweep kills the
 * processes that the killed sweep left, and removes its folder.
 */
#include "scratch_priv.h"
#include "orphans_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
