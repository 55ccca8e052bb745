/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora mesh top: a live matrix on a terminal, as it changes. */
#include "commands.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include <base/json.h>
#include <base/stop.h>
#include <model/latency_census.h>
#include <model/latency_live.h>

struct top_settings {
	int statistic;
	double interval_s, max_age_s;
	bool once, json;
};

static const struct option_row rows[] = {
	OPTION_CHOICE(struct top_settings, statistic, "stat", 's', "WHICH", latency_statistic_names,
		      "which figure of each pair"),
	OPTION_DOUBLE(struct top_settings, interval_s, "interval", 'i', "S", 0.1, 3600, "between two looks"),
	OPTION_DOUBLE(struct top_settings, max_age_s, "max-age", 0, "S", 0, 1e9, "older pairs are stale; 0 = none is"),
	OPTION_FLAG(struct top_settings, once, "once", '1', "print one look and end"),
	OPTION_FLAG(struct top_settings, json, "json", 'j', "one look as JSON (nomora.mesh_top/1)"),
	OPTION_END,
};

static void print_census(const struct latency_matrix *live, const struct latency_census *census,
			 const struct top_settings *settings, struct ns now)
{
	printf("%zu hosts, %llu pairs:", latency_matrix_hosts(live), (unsigned long long)census->pairs);
	for (size_t i = 0; i < LATENCY_STATES; i++)
		printf(" %llu %s%s", (unsigned long long)census->by_state[i], latency_state_names[i],
		       i + 1 < LATENCY_STATES ? "," : "");
	printf("; written %.1f s ago\n", ns_to_s(ns_sub(now, latency_live_written_at(live))));
	for (size_t i = 0; i < census->lost_count; i++)
		printf("%s %s: nobody reaches it\n", i == 0 ? "lost:" : "     ",
		       latency_matrix_host(live, census->lost_hosts[i]));
	printf("\n%-20s %-20s %10s %10s %10s %8s %8s\n", "from", "to", "p50 us", "p99 us", "max us", "loss %", "age s");
	for (size_t i = 0; i < census->worst_count; i++) {
		const struct latency_entry *entry = &census->worst[i];

		printf("%-20.20s %-20.20s %10.1f %10.1f %10.1f %8.2f %8.1f\n", latency_matrix_host(live, entry->source),
		       latency_matrix_host(live, entry->destination), entry->rtt_p50_us, entry->rtt_p99_us,
		       entry->rtt_max_us, entry->loss * 100, ns_to_s(ns_sub(now, entry->updated_at)));
	}
	if (!settings->once)
		printf("\nthe worst pairs by %s; Ctrl-C ends\n", latency_statistic_names[settings->statistic]);
}

static int print_json(const struct latency_matrix *live, const struct latency_census *census, struct error *err)
{
	json_t *worst = json_array(), *lost = json_array(), *states = json_object(), *root;
	int code;

	for (size_t i = 0; i < census->worst_count; i++) {
		const struct latency_entry *entry = &census->worst[i];

		json_array_append_new(worst, json_pack("{s:s,s:s,s:f,s:f,s:f,s:f,s:f}", "src",
						       latency_matrix_host(live, entry->source), "dst",
						       latency_matrix_host(live, entry->destination), "rtt_p50_us",
						       entry->rtt_p50_us, "rtt_p99_us", entry->rtt_p99_us, "rtt_max_us",
						       entry->rtt_max_us, "loss", entry->loss, "updated_at",
						       ns_to_s(entry->updated_at)));
	}
	for (size_t i = 0; i < census->lost_count; i++)
		json_array_append_new(lost, json_string(latency_matrix_host(live, census->lost_hosts[i])));
	for (size_t i = 0; i < LATENCY_STATES; i++)
		json_object_set_new(states, latency_state_names[i], json_integer((json_int_t)census->by_state[i]));
	root = json_pack("{s:s,s:I,s:I,s:o,s:f,s:o,s:o}", "schema", "nomora.mesh_top/1", "hosts",
			 (json_int_t)latency_matrix_hosts(live), "pairs", (json_int_t)census->pairs, "states", states,
			 "written_at", ns_to_s(latency_live_written_at(live)), "lost_hosts", lost, "worst", worst);
	if (!root)
		return error_set(err, ENOMEM, "out of memory");
	code = json_write_file("-", root, err);
	json_decref(root);
	return code;
}

static int look(const struct latency_matrix *live, const struct top_settings *settings, struct error *err)
{
	struct ns now = ns_now_wall();
	struct latency_census census;
	int code = 0;

	if (latency_census_take(live, (enum latency_statistic)settings->statistic, now,
				ns_from_us(settings->max_age_s * 1e6), &census))
		return error_set(err, ENOMEM, "out of memory");
	if (settings->json) {
		code = print_json(live, &census, err);
	} else {
		if (!settings->once)
			fputs("\033[H\033[2J", stdout);
		print_census(live, &census, settings, now);
		code = command_flush(err);
	}
	latency_census_free(&census);
	return code;
}

static int watch(const char *path, const struct top_settings *settings, struct error *err)
{
	struct latency_matrix *live = latency_live_map(path, err);
	int code = live ? look(live, settings, err) : -err->code;

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
	struct option_operands operands;
	struct error err = {0};
	int code = command_parse(&usage, argc, argv, &settings, &operands);

	if (code >= 0)
		return code;
	stop_catch_signals();
	code = watch(operands.items[0], &settings, &err) ? command_fail(&err, COMMAND_FAILED) : COMMAND_OK;
	options_free(&operands);
	return code;
}
