/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mode_priv.h"

static const char *write_file(const char *text)
{
	static char path[64];
	FILE *file;

	snprintf(path, sizeof path, "/tmp/test-series-%d", (int)getpid());
	file = fopen(path, "w");
	fputs(text, file);
	fclose(file);
	return path;
}

Test(series, reads_numbers_skipping_comments_and_blank_lines)
{
	const char *path = write_file("# recorded\n12.5\n\n  13 # noon\n1e1\n");
	struct series series;
	struct error err = {0};

	cr_assert_eq(series_read(path, 1, ',', &series, &err), 0, "%s", err.text);
	cr_assert_eq(series.rows, 3);
	cr_assert_float_eq(series.values[0], 12.5, 0);
	cr_assert_float_eq(series.values[1], 13, 0);
	cr_assert_float_eq(series.values[2], 10, 0);
	free(series.values);
	unlink(path);
}

Test(series, reads_the_tables_of_netem)
{
	const char *path = write_file("# a table\n -32768 -5\t0\n\n7 32767 # end\n");
	static const double expected[] = {-32768, -5, 0, 7, 32767};
	struct series series;
	struct error err = {0};

	cr_assert_eq(series_read_netem(path, &series, &err), 0, "%s", err.text);
	cr_assert_eq(series.rows, 5);
	for (size_t i = 0; i < 5; i++)
		cr_expect_float_eq(series.values[i], expected[i], 0);
	free(series.values);
	path = write_file("1 2\n3 32768\n");
	cr_assert_eq(series_read_netem(path, &series, &err), -EINVAL);
	cr_assert(strstr(err.text, ":2: \"32768\": expected an integer of -32768 to 32767"), "%s", err.text);
	path = write_file("1 2.5\n");
	cr_assert_eq(series_read_netem(path, &series, &err), -EINVAL);
	path = write_file("# nothing\n");
	cr_assert_eq(series_read_netem(path, &series, &err), -EINVAL);
	cr_assert(strstr(err.text, "holds no numbers"), "%s", err.text);
	unlink(path);
}

Test(series, names_file_and_line_of_what_is_no_number)
{
	const char *path = write_file("1\n2\nthree\n");
	struct series series;
	struct error err = {0};

	cr_assert_eq(series_read(path, 1, ',', &series, &err), -EINVAL);
	cr_assert_not_null(strstr(err.text, ":3:"), "%s", err.text);
	cr_assert_not_null(strstr(err.text, "three"), "%s", err.text);
	cr_assert_null(series.values);
	unlink(path);
}

Test(series, refuses_an_empty_file_a_missing_one_and_too_many_fields)
{
	const char *path = write_file("# nothing\n");
	struct series series;
	struct error err = {0};

	cr_assert_eq(series_read(path, 1, ',', &series, &err), -EINVAL);
	cr_assert_eq(series_read("/nonexistent/series", 1, ',', &series, &err), -ENOENT);
	path = write_file("1,2\n");
	cr_assert_eq(series_read(path, 1, ',', &series, &err), -EINVAL);
	unlink(path);
}

Test(series, parses_pairs_from_one_text)
{
	struct series series;
	struct error err = {0};

	cr_assert_eq(series_parse("--steps", "0:10,5:20.5,10:50", 2, ':', &series, &err), 0, "%s", err.text);
	cr_assert_eq(series.rows, 3);
	cr_assert_float_eq(series.values[3], 20.5, 0);
	free(series.values);
	cr_assert_eq(series_parse("--steps", "0:10,5", 2, ':', &series, &err), -EINVAL);
	cr_assert_str_eq(err.text, "--steps: \"5\": found 1 field, expected two numbers with ':' between them");
	cr_assert_eq(series_parse("--steps", "0:10,5:soon", 2, ':', &series, &err), -EINVAL);
	cr_assert_str_eq(err.text, "--steps: \"5:soon\": \"soon\" is not a number");
	cr_assert_eq(series_parse("--steps", "", 2, ':', &series, &err), -EINVAL);
	cr_assert_eq(series_parse("--steps", "0:10:20", 2, ':', &series, &err), -EINVAL);
}
