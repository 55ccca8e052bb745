/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora inject-check: computes the delay of each packet from the injector's capture. */
#include "commands.h"

#include <stdio.h>

#include <base/log.h>
#include <injector/check/delays.h>

struct settings {
	double expect_us, expect_ab_us, expect_ba_us;
	struct check_limit limit;
	bool json;
};

static const struct option_row rows[] = {
	OPTION_DOUBLE(struct settings, expect_us, "expect-us", 'd', "US", -1, 10000, "injected delay; -1: not known"),
	OPTION_DOUBLE(struct settings, expect_ab_us, "expect-ab-us", 0, "US", -1, 10000,
		      "from A to B (-1: same as --expect-us)"),
	OPTION_DOUBLE(struct settings, expect_ba_us, "expect-ba-us", 0, "US", -1, 10000,
		      "from B to A (-1: same as --expect-us)"),
	OPTION_DOUBLE(struct settings, limit.limit_us, "limit-us", 'l', "US", 0, 1e9,
		      "exit 3 if the deviation is larger, a packet is early, missing, extra or reordered, or none was "
		      "matched; 0: no limit"),
	OPTION_DOUBLE(struct settings, limit.percentile, "percentile", 'p', "P", 0, 100,
		      "percentile of the deviation for --limit-us"),
	OPTION_FLAG(struct settings, json, "json", 0, "print JSON (nomora.inject-check/1)"),
	OPTION_END,
};

static const struct option_usage usage = {
	.command = "nomora inject-check",
	.operands = "CAPTURE.pcapng",
	.summary = "Recompute every packet's delay from an injector's capture.",
	.teach = "A frame that entered one port is matched with the next one of equal content that left the other.\n"
		 "Frames still held when the capture ended count as missing.\n\n"
		 "  nomora inject va vb --delay-us 50 --capture run.pcapng --duration 10\n"
		 "  nomora inject-check run.pcapng --expect-us 50 --limit-us 5 --percentile 99\n",
	.rows = rows,
	.operands_minimum = 1,
	.operands_maximum = 1,
};

static int report_all(const char *path, const struct check_report *report, const struct settings *settings)
{
	const struct check_limit *limit = &settings->limit;
	bool nothing = report->direction[CHECK_AB].matched + report->direction[CHECK_BA].matched == 0;
	int code = COMMAND_OK;

	if (report->cut_off)
		log_warning("%s ends within a block because its writer was killed; using the blocks before it", path);
	if (report->lost > 0)
		log_warning("%s lacks %llu frames that its writer lost: other frames may seem missing or extra", path,
			    (unsigned long long)report->lost);
	if (limit->limit_us > 0 && nothing)
		log_warning("%s has no frame that arrived and left: there is nothing to compare with the limit", path);
	if (settings->json)
		code = command_print_json(check_report_to_json(report, path, limit));
	else
		check_report_print(report, stdout);
	return code == COMMAND_OK && check_report_over_limit(report, limit) ? COMMAND_NEGATIVE : code;
}

static int run(void *context, const struct option_operands *operands, struct error *err)
{
	const struct settings *settings = context;
	const double expected_us[CHECK_DIRECTIONS] = {
		[CHECK_AB] = settings->expect_ab_us >= 0 ? settings->expect_ab_us : settings->expect_us,
		[CHECK_BA] = settings->expect_ba_us >= 0 ? settings->expect_ba_us : settings->expect_us,
	};
	struct check_report report = {0};
	int code;

	if (settings->limit.limit_us > 0 && (expected_us[CHECK_AB] < 0 || expected_us[CHECK_BA] < 0))
		return command_misused(err, "--limit-us needs the delay: give --expect-us");
	code = check_delays(operands->items[0], expected_us, &report, err);
	if (code == 0)
		code = report_all(operands->items[0], &report, settings);
	check_report_free(&report);
	return code;
}

int command_inject_check(int argc, char **argv)
{
	struct settings settings = {.expect_us = -1, .expect_ab_us = -1, .expect_ba_us = -1, .limit.percentile = 100};

	log_set_program("nomora inject-check");
	return command_run(&usage, argc, argv, &settings, run);
}
