/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>

#include <base/error.h>

Test(error, the_code_of_a_creator_that_gave_nothing)
{
	struct error err = {0};

	cr_assert_eq(error_code(NULL, ENOMEM), -ENOMEM);
	cr_assert_eq(error_code(&err, ENOMEM), -ENOMEM, "nobody set it");
	error_set(&err, EINVAL, "bad");
	cr_assert_eq(error_code(&err, ENOMEM), -EINVAL);
}

Test(error, names_file_line_and_field)
{
	struct error err = {0};

	cr_assert_eq(error_at(&err, (struct error_place){"a.csv", 3, "x"}, EINVAL, "expected %d", 1), -EINVAL);
	cr_assert_str_eq(err.text, "a.csv:3: x: expected 1");
	cr_assert_eq(error_prefix(&err, "fit"), -EINVAL);
	cr_assert_str_eq(err.text, "fit: a.csv:3: x: expected 1");
	cr_assert_eq(error_at(NULL, (struct error_place){"a.csv", 3, "x"}, EINVAL, "expected"), -EINVAL);
}

Test(error, leaves_out_the_parts_of_a_place_that_are_not_known)
{
	static const struct {
		struct error_place place;
		const char *text;
	} cases[] = {
		{{"a.csv", 0, "x"}, "a.csv: x: 1 of 2"},
		{{"a.csv", 3, NULL}, "a.csv:3: 1 of 2"},
		{{"a.csv", 3, ""}, "a.csv:3: 1 of 2"},
		{{NULL, 0, "x"}, "x: 1 of 2"},
		{{NULL, 0, NULL}, "1 of 2"},
		{{NULL, 7, NULL}, "7: 1 of 2"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct error err = {0};

		cr_expect_eq(error_at(&err, cases[i].place, ERANGE, "%d of %s", 1, "2"), -ERANGE);
		cr_expect_str_eq(err.text, cases[i].text);
		cr_expect_eq(err.code, ERANGE);
	}
}

Test(error, prints_its_arguments_and_stays_within_its_text)
{
	struct error err = {0};
	char long_text[3 * ERROR_TEXT_BYTES];

	cr_assert_eq(error_set(&err, ENOENT, "%s %d", "file", 7), -ENOENT);
	cr_assert_str_eq(err.text, "file 7");
	cr_assert_eq(error_prefix(&err, "%s:%d", "a", 3), -ENOENT);
	cr_assert_str_eq(err.text, "a:3: file 7");
	cr_assert_eq(error_prefix(NULL, "a"), -EINVAL);
	memset(long_text, 'y', sizeof long_text - 1);
	long_text[sizeof long_text - 1] = '\0';
	error_at(&err, (struct error_place){long_text, 5, long_text}, EINVAL, "%s", long_text);
	cr_assert_eq(strlen(err.text), ERROR_TEXT_BYTES - 1);
	cr_assert_eq(strncmp(err.text + 400, ":5: y", 5), 0, "at most 400 bytes of the file's name");
	cr_assert_eq(strncmp(err.text + 604, ": y", 3), 0, "at most 200 bytes of the field's name");
	error_set(&err, EINVAL, "%s", long_text);
	error_prefix(&err, "%s", long_text);
	cr_assert_eq(strlen(err.text), 400 + 2 + 600);
}
