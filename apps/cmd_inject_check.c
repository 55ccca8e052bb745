/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora inject-check: the delay of each packet, from what the injector captured. */
#include "commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include <base/log.h>
#include <injector/check/delays.h>

struct settings {
	double expect_us, expect_ab_us, expect_ba_us, limit_us, percentile;
	bool json;
};

static const struct option_row rows[] = {
	OPTION_DOUBLE(struct settings, expect_us, "expect-us", 'd', "US", -1, 10000, "injected delay; -1: not known"),
	OPTION_DOUBLE(struct settings, expect_ab_us, "expect-ab-us", 0, "US", -1, 10000,
		      "from A to B (-1: same as --expect-us)"),
	OPTION_DOUBLE(struct settings, expect_ba_us, "expect-ba-us", 0, "US", -1, 10000,
		      "from B to A (-1: same as --expect-us)"),
	OPTION_DOUBLE(struct settings, limit_us, "limit-us", 'l', "US", 0, 1e9,
		      "exit 3 if the deviation is larger, a packet is early, missing, extra or reordered, or none was "
		      "matched; "
		      "0: no limit"),
	OPTION_DOUBLE(struct settings, percentile, "percentile", 'p', "P", 0, 100,
		      "percentile of the deviation for --limit-us"),
	OPTION_FLAG(struct settings, json, "json", 0, "print JSON (nomora.inject-check/1)"),
	OPTION_END,
};

static const struct option_usage usage = {
	.command = "nomora inject-check",
	.operands = "CAPTURE.pcapng",
	.summary = "Recomputes every packet's delay from a capture that nomora inject --capture wrote.",
	.teach = "A frame that entered one port is matched with the next one of equal content that left the other.\n"
		 "Frames still held when the capture ended count as missing.\n\n"
		 "  nomora inject va vb --delay-us 50 --capture run.pcapng --duration 10\n"
		 "  nomora inject-check run.pcapng --expect-us 50 --limit-us 5 --percentile 99\n",
	.rows = rows,
	.operands_minimum = 1,
	.operands_maximum = 1,
};

static const char *const direction_names[] = {"ab", "ba"};
static const char *const direction_labels[] = {"A -> B", "B -> A"};

static bool over_limit(const struct check_direction_report *report, const struct settings *settings)
{
	if (settings->limit_us <= 0)
		return false;
	return (double)histogram_percentile(report->deviation_ns, settings->percentile) > settings->limit_us * 1e3 ||
	       report->early || report->missing || report->extra || report->reordered;
}

static json_t *distribution_json(const struct histogram *histogram)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:f}", "min", (json_int_t)histogram_minimum(histogram), "p50",
			 (json_int_t)histogram_percentile(histogram, 50), "p99",
			 (json_int_t)histogram_percentile(histogram, 99), "p99_9",
			 (json_int_t)histogram_percentile(histogram, 99.9), "max",
			 (json_int_t)histogram_maximum(histogram), "mean", histogram_mean(histogram));
}

static json_t *direction_json(const struct check_direction_report *report, const struct settings *settings)
{
	json_t *object = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:o}", "in", (json_int_t)report->in, "out",
				   (json_int_t)report->out, "matched", (json_int_t)report->matched, "missing",
				   (json_int_t)report->missing, "extra", (json_int_t)report->extra, "reordered",
				   (json_int_t)report->reordered, "early", (json_int_t)report->early, "over_limit",
				   over_limit(report, settings), "delay_ns", distribution_json(report->delay_ns));

	if (histogram_count(report->deviation_ns) > 0)
		json_object_set_new(object, "deviation_ns", distribution_json(report->deviation_ns));
	return object;
}

static void print_json(const char *path, const struct check_report *report, const struct settings *settings, bool over)
{
	json_t *object = json_pack("{s:s, s:s, s:I, s:I, s:b, s:b}", "schema", "nomora.inject-check/1", "file", path,
				   "frames", (json_int_t)report->frames, "lost",
				   (json_int_t)(report->lost <= INT64_MAX ? report->lost : INT64_MAX), "cut_off",
				   report->cut_off, "over_limit", over);

	for (int d = 0; d < CHECK_DIRECTIONS; d++)
		json_object_set_new(object, direction_names[d], direction_json(&report->direction[d], settings));
	json_dumpf(object, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(object);
}

static void print_direction(const char *label, const struct check_direction_report *report)
{
	const struct histogram *delay = report->delay_ns, *deviation = report->deviation_ns;

	printf("%s: %llu in, %llu out, %llu missing, %llu extra, %llu reordered", label, (unsigned long long)report->in,
	       (unsigned long long)report->out, (unsigned long long)report->missing, (unsigned long long)report->extra,
	       (unsigned long long)report->reordered);
	if (report->matched)
		printf("; delay min %.3f p50 %.3f p99 %.3f max %.3f us", (double)histogram_minimum(delay) / 1e3,
		       (double)histogram_percentile(delay, 50) / 1e3, (double)histogram_percentile(delay, 99) / 1e3,
		       (double)histogram_maximum(delay) / 1e3);
	if (histogram_count(deviation))
		printf("; off by p50 %lld p99 %lld p99.9 %lld max %lld ns, %llu early",
		       (long long)histogram_percentile(deviation, 50), (long long)histogram_percentile(deviation, 99),
		       (long long)histogram_percentile(deviation, 99.9), (long long)histogram_maximum(deviation),
		       (unsigned long long)report->early);
	putchar('\n');
}

static int report_all(const char *path, const struct check_report *report, const struct settings *settings)
{
	bool nothing = report->direction[CHECK_AB].matched + report->direction[CHECK_BA].matched == 0;
	bool over = settings->limit_us > 0 && nothing;

	if (report->cut_off)
		log_warning("%s ends within a block because its writer was killed; using the blocks before it", path);
	if (report->lost > 0)
		log_warning("%s lacks %llu frames that its writer lost: other frames may seem missing or extra", path,
			    (unsigned long long)report->lost);
	if (over)
		log_warning("%s has no frame that arrived and left: there is nothing to compare with the limit", path);
	for (int d = 0; d < CHECK_DIRECTIONS; d++)
		over |= over_limit(&report->direction[d], settings);
	if (settings->json)
		print_json(path, report, settings, over);
	for (int d = 0; d < CHECK_DIRECTIONS && !settings->json; d++)
		print_direction(direction_labels[d], &report->direction[d]);
	return over ? COMMAND_NEGATIVE : COMMAND_OK;
}

int command_inject_check(int argc, char **argv)
{
	struct settings settings = {.expect_us = -1, .expect_ab_us = -1, .expect_ba_us = -1, .percentile = 100};
	struct option_operands operands = {0};
	struct check_report report = {0};
	struct error err = {0};
	double expected_us[CHECK_DIRECTIONS];
	int status;

	log_set_program("nomora inject-check");
	status = command_parse(&usage, argc, argv, &settings, &operands);
	if (status >= 0)
		return status;
	expected_us[CHECK_AB] = settings.expect_ab_us >= 0 ? settings.expect_ab_us : settings.expect_us;
	expected_us[CHECK_BA] = settings.expect_ba_us >= 0 ? settings.expect_ba_us : settings.expect_us;
	if (settings.limit_us > 0 && (expected_us[CHECK_AB] < 0 || expected_us[CHECK_BA] < 0)) {
		error_set(&err, EINVAL, "--limit-us needs the delay: give --expect-us");
		status = command_fail(&err, COMMAND_USAGE);
	} else if (check_delays(operands.items[0], expected_us, &report, &err)) {
		status = command_fail(&err, COMMAND_FAILED);
	} else {
		status = report_all(operands.items[0], &report, &settings);
	}
	check_report_free(&report);
	options_free(&operands);
	return status;
}
