/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/file.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <base/array.h>

enum { READ_BYTES = 1 << 16 };

/* zlib also reads plain files. */
static gzFile open_for_reading(const char *path, struct error *err)
{
	struct stat info;
	gzFile file;
	int fd;

	if (strcmp(path, "-") == 0)
		fd = dup(STDIN_FILENO);
	else
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		error_set(err, errno, "cannot read %s: %s", path, strerror(errno));
		return NULL;
	}
	if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
		close(fd);
		error_set(err, EISDIR, "cannot read %s: it is a folder, expected a file", path);
		return NULL;
	}
	file = gzdopen(fd, "rb");
	if (!file) {
		close(fd);
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	gzbuffer(file, 1 << 17);
	return file;
}

char *file_read_all(const char *path, size_t limit, size_t *bytes, struct error *err)
{
	gzFile file = open_for_reading(path, err);
	size_t capacity = 0, used = 0;
	char *text = NULL;
	int got;

	if (!file)
		return NULL;
	for (;;) {
		char *grown = array_reserve(text, used + READ_BYTES, &capacity, 1);
		size_t space = capacity - used - 1;

		if (!grown) {
			error_set(err, ENOMEM, "out of memory reading %s", path);
			goto fail;
		}
		text = grown;
		got = gzread(file, text + used, (unsigned)(space > INT_MAX ? INT_MAX : space));
		if (got < 0) {
			error_set(err, EIO, "cannot read %s: damaged or cut-off gzip data, or a read error", path);
			goto fail;
		}
		used += (size_t)got;
		if (used > limit) {
			error_set(err, EFBIG, "%s is larger than %zu bytes", path, limit);
			goto fail;
		}
		if (got == 0)
			break;
	}
	if (gzclose(file) != Z_OK) {
		error_set(err, EIO, "cannot read %s: cut-off gzip data", path);
		free(text);
		return NULL;
	}
	text[used] = '\0';
	if (bytes)
		*bytes = used;
	return text;
fail:
	gzclose(file);
	free(text);
	return NULL;
}

struct file_lines {
	gzFile file;      /* NULL when reading memory */
	const char *text; /* when reading memory: the rest of the text */
	size_t text_left;
	char *name;
	long number;
	char *line;
	size_t line_capacity, line_limit;
	char *buffer; /* when reading a file: bytes read from the file but not yet returned */
	size_t buffer_used, buffer_at;
	bool ended;
};

enum { BUFFER_BYTES = 1 << 17 };

struct file_lines *file_lines_open(const char *path, struct error *err)
{
	struct file_lines *lines = file_lines_from_memory(path, NULL, 0, err);

	if (!lines)
		return NULL;
	lines->buffer = malloc(BUFFER_BYTES);
	if (!lines->buffer) {
		error_set(err, ENOMEM, "out of memory");
		file_lines_close(lines);
		return NULL;
	}
	lines->file = open_for_reading(path, err);
	if (!lines->file) {
		file_lines_close(lines);
		return NULL;
	}
	return lines;
}

struct file_lines *file_lines_from_memory(const char *name, const char *text, size_t bytes, struct error *err)
{
	struct file_lines *lines = calloc(1, sizeof *lines);
	char *copy = lines ? strdup(strcmp(name, "-") == 0 ? "standard input" : name) : NULL;

	if (!copy) {
		error_set(err, ENOMEM, "out of memory");
		free(lines);
		return NULL;
	}
	*lines = (struct file_lines){.name = copy, .text = text, .text_left = bytes, .line_limit = FILE_LINE_BYTES};
	return lines;
}

void file_lines_start(struct file_lines *lines, long number)
{
	lines->number = number - 1;
}

void file_lines_limit(struct file_lines *lines, size_t bytes)
{
	lines->line_limit = bytes;
}

/* gzread() reports no error at the end of a truncated stream; only gzerror() does. */
static bool was_cut_off(gzFile file)
{
	int code;

	gzerror(file, &code);
	return code == Z_BUF_ERROR;
}

/* Returns the number of bytes ready at *at, 0 at the end, or -errno. */
static ssize_t fill(struct file_lines *lines, const char **at, struct error *err)
{
	int got;

	if (!lines->file) {
		*at = lines->text;
		return (ssize_t)lines->text_left;
	}
	if (lines->buffer_at == lines->buffer_used) {
		got = gzread(lines->file, lines->buffer, BUFFER_BYTES);
		if (got < 0 || (got == 0 && was_cut_off(lines->file)))
			return error_at(err, (struct error_place){lines->name, lines->number + 1, NULL}, EIO,
					"damaged or cut-off gzip data, or a read error");
		lines->buffer_used = (size_t)got;
		lines->buffer_at = 0;
	}
	*at = lines->buffer + lines->buffer_at;
	return (ssize_t)(lines->buffer_used - lines->buffer_at);
}

static void consume(struct file_lines *lines, size_t bytes)
{
	if (lines->file) {
		lines->buffer_at += bytes;
	} else {
		lines->text += bytes;
		lines->text_left -= bytes;
	}
}

static int append(struct file_lines *lines, size_t used, const char *from, size_t bytes, struct error *err)
{
	struct error_place place = {lines->name, lines->number + 1, NULL};
	char *line;

	if (used + bytes > lines->line_limit)
		return error_at(err, place, EINVAL, "line is longer than %zu MiB; is this a text file?",
				lines->line_limit >> 20);
	line = array_reserve(lines->line, used + bytes + 1, &lines->line_capacity, 1);
	if (!line)
		return error_set(err, ENOMEM, "out of memory");
	lines->line = line;
	if (bytes && memchr(from, '\0', bytes))
		return error_at(err, place, EINVAL, "holds a NUL byte; is this a text file?");
	if (bytes)
		memcpy(lines->line + used, from, bytes);
	lines->line[used + bytes] = '\0';
	return 0;
}

int file_lines_next(struct file_lines *lines, char **line, struct error *err)
{
	size_t used = 0;
	bool any = false;

	if (lines->ended)
		return 0;
	for (;;) {
		const char *at = NULL, *newline;
		ssize_t ready = fill(lines, &at, err);
		size_t take;
		int status;

		if (ready < 0)
			return (int)ready;
		if (ready == 0) {
			lines->ended = true;
			if (!any)
				return 0;
			break;
		}
		any = true;
		newline = memchr(at, '\n', (size_t)ready);
		take = newline ? (size_t)(newline - at) : (size_t)ready;
		status = append(lines, used, at, take, err);
		if (status < 0)
			return status;
		used += take;
		consume(lines, take + (newline != NULL));
		if (newline)
			break;
	}
	if (used > 0 && lines->line[used - 1] == '\r')
		lines->line[--used] = '\0';
	*line = lines->line + (lines->number++ == 0 ? file_mark_bytes(lines->line, used) : 0);
	return 1;
}

long file_lines_number(const struct file_lines *lines)
{
	return lines->number;
}

const char *file_lines_name(const struct file_lines *lines)
{
	return lines->name;
}

void file_lines_close(struct file_lines *lines)
{
	if (!lines)
		return;
	if (lines->file)
		gzclose(lines->file);
	free(lines->buffer);
	free(lines->line);
	free(lines->name);
	free(lines);
}

size_t file_mark_bytes(const char *text, size_t bytes)
{
	static const char mark[] = "\xef\xbb\xbf";

	return bytes >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Removes blanks around the text, which ends at `end`, and then a pair of double quotes. Ends the result with a NUL. */
static char *trim(char *text, char *end)
{
	while (text < end && is_blank(*text))
		text++;
	while (end > text && is_blank(end[-1]))
		end--;
	if (end - text >= 2 && text[0] == '"' && end[-1] == '"') {
		text++;
		end--;
	}
	*end = '\0';
	return text;
}

size_t file_split(char *line, char separator, char **fields, size_t capacity)
{
	size_t count = 0;

	for (char *at = line; at;) {
		char *end = strchrnul(at, separator), *next = *end ? end + 1 : NULL;

		if (count < capacity)
			fields[count] = trim(at, end);
		else
			*end = '\0';
		count++;
		at = next;
	}
	return count;
}

void file_make_folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash && slash > path ? strndup(path, (size_t)(slash - path)) : NULL;

	if (folder)
		mkdir(folder, 0755);
	free(folder);
}
