/* SPDX-License-Identifier: BSD-3-Clause */
/* Quotes from what a command printed. Pure. */
#ifndef SWEEP_OUTPUT_PRIV_H
#define SWEEP_OUTPUT_PRIV_H

#include <stddef.h>

/* The last line that is not blank, cut off in place; "no output" if there is none. NULL counts as empty. */
const char *output_last_line(char *output);

/* The beginning of the last `lines` lines, trailing blank ones not counted. NULL counts as empty. */
const char *output_tail(const char *output, size_t lines);

#endif
