/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <base/file.h>

static char folder[64];

static void enter_folder(void)
{
	strcpy(folder, "/tmp/nomora-test-XXXXXX");
	cr_assert_not_null(mkdtemp(folder));
	cr_assert_eq(chdir(folder), 0);
}

static int entries(void)
{
	DIR *open_folder = opendir(".");
	int count = 0;

	while (readdir(open_folder))
		count++;
	closedir(open_folder);
	return count - 2;
}

static void leave_folder(void)
{
	DIR *open_folder = opendir(".");
	struct dirent *entry;

	while ((entry = readdir(open_folder)))
		unlink(entry->d_name);
	closedir(open_folder);
	rmdir(folder);
}

TestSuite(file, .init = enter_folder, .fini = leave_folder);

Test(file, commit_replaces_and_discard_leaves_the_old)
{
	struct error err = {0};
	struct file_writer *writer = file_writer_open("a", &err);
	char *text;

	fputs("one\n", file_writer_stream(writer));
	cr_assert_neq(access("a", F_OK), 0);
	cr_assert_eq(file_writer_commit(writer, &err), 0);
	writer = file_writer_open("a", &err);
	fputs("two\n", file_writer_stream(writer));
	fflush(file_writer_stream(writer));
	file_writer_discard(writer);
	text = file_read_all("a", 100, NULL, &err);
	cr_assert_str_eq(text, "one\n");
	free(text);
	cr_assert_eq(entries(), 1);
}

Test(file, a_full_disk_is_an_error_and_leaves_nothing)
{
	struct error err = {0};
	struct file_writer *writer;

	cr_assert_null(file_writer_open("no/such/folder/x", &err));
	cr_assert_eq(err.code, ENOENT);
	cr_assert_eq(file_writer_try("no/such/folder/x", &err), -ENOENT);
	cr_assert_eq(file_writer_try("b", &err), 0);
	cr_assert_eq(file_writer_try("/dev/null", &err), 0);
	cr_assert_eq(file_writer_try("-", &err), 0);
	cr_assert_eq(entries(), 0);
	cr_assert_null(file_writer_open(".", &err));
	cr_assert_eq(err.code, EISDIR);
	writer = file_writer_open("b", &err);
	cr_assert_not_null(freopen("/dev/full", "w", file_writer_stream(writer)));
	fputs("data", file_writer_stream(writer));
	cr_assert_eq(file_writer_commit(writer, &err), -ENOSPC);
	cr_assert_eq(entries(), 0);
	/* The failed write was long before. */
	writer = file_writer_open("b", &err);
	cr_assert_not_null(freopen("/dev/full", "w", file_writer_stream(writer)));
	for (int i = 0; i < 100000; i++)
		fputs("data", file_writer_stream(writer));
	errno = 0;
	cr_assert_eq(file_writer_commit(writer, &err), -ENOSPC);
	cr_assert_eq(entries(), 0);
}

Test(file, links_and_modes_stay_and_a_pipe_is_written_to)
{
	struct error err = {0};
	struct file_writer *writer = file_writer_open("target", &err);
	struct stat info;
	char text[8] = "";
	int pipe_fd;

	cr_assert_eq(file_writer_commit(writer, &err), 0);
	cr_assert_eq(chmod("target", 06640), 0);
	cr_assert_eq(symlink("target", "link"), 0);
	writer = file_writer_open("link", &err);
	fputs("new", file_writer_stream(writer));
	cr_assert_eq(file_writer_commit(writer, &err), 0);
	cr_assert(lstat("link", &info) == 0 && S_ISLNK(info.st_mode));
	cr_assert(stat("target", &info) == 0 && info.st_size == 3 && (info.st_mode & 07777) == 0640);
	cr_assert_eq(mkfifo("pipe", 0600), 0);
	pipe_fd = open("pipe", O_RDONLY | O_NONBLOCK);
	writer = file_writer_open("pipe", &err);
	cr_assert_not_null(writer, "%s", err.text);
	fputs("passed", file_writer_stream(writer));
	cr_assert_eq(file_writer_commit(writer, &err), 0, "%s", err.text);
	cr_assert_eq(read(pipe_fd, text, sizeof text), 6);
	cr_assert_str_eq(text, "passed");
	writer = file_writer_open("pipe", &err);
	file_writer_discard(writer);
	close(pipe_fd);
	cr_assert(lstat("pipe", &info) == 0 && S_ISFIFO(info.st_mode), "a device must not be replaced by a file");
	cr_assert_eq(entries(), 3);
}

Test(file, lines_are_the_same_plain_gzipped_and_from_memory)
{
	static const char text[] = "\xef\xbb\xbf"
				   "first\r\n\nthird without end";
	struct error err = {0};
	gzFile zipped = gzopen("z.gz", "wb");
	FILE *plain = fopen("p", "w");

	gzwrite(zipped, text, sizeof text - 1);
	gzclose(zipped);
	fwrite(text, 1, sizeof text - 1, plain);
	fclose(plain);
	for (int source = 0; source < 3; source++) {
		struct file_lines *lines = source == 0   ? file_lines_open("p", &err)
					   : source == 1 ? file_lines_open("z.gz", &err)
							 : file_lines_from_memory("m", text, sizeof text - 1, &err);
		char *line;

		cr_assert_eq(file_lines_next(lines, &line, &err), 1);
		cr_assert_str_eq(line, "first");
		cr_assert_eq(file_lines_next(lines, &line, &err), 1);
		cr_assert_str_eq(line, "");
		cr_assert_eq(file_lines_next(lines, &line, &err), 1);
		cr_assert_str_eq(line, "third without end");
		cr_assert_eq(file_lines_number(lines), 3);
		cr_assert_eq(file_lines_next(lines, &line, &err), 0);
		cr_assert_eq(file_lines_next(lines, &line, &err), 0);
		file_lines_close(lines);
	}
}

Test(file, cut_gzip_and_binary_are_named_with_their_line)
{
	struct error err = {0};
	gzFile zipped = gzopen("z.gz", "wb");
	struct file_lines *lines;
	char *line;
	int status;
	FILE *binary = fopen("b", "w");

	for (int i = 0; i < 30000; i++)
		gzprintf(zipped, "line %d of %d\n", i, i * 7919);
	gzclose(zipped);
	cr_assert_eq(truncate("z.gz", 20000), 0);
	lines = file_lines_open("z.gz", &err);
	while ((status = file_lines_next(lines, &line, &err)) > 0)
		;
	cr_assert_eq(status, -EIO);
	cr_assert(strstr(err.text, "z.gz:"), "%s", err.text);
	file_lines_close(lines);
	cr_assert_null(file_read_all("z.gz", 1 << 20, NULL, &err));
	fwrite("ok\na\0b\n", 1, 7, binary);
	fclose(binary);
	lines = file_lines_open("b", &err);
	cr_assert_eq(file_lines_next(lines, &line, &err), 1);
	cr_assert_eq(file_lines_next(lines, &line, &err), -EINVAL);
	cr_assert(strstr(err.text, "b:2:"), "%s", err.text);
	file_lines_close(lines);
}

Test(file, a_line_without_end_is_refused_at_one_mebibyte)
{
	struct error err = {0};
	size_t bytes = (1 << 20) + 1;
	char *long_line = malloc(bytes), *line;
	struct file_lines *lines;

	memset(long_line, 'x', bytes);
	lines = file_lines_from_memory("m", long_line, bytes, &err);
	cr_assert_eq(file_lines_next(lines, &line, &err), -EINVAL);
	cr_assert_str_eq(err.text, "m:1: line is longer than 1 MiB; is this a text file?");
	file_lines_close(lines);
	lines = file_lines_from_memory("m", long_line, bytes - 1, &err);
	cr_assert_eq(file_lines_next(lines, &line, &err), 1);
	file_lines_close(lines);
	lines = file_lines_from_memory("m", long_line, bytes, &err);
	file_lines_limit(lines, 2 << 20);
	cr_assert_eq(file_lines_next(lines, &line, &err), 1);
	file_lines_close(lines);
	free(long_line);
}

Test(file, limits_and_fields)
{
	struct error err = {0};
	FILE *out = fopen("x", "w");
	char line[] = " a , \"b c\",,d", *fields[3], *text;

	fputs("123456", out);
	fclose(out);
	text = file_read_all("x", 6, NULL, &err);
	cr_assert_str_eq(text, "123456", "as much as is allowed");
	free(text);
	cr_assert_null(file_read_all("x", 5, NULL, &err));
	cr_assert_eq(err.code, EFBIG);
	cr_assert_null(file_read_all("absent", 5, NULL, &err));
	cr_assert_eq(err.code, ENOENT);
	cr_assert_eq(file_split(line, ',', fields, 3), 4);
	cr_assert_str_eq(fields[0], "a");
	cr_assert_str_eq(fields[1], "b c");
	cr_assert_str_eq(fields[2], "");
}

Test(file, lines_count_from_where_they_start)
{
	struct file_lines *lines = file_lines_from_memory("part", "a\nb\n", 4, NULL);
	struct error err = {0};
	char *line;

	file_lines_start(lines, 7);
	cr_assert_eq(file_lines_next(lines, &line, &err), 1);
	cr_expect_eq(file_lines_number(lines), 7);
	cr_assert_eq(file_lines_next(lines, &line, &err), 1);
	cr_expect_eq(file_lines_number(lines), 8);
	cr_expect_str_eq(line, "b");
	cr_expect_eq(file_lines_next(lines, &line, &err), 0);
	file_lines_close(lines);
	lines = file_lines_from_memory("-", "", 0, &err);
	cr_expect_str_eq(file_lines_name(lines), "standard input");
	file_lines_close(lines);
}
