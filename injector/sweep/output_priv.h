/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of a command's output, to quote in messages. Pure. */
#ifndef SWEEP_OUTPUT_PRIV_H
#define SWEEP_OUTPUT_PRIV_H

#include <stddef.h>

/*
 * Returns the last line that is not blank, or "no output" if there is none or `output` is NULL. Removes the blanks
 * after this line from `output`.
 */
const char *output_last_line(char *output);

/* Returns the beginning of the last `lines` lines, not counting blank lines at the end. NULL counts as empty. */
const char *output_tail(const char *output, size_t lines);

#endif
