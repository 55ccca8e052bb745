/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/file.h>

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct file_writer {
	FILE *stream;
	char *path;      /* the file to replace; symbolic links are followed, so that they are kept */
	char *temporary; /* file beside path; NULL = output goes to the target directly (stdout, a device, a pipe) */
};

static void free_writer(struct file_writer *writer)
{
	if (!writer)
		return;
	free(writer->path);
	free(writer->temporary);
	free(writer);
}

/*
 * Gives the temporary file, which mkostemp() has created with mode 0600, the mode of the file that it will replace, but
 * no set-user-ID bit, because the owner is not kept. If there is no such file, the mode is the one that open(2) gives a
 * new file.
 */
static void set_mode(int fd, const struct stat *old)
{
	mode_t mode = old ? old->st_mode & 0777 : 0666, mask = umask(0);

	umask(mask);
	if (fchmod(fd, old ? mode : mode & ~mask) < 0) {
		/* ignored: fchmod() fails on file systems that have no modes */
	}
}

static FILE *open_temporary(struct file_writer *writer, const struct stat *old)
{
	FILE *stream = NULL;
	int fd;

	if (asprintf(&writer->temporary, "%s.XXXXXX", writer->path) < 0) {
		writer->temporary = NULL;
		errno = ENOMEM;
		return NULL;
	}
	fd = mkostemp(writer->temporary, O_CLOEXEC);
	if (fd < 0)
		return NULL;
	set_mode(fd, old);
	stream = fdopen(fd, "w");
	if (!stream) {
		int code = errno;

		close(fd);
		unlink(writer->temporary);
		errno = code;
	}
	return stream;
}

/*
 * Opens a temporary file if a regular file is to be replaced or created. Opens any other target itself: as root, a
 * rename onto /dev/null would replace the device.
 */
static FILE *open_stream(struct file_writer *writer, const char *path)
{
	struct stat old;
	bool exists = stat(path, &old) == 0;

	if (strcmp(path, "-") == 0)
		return stdout;
	writer->path = exists ? realpath(path, NULL) : strdup(path);
	if (!writer->path)
		return NULL;
	if (!exists || S_ISREG(old.st_mode))
		return open_temporary(writer, exists ? &old : NULL);
	if (S_ISDIR(old.st_mode)) {
		errno = EISDIR;
		return NULL;
	}
	return fopen(path, "we");
}

struct file_writer *file_writer_open(const char *path, struct error *err)
{
	struct file_writer *writer = calloc(1, sizeof *writer);
	int code;

	if (writer)
		writer->stream = open_stream(writer, path);
	if (writer && writer->stream)
		return writer;
	code = errno;
	error_set(err, code, "cannot write %s: %s", path, strerror(code));
	free_writer(writer);
	errno = code;
	return NULL;
}

int file_writer_try(const char *path, struct error *err)
{
	struct file_writer *writer;
	struct stat info;

	/* opening and closing a pipe would signal the end of file to its reader */
	if (strcmp(path, "-") == 0 || (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)))
		return 0;
	writer = file_writer_open(path, err);
	if (!writer)
		return -errno;
	file_writer_discard(writer);
	return 0;
}

FILE *file_writer_stream(struct file_writer *writer)
{
	return writer->stream;
}

/*
 * Syncs the folder of the file. Returns 0 or an errno value. Ignores EINVAL: file systems that cannot sync a folder
 * return it.
 */
static int sync_folder(const char *path)
{
	char copy[PATH_MAX];
	int fd, code = 0;

	snprintf(copy, sizeof copy, "%s", path);
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return 0; /* cannot be synced: the folder is writable but not readable */
	if (fsync(fd) < 0 && errno != EINVAL)
		code = errno;
	close(fd);
	return code;
}

/*
 * The errno of an earlier failed write is lost. Writing one more byte makes the write fail again, with the same errno.
 */
int file_stream_flush(FILE *stream)
{
	bool failed = ferror(stream);

	errno = 0;
	if (failed) {
		clearerr(stream);
		fputc('\n', stream);
	}
	if (fflush(stream) == 0 && !failed)
		return 0;
	return errno ? -errno : -EIO;
}

int file_writer_commit(struct file_writer *writer, struct error *err)
{
	FILE *stream = writer->stream;
	int code = -file_stream_flush(stream);

	if (code == 0 && writer->temporary && fsync(fileno(stream)) < 0)
		code = errno;
	if (stream != stdout && fclose(stream) == EOF && !code)
		code = errno;
	if (writer->temporary && !code && rename(writer->temporary, writer->path) < 0)
		code = errno;
	if (writer->temporary && code)
		unlink(writer->temporary);
	else if (writer->temporary)
		code = sync_folder(writer->path);
	if (code)
		error_set(err, code, "cannot write %s: %s", writer->path ? writer->path : "to standard output",
			  strerror(code));
	free_writer(writer);
	return -code;
}

void file_writer_discard(struct file_writer *writer)
{
	if (!writer)
		return;
	if (writer->stream != stdout)
		fclose(writer->stream);
	if (writer->temporary)
		unlink(writer->temporary);
	free_writer(writer);
}
