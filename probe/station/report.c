/* SPDX-License-Identifier: BSD-3-Clause */
#include "station_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <base/address.h>
#include <base/json.h>

static void print_peer(const struct mesh_pair *pair, FILE *out)
{
	const struct session_counters *counters = &pair->counters;

	fprintf(out, "%-12.20s %8" PRIu64 " %6" PRIu64 " %5" PRIu64 " %5" PRIu64 " ", pair->peer.name, counters->sent,
		counters->lost, counters->duplicates, counters->reordered);
	if (pair->rtt.samples)
		fprintf(out, "%9.1f %9.1f %9.1f %9.1f", pair->rtt.min_us, pair->rtt.p50_us, pair->rtt.p99_us,
			pair->rtt.max_us);
	else if (counters->fresh)
		fprintf(out, "no answer with plausible time stamps");
	else
		fprintf(out, "%s", pair->resolved ? "no answer" : "no MAC address: nobody answers ARP for it");
	if (pair->disturbed && pair->undisturbed.samples)
		fprintf(out, "   undisturbed: p50 %.1f p99 %.1f max %.1f us (%.2g %% of the samples disturbed)",
			pair->undisturbed.p50_us, pair->undisturbed.p99_us, pair->undisturbed.max_us,
			100.0 * (double)pair->disturbed / (double)pair->rtt.samples);
	fputc('\n', out);
}

/* Prints one-way delays if both clocks allow it. */
static void print_one_way(const struct mesh_pair *pair, FILE *out)
{
	if (pair->forward.samples)
		fprintf(out,
			"%14s there p50 %.1f p99 %.1f us, back p50 %.1f p99 %.1f us, each +-%.2g us (clock errors)\n",
			"one way:", pair->forward.p50_us, pair->forward.p99_us, pair->backward.p50_us,
			pair->backward.p99_us, pair->one_way_error_us);
}

static void print_share(const char *what, uint64_t count, uint64_t samples, FILE *out)
{
	fprintf(out, "%s %.3g %%", what, 100.0 * (double)count / (double)samples);
}

/*
 * Prints the sources of the stamps, unless they are as expected: t1 and t4 by the kernel in all samples (`kernel` true)
 * or in none (false), and t3 by follow-up telemetry in none.
 */
static void print_stamps(const struct mesh_pair *pair, bool kernel, FILE *out)
{
	const uint64_t samples = pair->rtt.samples, expected = kernel ? samples : 0;
	const struct agent_stamp_counts *stamps = &pair->stamps;

	if (!samples || (!stamps->follow_ups && stamps->departures == expected && stamps->arrivals == expected))
		return;
	fprintf(out, "%14s", "stamps:");
	print_share(" t1 by the kernel in", stamps->departures, samples, out);
	print_share(", t3 by follow-up telemetry in", stamps->follow_ups, samples, out);
	print_share(", t4 by the kernel in", stamps->arrivals, samples, out);
	fputs(" of the samples\n", out);
}

static void print_path(const char *what, const struct mesh_path *path, FILE *out)
{
	char route[MESH_ROUTE_TEXT_BYTES];

	mesh_print_route(&path->route, route);
	fprintf(out, "%14s %s: p50 %.1f p99 %.1f max %.1f us, %" PRIu64 " of %" PRIu64 " lost", what, route,
		path->rtt.p50_us, path->rtt.p99_us, path->rtt.max_us, path->counters.lost, path->counters.sent);
	if (path->lost_forward_known && path->counters.lost)
		fprintf(out, " (%" PRIu64 " on the way there)", path->lost_forward);
	fprintf(out, ", source port %u\n", path->source_port);
}

static void print_paths(const struct mesh_pair *pair, FILE *out)
{
	const struct mesh_path *slowest = mesh_pair_slowest(pair), *lossiest = mesh_pair_lossiest(pair);

	if (!pair->finds_paths)
		return;
	fprintf(out,
		"%14s %" PRIu32 " known, %" PRIu32
		" covered by probes; probability that another one exists: under %.2g %%\n",
		"paths:", pair->paths_known, pair->path_count, 100 * (1 - pair->paths_confidence));
	if (slowest && pair->path_count > 1)
		print_path("slowest:", slowest, out);
	if (lossiest && pair->path_count > 1)
		print_path("most loss:", lossiest, out);
}

static void print_warnings(const struct station_result *result, FILE *out)
{
	const struct agent_summary *summary = &result->summary;
	const struct {
		uint64_t count;
		const char *text;
	} warnings[] = {
		{summary->port.rx_missed, "packets missed on receive"},
		{summary->send_failures, "packets not sent"},
		{summary->skipped, "probes skipped (prober late)"},
		{summary->unstamped, "packets without a kernel timestamp"},
		{summary->broken_frames, "broken frames"},
		{summary->unfinished_checksums,
		 "packets with an unfinished checksum (on their sender: ethtool -K INTERFACE tx off)"},
		{summary->other_vlan, "STAMP packets of other VLANs (not answered; see --vlan)"},
		{summary->samples_dropped, "samples not written"},
		{summary->frames_dropped, "packets not in the capture"},
		{summary->not_handed_over, "answers lost between two queues"},
		{summary->reflector.not_ours, "requests to another host"},
		{summary->reflector.bad_source, "requests with an invalid source address"},
		{summary->reflector.loops, "answers of other reflectors"},
		{summary->reflector.not_allowed, "requests that --allow does not list"},
		{summary->reflector.short_requests,
		 "short TWAMP requests over 100 per second (no limit if --allow lists the sender)"},
		{summary->reflector.source_limited, "requests over --limit-source"},
		{summary->reflector.total_limited, "requests over --limit-total"},
		{summary->reflector.unknown_session, "requests of sessions without a key"},
		{summary->reflector.bad_hmac, "requests with a wrong HMAC"},
		{summary->reflector.replayed, "replayed requests"},
		{summary->reflector.other_member, "requests for another member link"},
		{summary->bad_hmac, "answers with a wrong HMAC"},
		{summary->other_member, "answers of another member link"},
		{summary->forged, "answers that do not echo the probe's timestamp or session"},
	};
	uint64_t impossible = 0;
	const char *separator = "warnings: ";

	for (size_t i = 0; i < sizeof warnings / sizeof warnings[0]; i++) {
		if (!warnings[i].count)
			continue;
		fprintf(out, "%s%" PRIu64 " %s", separator, warnings[i].count, warnings[i].text);
		separator = ", ";
	}
	for (size_t i = 0; i < result->row.count; i++)
		impossible += result->row.pairs[i].impossible;
	if (impossible)
		fprintf(out, "%s%" PRIu64 " answers with impossible time stamps", separator, impossible);
	if (impossible || separator[0] == ',')
		fputc('\n', out);
	if (summary->limited)
		fprintf(out, "limited by --limit-probes: a probe to each peer every %.1f us\n",
			ns_to_us(summary->interval));
}

void station_report_text(const struct station_result *result, FILE *out)
{
	const struct agent_summary *summary = &result->summary;

	fprintf(out, "%s on %s (%s), %s stamps, %s polling, %.1f s\n", result->row.host, result->port.name,
		result->port.driver, summary->stamps, summary->poll, ns_to_s(result->measured));
	if (result->row.count)
		fprintf(out, "\n%-12s %8s %6s %5s %5s %9s %9s %9s %9s\n", "peer", "sent", "lost", "dup", "reord",
			"min us", "p50 us", "p99 us", "max us");
	for (size_t i = 0; i < result->row.count; i++) {
		print_peer(&result->row.pairs[i], out);
		print_one_way(&result->row.pairs[i], out);
		print_stamps(&result->row.pairs[i], strcmp(summary->stamps, "kernel") == 0, out);
		print_paths(&result->row.pairs[i], out);
	}
	fprintf(out, "%sanswered %" PRIu64 " probes in %" PRIu64 " sessions\n", result->row.count ? "\n" : "",
		summary->reflector.answered, summary->reflector.sessions);
	if (result->serves_twamp)
		fprintf(out, "TWAMP-Control: %" PRIu64 " sessions on %" PRIu64 " connections\n", result->twamp.sessions,
			result->twamp.connections);
	print_warnings(result, out);
}

static json_t *json_reflector(const struct reflector_counters *from)
{
	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "answered",
			 (json_int_t)from->answered, "malformed", (json_int_t)from->malformed, "sessions",
			 (json_int_t)from->sessions, "evicted", (json_int_t)from->evicted, "not_ours",
			 (json_int_t)from->not_ours, "bad_source", (json_int_t)from->bad_source, "loops",
			 (json_int_t)from->loops, "not_allowed", (json_int_t)from->not_allowed, "short_requests",
			 (json_int_t)from->short_requests, "source_limited", (json_int_t)from->source_limited,
			 "unknown_session", (json_int_t)from->unknown_session, "bad_hmac", (json_int_t)from->bad_hmac,
			 "replayed", (json_int_t)from->replayed, "other_member", (json_int_t)from->other_member,
			 "total_limited", (json_int_t)from->total_limited);
}

static json_t *json_twamp(const struct station_result *result)
{
	const struct twamp_service_counters *from = &result->twamp;

	if (!result->serves_twamp)
		return json_null();
	return json_pack("{s:I,s:I,s:I,s:I,s:I}", "connections", (json_int_t)from->connections, "turned_away",
			 (json_int_t)from->turned_away, "sessions", (json_int_t)from->sessions, "refused",
			 (json_int_t)from->refused, "late", (json_int_t)from->late);
}

static json_t *json_summary(const struct station_result *result)
{
	const struct agent_summary *summary = &result->summary;
	struct mesh_distribution wake_up = mesh_distribution_of(summary->wake_up);

	return json_pack(
		"{s:s,s:s,s:f,s:f,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:f,s:b,s:I,s:o,s:o,s:{s:I,s:I,"
		"s:I,s:I,s:I}}",
		"stamps", summary->stamps, "poll", summary->poll, "measured_s", ns_to_s(result->measured),
		"stamp_error_us", ns_to_us(summary->error_bound), "bad_hmac", (json_int_t)summary->bad_hmac,
		"other_member", (json_int_t)summary->other_member, "forged", (json_int_t)summary->forged, "skipped",
		(json_int_t)summary->skipped, "unstamped", (json_int_t)summary->unstamped, "departures",
		(json_int_t)summary->departures, "handed_over", (json_int_t)summary->handed_over, "not_handed_over",
		(json_int_t)summary->not_handed_over, "send_failures", (json_int_t)summary->send_failures,
		"broken_frames", (json_int_t)summary->broken_frames, "unfinished_checksums",
		(json_int_t)summary->unfinished_checksums, "other_vlan", (json_int_t)summary->other_vlan, "interval_us",
		ns_to_us(summary->interval), "limited", summary->limited, "samples_dropped",
		(json_int_t)summary->samples_dropped, "wake_up_us", mesh_distribution_json(&wake_up), "reflector",
		json_reflector(&summary->reflector), "packets", "received", (json_int_t)summary->port.rx_packets,
		"sent", (json_int_t)summary->port.tx_packets, "missed", (json_int_t)summary->port.rx_missed,
		"no_buffer", (json_int_t)summary->port.rx_no_mbuf, "send_errors", (json_int_t)summary->port.tx_errors);
}

int station_report_json(const struct station_result *result, struct error *err)
{
	char address[ADDRESS_TEXT_BYTES];
	json_t *root;
	int code;

	address_print(result->address, address);
	root = json_pack("{s:s,s:s,s:s,s:{s:s,s:s,s:s},s:f,s:f,s:o,s:o,s:o}", "schema", "nomora.probe/1", "host",
			 result->row.host, "address", address, "port", "name", result->port.name, "driver",
			 result->port.driver, "mac", result->port.mac, "started_at", ns_to_s(result->started_at),
			 "finished_at", ns_to_s(result->finished_at), "run", json_summary(result), "twamp",
			 json_twamp(result), "peers", mesh_row_json(&result->row));
	if (!root)
		return error_set(err, ENOMEM, "cannot build the JSON result: out of memory");
	code = json_write_file("-", root, err);
	json_decref(root);
	return code;
}
