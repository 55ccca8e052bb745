/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nomora inject-ctl: sends one command to a running injector and prints the answer as JSON (metrics: as Prometheus
 * text).
 */
#include "commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <base/control.h>
#include <base/log.h>

enum { LINE_BYTES = 1024 };

struct settings {
	double timeout_s;
	bool json;
};

static const struct option_row rows[] = {
	OPTION_DOUBLE(struct settings, timeout_s, "timeout", 't', "S", 0.01, 3600, "maximum wait for the answer"),
	OPTION_FLAG(struct settings, json, "json", 0, "print one compact line instead of indented JSON"),
	OPTION_END,
};

static const struct option_usage usage = {
	.command = "nomora inject-ctl",
	.operands = "PATH stats | set NAME=VALUE... | metrics | reset | stop",
	.summary = "Read or change a running injector.",
	.teach = "set takes delay_us= (both ways), delay_ab_us= and delay_ba_us=; packets already held keep their\n"
		 "delay, and order is kept. metrics prints the same as stats, in Prometheus format (with --json: as\n"
		 "\"metrics\" of an object); reset zeroes counters and histograms, stop ends the injector.\n\n"
		 "  nomora inject-ctl /run/inj.sock set delay_us=20\n"
		 "  nomora inject-ctl /run/inj.sock set delay_ab_us=20 delay_ba_us=35.5\n"
		 "  nomora inject-ctl /run/inj.sock stats | jq .disturbed\n"
		 "  nomora inject-ctl /run/inj.sock metrics > /var/lib/node_exporter/nomora.prom\n",
	.rows = rows,
	.operands_minimum = 2,
	.operands_maximum = 8,
};

/* Joins the operands after the first (the socket's path) to the command, separated by single blanks. */
static int join(const struct option_operands *operands, char line[LINE_BYTES], struct error *err)
{
	size_t length = 0;

	line[0] = '\0';
	for (int i = 1; i < operands->count; i++) {
		int added = snprintf(line + length, LINE_BYTES - length, "%s%s", i > 1 ? " " : "", operands->items[i]);

		length += (size_t)added;
		if (length >= LINE_BYTES || strchr(operands->items[i], '\n'))
			return error_set(err, EINVAL, "the command is longer than %d bytes, or contains a newline",
					 LINE_BYTES);
	}
	return 0;
}

static void print_answer(const json_t *answer, bool json)
{
	const char *metrics = json_string_value(json_object_get(answer, "metrics"));

	if (metrics && !json) {
		fputs(metrics, stdout);
	} else {
		json_dumpf(answer, stdout, json ? JSON_COMPACT : JSON_INDENT(2));
		putchar('\n');
	}
}

static int run(void *context, const struct option_operands *operands, struct error *err)
{
	const struct settings *settings = context;
	char line[LINE_BYTES];
	json_t *answer;

	if (join(operands, line, err))
		return COMMAND_USAGE;
	answer = control_request(operands->items[0], line, (struct ns){(int64_t)(settings->timeout_s * 1e9)}, err);
	/*
	 * EINVAL means that the injector refused the command. The command comes from the command line, so this is wrong
	 * usage.
	 */
	if (!answer)
		return err->code == EINVAL ? COMMAND_USAGE : COMMAND_FAILED;
	print_answer(answer, settings->json);
	json_decref(answer);
	return COMMAND_OK;
}

int command_inject_ctl(int argc, char **argv)
{
	struct settings settings = {.timeout_s = 5};

	log_set_program("nomora inject-ctl");
	return command_run(&usage, argc, argv, &settings, run);
}
