/* SPDX-License-Identifier: BSD-3-Clause */
/* Removes a lab by the names of its namespaces, so that it works after a crash and without a state file. */
#include <lab/lab.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <base/process.h>

#include "lab_priv.h"

static int open_folder(struct error *err)
{
	int descriptor;

	if (mkdir(LAB_FOLDER, 0755) != 0 && errno != EEXIST)
		return error_set(err, errno, "cannot create %s: %s", LAB_FOLDER, strerror(errno));
	/*
	 * Without O_CLOEXEC, so that the scripts that we start inherit the descriptor: if we are killed in the middle
	 * of a change, a script that outlives us still holds the lock until it ends.
	 */
	descriptor = open(LAB_FOLDER, O_RDONLY | O_DIRECTORY);
	if (descriptor < 0)
		return error_set(err, errno, "cannot open %s: %s", LAB_FOLDER, strerror(errno));
	return descriptor;
}

int lab_lock(struct error *err)
{
	for (;;) {
		struct stat held, named;
		int descriptor = open_folder(err);

		if (descriptor < 0)
			return descriptor;
		while (flock(descriptor, LOCK_EX) != 0) {
			int code = errno;

			if (code == EINTR)
				continue;
			close(descriptor);
			return error_set(err, code, "cannot lock %s: %s", LAB_FOLDER, strerror(code));
		}
		/* The previous holder of the lock may have removed the folder; then tries again with the new folder. */
		if (fstat(descriptor, &held) == 0 && stat(LAB_FOLDER, &named) == 0 && held.st_ino == named.st_ino)
			return descriptor;
		close(descriptor);
	}
}

/*
 * Returns true if `netns` is NAME-h<number>, NAME-s<number>, NAME-sw or NAME-inj, where NAME is lab_name or, if
 * lab_name is NULL, any lab's name. If `name` is not NULL, writes NAME to it.
 */
static bool owns_netns(const char *netns, const char *lab_name, char name[LAB_NAME_MAXIMUM + 1])
{
	const char *dash = strchr(netns, '-');
	size_t length = dash ? (size_t)(dash - netns) : 0;
	char found[LAB_NAME_MAXIMUM + 1];

	if (length == 0 || length > LAB_NAME_MAXIMUM)
		return false;
	memcpy(found, netns, length);
	found[length] = '\0';
	if (lab_check_name(found, NULL) != 0 || (lab_name && strcmp(found, lab_name) != 0))
		return false;
	if (strcmp(dash, "-sw") != 0 && strcmp(dash, "-inj") != 0 &&
	    !((dash[1] == 'h' || dash[1] == 's') && isdigit((unsigned char)dash[2]) &&
	      strspn(dash + 2, "0123456789") == strlen(dash + 2)))
		return false;
	if (name)
		memcpy(name, found, length + 1);
	return true;
}

/* Sends `signal_number` to each process of the namespace except this one. Returns the number of these processes. */
static int signal_processes(const struct stat *netns, int signal_number)
{
	DIR *folder = opendir("/proc");
	struct dirent *entry;
	int count = 0;

	while (folder && (entry = readdir(folder))) {
		char path[64];
		struct stat status;
		int descriptor;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		/*
		 * Opens the process before checking its namespace, so that the signal cannot go to a later process with
		 * the same number.
		 */
		descriptor = (int)syscall(SYS_pidfd_open, atoi(entry->d_name), 0);
		if (descriptor < 0)
			continue;
		snprintf(path, sizeof path, "/proc/%.16s/ns/net", entry->d_name);
		if (stat(path, &status) == 0 && status.st_ino == netns->st_ino && status.st_dev == netns->st_dev &&
		    atoi(entry->d_name) != getpid()) {
			syscall(SYS_pidfd_send_signal, descriptor, signal_number, NULL, 0);
			count++;
		}
		close(descriptor);
	}
	if (folder)
		closedir(folder);
	return count;
}

/* Ends every process whose network namespace is NETNS_FOLDER/netns: sends SIGTERM for 2 s, then SIGKILL. */
static int stop_processes(const char *netns, struct error *err)
{
	char path[sizeof NETNS_FOLDER + 32];
	struct stat status, own;

	snprintf(path, sizeof path, "%s/%.24s", NETNS_FOLDER, netns);
	if (stat(path, &status) != 0 || stat("/proc/self/ns/net", &own) != 0)
		return 0;
	/*
	 * If no namespace is mounted on the file in NETNS_FOLDER, the file is an ordinary one, on another device, and
	 * there is nothing to stop. Never stop the processes of our own namespace.
	 */
	if (status.st_dev != own.st_dev || status.st_ino == own.st_ino)
		return 0;
	for (int waited_ms = 0; waited_ms < LAB_PATIENCE_MS; waited_ms += 10) {
		if (signal_processes(&status, waited_ms < 2000 ? SIGTERM : SIGKILL) == 0)
			return 0;
		usleep(10000);
	}
	return error_set(err, EBUSY, "processes in the namespace %s do not end", netns);
}

static int delete_netns(const char *netns, struct error *err)
{
	const char *argv[] = {"ip", "netns", "del", netns, NULL};
	struct process_options options = {.argv = argv};
	struct process_result result = {0};
	int code = stop_processes(netns, err);

	if (code)
		return code;
	code = process_run(&options, (struct ns){10 * NS_PER_S}, &result, err);
	if (code == 0 && (result.timed_out || result.exit_code != 0)) {
		result.output[strcspn(result.output, "\n")] = '\0';
		code = error_set(err, EIO, "cannot remove the namespace %s: %s", netns, result.output);
	}
	process_result_free(&result);
	return code;
}

/*
 * Returns true if the name of a file begins with NAME. or NAME-: NAME.json, NAME-PLACE.sock, NAME-PLACE.log,
 * NAME-batch.X, and incomplete files of writers that died.
 */
static bool owns_file(const char *file, const char *lab_name)
{
	size_t length = strlen(lab_name);

	return strncmp(file, lab_name, length) == 0 && (file[length] == '.' || file[length] == '-');
}

static int remove_files(const char *name)
{
	DIR *folder = opendir(LAB_FOLDER);
	struct dirent *entry;
	int count = 0;

	while (folder && (entry = readdir(folder))) {
		if (!owns_file(entry->d_name, name))
			continue;
		count++;
		unlinkat(dirfd(folder), entry->d_name, 0);
	}
	if (folder)
		closedir(folder);
	return count;
}

bool lab_has_netns(const char *lab_name)
{
	DIR *folder = opendir(NETNS_FOLDER);
	struct dirent *entry;
	bool found = false;

	while (folder && !found && (entry = readdir(folder)))
		found = owns_netns(entry->d_name, lab_name, NULL);
	if (folder)
		closedir(folder);
	return found;
}

static int remove_namespaces(const char *name, struct error *err)
{
	DIR *folder = opendir(NETNS_FOLDER);
	struct dirent *entry;
	int count = 0, code = 0;

	/*
	 * Removing a namespace also ends the injectors in it. If one namespace cannot be removed, the others are
	 * removed all the same.
	 */
	while (folder && (entry = readdir(folder))) {
		if (!owns_netns(entry->d_name, name, NULL))
			continue;
		count++;
		if (delete_netns(entry->d_name, code ? NULL : err) != 0)
			code = -EIO;
	}
	if (folder)
		closedir(folder);
	return code ? code : count;
}

int lab_down(const char *name, struct error *err)
{
	int lock, removed, code = lab_check_name(name, err);

	if (code)
		return code;
	if (geteuid() != 0)
		return error_set(err, EPERM, "removing network namespaces needs root: run it with sudo");
	lock = lab_lock(err);
	if (lock < 0)
		return lock;
	code = remove_namespaces(name, err);
	removed = remove_files(name);
	rmdir(LAB_FOLDER); /* fails if another lab or program has files there */
	close(lock);
	return code < 0 ? code : code > 0 || removed > 0;
}

static size_t add_name(char (*names)[LAB_NAME_MAXIMUM + 1], size_t count, size_t capacity, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return count;
	if (count < capacity)
		memcpy(names[count++], name, strlen(name) + 1);
	return count;
}

static int compare_names(const void *one, const void *other)
{
	return strcmp(one, other);
}

int lab_list(char (*names)[LAB_NAME_MAXIMUM + 1], size_t capacity, struct error *err)
{
	static const char *const folders[] = {NETNS_FOLDER, LAB_FOLDER};
	char name[LAB_NAME_MAXIMUM + 1];
	size_t count = 0;

	for (size_t i = 0; i < 2; i++) {
		DIR *folder = opendir(folders[i]);
		struct dirent *entry;

		if (!folder && errno != ENOENT)
			return error_set(err, errno, "cannot read %s: %s", folders[i], strerror(errno));
		while (folder && (entry = readdir(folder))) {
			size_t length = strlen(entry->d_name);

			if (i == 0 && owns_netns(entry->d_name, NULL, name))
				count = add_name(names, count, capacity, name);
			if (i == 1 && length > 5 && length <= LAB_NAME_MAXIMUM + 5 &&
			    strcmp(entry->d_name + length - 5, ".json") == 0) {
				snprintf(name, sizeof name, "%.*s", (int)length - 5, entry->d_name);
				if (lab_check_name(name, NULL) == 0)
					count = add_name(names, count, capacity, name);
			}
		}
		if (folder)
			closedir(folder);
	}
	qsort(names, count, sizeof *names, compare_names);
	return (int)count;
}
