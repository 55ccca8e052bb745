/* SPDX-License-Identifier: BSD-3-Clause */
/* The sweep's temporary folder, which the plan's commands may use. */
#ifndef SWEEP_SCRATCH_PRIV_H
#define SWEEP_SCRATCH_PRIV_H

#include <stddef.h>

#include <base/error.h>

/*
 * Removes the folders of killed sweeps. Then makes a folder with a private folder "ssh" in it. Any user may create
 * files in the folder, but not remove those of others. Returns 0 and the path; or -errno with err set, and "" as the
 * path.
 */
int scratch_make(char *path, size_t bytes, struct error *err);
void scratch_remove(const char *path);

/*
 * Finds and kills the processes that a sweep's commands left behind (orphans). A mark is a variable in the environment
 * of a command, which its children inherit; it shows which sweep and which kind of command a process belongs to.
 */

/*
 * Kinds of processes, by the command that started them: the server; client or warm-up; guards of ssh connections
 * (ssh.c); any command of the sweep.
 */
enum orphans_of { ORPHANS_OF_SERVER, ORPHANS_OF_CLIENT, ORPHANS_OF_GUARD, ORPHANS_OF_SWEEP };

enum { ORPHANS_MARK_BYTES = 320, ORPHANS_LINE_BYTES = ORPHANS_MARK_BYTES + 256 };

/* Writes the mark, "NAME=value", of the processes of this kind in the sweep with this scratch folder. */
void orphans_mark(enum orphans_of of, const char *scratch, char *mark, size_t bytes);
/* Writes the path of the file to which the server prints its output. */
void orphans_name_log(const char *scratch, char *path, size_t bytes);
/* Kills the processes of this kind on this machine and waits for their end. */
void orphans_end(enum orphans_of of, const char *scratch);
/*
 * Writes a shell line that kills the processes of this kind on the machine where it runs. The shell must not have the
 * mark in its own environment, or it kills itself.
 */
void orphans_print_line(enum orphans_of of, const char *scratch, char *line, size_t bytes);

#endif
