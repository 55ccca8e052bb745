/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nomora inject-ctl: sends one command to a running injector and prints the answer as JSON (metrics: as Prometheus
 * text).
 */
#include "commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <base/log.h>
#include <base/number.h>
#include <client/request.h>

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
	.teach = "set takes delay_us= (both ways), delay_ab_us= and delay_ba_us=, or rule= with a --rule of the\n"
		 "injector with other settings; packets already held keep their delay, and order is kept. metrics "
		 "prints the same as stats, in Prometheus format (with --json: as\n"
		 "\"metrics\" of an object); reset zeroes counters and histograms, stop ends the injector.\n\n"
		 "  nomora inject-ctl /run/inj.sock set delay_us=20\n"
		 "  nomora inject-ctl /run/inj.sock set delay_ab_us=20 delay_ba_us=35.5\n"
		 "  nomora inject-ctl /run/inj.sock set rule='udp:53 delay=50 loss=2'\n"
		 "  nomora inject-ctl /run/inj.sock stats | jq .disturbed\n"
		 "  nomora inject-ctl /run/inj.sock metrics > /var/lib/node_exporter/nomora.prom\n",
	.rows = rows,
	.operands_minimum = 2,
	.operands_maximum = 8,
};

/* Returns the operands NAME=VALUE, of which the first is items[2], as an object; NULL with err set on failure. */
static json_t *read_values(const struct option_operands *operands, struct error *err)
{
	json_t *values = json_object();
	int code = values ? 0 : error_set(err, ENOMEM, "out of memory");

	for (int i = 2; i < operands->count && !code; i++) {
		const char *word = operands->items[i], *equals = strchr(word, '=');
		bool is_rule = strncmp(word, "rule=", strlen("rule=")) == 0;
		double value = 0;

		if (!equals)
			code = error_set(err, EINVAL,
					 "set: \"%s\": expected delay_us=, delay_ab_us=, delay_ba_us= or rule=", word);
		else if (!is_rule && number_parse_double(equals + 1, &value))
			code = error_set(err, EINVAL, "set: \"%s\": expected a number of microseconds", word);
		else if (json_object_getn(values, word, (size_t)(equals - word)))
			code = error_set(err, EINVAL, "set: \"%s\" is given twice", word);
		else if (json_object_setn_new(values, word, (size_t)(equals - word),
					      is_rule ? json_string(equals + 1) : json_real(value)))
			code = error_set(err, EINVAL, "set: \"%s\" is not UTF-8 text", word);
	}
	if (!code)
		return values;
	json_decref(values);
	return NULL;
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
	static const char *const commands[] = {"stats", "set", "metrics", "reset", "stop", NULL};
	const struct settings *settings = context;
	const char *command = operands->items[1];
	json_t *values = NULL, *answer;
	size_t c = 0;

	while (commands[c] && strcmp(command, commands[c]) != 0)
		c++;
	if (!commands[c])
		return command_misused(err, "unknown command \"%.60s\": expected stats, set, metrics, reset or stop",
				       command);
	if (c != 1 && operands->count > 2)
		return command_misused(err, "%s: found '%.60s', expected no argument", command, operands->items[2]);
	if (c == 1 && !(values = read_values(operands, err)))
		return COMMAND_USAGE;
	answer = client_ask_injector(operands->items[0], command, values,
				     (struct ns){(int64_t)(settings->timeout_s * 1e9)}, err);
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
