/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/serve/pages.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/text_stream.h>
#include <figures/figures.h>
#include <model/latency_table.h>
#include <probe/store/store.h>

#include "pages_priv.h"

enum { PAIRS_SHOWN = 2500, RACKS_SHOWN = 40, P99_SAMPLES = 100 /* a p99 of fewer samples is their maximum */ };

static void print_pair(const struct latency_matrix *live, const struct latency_entry *entry, struct ns now,
		       struct ns max_age, FILE *out)
{
	enum latency_state state = latency_entry_state(entry, now, max_age);
	const char *from = latency_matrix_host(live, entry->source),
		   *to = latency_matrix_host(live, entry->destination);

	fputs("<tr><td class=\"name\"><a href=\"/pair?", out);
	html_argument(out, "from", from);
	fputs("&amp;", out);
	html_argument(out, "to", to);
	fputs("\">", out);
	xml_print(out, from);
	fputs("</a><td class=\"name\">", out);
	xml_print(out, to);
	if (entry->samples >= P99_SAMPLES)
		fprintf(out, "<td>%.1f<td>%.1f<td>%.1f", entry->rtt_p50_us, entry->rtt_p99_us, entry->rtt_max_us);
	else if (entry->samples)
		fprintf(out, "<td>%.1f<td>&ndash;<td>%.1f", entry->rtt_p50_us, entry->rtt_max_us);
	else
		fputs("<td>&ndash;<td>&ndash;<td>&ndash;", out);
	fprintf(out, "<td>%.2f<td>%.1f<td>%.1f<td class=\"name%s\">%s", entry->loss * 100,
		(double)entry->disturbed * 100, ns_to_s(ns_sub(now, entry->updated_at)),
		state == LATENCY_STATE_MEASURED ? "" : " bad", latency_state_names[state]);
}

static const char pair_heads[] =
	"<table><tr><th>from<th>to<th>p50 &micro;s<th>p99 &micro;s<th>max &micro;s<th>loss %<th>disturbed %<th>age "
	"s<th>state";

/* --- heat maps: pods, then racks, then pairs --- */

static int compare_racks(const void *a, const void *b, void *live)
{
	return strverscmp(latency_live_rack_name(live, *(const uint32_t *)a),
			  latency_live_rack_name(live, *(const uint32_t *)b));
}

static int compare_hosts(const void *a, const void *b, void *live)
{
	return strverscmp(latency_matrix_host(live, *(const uint32_t *)a),
			  latency_matrix_host(live, *(const uint32_t *)b));
}

/* Prints the heat map of the pairs of racks from one pod to another; a pod of NULL means all racks. */
static int print_racks(const struct mesh_pages *pages, const char *from_pod, const char *to_pod, FILE *out)
{
	uint32_t racks = latency_live_racks(pages->live), counts[2] = {0}, *members[2];
	const char *const pods[2] = {from_pod, to_pod}, **names[2];
	double *values;
	int code = -ENOMEM;

	for (int side = 0; side < 2; side++) {
		members[side] = calloc(racks + 1, sizeof **members);
		names[side] = calloc(racks + 1, sizeof **names);
		for (uint32_t rack = 0; members[side] && names[side] && rack < racks; rack++)
			if (!pods[side] || strcmp(latency_live_pod_name(pages->live, rack), pods[side]) == 0)
				members[side][counts[side]++] = rack;
		if (counts[side])
			qsort_r(members[side], counts[side], sizeof **members, compare_racks,
				(void *)(uintptr_t)pages->live);
		for (uint32_t i = 0; i < counts[side]; i++)
			names[side][i] = latency_live_rack_name(pages->live, members[side][i]);
	}
	values = calloc((size_t)counts[0] * counts[1] + 1, sizeof *values);
	if (values) {
		struct html_matrix matrix = {"racks", counts[0], counts[1], names[0], names[1], values};

		for (size_t i = 0; i < (size_t)counts[0] * counts[1]; i++)
			values[i] = pages_rack_value(pages, pages->statistic, members[0][i / counts[1]],
						     members[1][i % counts[1]]);
		html_print_matrix(out, &matrix);
		code = 0;
	}
	free(values);
	for (int side = 0; side < 2; side++) {
		free(members[side]);
		free(names[side]);
	}
	return code;
}

static int print_heat_map(const struct mesh_pages *pages, FILE *out)
{
	const char *statistic = latency_statistic_names[pages->statistic];
	struct grouping pods = {0};
	int code = pages_group_by_pod(pages->live, &pods);

	if (!code && (pods.count < 2 || pods.racks <= RACKS_SHOWN)) {
		fprintf(out, "<h2>Largest %s between racks (&micro;s)</h2>", statistic);
		code = print_racks(pages, NULL, NULL, out);
	} else if (!code) {
		double *values = pages_group_values(pages, &pods, pages->statistic);
		struct html_matrix matrix = {"pods", pods.count, pods.count, pods.names, pods.names, values};

		fprintf(out, "<h2>Largest %s between pods (&micro;s)</h2>", statistic);
		if (values)
			html_print_matrix(out, &matrix);
		code = values ? 0 : -ENOMEM;
		free(values);
	}
	pages_ungroup(&pods);
	return code;
}

/* --- pages --- */

static int print_patterns(const struct mesh_pages *pages, struct ns now, FILE *out)
{
	struct patterns patterns;
	int code = patterns_find(pages->live, pages->statistic, now, pages->max_age, &patterns);

	if (code)
		return code;
	if (!patterns.bad && !patterns.count) {
		fputs("<p>No pair is bad.", out);
	} else {
		fputs("<ul>", out);
		for (size_t i = 0; i < patterns.count && !code; i++)
			code = html_pattern(out, pages->live, &patterns.items[i]);
		fprintf(out, "</ul><p>%llu pairs are bad, %llu of them without a pattern.",
			(unsigned long long)patterns.bad, (unsigned long long)patterns.unexplained);
	}
	fputs(" <span class=\"grey\">Bad: unreachable, over 1 % loss, or three times the median of similar "
	      "pairs.</span>",
	      out);
	patterns_free(&patterns);
	return code;
}

static int write_overview(const struct mesh_pages *pages, const struct serve_call *call, FILE *out)
{
	struct ns now = ns_now_wall();
	struct mesh_pages shown = *pages;
	struct latency_census census;
	int code = 0;

	(void)call;
	if (latency_census_take(pages->live, pages->statistic, now, pages->max_age, &census))
		return 0;
	shown.max_age = census.max_age;
	html_begin(out, "Mesh", true);
	if (census.blind)
		fprintf(out, "<p class=\"bad\">The mesh is blind: no pair was seen for %.0f s; all figures are older.",
			ns_to_s(census.newest));
	fprintf(out, "<p>%zu hosts, %llu pairs:", latency_matrix_hosts(pages->live), (unsigned long long)census.pairs);
	for (size_t i = 0; i < LATENCY_STATES; i++)
		fprintf(out, "%s %llu %s", i ? "," : "", (unsigned long long)census.by_state[i],
			latency_state_names[i]);
	fprintf(out, "; written %.1f s ago", ns_to_s(ns_sub(now, latency_live_written_at(pages->live))));
	for (size_t i = 0; i < census.lost_count; i++) {
		fputs("<p class=\"bad\">", out);
		xml_print(out, latency_matrix_host(pages->live, census.lost_hosts[i]));
		fputs(": no prober reaches this host", out);
	}
	if (census.pairs == census.by_state[LATENCY_STATE_NEVER])
		fputs("<p class=\"bad\">Nothing is measured yet: no row of an agent has arrived.", out);
	else if (!census.blind)
		code = print_patterns(&shown, now, out);
	if (!code)
		code = print_heat_map(&shown, out);
	fprintf(out, "<h2>Worst pairs</h2>%s", pair_heads);
	for (size_t i = 0; i < census.worst_count; i++)
		print_pair(pages->live, &census.worst[i], now, shown.max_age, out);
	fputs("</table>", out);
	latency_census_free(&census);
	return code ? 0 : 200;
}

/* Prints the history of two racks or hosts as a chart, with links to other time spans. */
static void print_history(const struct mesh_pages *pages, const struct serve_call *call, bool racks, const char *from,
			  const char *to, FILE *out)
{
	static const struct {
		const char *name;
		double seconds;
	} spans[] = {{"hour", 3600}, {"day", 86400}, {"week", 604800}};
	const char *wanted = serve_query(call, "last");
	struct latency_series series = {0};
	struct error err = {0};
	struct mesh_store *store;
	char *svg = NULL;
	size_t span = 0;

	if (!pages->history)
		return;
	for (size_t i = 0; wanted && i < 3; i++)
		span = strcmp(wanted, spans[i].name) == 0 ? i : span;
	fputs("<h2>History</h2><p>Last", out);
	for (size_t i = 0; i < 3; i++) {
		fprintf(out, " <a href=\"?");
		html_argument(out, "from", from);
		fputs("&amp;", out);
		html_argument(out, "to", to);
		fprintf(out, "&amp;last=%s\">%s%s%s</a>", spans[i].name, i == span ? "<b>" : "", spans[i].name,
			i == span ? "</b>" : "");
	}
	fputs("<div>", out);
	store = mesh_store_open(pages->history, false, &err);
	if (store &&
	    mesh_store_read(store, racks, from, to, (struct ns){ns_now_wall().v - (int64_t)(spans[span].seconds * 1e9)},
			    &series, &err) == 0)
		svg = figures_history_svg(&series, NULL, &err);
	if (svg)
		fputs(svg, out);
	else
		xml_print(out, err.text);
	fputs("</div>", out);
	free(svg);
	free(series.items);
	mesh_store_close(store);
}

static uint32_t rack_named(const struct latency_matrix *live, const char *name)
{
	uint32_t racks = latency_live_racks(live), rack = 0;

	while (rack < racks && strcmp(latency_live_rack_name(live, rack), name) != 0)
		rack++;
	return rack < racks ? rack : LATENCY_NO_RACK;
}

/* Returns the hosts of a rack, sorted by name, or NULL if out of memory. */
static uint32_t *hosts_of(const struct latency_matrix *live, uint32_t rack, size_t *count)
{
	size_t all = latency_matrix_hosts(live);
	uint32_t *hosts = calloc(all + 1, sizeof *hosts);

	*count = 0;
	for (uint32_t host = 0; hosts && rack != LATENCY_NO_RACK && host < all; host++)
		if (latency_live_rack_of(live, host) == rack)
			hosts[(*count)++] = host;
	if (*count)
		qsort_r(hosts, *count, sizeof *hosts, compare_hosts, (void *)(uintptr_t)live);
	return hosts;
}

static int print_pairs(const struct mesh_pages *pages, uint32_t from, uint32_t to, FILE *out)
{
	size_t counts[2], shown = 0;
	uint32_t *sources = hosts_of(pages->live, from, &counts[0]);
	uint32_t *destinations = hosts_of(pages->live, to, &counts[1]);
	struct ns now = ns_now_wall();
	struct latency_entry entry;
	int code = sources && destinations ? 0 : -ENOMEM;

	fputs(pair_heads, out);
	for (size_t i = 0; !code && i < counts[0]; i++)
		for (size_t j = 0; j < counts[1] && shown < PAIRS_SHOWN; j++)
			if (latency_matrix_load_pair(pages->live, sources[i], destinations[j], &entry)) {
				print_pair(pages->live, &entry, now, pages->max_age, out);
				shown++;
			}
	fprintf(out, "</table>%s", shown == PAIRS_SHOWN ? "<p>More pairs are not shown." : "");
	free(sources);
	free(destinations);
	return code;
}

static int write_racks(const struct mesh_pages *pages, const struct serve_call *call, FILE *out)
{
	const char *from = serve_query(call, "from"), *to = serve_query(call, "to");

	if (!from || !to) {
		fputs("expected /racks?from=RACK&to=RACK\n", out);
		return 400;
	}
	html_begin(out, "Pairs between racks", false);
	fputs("<p>From ", out);
	xml_print(out, from);
	fputs(" to ", out);
	xml_print(out, to);
	fputs(". <a href=\"/\">All racks</a>", out);
	print_history(pages, call, true, from, to, out);
	return print_pairs(pages, rack_named(pages->live, from), rack_named(pages->live, to), out) ? 0 : 200;
}

static int write_pods(const struct mesh_pages *pages, const struct serve_call *call, FILE *out)
{
	const char *from = serve_query(call, "from"), *to = serve_query(call, "to");

	if (!from || !to) {
		fputs("expected /pods?from=POD&to=POD\n", out);
		return 400;
	}
	html_begin(out, "Racks of two pods", true);
	fputs("<p>From ", out);
	xml_print(out, from);
	fputs(" to ", out);
	xml_print(out, to);
	fprintf(out, ", largest %s (&micro;s). <a href=\"/\">All pods</a>", latency_statistic_names[pages->statistic]);
	return print_racks(pages, from, to, out) ? 0 : 200;
}

static int write_pair(const struct mesh_pages *pages, const struct serve_call *call, FILE *out)
{
	const char *names[] = {serve_query(call, "from"), serve_query(call, "to")};
	struct latency_entry entry;
	int64_t hosts[2];

	for (int i = 0; i < 2; i++) {
		hosts[i] = names[i] ? latency_matrix_find_host(pages->live, names[i]) : -ENOENT;
		if (hosts[i] < 0) {
			fprintf(out, "expected /pair?from=HOST&to=HOST, two hosts of the mesh\n");
			return 404;
		}
	}
	html_begin(out, "A pair", false);
	fputs("<p><a href=\"/\">All racks</a>", out);
	fputs(pair_heads, out);
	for (int way = 0; way < 2; way++)
		if (latency_matrix_load_pair(pages->live, (uint32_t)hosts[way], (uint32_t)hosts[!way], &entry))
			print_pair(pages->live, &entry, ns_now_wall(), pages->max_age, out);
	fputs("</table>", out);
	print_history(pages, call, false, names[0], names[1], out);
	return 200;
}

static void reply(void *context, struct serve_call *call, const char *type,
		  int (*write)(const struct mesh_pages *pages, const struct serve_call *call, FILE *out))
{
	const struct error no_memory = {.code = ENOMEM, .text = "out of memory"};
	char *body = NULL;
	size_t bytes = 0;
	FILE *out = text_stream_open(&body, &bytes);
	int status = out ? write(context, call, out) : 0;

	if (out && fclose(out) == 0 && status)
		serve_reply(call, (unsigned int)status, status == 200 ? type : "text/plain", body, bytes);
	else
		serve_reply_error(call, &no_memory);
	free(body);
}

static const char html_type[] = "text/html; charset=utf-8";

static void serve_overview(void *context, struct serve_call *call)
{
	if (strcmp(call->path, "/") == 0)
		reply(context, call, html_type, write_overview);
	else
		serve_reply(call, 404, "text/plain", "no such page\n", strlen("no such page\n"));
}

static void serve_racks(void *context, struct serve_call *call)
{
	reply(context, call, html_type, write_racks);
}

static void serve_pods(void *context, struct serve_call *call)
{
	reply(context, call, html_type, write_pods);
}

static void serve_pair(void *context, struct serve_call *call)
{
	reply(context, call, html_type, write_pair);
}

static void serve_metrics(void *context, struct serve_call *call)
{
	reply(context, call, "application/openmetrics-text; version=1.0.0; charset=utf-8", metrics_write);
}

const struct serve_route mesh_pages_routes[] = {
	{"GET", "/metrics", serve_metrics}, {"GET", "/racks", serve_racks}, {"GET", "/pods", serve_pods},
	{"GET", "/pair", serve_pair},       {"GET", "/", serve_overview},   {NULL, NULL, NULL},
};
