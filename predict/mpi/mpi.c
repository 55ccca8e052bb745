/* SPDX-License-Identifier: BSD-3-Clause */
#include <predict/mpi/mpi.h>

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/program.h>

static const char mpich_library[] = "libmpich.so";

/* True if the file has the name of MPICH's library, as a program that is linked with it has. */
static bool has_name_of_mpich(const char *path)
{
	enum { OVERLAP = sizeof mpich_library - 1 };
	FILE *file = fopen(path, "re");
	char text[1 << 16];
	size_t kept = 0, got;
	bool found = false;

	while (file && !found && (got = fread(text + kept, 1, sizeof text - kept, file)) > 0) {
		found = memmem(text, kept + got, mpich_library, OVERLAP) != NULL;
		got += kept;
		kept = got < OVERLAP ? got : OVERLAP;
		memmove(text, text + got - kept, kept);
	}
	if (file)
		fclose(file);
	return found;
}

static bool is_of_mpich(const char *path)
{
	char real[PATH_MAX];
	const char *name;

	if (access(path, X_OK) != 0 || !realpath(path, real))
		return false;
	name = strrchr(real, '/') + 1;
	return strstr(name, "mpich") || strstr(name, "hydra") || has_name_of_mpich(real);
}

static bool word_is_of_mpich(const char *word)
{
	const char *folders = getenv("PATH");
	char path[PATH_MAX];

	if (strchr(word, '/'))
		return is_of_mpich(word);
	while (folders && *folders && *word) {
		int length = (int)strcspn(folders, ":");

		if (snprintf(path, sizeof path, "%.*s/%s", length, folders, word) < PATH_MAX && access(path, X_OK) == 0)
			return is_of_mpich(path);
		folders += length + (folders[length] == ':');
	}
	return false;
}

/* Beside a program that is not installed, or where it is installed. */
static bool find(const char *program, const char *room, const char *name, const char *ending, char *path)
{
	if (snprintf(path, PATH_MAX, "%s/../predict/%s/%s%s", program, room, name, ending) < PATH_MAX &&
	    access(path, R_OK) == 0)
		return true;
	snprintf(path, PATH_MAX, NOMORA_MPI_FOLDER "/%s%s", name, ending);
	return access(path, R_OK) == 0;
}

int mpi_find(const char *room, const char *ending, char *const *words, char *path, struct error *err)
{
	char program[PATH_MAX];
	int code = program_path(program, err);
	bool mpich = false;

	if (code < 0)
		return code;
	*strrchr(program, '/') = '\0';
	for (size_t w = 0; words[w] && !mpich; w++)
		mpich = word_is_of_mpich(words[w]);
	if ((mpich && find(program, room, "nomora_mpich", ending, path)) ||
	    find(program, room, "nomora_mpi", ending, path))
		return 0;
	return error_set(err, ENOENT, "%s: %s; nomora was built without MPI: install an MPI library and build it again",
			 path, strerror(errno));
}
