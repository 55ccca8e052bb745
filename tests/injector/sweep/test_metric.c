/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <injector/sweep/plan.h>

#include "sweeper_priv.h"

static int extract(const char *text, const char *output, double *value)
{
	struct sweep_metric_input input = {output, 4, 1.25};
	struct sweep_metric_def metric;
	struct error err = {0};
	int code = sweep_metric_parse(text, &metric, &err);

	cr_assert_eq(code, 0, "%s", err.text);
	code = sweep_metric_extract(&metric, &input, value, &err);
	sweep_metric_free(&metric);
	return code;
}

static void expect(const char *how, const char *output, double wanted)
{
	char text[200];
	double value = NAN;

	snprintf(text, sizeof text, "m u higher %s", how);
	cr_assert_eq(extract(text, output, &value), 0, "%s", text);
	cr_assert_float_eq(value, wanted, 1e-9, "%s gives %g", text, value);
}

static void expect_nothing(const char *how, const char *output)
{
	char text[200];
	double value;

	snprintf(text, sizeof text, "m u higher %s", how);
	cr_assert_lt(extract(text, output, &value), 0, "%s found something", text);
}

Test(metric, regular_expressions)
{
	expect("regex:^tps = ([0-9.]+)", "x\ntps = 12.5 (incl)\ny\n", 12.5);
	expect("regex:[0-9]+", "a 7 b", 7);
	expect("regex:rate: +([0-9.e+]+)", "rate: 1\nrate: 2\nrate:   3e2\n", 300);
	expect("regex:^([0-9]+)$", "x 1\n22\n3 y\n", 22);
	expect("regex:^([0-9]+)", "5 6 7", 5);
	expect("regex:\"GET\",\"([0-9.]+)\"", "\"SET\",\"1\"\n\"GET\",\"95238.10\",\"0.1\"\n", 95238.1);
	expect_nothing("regex:^tps = ([0-9.]+)", "no such line");
	expect_nothing("regex:tps = (.*)", "tps = many");
	expect_nothing("regex:x*", "");
}

/* Without the refusal each gives a number that the output does not have, such as 1 for 1,234.5. */
Test(metric, a_part_of_a_number_is_refused)
{
	expect_nothing("regex:rate: ([0-9.]+)", "rate: 1,234.5");
	expect_nothing("regex:rate: ([0-9]+)", "rate: 12.5");
	expect_nothing("regex:rate: ([0-9])", "rate: 77");
	expect_nothing("regex:rate.*([0-9]+)", "rate 77 88");
	expect_nothing("regex:rate: ([0-9.]+)", "rate: 1.5e3");
	expect_nothing("regex:rate: ([0-9.]+)", "rate: 1.5k");
	expect_nothing("regex:rate: ([0-9.]+)", "rate: 15%");
	expect("regex:rate: ([0-9.]+)k", "rate: 1.5k", 1.5);
	expect("regex:rate: ([0-9.]+),", "rate: 1,234.5", 1);
	expect("regex:rate: ([0-9.]+)", "rate: 12,34", 12);
	expect("regex:rate: ([0-9.]+)", "rate: 1.5,234", 1.5);
	expect("regex:rate: ([0-9.]+)", "rate: 1234,567", 1234);
	expect("regex:rate: ([0-9.]+)", "rate: 12. End", 12);
	expect("regex:rate: ([0-9.]+)", "rate: 15 k", 15);
	expect("regex:rate: ([0-9.]+)", "rate: 15u", 15);
}

/* wrk, hey, fio and iperf3 change the unit between two delays: without the conversion the curve is upside down. */
Test(metric, values_are_converted_to_the_metrics_unit)
{
	static const struct {
		const char *unit, *output;
		double value;
	} cases[] = {{"us", "Latency 950.21us", 950.21},
		     {"us", "Latency 1.20ms", 1200},
		     {"ms", "Latency 1.5 s", 1500},
		     {"µs", "Latency 20 ns", 0.02},
		     {"ms", "Latency 5µs", 0.005},
		     {"s", "Latency 5", 5},
		     {"us", "Latency 1.5ms/op", 1500},
		     {"ms/op", "Latency 1.5ms/op", 1.5},
		     {"1/s", "Latency 12.3k, BW", 12300},
		     {"1/s", "Latency 2M", 2e6},
		     {"Mbits/sec", "Latency 9.4 Gbits/sec", 9400},
		     {"Mbits/sec", "Latency 941 Kbits/sec", 0.941}};
	char text[100];
	double value;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		snprintf(text, sizeof text, "m %s lower regex:Latency +([0-9.]+)", cases[i].unit);
		cr_expect_eq(extract(text, cases[i].output, &value), 0, "%s", cases[i].output);
		cr_expect_float_eq(value, cases[i].value, 1e-9, "%s: %g", cases[i].output, value);
	}
	cr_expect_lt(extract("m us lower regex:Latency +([0-9.]+)", "Latency 1.05m", &value), 0);
	cr_expect_lt(extract("m 1/s higher regex:rate +([0-9.]+)", "rate 1.05s", &value), 0);
	cr_expect_lt(extract("m 1/s higher regex:rate +([0-9.]+)", "rate 1.05G", &value), 0);
	cr_expect_lt(extract("m us lower regex:Latency +([0-9.]+)", "Latency 1.05k", &value), 0);
}

Test(metric, json_paths)
{
	static const char text[] = "starting\n{not json\n{\"a\": {\"b\": [1, {\"c\": 2.5}]}, \"s\": \"x\"}\ntrailer\n";

	expect("json:a.b[0]", text, 1);
	expect("json:a.b[1].c", text, 2.5);
	expect("json:[1]", "[3, 4]", 4);
	expect_nothing("json:a.b[2]", text);
	expect_nothing("json:a.x", text);
	expect_nothing("json:s", text);
	expect_nothing("json:a..b", text);
	expect_nothing("json:a.b[x]", text);
	expect_nothing("json:a", "no braces");
}

Test(metric, exit_code_and_time)
{
	expect("exit", "", 4);
	expect("elapsed", "", 1.25);
}

/* Without the limit each of these takes gigabytes, or minutes. */
Test(metric, patterns_that_would_explode, .timeout = 5)
{
	static const char *const patterns[] = {
		"(((a{1,255}){1,255}){1,255})",
		"((((((((((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+",
		"(a{,9999}){2,}",
		"([[:digit:]]{60}){60}",
		"(x|y{1,32767})",
		"((a*)*|b){300}",
	};
	struct sweep_metric_def metric;

	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
		char text[200];
		struct error err = {0};

		snprintf(text, sizeof text, "m u higher regex:%s", patterns[i]);
		cr_assert_eq(sweep_metric_parse(text, &metric, &err), -E2BIG, "%s", text);
		cr_assert(strstr(err.text, "too large"), "%s", err.text);
	}
}

/* Without the refusal, 'rate.*?([0-9]+)' gives 8 on "rate 77 88". */
Test(metric, patterns_of_perl_are_refused)
{
	static const char *const refused[] = {"rate.*?([0-9]+)", "a+?b", "a??", "rate: (\\d+)", "(?:a)b"};
	static const char *const accepted[] = {"[*?]+", "\\\\d", "\\*?", "\\(?x", "[\\d]([0-9]+)"};
	struct sweep_metric_def metric;
	char text[100];

	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		struct error err = {0};

		snprintf(text, sizeof text, "m u higher regex:%s", refused[i]);
		cr_expect_eq(sweep_metric_parse(text, &metric, &err), -EINVAL, "%s", text);
		cr_expect(strstr(err.text, "not POSIX: write"), "%s", err.text);
	}
	for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
		struct error err = {0};

		snprintf(text, sizeof text, "m u higher regex:%s", accepted[i]);
		cr_expect_eq(sweep_metric_parse(text, &metric, &err), 0, "%s: %s", text, err.text);
		sweep_metric_free(&metric);
	}
}

Test(metric, patterns_of_use_are_small)
{
	static const struct {
		size_t parts;
		char pattern[64];
	} known[] = {{0, ""},       {3, "abc"},        {4, "(abc)"}, {8, "(abc)+"},    {1, "[]{9}[:digit:]x{9}]"},
		     {9, "\\({9}"}, {7, "a{3}b{2,4}"}, {3, "a{2,}"}, {9, "{,5}x{,5}"}, {3, "a|b"}};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		cr_expect_eq(pattern_parts(known[i].pattern), known[i].parts, "%s: %zu", known[i].pattern,
			     pattern_parts(known[i].pattern));
	cr_expect_leq(pattern_parts("(a{1,20}){1,20}"), PATTERN_PARTS_MAXIMUM);
}

static const char *const refused[] = {
	"",
	"a",
	"a b",
	"a b higher",
	"a b more exit",
	"a b higher exits",
	"a b higher regex:",
	"a b higher json:",
	"a b higher regex:((",
	"a,b u higher exit",
	"a\"b u higher exit",
	"a u,u higher exit",
	"averyveryveryveryveryveryveryveryveryveryveryveryveryverylongnameofametric u higher exit",
};

Test(metric, what_is_no_metric)
{
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		struct sweep_metric_def metric;
		struct error err = {0};

		cr_assert_eq(sweep_metric_parse(refused[i], &metric, &err), -EINVAL, "'%s'", refused[i]);
		cr_assert_neq(strstr(err.text, "metric"), NULL);
		sweep_metric_free(&metric);
	}
}

Test(metric, ping_median)
{
	double median_us = 0;

	cr_assert_eq(
		ping_parse("64 bytes: icmp_seq=1 ttl=64 time=0.040 ms\nx time=1.20 ms\ny time=0.060 ms\n", &median_us),
		0);
	cr_assert_float_eq(median_us, 60, 1e-9);
	cr_assert_eq(ping_parse("time=1 ms time=3 ms", &median_us), 0);
	cr_assert_float_eq(median_us, 2000, 1e-9);
	cr_assert_eq(ping_parse("3 packets transmitted, 0 received, time=", &median_us), -ENOENT);
}
