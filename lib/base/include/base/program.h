/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the running program is, and the files that are installed with it. Any thread. */
#ifndef BASE_PROGRAM_H
#define BASE_PROGRAM_H

#include <base/error.h>

/* Path of this program's file, at most PATH_MAX bytes. 0 or -errno. */
int program_path(char *path, struct error *err);

/*
 * Finds a file that is installed with the program. Sets path (PATH_MAX bytes) to `name` if `name` has a slash or
 * exists; else to the first of these files that exists; or to `name` if none does:
 * - KIND/name, then KIND/name followed by `ending`, in the folder $NOMORA_DATA
 * - the same in share/nomora, beside the program's bin folder
 */
void program_find_data(const char *kind, const char *name, const char *ending, char *path);

/*
 * The folder of the curves that are installed with the program, "curves" if there is none. The text is static: call it
 * in one thread only.
 */
const char *program_curves(void);

#endif
