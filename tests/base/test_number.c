/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/number.h>
#include <base/rng.h>

Test(number, takes_only_whole_decimal_numbers)
{
	static const char bad[][12] = {"",   " 1",  "1 ",  "1x",  "nan", "inf", "0x10",
				       "1e", "--1", "1,5", "+-2", "e5",  "."};
	double value = 7;
	int64_t integer = 7;

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		cr_assert_eq(number_parse_double(bad[i], &value), -EINVAL, "'%s'", bad[i]);
		cr_assert_eq(number_parse_i64(bad[i], &integer), -EINVAL, "'%s'", bad[i]);
	}
	cr_assert_eq(value, 7);
	cr_assert_eq(integer, 7);
	cr_assert_eq(number_parse_double("1e999", &value), -ERANGE);
	cr_assert_eq(number_parse_i64("9223372036854775808", &integer), -ERANGE);
	cr_assert_eq(number_parse_i64("1.5", &integer), -EINVAL);
	cr_assert_eq(number_parse_double("-2.5e-3", &value), 0);
	cr_assert_eq(value, -2.5e-3);
	cr_assert_eq(number_parse_i64("-9223372036854775808", &integer), 0);
	cr_assert_eq(integer, INT64_MIN);
}

Test(number, printed_doubles_read_back_exactly)
{
	struct rng rng;
	char text[32];

	rng_seed(&rng, 1);
	for (int i = 0; i < 20000; i++) {
		union {
			uint64_t bits;
			double value;
		} x = {rng_next(&rng)};
		double back;

		if ((x.bits >> 52 & 0x7ff) == 0x7ff)
			continue; /* infinities and NaNs are not valid in a file */
		number_print_double(x.value, text, sizeof text);
		cr_assert_eq(number_parse_double(text, &back), 0, "%s", text);
		cr_assert_eq(back, x.value);
	}
	number_print_double(0.1, text, sizeof text);
	cr_assert_str_eq(text, "0.1");
	number_print_double(9.95, text, sizeof text);
	cr_assert_str_eq(text, "9.95", "16 digits would be 9.949999999999999");
}

Test(number, decimals_of_any_length_are_what_strtod_makes_of_them)
{
	static const char edges[][24] = {"-0",   "-.0",   "5.", "+.5", "9007199254740992", "9007199254740993", "0.1",
					 "0000", "00.10", "1.", "-1",  "900719925474099.3"};
	struct rng rng;
	char text[32];
	double value, wanted;

	for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
		wanted = strtod(edges[i], NULL);
		cr_assert_eq(number_parse_double(edges[i], &value), 0, "%s", edges[i]);
		cr_assert_eq(memcmp(&value, &wanted, sizeof value), 0, "%s", edges[i]);
	}
	rng_seed(&rng, 2);
	for (int i = 0; i < 200000; i++) {
		int digits = 1 + (int)(rng_next(&rng) % 22), point = (int)(rng_next(&rng) % 24), at = 0;

		if (rng_next(&rng) % 4 == 0)
			text[at++] = '-';
		for (int digit = 0; digit < digits; digit++) {
			if (digit == point)
				text[at++] = '.';
			text[at++] = (char)('0' + rng_next(&rng) % 10);
		}
		text[at] = '\0';
		wanted = strtod(text, NULL);
		cr_assert_eq(number_parse_double(text, &value), 0, "%s", text);
		cr_assert_eq(memcmp(&value, &wanted, sizeof value), 0, "%s", text);
	}
}

Test(number, rounded_is_never_minus_zero)
{
	char text[32];

	for (int i = 0; i < 3; i++) {
		double values[] = {-0.3, -0.04, -0.0};

		snprintf(text, sizeof text, "%+.*f", i == 1, number_rounded(values[i], i == 1));
		cr_expect_str_eq(text, i == 1 ? "+0.0" : "+0");
	}
	cr_expect_eq(number_rounded(-1.26, 1), -1.3);
	cr_expect_eq(number_rounded(2.5, 0), 3);
	cr_expect(isnan(number_rounded(NAN, 1)));
}
