/* SPDX-License-Identifier: BSD-3-Clause */
#include "pages_priv.h"

#include <math.h>
#include <stdlib.h>

#include <base/metrics.h>
#include <base/text_stream.h>
#include <model/latency_table.h>

/*
 * Limits of the output, so that a scrape has at most 10,000 series. With more than PAIRS_ALL pairs, only the worst ones
 * are listed. With more than RACKS_ALL racks, only the p99 between racks is listed; with more than RACKS_P99, nothing
 * between racks. With more than PODS_MOST pods, nothing between pods.
 */
enum { PAIRS_ALL = 1000, RACKS_ALL = 40, RACKS_P99 = 70, PODS_MOST = 30 };

static void print_between(FILE *out, const char *metric, const char *from, const char *to,
			  enum latency_statistic statistic, double us)
{
	metric_sample(out, metric, METRIC_LABELS("from", from, "to", to, "stat", latency_statistic_names[statistic]),
		      us / 1e6);
}

/* Prints nothing for a value that is not known: Prometheus then marks the series as stale. */
static void print_racks(const struct mesh_pages *pages, enum latency_statistic statistic, FILE *out)
{
	const struct latency_matrix *live = pages->live;
	uint32_t racks = latency_live_racks(live);

	for (uint32_t i = 0; i < racks * racks; i++) {
		double us = pages_rack_value(pages, statistic, i / racks, i % racks);

		print_between(out, "nomora_mesh_rack_rtt_seconds", latency_live_rack_name(live, i / racks),
			      latency_live_rack_name(live, i % racks), statistic, us);
	}
}

static void print_rack_metrics(const struct mesh_pages *pages, FILE *out)
{
	uint32_t racks = latency_live_racks(pages->live);

	metric_head(out, "nomora_mesh_rack_rtt_seconds", "gauge", "seconds",
		    "Largest round trip of the pairs from one rack to another.");
	for (int s = 0; racks <= RACKS_P99 && latency_rtt_statistic_names[s]; s++)
		if (racks <= RACKS_ALL || s == LATENCY_STATISTIC_P99)
			print_racks(pages, (enum latency_statistic)s, out);
}

static void print_pod_metrics(const struct mesh_pages *pages, FILE *out)
{
	struct grouping pods = {0};
	int code = pages_group_by_pod(pages->live, &pods);

	metric_head(out, "nomora_mesh_pod_rtt_seconds", "gauge", "seconds",
		    "Largest round trip of the pairs from one pod to another.");
	for (int s = 0; !code && pods.count <= PODS_MOST && latency_rtt_statistic_names[s]; s++) {
		double *values = pages_group_values(pages, &pods, (enum latency_statistic)s);

		for (size_t i = 0; values && i < (size_t)pods.count * pods.count; i++)
			print_between(out, "nomora_mesh_pod_rtt_seconds", pods.names[i / pods.count],
				      pods.names[i % pods.count], (enum latency_statistic)s, values[i]);
		free(values);
	}
	pages_ungroup(&pods);
}

static void print_pair(const struct latency_matrix *live, const struct latency_entry *entry, bool loss, FILE *out)
{
	const char *const *labels = METRIC_LABELS("src", latency_matrix_host(live, entry->source), "dst",
						  latency_matrix_host(live, entry->destination));

	if (loss)
		metric_sample(out, "nomora_mesh_loss_ratio", labels, entry->loss);
	else if (entry->samples)
		metric_sample(out, "nomora_mesh_rtt_seconds", labels, entry->rtt_p99_us / 1e6);
}

/* Prints one figure of all pairs that are known, or of the worst pairs. */
static void print_pairs(const struct mesh_pages *pages, const struct latency_census *census, struct ns now, bool loss,
			FILE *out)
{
	const struct latency_matrix *live = pages->live;
	size_t count = latency_matrix_count(live);
	struct latency_entry entry;

	for (size_t i = 0; count <= PAIRS_ALL && i < count; i++) {
		enum latency_state state = LATENCY_STATE_NEVER;

		if (latency_matrix_load(live, i, &entry))
			state = latency_entry_state(&entry, now, pages->max_age);
		if (state == LATENCY_STATE_MEASURED || state == LATENCY_STATE_UNREACHABLE)
			print_pair(live, &entry, loss, out);
	}
	for (size_t i = 0; count > PAIRS_ALL && i < census->worst_count; i++)
		print_pair(live, &census->worst[i], loss, out);
}

static void print_pair_metrics(const struct mesh_pages *pages, const struct latency_census *census, struct ns now,
			       FILE *out)
{
	metric_head(out, "nomora_mesh_rtt_seconds", "gauge", "seconds",
		    "99th percentile of a pair's round trips in its last window (of under 100 samples: the maximum), "
		    "worst path.");
	print_pairs(pages, census, now, false, out);
	metric_head(out, "nomora_mesh_loss_ratio", "gauge", "ratio",
		    "Share of a pair's probes that were lost in its last window.");
	print_pairs(pages, census, now, true, out);
}

/* Mean loss of the pairs whose destination is in the rack; NAN = no pair is known. The caller frees the array. */
static double *rack_losses(const struct mesh_pages *pages, struct ns now)
{
	const struct latency_matrix *live = pages->live;
	uint32_t racks = latency_live_racks(live), *pairs = calloc(racks + 1, sizeof *pairs);
	double *losses = calloc(racks + 1, sizeof *losses);
	struct latency_entry entry;

	for (size_t i = 0; pairs && losses && i < latency_matrix_count(live); i++) {
		enum latency_state state;
		uint32_t rack;

		if (!latency_matrix_load(live, i, &entry) || entry.source == entry.destination)
			continue;
		state = latency_entry_state(&entry, now, pages->max_age);
		rack = latency_live_rack_of(live, entry.destination);
		if (rack >= racks || (state != LATENCY_STATE_MEASURED && state != LATENCY_STATE_UNREACHABLE) ||
		    latency_live_status(live, entry.destination) != LATENCY_HOST_ACTIVE)
			continue;
		losses[rack] += entry.loss;
		pairs[rack]++;
	}
	for (uint32_t rack = 0; pairs && losses && rack < racks; rack++)
		losses[rack] = pairs[rack] ? losses[rack] / pairs[rack] : NAN;
	free(pairs);
	return losses;
}

static void print_rack_losses(const struct mesh_pages *pages, struct ns now, FILE *out)
{
	double *losses = rack_losses(pages, now);

	metric_head(out, "nomora_mesh_rack_loss_ratio", "gauge", "ratio",
		    "Mean loss of the probes to the hosts of a rack.");
	for (uint32_t rack = 0; losses && rack < latency_live_racks(pages->live); rack++)
		metric_sample(out, "nomora_mesh_rack_loss_ratio",
			      METRIC_LABELS("rack", latency_live_rack_name(pages->live, rack)), losses[rack]);
	free(losses);
}

static void print_pattern_metrics(const struct patterns *patterns, FILE *out)
{
	const struct metric bad = {"bad_pairs", "gauge",
				   "Pairs that are unreachable, lossy or far slower than similar pairs.",
				   (double)patterns->bad};

	metrics_print(out, "nomora_mesh_", &bad, 1);
	metric_head(out, "nomora_mesh_patterns", "gauge", NULL,
		    "What is bad: racks, uplinks, hosts and paths whose pairs are mostly bad; hosts that stall; bad "
		    "routers and links.");
	for (int kind = 0; kind < PATTERN_KINDS; kind++)
		metric_sample(out, "nomora_mesh_patterns", METRIC_LABELS("kind", pattern_names[kind]),
			      (double)patterns->by_kind[kind]);
}

static void print_culprits(const struct latency_matrix *live, const struct patterns *patterns, FILE *out)
{
	metric_head(out, "nomora_mesh_culprit", "gauge", NULL,
		    "1 for each host, rack, router or link that explains what is bad.");
	for (size_t i = 0; i < patterns->count; i++) {
		char *name = NULL;
		size_t bytes;
		FILE *text = text_stream_open(&name, &bytes);

		if (!text)
			return;
		pattern_print_name(live, &patterns->items[i], text);
		if (fclose(text) == 0)
			metric_sample(out, "nomora_mesh_culprit",
				      METRIC_LABELS("kind", pattern_names[patterns->items[i].kind], "name", name), 1);
		free(name);
	}
}

static void print_mesh(const struct latency_matrix *live, const struct latency_census *census, FILE *out)
{
	const char *const written = "nomora_mesh_written_timestamp_seconds";
	const struct metric metrics[] = {
		{"hosts", "gauge", "Hosts in the mesh.", (double)latency_matrix_hosts(live)},
		{"lost_hosts", "gauge", "Hosts that no prober reaches.", (double)census->lost_count},
		{"evicted_pairs", "gauge", "Pairs that were evicted from the full live matrix.",
		 (double)latency_live_evicted(live)},
		{"hops_left_out_rows", "gauge",
		 "Rows stored without their bad link, since the live matrix has no space for more links.",
		 (double)latency_live_hops_left_out(live)},
		{"blind", "gauge", "1 if no prober has seen any pair for half of the time after which pairs are stale.",
		 census->blind},
	};

	metrics_print(out, "nomora_mesh_", metrics, sizeof metrics / sizeof *metrics);
	metric_head(out, written, "gauge", "seconds", "Time at which a prober last wrote.");
	metric_sample(out, written, NULL, ns_to_s(latency_live_written_at(live)));
	metric_head(out, "nomora_mesh_pairs", "gauge", NULL, "Ordered pairs of hosts by state.");
	for (size_t i = 0; i < LATENCY_STATES; i++)
		metric_sample(out, "nomora_mesh_pairs", METRIC_LABELS("state", latency_state_names[i]),
			      (double)census->by_state[i]);
}

int metrics_write(const struct mesh_pages *pages, const struct serve_call *call, FILE *out)
{
	struct ns now = ns_now_wall();
	struct mesh_pages shown = *pages;
	struct latency_census census;
	struct patterns patterns;

	(void)call;
	if (latency_census_take(pages->live, pages->statistic, now, pages->max_age, &census))
		return 0;
	shown.max_age = census.max_age;
	if (patterns_find(pages->live, pages->statistic, now, shown.max_age, &patterns)) {
		latency_census_free(&census);
		return 0;
	}
	print_mesh(pages->live, &census, out);
	print_pattern_metrics(&patterns, out);
	print_culprits(pages->live, &patterns, out);
	print_rack_metrics(&shown, out);
	print_rack_losses(&shown, now, out);
	print_pod_metrics(&shown, out);
	print_pair_metrics(&shown, &census, now, out);
	fputs("# EOF\n", out);
	patterns_free(&patterns);
	latency_census_free(&census);
	return 200;
}
