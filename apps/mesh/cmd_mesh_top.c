/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora mesh top: shows a live matrix on a terminal, and refreshes it. */
#include "commands.h"

#include <errno.h>
#include <poll.h>

#include <base/json.h>
#include <base/stop.h>
#include <base/text_stream.h>
#include <model/latency_table.h>
#include <model/latency_live.h>
#include <probe/verdict/patterns.h>

struct top_settings {
	int statistic;
	double interval_s, max_age_s;
	bool once, json;
};

static const struct option_row rows[] = {
	OPTION_CHOICE(struct top_settings, statistic, "stat", 's', "WHICH", latency_statistic_names,
		      "figure to show for each pair"),
	OPTION_DOUBLE(struct top_settings, interval_s, "interval", 'i', "S", 0.1, 3600, "time between two refreshes"),
	OPTION_DOUBLE(struct top_settings, max_age_s, "max-age", 0, "S", 0, 1e9,
		      "pairs older than this are stale; 0 = no pair is"),
	OPTION_FLAG(struct top_settings, once, "once", '1', "print the state once and exit"),
	OPTION_FLAG(struct top_settings, json, "json", 'j', "print the state once as JSON (nomora.mesh_top/1)"),
	OPTION_END,
};

/* Prints what is bad, a line each. */
static void print_findings(const struct latency_matrix *live, const struct patterns *patterns)
{
	for (size_t i = 0; i < patterns->count; i++) {
		pattern_print(live, &patterns->items[i], stdout);
		putchar('\n');
	}
}

/* NULL: out of memory. */
static json_t *findings_json(const struct latency_matrix *live, const struct patterns *patterns)
{
	json_t *findings = json_array();

	for (size_t i = 0; i < patterns->count; i++) {
		char *text = NULL;
		size_t bytes;
		FILE *out = text_stream_open(&text, &bytes);

		if (out) {
			pattern_print(live, &patterns->items[i], out);
			fclose(out);
		}
		json_array_append_new(findings, json_pack("{s:s, s:s}", "kind", pattern_names[patterns->items[i].kind],
							  "text", text));
		free(text);
	}
	if (json_array_size(findings) == patterns->count)
		return findings;
	json_decref(findings);
	return NULL;
}

static int print(const struct latency_matrix *live, const struct top_settings *settings,
		 const struct latency_census *census, const struct patterns *patterns, struct ns now, struct error *err)
{
	json_t *json;

	if (settings->json) {
		json = latency_census_to_json(census, live);
		if (json_object_set_new(json, "findings", findings_json(live, patterns)) == 0)
			return json_write_file_new("-", json, err);
		json_decref(json);
		return error_set(err, ENOMEM, "out of memory");
	}
	if (!settings->once)
		fputs("\033[H\033[2J", stdout);
	print_findings(live, patterns);
	latency_census_print(census, live, now, stdout);
	if (!settings->once)
		printf("\nthe worst pairs by %s; Ctrl-C ends\n", latency_statistic_names[settings->statistic]);
	return command_flush(err);
}

static int look(const struct latency_matrix *live, const struct top_settings *settings, struct error *err)
{
	struct ns now = ns_now_wall();
	struct ns max_age = ns_from_us(settings->max_age_s * 1e6);
	struct latency_census census;
	struct patterns patterns;
	int code;

	if (latency_census_take(live, (enum latency_statistic)settings->statistic, now, max_age, &census))
		return error_set(err, ENOMEM, "out of memory");
	code = patterns_find(live, (enum latency_statistic)settings->statistic, now, census.max_age, &patterns);
	if (code)
		code = error_set(err, -code, "out of memory");
	else
		code = print(live, settings, &census, &patterns, now, err);
	patterns_free(&patterns);
	latency_census_free(&census);
	return code;
}

static int watch(void *context, const struct option_operands *operands, struct error *err)
{
	const struct top_settings *settings = context;
	struct latency_matrix *live = latency_live_map(operands->items[0], err);
	int code;

	stop_catch_signals();
	code = live ? look(live, settings, err) : error_code(err, EIO);
	while (!code && !settings->once && !settings->json && !*stop_flag()) {
		poll(NULL, 0, (int)(settings->interval_s * 1e3));
		code = *stop_flag() ? 0 : look(live, settings, err);
	}
	latency_matrix_destroy(live);
	return code;
}

int command_mesh_top(int argc, char **argv)
{
	const struct option_usage usage = {
		.command = "nomora mesh top",
		.operands = "LIVE",
		.summary = "Show the state and the worst pairs of a live matrix.",
		.teach = "  nomora mesh top /dev/shm/mesh --stat p99 --max-age 30\n",
		.rows = rows,
		.operands_minimum = 1,
		.operands_maximum = 1,
	};
	struct top_settings settings = {.statistic = LATENCY_STATISTIC_P99, .interval_s = 1, .max_age_s = 60};

	return command_run(&usage, argc, argv, &settings, watch);
}
