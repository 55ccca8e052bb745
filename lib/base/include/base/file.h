/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files that are whole or absent, and text read line by line. A writer goes to a temporary file beside the target;
 * commit does fflush, fsync, rename and fsync of the folder. A process that dies half-way leaves the old file,
 * and perhaps NAME.XXXXXX beside it.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>
#include <stdio.h>

#include <base/error.h>

struct file_writer;

/*
 * NULL with errno and err set. What is no regular file ("-" = stdout, a pipe, /dev/null) is written to as it goes:
 * there commit flushes, and discard cannot take back. A symbolic link stays and its target is replaced; an old file's
 * mode stays.
 */
struct file_writer *file_writer_open(const char *path, struct error *err);
FILE *file_writer_stream(struct file_writer *writer);

/* Can it be written? For a result that takes long to come by. Leaves no trace; says yes for what is no regular file. */
int file_writer_try(const char *path, struct error *err);

/* 0 or -errno with err set; either way the writer is gone. */
int file_writer_commit(struct file_writer *writer, struct error *err);
void file_writer_discard(struct file_writer *writer); /* NULL is legal */

/*
 * Flushes: 0 when all that was ever written to the stream has gone out, else the reason, -errno, also when it was an
 * earlier write that failed. What is behind such a stream is bad, and has one byte more.
 */
int file_stream_flush(FILE *stream);

/* Whole file (plain or gzip, "-" = stdin) as a NUL-terminated string that the caller frees; at most `limit` bytes. */
char *file_read_all(const char *path, size_t limit, size_t *bytes, struct error *err);

/* Line reader over a plain or gzip file, "-" = stdin, or memory. */
struct file_lines;
enum { FILE_LINE_BYTES = 1 << 20 };
struct file_lines *file_lines_open(const char *path, struct error *err);
struct file_lines *file_lines_from_memory(const char *name, const char *text, size_t bytes); /* text is not copied */

/* Sets the longest line in bytes, whole MiB, instead of FILE_LINE_BYTES. */
void file_lines_limit(struct file_lines *lines, size_t bytes);

/*
 * Next line without its end of line (LF or CRLF), NUL-terminated, valid until the next call, writable. UTF-8's byte
 * order mark at the beginning of the first line goes.
 * 1 = a line, 0 = end, -errno with err set (a NUL byte, a line over the limit, a broken gzip stream).
 */
int file_lines_next(struct file_lines *lines, char **line, struct error *err);
long file_lines_number(const struct file_lines *lines); /* of the last line returned, from 1 */
const char *file_lines_name(const struct file_lines *lines);
void file_lines_close(struct file_lines *lines); /* NULL is legal */

/* How long UTF-8's byte order mark at the beginning of a text is: 3, or 0 without one. Some editors leave it there. */
size_t file_mark_bytes(const char *text, size_t bytes);

/* Splits in place at `separator`; blanks around a field and double quotes around it go. Returns the field count,
 * which may exceed `capacity` (the surplus is not stored). */
size_t file_split(char *line, char separator, char **fields, size_t capacity);

#endif
