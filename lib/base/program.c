/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/program.h>

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int program_path(char *path, struct error *err)
{
	ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);

	if (length < 0)
		return error_set(err, errno, "cannot find my own program file: %s", strerror(errno));
	path[length] = '\0';
	return 0;
}

static bool find_in(const char *folder, const char *kind, const char *name, const char *ending, char *path)
{
	char found[PATH_MAX];

	for (int with_ending = 0; with_ending < 2; with_ending++) {
		int length = snprintf(found, sizeof found, "%s/%s/%s%s", folder, kind, name, with_ending ? ending : "");

		if (length < PATH_MAX && access(found, R_OK) == 0) {
			strcpy(path, found);
			return true;
		}
	}
	return false;
}

void program_find_data(const char *kind, const char *name, const char *ending, char *path)
{
	const char *data = getenv("NOMORA_DATA");
	char program[PATH_MAX], folder[PATH_MAX + 64];

	snprintf(path, PATH_MAX, "%s", name);
	if (strchr(name, '/') || access(name, F_OK) == 0 || (data && find_in(data, kind, name, ending, path)) ||
	    program_path(program, NULL) != 0)
		return;
	*strrchr(program, '/') = '\0';
	snprintf(folder, sizeof folder, "%s/../share/nomora", program);
	find_in(folder, kind, name, ending, path);
}

const char *program_curves(void)
{
	static char folder[PATH_MAX];

	program_find_data(".", "curves", "", folder);
	return folder;
}
