/* SPDX-License-Identifier: BSD-3-Clause */
#include "pages_priv.h"
#include "patterns_priv.h"

#include <model/latency_census.h>

enum { PAIR_METRICS = 20000, RACK_METRICS = 128 };

/* OpenMetrics: backslash, quote and line feed are escaped in label values; names of hosts have no line feeds. */
static void print_label(FILE *out, const char *name, const char *value)
{
	fprintf(out, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '\\' || *value == '"')
			fputc('\\', out);
		fputc(*value, out);
	}
	fputc('"', out);
}

static void print_rack_metrics(const struct latency_matrix *live, FILE *out)
{
	static const enum latency_statistic statistics[] = {LATENCY_STATISTIC_P50, LATENCY_STATISTIC_P99,
							    LATENCY_STATISTIC_MAX};
	uint32_t racks = latency_live_racks(live);
	struct latency_maximum maximum;

	fputs("# TYPE nomora_mesh_rack_rtt_seconds gauge\n# UNIT nomora_mesh_rack_rtt_seconds seconds\n"
	      "# HELP nomora_mesh_rack_rtt_seconds Largest round trip of the pairs from one rack to another.\n",
	      out);
	for (uint32_t i = 0; racks <= RACK_METRICS && i < racks * racks; i++) {
		if (!latency_live_maximum(live, i / racks, i % racks, &maximum))
			continue;
		for (size_t s = 0; s < 3; s++) {
			fputs("nomora_mesh_rack_rtt_seconds{", out);
			print_label(out, "from", latency_live_rack_name(live, i / racks));
			fputc(',', out);
			print_label(out, "to", latency_live_rack_name(live, i % racks));
			fprintf(out, ",stat=\"%s\"} %.9g\n", latency_statistic_names[statistics[s]],
				pages_maximum(&maximum, statistics[s]) / 1e6);
		}
	}
}

static void print_pair_metrics(const struct latency_matrix *live, FILE *out)
{
	struct latency_entry entry;

	fputs("# TYPE nomora_mesh_rtt_seconds gauge\n# UNIT nomora_mesh_rtt_seconds seconds\n"
	      "# HELP nomora_mesh_rtt_seconds 99th percentile of a pair's round trips in its last window, worst "
	      "path.\n",
	      out);
	for (size_t i = 0; i < latency_matrix_count(live) && i < PAIR_METRICS; i++) {
		if (!latency_matrix_load(live, i, &entry) || entry.state != LATENCY_STATE_MEASURED)
			continue;
		fputs("nomora_mesh_rtt_seconds{", out);
		print_label(out, "src", latency_matrix_host(live, entry.source));
		fputc(',', out);
		print_label(out, "dst", latency_matrix_host(live, entry.destination));
		fprintf(out, "} %.9g\n", entry.rtt_p99_us / 1e6);
	}
}

static void print_pattern_metrics(const struct patterns *patterns, FILE *out)
{
	fputs("# TYPE nomora_mesh_bad_pairs gauge\n"
	      "# HELP nomora_mesh_bad_pairs Pairs that are unreachable, lossy or far slower than their kind.\n",
	      out);
	fprintf(out, "nomora_mesh_bad_pairs %llu\n", (unsigned long long)patterns->bad);
	fputs("# TYPE nomora_mesh_patterns gauge\n"
	      "# HELP nomora_mesh_patterns Racks, uplinks, hosts and paths whose pairs are mostly bad.\n",
	      out);
	for (int kind = 0; kind < PATTERN_KINDS; kind++)
		fprintf(out, "nomora_mesh_patterns{kind=\"%s\"} %llu\n", pattern_names[kind],
			(unsigned long long)patterns->by_kind[kind]);
}

int metrics_write(const struct mesh_pages *pages, const struct serve_call *call, FILE *out)
{
	struct ns now = ns_now_wall();
	struct latency_census census;
	struct patterns patterns;

	(void)call;
	if (latency_census_take(pages->live, pages->statistic, now, pages->max_age, &census))
		return 0;
	if (patterns_find(pages->live, pages->statistic, now, pages->max_age, &patterns)) {
		latency_census_free(&census);
		return 0;
	}
	fprintf(out,
		"# TYPE nomora_mesh_hosts gauge\n# HELP nomora_mesh_hosts Hosts in the mesh.\nnomora_mesh_hosts %zu\n"
		"# TYPE nomora_mesh_pairs gauge\n# HELP nomora_mesh_pairs Ordered pairs of hosts by state.\n",
		latency_matrix_hosts(pages->live));
	for (size_t i = 0; i < LATENCY_STATES; i++)
		fprintf(out, "nomora_mesh_pairs{state=\"%s\"} %llu\n", latency_state_names[i],
			(unsigned long long)census.by_state[i]);
	fprintf(out,
		"# TYPE nomora_mesh_lost_hosts gauge\n"
		"# HELP nomora_mesh_lost_hosts Hosts that no prober reaches.\nnomora_mesh_lost_hosts %zu\n"
		"# TYPE nomora_mesh_written_timestamp_seconds gauge\n# UNIT nomora_mesh_written_timestamp_seconds "
		"seconds\n"
		"# HELP nomora_mesh_written_timestamp_seconds When a prober last wrote.\n"
		"nomora_mesh_written_timestamp_seconds %.3f\n",
		census.lost_count, ns_to_s(latency_live_written_at(pages->live)));
	fprintf(out,
		"# TYPE nomora_mesh_evicted_pairs gauge\n"
		"# HELP nomora_mesh_evicted_pairs Pairs that left the full live matrix for others.\n"
		"nomora_mesh_evicted_pairs %llu\n",
		(unsigned long long)latency_live_evicted(pages->live));
	print_pattern_metrics(&patterns, out);
	print_rack_metrics(pages->live, out);
	print_pair_metrics(pages->live, out);
	fputs("# EOF\n", out);
	patterns_free(&patterns);
	latency_census_free(&census);
	return 200;
}
