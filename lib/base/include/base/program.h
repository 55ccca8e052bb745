/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the running program is, and the files that are installed with it. Any thread. */
#ifndef BASE_PROGRAM_H
#define BASE_PROGRAM_H

#include <base/error.h>

/* Path of this program's file, at most PATH_MAX bytes. 0 or -errno. */
int program_path(char *path, struct error *err);

/*
 * Finds a file that is installed with the program: `name` itself if it has a slash or exists; else `name`, or `name`
 * followed by `ending`, in $NOMORA_DATA/KIND or in share/nomora/KIND beside the program's bin folder. path (PATH_MAX
 * bytes) gets the file's path, or `name` if there is no such file.
 */
void program_find_data(const char *kind, const char *name, const char *ending, char *path);

/*
 * The folder of the curves that are installed with the program, "curves" if there is none. The text is static: call it
 * in one thread only.
 */
const char *program_curves(void);

#endif
