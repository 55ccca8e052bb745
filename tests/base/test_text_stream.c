/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include <base/text_stream.h>

void *__real_realloc(void *block, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);

static int failing; /* number of the call of realloc() that fails, from 1; 0: none */

void *__wrap_realloc(void *block, size_t bytes)
{
	return failing > 0 && --failing == 0 ? NULL : __real_realloc(block, bytes);
}

/* Writes lines of many lengths: 200,000 bytes. Returns what fclose() does. */
static int print(char **text, size_t *bytes)
{
	FILE *out = text_stream_open(text, bytes);

	cr_assert(out);
	for (int i = 0; i < 2000; i++)
		fprintf(out, "%*d\n", 1 + i % 199, i);
	return fclose(out);
}

Test(text_stream, the_text_is_whole)
{
	static char expected[300000];
	size_t bytes, length = 0;
	char *text;

	for (int i = 0; i < 2000; i++)
		length += (size_t)snprintf(expected + length, sizeof expected - length, "%*d\n", 1 + i % 199, i);
	cr_assert_eq(print(&text, &bytes), 0);
	cr_expect_eq(bytes, length);
	cr_expect_str_eq(text, expected);
	free(text);
}

Test(text_stream, without_output_the_text_is_empty)
{
	size_t bytes;
	char *text;

	cr_assert_eq(fclose(text_stream_open(&text, &bytes)), 0);
	cr_expect_eq(bytes, 0);
	cr_expect_str_eq(text, "");
	free(text);
}

/* Whichever write finds no memory, also if later ones would: there is no text. */
Test(text_stream, a_failed_write_leaves_no_text)
{
	size_t bytes;
	char *text;

	for (int call = 1; call < 100; call++) {
		failing = call;
		if (print(&text, &bytes) == 0) {
			cr_expect_gt(call, 4);
			free(text);
			return;
		}
		cr_expect_null(text, "call %d", call);
		cr_expect_eq(bytes, 0);
	}
	cr_assert_fail("each call fails");
}
