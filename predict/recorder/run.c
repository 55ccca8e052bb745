/* SPDX-License-Identifier: BSD-3-Clause */
#include <predict/recorder/recorder.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <predict/calls/trace.h>
#include <predict/mpi/mpi.h>

static bool is_trace(const char *name)
{
	size_t length = strlen(name);

	return strncmp(name, "rank-", 5) == 0 && length > 6 && strcmp(name + length - 6, ".trace") == 0;
}

/* Makes the folder; sets its full path. */
static int make_folder(const char *folder, char path[PATH_MAX], struct error *err)
{
	struct dirent *entry;
	DIR *list;
	int code = 0;

	if ((mkdir(folder, 0755) != 0 && errno != EEXIST) || !realpath(folder, path) || !(list = opendir(path)))
		return error_set(err, errno, "%s: %s", folder, strerror(errno));
	while (code == 0 && (entry = readdir(list)))
		if (is_trace(entry->d_name))
			code = error_set(err, EEXIST, "%s has traces already, such as %s: choose another folder",
					 folder, entry->d_name);
	closedir(list);
	return code;
}

static int set_environment(const char *library, const char *folder, struct error *err)
{
	const char *loaded = getenv("LD_PRELOAD");
	char preload[2 * PATH_MAX];
	int length = snprintf(preload, sizeof preload, "%s%s%s", library, loaded && *loaded ? ":" : "",
			      loaded ? loaded : "");

	if (length >= (int)sizeof preload || setenv("LD_PRELOAD", preload, 1) != 0 ||
	    setenv("NOMORA_TRACE", folder, 1) != 0)
		return error_set(err, ENOMEM, "LD_PRELOAD cannot be set");
	return 0;
}

static volatile pid_t child;

static void pass_on(int number)
{
	kill(child, number);
}

/* Returns the exit status, or -errno. */
static int run(char *const *words, struct error *err)
{
	struct sigaction action = {.sa_handler = pass_on};
	int status;

	child = fork();
	if (child < 0)
		return error_set(err, errno, "fork: %s", strerror(errno));
	if (child == 0) {
		execvp(words[0], words);
		fprintf(stderr, "nomora: error: %s: %s\n", words[0], strerror(errno));
		_exit(127);
	}
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return error_set(err, errno, "wait: %s", strerror(errno));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void count(const char *folder, struct recorder_result *result)
{
	struct trace_header header;
	struct dirent *entry;
	DIR *list = opendir(folder);

	while (list && (entry = readdir(list))) {
		int file = is_trace(entry->d_name) ? openat(dirfd(list), entry->d_name, O_RDONLY | O_CLOEXEC) : -1;

		if (file >= 0 && read(file, &header, sizeof header) == (ssize_t)sizeof header) {
			result->ranks++;
			result->records += header.records;
			result->unfinished += header.total_ns == 0;
		}
		if (file >= 0)
			close(file);
	}
	if (list)
		closedir(list);
}

int recorder_run(const char *folder, char *const *words, struct recorder_result *result, struct error *err)
{
	char library[PATH_MAX], path[PATH_MAX];
	int code = mpi_find("recorder", ".so", words, library, err);

	*result = (struct recorder_result){0};
	if (code == 0)
		code = make_folder(folder, path, err);
	if (code == 0)
		code = set_environment(library, path, err);
	if (code < 0)
		return code;
	result->status = run(words, err);
	if (result->status < 0)
		return result->status;
	count(path, result);
	return result->ranks ? 0
			     : error_set(err, ENODATA,
					 "%s: no rank was recorded: the command called no MPI_Init, or its "
					 "hosts do not share this folder",
					 folder);
}
