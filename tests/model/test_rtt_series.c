/* SPDX-License-Identifier: BSD-3-Clause */
#include <model/rtt_series.h>

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int parse(const char *head, int values, const char *tail, struct rtt_series *series, struct error *err)
{
	char text[8192];
	size_t used = (size_t)snprintf(text, sizeof text, "%s", head);
	struct file_lines *lines;
	int code;

	for (int v = 0; v < values; v++)
		used += (size_t)snprintf(text + used, sizeof text - used, "%d\n", v + 1);
	used += (size_t)snprintf(text + used, sizeof text - used, "%s", tail);
	lines = file_lines_from_memory("test", text, used);
	code = rtt_series_parse(series, lines, err);
	file_lines_close(lines);
	return code;
}

Test(rtt_series, one_value_a_second)
{
	struct rtt_series series;
	struct error err = {0};

	cr_assert_eq(parse("# rtt, us\r\n12.5\r\n", 60, "", &series, &err), 0, "%s", err.text);
	cr_assert_eq(series.count, 61);
	cr_assert_float_eq(series.us[0], 12.5, 0);
	cr_assert_float_eq(series.median_us, 30, 0);
	free(series.us);
}

static const struct {
	const char *head, *tail, *text;
	int values;
} bad[] = {
	{"", "", "test: 3 values; expected at least 60", 3},
	{"1\n\n", "", "test:2: '': expected microseconds", 60},
	{"", "nan\n", "test:61: 'nan'", 60},
	{"", "0\n", "test:61: '0'", 60},
	{"", "-1\n", "test:61: '-1'", 60},
	{"", "1,2\n", "test:61: '1,2'", 60},
};

Test(rtt_series, refuses_gaps_and_what_is_no_round_trip)
{
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct rtt_series series;
		struct error err = {0};

		cr_assert_lt(parse(bad[i].head, bad[i].values, bad[i].tail, &series, &err), 0, "%zu", i);
		cr_expect(strstr(err.text, bad[i].text), "%s", err.text);
		cr_expect_null(series.us);
	}
}
