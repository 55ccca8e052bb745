/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

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
