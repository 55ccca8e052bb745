/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>

#include <criterion/criterion.h>

#include <jansson.h>

#include <base/name.h>

Test(name, is_one_word_of_utf8_that_fits)
{
	static const char bad[][12] = {"",    " a",   "a b",  "a,b",  "a\"b",  "a\tb",
				       "a\n", "\x7f", "\x01", "\xff", "a\xc3", "12345678"};

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		cr_assert_not(name_is_valid(bad[i], 8), "case %zu", i);
	cr_assert(name_is_valid("h1.rack-2", 10));
	cr_assert(name_is_valid("gr\xc3\xbc\xc3\x9f", 16));
}

Test(name, the_nearest_is_a_slip_away)
{
	static const char *const names[] = {"name", "machine", "running_s", "waited_s", "weight", NULL};
	static const struct {
		char typed[40], nearest[12]; /* "": none */
	} cases[] = {
		{"machne", "machine"},
		{"mahcine", "machine"},
		{"machines", "machine"},
		{"Machine", "machine"},
		{"running", "running_s"},
		{"wiated_s", "waited_s"},
		{"wait", ""},
		{"nmae", "name"},
		{"host", ""},
		{"", ""},
		{"n", ""},
		{"aenm", ""},
		{"weigth", "weight"},
		{"wxxght", "weight"},
		{"wxxxxt", ""},
		{"nxxe", ""},
		{"machinemachinemachinemachinemachine", ""},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const char *nearest = name_nearest(cases[i].typed, names);

		cr_expect_str_eq(nearest ? nearest : "", cases[i].nearest, "'%s'", cases[i].typed);
	}
}

Test(name, control_characters_of_both_halves_are_seen)
{
	static const char bad[][8] = {"\x1b[31m",
				      "a\x07",
				      "\x7f",
				      "a\nb",
				      "\xc2\x9b"
				      "1m",
				      "\xc2\x80",
				      "\xc2\x9f"};

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		cr_assert_not(name_is_printable(bad[i], "\t"), "case %zu", i);
	cr_assert(name_is_printable("two words, \"quoted\"", ""));
	cr_assert(name_is_printable("\xc2\xa0\xc2\xb5s \xe2\x82\xac", ""), "what follows C1 is printed");
	cr_assert(name_is_printable("a\tb\n", "\n\t"));
	cr_assert(name_is_printable("", ""));
}

Test(name, is_printed_in_quotes)
{
	char *text;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	name_print_quoted(out, "a\\b \"c\"");
	fclose(out);
	cr_assert_str_eq(text, "\"a\\\\b \\\"c\\\"\"");
	free(text);
}

Test(name, is_one_word_of_a_shell)
{
	static const char word[] = "a 'b' $c \\ \"`d`";
	char *line, read[sizeof word] = "";
	size_t bytes;
	FILE *out = open_memstream(&line, &bytes), *shell;

	fputs("printf %s ", out);
	shell_print(out, word, sizeof word - 1);
	shell_print(out, "not this", 0);
	fclose(out);
	shell = popen(line, "r");
	cr_assert_eq(fread(read, 1, sizeof word, shell), sizeof word - 1);
	cr_assert_eq(pclose(shell), 0);
	cr_assert_str_eq(read, word);
	free(line);
}

Test(name, the_nearest_is_the_first_of_those_with_the_fewest_edits)
{
	static const char *const swapped[] = {"bacdxy", "abcdef", "bacdxyz", NULL};
	static const char *const equal[] = {"abcdx", "abcdy", NULL};
	static const char *const longest[] = {"a-name-of-thirty-one-bytes-xyzw", "a-name-of-thirty-two-bytes-xyzwv",
					      NULL};

	cr_expect_str_eq(name_nearest("bacdef", swapped), "abcdef", "two letters that changed places are one edit");
	cr_expect_str_eq(name_nearest("abcde", equal), "abcdx");
	cr_expect_str_eq(name_nearest("a-name-of-thirty-one-bytes-xyz", longest), longest[0]);
	cr_expect_str_eq(name_nearest("a-name-of-thirty-one-bytes-xyzW", longest), longest[0]);
	cr_expect_null(name_nearest("a-name-of-thirty-one-bytes-xyzw1", longest), "typed: 32 bytes");
	cr_expect_null(name_nearest("a-name-of-thirty-two-bytes-xyzv", longest + 1),
		       "a name of 32 bytes is not compared");
}

/* jansson takes only UTF-8. */
Test(name, utf8_is_what_jansson_takes)
{
	static const unsigned char bytes[] = {0x01, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf,
					      0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xed, 0xee, 0xef,
					      0xf0, 0xf1, 0xf4, 0xf5, 0xf8, 0xfe, 0xff};
	enum { BYTES = sizeof bytes };

	for (size_t n = 0; n < BYTES * BYTES * BYTES * BYTES; n++) {
		char text[5] = {(char)bytes[n % BYTES], (char)bytes[n / BYTES % BYTES],
				(char)bytes[n / BYTES / BYTES % BYTES], (char)bytes[n / BYTES / BYTES / BYTES]};
		json_t *string = json_string(text);

		cr_assert_eq(name_is_utf8(text), string != NULL, "%02x %02x %02x %02x", (unsigned char)text[0],
			     (unsigned char)text[1], (unsigned char)text[2], (unsigned char)text[3]);
		json_decref(string);
	}
}
