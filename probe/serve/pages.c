/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/serve/pages.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <model/latency_census.h>

enum { PAIRS_SHOWN = 2000, PAIR_METRICS = 20000 };

static const char style[] =
	"body{font:14px system-ui,sans-serif;margin:2em;color:#222}table{border-collapse:collapse;margin:1em 0}"
	"td,th{padding:.25em .6em;text-align:right;border:1px solid #ddd}th{background:#f4f4f4;font-weight:600}"
	"td.name{text-align:left}a{color:inherit}.bad{color:#a00;font-weight:600}";

/* HTML: names may hold the characters that mean something there. */
static void print_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '<':
			fputs("&lt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			fputc(*text, out);
		}
	}
}

static void begin_page(FILE *out, const char *title)
{
	fprintf(out,
		"<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"5\">"
		"<title>%s</title><style>%s</style><h1>%s</h1>",
		title, style, title);
}

static double maximum_value(const struct latency_maximum *maximum, enum latency_statistic statistic)
{
	switch (statistic) {
	case LATENCY_STATISTIC_P50:
		return (double)maximum->rtt_p50_us;
	case LATENCY_STATISTIC_P99:
		return (double)maximum->rtt_p99_us;
	default:
		return (double)maximum->rtt_max_us;
	}
}

/* Yellow to red by the logarithm, between the smallest and the largest of the page. */
static void print_cell(FILE *out, double value, double least, double most)
{
	double share = most > least ? log(value / least) / log(most / least) : 0;

	fprintf(out, "style=\"background:hsl(%.0f 85%% 75%%)\">%.1f", 60 - 60 * share, value);
}

static void print_link(FILE *out, const struct latency_matrix *live, uint32_t from, uint32_t to)
{
	fprintf(out, "<td><a href=\"/racks?from=");
	print_text(out, latency_live_rack_name(live, from));
	fprintf(out, "&amp;to=");
	print_text(out, latency_live_rack_name(live, to));
	fputs("\" ", out);
}

static void print_heat_map(const struct mesh_pages *pages, FILE *out)
{
	uint32_t racks = latency_live_racks(pages->live);
	double least = INFINITY, most = 0;
	struct latency_maximum maximum;

	for (uint32_t i = 0; i < racks * racks; i++)
		if (latency_live_maximum(pages->live, i / racks, i % racks, &maximum)) {
			least = fmin(least, maximum_value(&maximum, pages->statistic));
			most = fmax(most, maximum_value(&maximum, pages->statistic));
		}
	fprintf(out, "<h2>Largest %s between racks (&micro;s)</h2><table><tr><th>from \\ to",
		latency_statistic_names[pages->statistic]);
	for (uint32_t to = 0; to < racks; to++) {
		fputs("<th>", out);
		print_text(out, latency_live_rack_name(pages->live, to));
	}
	for (uint32_t from = 0; from < racks; from++) {
		fputs("<tr><th>", out);
		print_text(out, latency_live_rack_name(pages->live, from));
		for (uint32_t to = 0; to < racks; to++) {
			if (!latency_live_maximum(pages->live, from, to, &maximum)) {
				fputs("<td>&ndash;", out);
				continue;
			}
			print_link(out, pages->live, from, to);
			print_cell(out, maximum_value(&maximum, pages->statistic), least, most);
			fputs("</a>", out);
		}
	}
	fputs("</table>", out);
}

static void print_pair(const struct latency_matrix *live, const struct latency_entry *entry, struct ns now,
		       struct ns max_age, FILE *out)
{
	enum latency_state state = latency_entry_state(entry, now, max_age);

	fputs("<tr><td class=\"name\">", out);
	print_text(out, latency_matrix_host(live, entry->source));
	fputs("<td class=\"name\">", out);
	print_text(out, latency_matrix_host(live, entry->destination));
	if (entry->samples)
		fprintf(out, "<td>%.1f<td>%.1f<td>%.1f", entry->rtt_p50_us, entry->rtt_p99_us, entry->rtt_max_us);
	else
		fputs("<td>&ndash;<td>&ndash;<td>&ndash;", out);
	fprintf(out, "<td>%.2f<td>%.1f<td>%.1f<td class=\"name%s\">%s", entry->loss * 100,
		(double)entry->disturbed * 100, ns_to_s(ns_sub(now, entry->updated_at)),
		state == LATENCY_STATE_MEASURED ? "" : " bad", latency_state_names[state]);
}

static const char pair_heads[] =
	"<table><tr><th>from<th>to<th>p50 &micro;s<th>p99 &micro;s<th>max &micro;s<th>loss %<th>disturbed %<th>age "
	"s<th>state";

static int write_overview(const struct mesh_pages *pages, const struct serve_call *call, FILE *out)
{
	struct ns now = ns_now_wall();
	struct latency_census census;

	(void)call;
	if (latency_census_take(pages->live, pages->statistic, now, pages->max_age, &census))
		return 0;
	begin_page(out, "Mesh");
	fprintf(out, "<p>%zu hosts, %llu pairs:", latency_matrix_hosts(pages->live), (unsigned long long)census.pairs);
	for (size_t i = 0; i < LATENCY_STATES; i++)
		fprintf(out, " %llu %s", (unsigned long long)census.by_state[i], latency_state_names[i]);
	fprintf(out, "; written %.1f s ago", ns_to_s(ns_sub(now, latency_live_written_at(pages->live))));
	for (size_t i = 0; i < census.lost_count; i++) {
		fputs("<p class=\"bad\">", out);
		print_text(out, latency_matrix_host(pages->live, census.lost_hosts[i]));
		fputs(": nobody reaches it", out);
	}
	print_heat_map(pages, out);
	fprintf(out, "<h2>Worst pairs</h2>%s", pair_heads);
	for (size_t i = 0; i < census.worst_count; i++)
		print_pair(pages->live, &census.worst[i], now, pages->max_age, out);
	fputs("</table>", out);
	latency_census_free(&census);
	return 200;
}

static bool in_rack(const struct latency_matrix *live, uint32_t host, const char *rack)
{
	return strcmp(latency_live_rack_name(live, latency_live_rack_of(live, host)), rack) == 0;
}

static int write_racks(const struct mesh_pages *pages, const struct serve_call *call, FILE *out)
{
	const char *from = serve_query(call, "from"), *to = serve_query(call, "to");
	struct ns now = ns_now_wall();
	struct latency_entry entry;
	size_t shown = 0;

	if (!from || !to) {
		fputs("expected /racks?from=RACK&to=RACK\n", out);
		return 400;
	}
	begin_page(out, "Pairs between racks");
	fputs("<p>From ", out);
	print_text(out, from);
	fputs(" to ", out);
	print_text(out, to);
	fprintf(out, ". <a href=\"/\">All racks</a>%s", pair_heads);
	for (size_t i = 0; i < latency_matrix_count(pages->live) && shown < PAIRS_SHOWN; i++) {
		if (!latency_matrix_load(pages->live, i, &entry) || !in_rack(pages->live, entry.source, from) ||
		    !in_rack(pages->live, entry.destination, to))
			continue;
		print_pair(pages->live, &entry, now, pages->max_age, out);
		shown++;
	}
	fprintf(out, "</table>%s", shown == PAIRS_SHOWN ? "<p>There are more." : "");
	return 200;
}

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
	for (uint32_t i = 0; i < racks * racks; i++) {
		if (!latency_live_maximum(live, i / racks, i % racks, &maximum))
			continue;
		for (size_t s = 0; s < 3; s++) {
			fputs("nomora_mesh_rack_rtt_seconds{", out);
			print_label(out, "from", latency_live_rack_name(live, i / racks));
			fputc(',', out);
			print_label(out, "to", latency_live_rack_name(live, i % racks));
			fprintf(out, ",stat=\"%s\"} %.9g\n", latency_statistic_names[statistics[s]],
				maximum_value(&maximum, statistics[s]) / 1e6);
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

static int write_metrics(const struct mesh_pages *pages, const struct serve_call *call, FILE *out)
{
	struct ns now = ns_now_wall();
	struct latency_census census;

	(void)call;
	if (latency_census_take(pages->live, pages->statistic, now, pages->max_age, &census))
		return 0;
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
	print_rack_metrics(pages->live, out);
	print_pair_metrics(pages->live, out);
	fputs("# EOF\n", out);
	latency_census_free(&census);
	return 200;
}

static void reply(void *context, struct serve_call *call, const char *type,
		  int (*write)(const struct mesh_pages *pages, const struct serve_call *call, FILE *out))
{
	const struct error no_memory = {.code = ENOMEM, .text = "out of memory"};
	char *body = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&body, &bytes);
	int status = out ? write(context, call, out) : 0;

	if (out && fclose(out) == 0 && status)
		serve_reply(call, (unsigned int)status, status == 200 ? type : "text/plain", body, bytes);
	else
		serve_reply_error(call, &no_memory);
	free(body);
}

static void serve_overview(void *context, struct serve_call *call)
{
	if (strcmp(call->path, "/") == 0)
		reply(context, call, "text/html; charset=utf-8", write_overview);
	else
		serve_reply(call, 404, "text/plain", "no such page\n", strlen("no such page\n"));
}

static void serve_racks(void *context, struct serve_call *call)
{
	reply(context, call, "text/html; charset=utf-8", write_racks);
}

static void serve_metrics(void *context, struct serve_call *call)
{
	reply(context, call, "application/openmetrics-text; version=1.0.0; charset=utf-8", write_metrics);
}

const struct serve_route mesh_pages_routes[] = {
	{"GET", "/metrics", serve_metrics},
	{"GET", "/racks", serve_racks},
	{"GET", "/", serve_overview},
	{NULL, NULL, NULL},
};
