/* SPDX-License-Identifier: BSD-3-Clause */
/* Excerpts of the output of commands. */
#include <criterion/criterion.h>

#include <string.h>

#include "sweeper_priv.h"

Test(output, the_last_line_with_text)
{
	char text[] = "one\ntwo \n \n\t\n", blank[] = "\n \n", single[] = "x";

	cr_assert_str_eq(output_last_line(text), "two");
	cr_assert_str_eq(output_last_line(single), "x");
	cr_assert_str_eq(output_last_line(blank), "no output");
	cr_assert_str_eq(output_last_line(NULL), "no output");
}

Test(output, the_tail_has_the_last_lines_and_no_more)
{
	cr_assert_str_eq(output_tail("a\nb\nc\n", 2), "b\nc\n");
	cr_assert_str_eq(output_tail("a\nb\nc", 3), "a\nb\nc");
	cr_assert_str_eq(output_tail("a\nb\nc\n\n", 1), "c\n\n");
	cr_assert_str_eq(output_tail("a\n", 9), "a\n");
	cr_assert_str_eq(output_tail(" \n", 9), " \n");
	cr_assert_str_empty(output_tail("", 9));
	cr_assert_str_empty(output_tail(NULL, 9));
}
