/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files that are written completely or not at all, and text read line by line. A writer writes to a temporary file
 * beside the target; commit does fflush, fsync, rename and fsync of the folder. A process that dies before the commit
 * leaves the old file, and perhaps NAME.XXXXXX beside it.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>
#include <stdio.h>

#include <base/error.h>

struct file_writer;

/*
 * Opens a writer. Returns NULL with errno and err set on failure. A target that is no regular file ("-" = stdout, a
 * pipe, /dev/null) is written directly: file_writer_commit() only flushes it, and file_writer_discard() does not take
 * back the output. If the path is a symbolic link, the file to which it points is replaced. A replaced file's mode is
 * kept.
 */
struct file_writer *file_writer_open(const char *path, struct error *err);
FILE *file_writer_stream(struct file_writer *writer);

/* Checks, before long work, that the file can be written; leaves no trace. Pipes and devices are not checked. */
int file_writer_try(const char *path, struct error *err);

/* Returns 0, or -errno with err set. Frees the writer in both cases. */
int file_writer_commit(struct file_writer *writer, struct error *err);
void file_writer_discard(struct file_writer *writer); /* NULL is legal */

/*
 * Flushes the stream. Returns 0 if all output so far was written, else the -errno of the failed write. If a write
 * before this call failed, its errno is lost; this call then writes one more byte to get the errno again, so the output
 * is invalid.
 */
int file_stream_flush(FILE *stream);

/* Creates the folder of a path, with mode 0755, if only it is missing. Errors show when the file itself is created. */
void file_make_folder_of(const char *path);

/*
 * Reads a whole file (plain or gzip, "-" = stdin). Returns it as a NUL-terminated string, which the caller frees; or
 * NULL with err set, also if it has more than `limit` bytes. *bytes (bytes may be NULL) is its length.
 */
char *file_read_all(const char *path, size_t limit, size_t *bytes, struct error *err);

/* Line reader over a plain or gzip file, "-" = stdin, or memory. */
struct file_lines;
enum { FILE_LINE_BYTES = 1 << 20 };
struct file_lines *file_lines_open(const char *path, struct error *err);
/* The text is not copied. */
struct file_lines *file_lines_from_memory(const char *name, const char *text, size_t bytes, struct error *err);

/*
 * Sets the number of the next line. If the lines are a part of a larger text, messages then give the line in that text.
 */
void file_lines_start(struct file_lines *lines, long number);

/* Sets the maximum length of a line, bytes: a multiple of 1 MiB. The default is FILE_LINE_BYTES. */
void file_lines_limit(struct file_lines *lines, size_t bytes);

/*
 * Gives the next line without its end of line (LF or CRLF), NUL-terminated, writable, valid until the next call.
 * UTF-8's byte order mark at the beginning of the first line is removed. Returns 1 for a line, 0 at the end, or -errno
 * with err set (a NUL byte, a line over the limit, a broken gzip stream).
 */
int file_lines_next(struct file_lines *lines, char **line, struct error *err);
long file_lines_number(const struct file_lines *lines); /* number of the line returned last, from 1 */
const char *file_lines_name(const struct file_lines *lines);
void file_lines_close(struct file_lines *lines); /* NULL is legal */

/*
 * Returns the length of the UTF-8 byte order mark at the beginning of a text, which some editors write: 3, or 0 if
 * there is none.
 */
size_t file_mark_bytes(const char *text, size_t bytes);

/*
 * Splits in place at `separator`; blanks and double quotes around a field are removed. Returns the field count, which
 * may exceed `capacity` (the surplus is not stored).
 */
size_t file_split(char *line, char separator, char **fields, size_t capacity);

#endif
