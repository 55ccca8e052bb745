/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Progress of long work, on stderr: on a terminal a bar with the time left, after the first second; elsewhere nothing.
 * One thread.
 */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdint.h>
#include <stdio.h>

struct progress;

/*
 * out: NULL = no bar. total: units of work, 0 = unknown. label is copied. Returns NULL if `out` is no terminal or if
 * out of memory; the functions below accept NULL.
 */
struct progress *progress_create(FILE *out, const char *label, uint64_t total);

/* Cheap enough to call often: redraws at most ten times a second. `note` may be NULL. */
void progress_update(struct progress *progress, uint64_t done, const char *note);

/* Takes the bar off the screen, so that a result or a log line can be printed. */
void progress_clear(struct progress *progress);
void progress_destroy(struct progress *progress);

#endif
