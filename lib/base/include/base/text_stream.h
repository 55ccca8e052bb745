/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stream whose output becomes a text in memory. Unlike open_memstream() of glibc, which may leave out a part and
 * still close with success, it never gives a part of the text.
 */
#ifndef BASE_TEXT_STREAM_H
#define BASE_TEXT_STREAM_H

#include <stddef.h>
#include <stdio.h>

/*
 * Opens a stream for writing, without seeking. fclose() sets *text, which the caller frees, and *bytes, its length
 * without the NUL; if memory ran out at any write, it fails and sets *text to NULL. Both must live until then. Returns
 * NULL, with *text NULL, if out of memory.
 */
FILE *text_stream_open(char **text, size_t *bytes);

#endif
