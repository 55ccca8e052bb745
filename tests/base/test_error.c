/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>

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
