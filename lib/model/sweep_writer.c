/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <base/number.h>
#include <base/text_stream.h>
#include <model/sweep.h>

#include "files_priv.h"

struct sweep_writer {
	char *path;
	int fd;
	off_t bytes; /* length of the file up to the end of the last complete row */
	bool made;   /* the file is new and has no rows yet */
};

static int io_error(const struct sweep_writer *writer, const char *what, struct error *err)
{
	int code = errno;

	return error_set(err, code, "%s: cannot %s: %s", writer->path, what, strerror(code));
}

/* Writes all bytes at the end of the complete rows, then syncs the file. */
static int write_whole(struct sweep_writer *writer, const char *text, size_t bytes, struct error *err)
{
	size_t done = 0;

	while (done < bytes) {
		ssize_t written = pwrite(writer->fd, text + done, bytes - done, writer->bytes + (off_t)done);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return io_error(writer, "write", err);
		done += (size_t)written;
	}
	if (fdatasync(writer->fd) != 0)
		return io_error(writer, "sync", err);
	writer->bytes += (off_t)bytes;
	return 0;
}

/* The name of a new file is durable only after its folder is synced. */
static int sync_folder(const struct sweep_writer *writer, struct error *err)
{
	char *folder = strdup(writer->path), *slash;
	int fd, rc = 0;

	if (!folder)
		return error_set(err, ENOMEM, "out of memory");
	slash = strrchr(folder, '/');
	if (slash)
		slash[slash == folder] = '\0';
	fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) != 0)
		rc = io_error(writer, "sync its folder", err);
	if (fd >= 0)
		close(fd);
	free(folder);
	return rc;
}

/* Cuts off the incomplete last line that a writer that died may have left. */
static int cut_partial_line(struct sweep_writer *writer, off_t size, struct error *err)
{
	char block[4096];
	off_t end = size;

	while (end > 0) {
		off_t start = end > (off_t)sizeof block ? end - (off_t)sizeof block : 0;
		ssize_t got = pread(writer->fd, block, (size_t)(end - start), start);
		char *newline;

		if (got < 0 && errno == EINTR)
			continue;
		if (got != end - start)
			return io_error(writer, "read", err);
		newline = memrchr(block, '\n', (size_t)got);
		if (newline) {
			end = start + (newline - block) + 1;
			break;
		}
		end = start;
	}
	if (end < size && ftruncate(writer->fd, end) != 0)
		return io_error(writer, "cut off the unfinished last line", err);
	writer->bytes = end;
	return 0;
}

/*
 * Checks that an existing file begins with our header, or has only the part of it that a killed writer left. Values
 * under another header would be misread, and a file that is not a sweep must not be truncated.
 */
static int check_header(struct sweep_writer *writer, struct error *err)
{
	char found[sizeof SWEEP_HEADER];
	ssize_t got = pread(writer->fd, found, sizeof found - 1, 0);

	if (got < 0)
		return io_error(writer, "read", err);
	if (memcmp(found, SWEEP_HEADER, (size_t)got) == 0)
		return 0;
	return error_at(err, (struct error_place){writer->path, 1, NULL}, EINVAL,
			"cannot continue this file, which is not a sweep: expected the header %.*s",
			(int)strlen(SWEEP_HEADER) - 1, SWEEP_HEADER);
}

static int take_up(struct sweep_writer *writer, struct error *err)
{
	struct stat info;
	int rc;

	if (flock(writer->fd, LOCK_EX | LOCK_NB) != 0)
		return errno == EWOULDBLOCK
			       ? error_set(err, EWOULDBLOCK, "%s: another sweep is writing to it", writer->path)
			       : io_error(writer, "lock", err);
	if (fstat(writer->fd, &info) != 0)
		return io_error(writer, "stat", err);
	if (info.st_nlink == 0)
		return error_set(
			err, EWOULDBLOCK,
			"%s: another sweep created this file, could not start and has just removed it: try again",
			writer->path);
	if (!S_ISREG(info.st_mode))
		return error_set(err, EINVAL, "%s: not a regular file", writer->path);
	rc = check_header(writer, err);
	if (rc == 0)
		rc = cut_partial_line(writer, info.st_size, err);
	if (rc == 0 && writer->bytes > 0)
		return 0;
	if (rc == 0)
		rc = write_whole(writer, SWEEP_HEADER, strlen(SWEEP_HEADER), err);
	return rc == 0 ? sync_folder(writer, err) : rc;
}

struct sweep_writer *sweep_writer_open(const char *path, struct error *err)
{
	struct sweep_writer *writer = calloc(1, sizeof *writer);
	int rc;

	if (!writer || !(writer->path = strdup(path))) {
		error_set(err, ENOMEM, "out of memory");
		free(writer);
		return NULL;
	}
	writer->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	writer->made = writer->fd >= 0;
	if (!writer->made)
		writer->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	rc = writer->fd < 0 ? io_error(writer, "open", err) : take_up(writer, err);
	if (rc == 0)
		return writer;
	if (writer->made && rc != -EWOULDBLOCK)
		unlink(path);
	sweep_writer_close(writer);
	return NULL;
}

/*
 * Returns the number of rows of the last run if the run is incomplete, i.e. if its rows have only the first few of
 * `metrics`, in order; else 0.
 */
static size_t count_torn_rows(const struct sweep *sweep, const char *const *metrics, size_t count)
{
	const struct sweep_row *last = &sweep->rows[sweep->count - 1];
	size_t rows = 0;

	while (rows < sweep->count && last[-(ptrdiff_t)rows].delay_us == last->delay_us &&
	       last[-(ptrdiff_t)rows].direction == last->direction && last[-(ptrdiff_t)rows].run == last->run)
		rows++;
	for (size_t i = 0; i < rows && rows < count; i++)
		if (strcmp(sweep->metrics[last[1 + (ptrdiff_t)i - (ptrdiff_t)rows].metric].name, metrics[i]) != 0)
			return 0;
	return rows < count ? rows : 0;
}

/*
 * Returns the offset of a line, counted from 1, or -1 with errno set. Needs no zlib: our own files are never
 * compressed.
 */
static off_t find_line(const struct sweep_writer *writer, long line)
{
	FILE *file = fopen(writer->path, "re");
	off_t start = 0;
	int byte;

	if (!file)
		return -1;
	for (long at = 1; at < line && (byte = fgetc(file)) != EOF; start++)
		at += byte == '\n';
	if (ferror(file))
		start = -1;
	fclose(file);
	return start;
}

int sweep_writer_cut_torn_run(struct sweep_writer *writer, const char *const *metrics, size_t count, struct error *err)
{
	struct sweep *sweep = sweep_read(file_lines_open(writer->path, err), err);
	size_t rows;
	off_t start;

	if (!sweep)
		return error_code(err, ENOMEM);
	rows = count_torn_rows(sweep, metrics, count);
	start = rows > 0 ? find_line(writer, sweep->rows[sweep->count - rows].line) : writer->bytes;
	sweep_destroy(sweep);
	if (start < 0)
		return io_error(writer, "read", err);
	if (rows > 0 && (ftruncate(writer->fd, start) != 0 || fdatasync(writer->fd) != 0))
		return io_error(writer, "cut off the unfinished last run", err);
	writer->bytes = start;
	return (int)rows;
}

static bool fits_field(const char *text, size_t bytes)
{
	if (strlen(text) >= bytes)
		return false;
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == ',' || *c == '"')
			return false;
	return true;
}

static int print_record(FILE *out, const struct sweep_record *record, struct error *err)
{
	const char *started_at = record->started_at ? record->started_at : "";
	char delay[32], value[32], baseline[32] = "";

	if (!record->metric[0] || !fits_field(record->metric, SWEEP_NAME_BYTES))
		return error_set(err, EINVAL, "metric '%s': expected 1 to 63 bytes without comma, quote or line end",
				 record->metric);
	if (!record->unit[0] || !fits_field(record->unit, SWEEP_NAME_BYTES))
		return error_set(err, EINVAL, "unit '%s': expected 1 to 63 bytes without comma, quote or line end",
				 record->unit);
	if (!fits_field(started_at, SWEEP_STAMP_BYTES))
		return error_set(err, EINVAL, "started_at '%s': expected an ISO 8601 stamp", started_at);
	if (!isfinite(record->value))
		return error_set(err, EINVAL, "metric %s at %g us: the value is not a finite number", record->metric,
				 record->delay_us);
	if (!(record->delay_us >= 0 && record->delay_us <= SWEEP_DELAY_MAXIMUM_US) || record->run < 0)
		return error_set(err, EINVAL, "metric %s: delay %g us or run %lld is out of range", record->metric,
				 record->delay_us, (long long)record->run);
	number_print_double(record->delay_us, delay, sizeof delay);
	number_print_double(record->value, value, sizeof value);
	if (record->baseline_rtt_us > 0)
		number_print_double(record->baseline_rtt_us, baseline, sizeof baseline);
	fprintf(out, "%s,%s,%lld,%s,%s,%s,%s,%s,%d,%s\n", delay, sweep_direction_name(record->direction),
		(long long)record->run, record->metric, record->unit, sweep_better_name(record->better), value,
		started_at, record->disturbed, baseline);
	return 0;
}

int sweep_writer_append(struct sweep_writer *writer, const struct sweep_record *records, size_t count,
			struct error *err)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = text_stream_open(&text, &bytes);
	int rc = 0;

	if (!out)
		return error_set(err, ENOMEM, "out of memory");
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = print_record(out, &records[i], err);
	if (fclose(out) != 0 && rc == 0)
		rc = error_set(err, ENOMEM, "out of memory");
	if (rc == 0) {
		rc = write_whole(writer, text, bytes, err);
		/*
		 * After a failure, the rows may not be on the disk and must not count as written: remove them if
		 * possible.
		 */
		writer->made = writer->made && rc != 0;
		if (rc != 0 && ftruncate(writer->fd, writer->bytes) != 0)
			error_prefix(err, "the last line may be unfinished");
	}
	free(text);
	return rc;
}

void sweep_writer_close(struct sweep_writer *writer)
{
	if (!writer)
		return;
	if (writer->fd >= 0)
		close(writer->fd);
	free(writer->path);
	free(writer);
}

void sweep_writer_discard(struct sweep_writer *writer)
{
	/* Unlink the file before the lock is released, so that the next holder of the lock sees that it was removed. */
	if (writer && writer->made)
		unlink(writer->path);
	sweep_writer_close(writer);
}
