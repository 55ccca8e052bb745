/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the running program is, and the files that are installed with it. Any thread, except for program_curves(). */
#ifndef BASE_PROGRAM_H
#define BASE_PROGRAM_H

#include <base/error.h>

/* Writes the path of this program's file to path[PATH_MAX]. Returns 0, or -errno with err set. */
int program_path(char *path, struct error *err);

/*
 * Finds a file that is installed with the program. Sets path (PATH_MAX bytes) to `name` if `name` has a slash or
 * exists; else to the first of these files that exists; or to `name` if none of them exists:
 * - $NOMORA_DATA/KIND/name, then this path followed by `ending`
 * - SHARE/KIND/name, then this path followed by `ending`; SHARE is share/nomora beside the program's bin folder
 */
void program_find_data(const char *kind, const char *name, const char *ending, char *path);

/*
 * Returns the folder of curves: "curves" if the working directory has a folder of this name or if no curves are
 * installed, else the folder that is installed with the program. The text is static: call this in one thread only.
 */
const char *program_curves(void);

#endif
