/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that a sweep's commands left behind, found by a mark in their environment. */
#ifndef SWEEP_ORPHANS_PRIV_H
#define SWEEP_ORPHANS_PRIV_H

#include <stddef.h>

/* Processes of the server; of client and warm-up; ssh's guards (ssh.c); of any of the sweep's commands. */
enum orphans_of { ORPHANS_OF_SERVER, ORPHANS_OF_CLIENT, ORPHANS_OF_GUARD, ORPHANS_OF_SWEEP };

enum { ORPHANS_MARK_BYTES = 320, ORPHANS_LINE_BYTES = ORPHANS_MARK_BYTES + 256 };

/*
 * Writes "NAME=value", which these processes, and no others, have in their environment in the sweep with this scratch
 * folder.
 */
void orphans_mark(enum orphans_of of, const char *scratch, char *mark, size_t bytes);
/* Writes the path of the file that the server's output goes to. */
void orphans_name_log(const char *scratch, char *path, size_t bytes);
/* Kills these processes on this machine and waits for their end. */
void orphans_end(enum orphans_of of, const char *scratch);
/*
 * Writes a shell line that does the same on another machine. Run it without the mark in its environment, or it kills
 * itself.
 */
void orphans_print_line(enum orphans_of of, const char *scratch, char *line, size_t bytes);

#endif
