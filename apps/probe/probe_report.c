/* SPDX-License-Identifier: BSD-3-Clause */
#include "probe_station.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <base/address.h>
#include <base/json.h>
#include <model/latency_matrix.h>

static double us_at(const struct histogram *histogram, double percentile)
{
	return (double)histogram_percentile(histogram, percentile) / 1e3;
}

size_t report_silent_peers(const struct station_result *result)
{
	size_t silent = 0;

	for (size_t i = 0; i < agent_peer_count(result->agent); i++) {
		struct agent_peer_result peer;

		agent_peer_result(result->agent, i, &peer);
		silent += peer.counters.fresh == 0;
	}
	return silent;
}

static void print_peer(const struct agent_peer_result *peer, FILE *out)
{
	const struct session_counters *counters = &peer->counters;

	fprintf(out, "%-12.20s %8" PRIu64 " %6" PRIu64 " %5" PRIu64 " %5" PRIu64 " ", peer->peer->name, counters->sent,
		counters->lost, counters->duplicates, counters->reordered);
	if (counters->fresh)
		fprintf(out, "%9.1f %9.1f %9.1f %9.1f\n", (double)histogram_minimum(peer->rtt) / 1e3,
			us_at(peer->rtt, 50), us_at(peer->rtt, 99), (double)histogram_maximum(peer->rtt) / 1e3);
	else
		fprintf(out, "%s\n", peer->resolved ? "no answer" : "no MAC address: nobody answers ARP for it");
}

void report_text(const struct station_result *result, FILE *out)
{
	size_t peers = agent_peer_count(result->agent);
	struct agent_summary summary;

	agent_summary(result->agent, &summary);
	fprintf(out, "%s on %s (%s), %s stamps, %s polling, %.1f s\n", result->name, result->port.name,
		result->port.driver, summary.stamps, summary.poll, ns_to_s(summary.measured));
	if (peers)
		fprintf(out, "\n%-12s %8s %6s %5s %5s %9s %9s %9s %9s\n", "peer", "sent", "lost", "dup", "reord",
			"min us", "p50 us", "p99 us", "max us");
	for (size_t i = 0; i < peers; i++) {
		struct agent_peer_result peer;

		agent_peer_result(result->agent, i, &peer);
		print_peer(&peer, out);
	}
	fprintf(out, "%sanswered %" PRIu64 " probes in %" PRIu64 " sessions\n", peers ? "\n" : "",
		summary.reflector.answered, summary.reflector.sessions);
	if (summary.port.rx_missed || summary.send_failures || summary.skipped || summary.unstamped ||
	    summary.broken_frames)
		fprintf(out,
			"not as it should be: %" PRIu64 " missed on receive, %" PRIu64 " not sent, %" PRIu64
			" skipped (we were late), %" PRIu64 " without kernel stamp, %" PRIu64 " broken frames\n",
			summary.port.rx_missed, summary.send_failures, summary.skipped, summary.unstamped,
			summary.broken_frames);
}

static json_t *json_distribution(const struct histogram *histogram)
{
	if (histogram_count(histogram) == 0)
		return json_null();
	return json_pack("{s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "min", (double)histogram_minimum(histogram) / 1e3, "p50",
			 us_at(histogram, 50), "p90", us_at(histogram, 90), "p99", us_at(histogram, 99), "p99.9",
			 us_at(histogram, 99.9), "max", (double)histogram_maximum(histogram) / 1e3, "mean",
			 histogram_mean(histogram) / 1e3);
}

static json_t *json_counters(const struct session_counters *counters)
{
	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "sent", (json_int_t)counters->sent, "received",
			 (json_int_t)counters->fresh, "lost", (json_int_t)counters->lost, "late",
			 (json_int_t)counters->late, "duplicates", (json_int_t)counters->duplicates, "reordered",
			 (json_int_t)counters->reordered, "unknown", (json_int_t)counters->unknown);
}

static json_t *json_paths(const struct station_result *result, size_t index, uint32_t count)
{
	json_t *paths = json_array();

	for (uint32_t path = 0; path < count; path++) {
		struct agent_path_result from;
		json_t *one;

		agent_path_result(result->agent, index, path, &from);
		one = json_counters(&from.counters);
		json_object_set_new(one, "source_port", json_integer(from.source_port));
		json_object_set_new(one, "rtt_us", json_distribution(from.rtt));
		json_array_append_new(paths, one);
	}
	return paths;
}

static json_t *json_peer(const struct station_result *result, size_t index)
{
	struct agent_peer_result from;
	char address[16], mac[18];
	json_t *peer;

	agent_peer_result(result->agent, index, &from);
	address_print_ipv4(from.peer->address, address);
	address_print_mac(from.mac, mac);
	peer = json_counters(&from.counters);
	json_object_set_new(peer, "name", json_string(from.peer->name));
	json_object_set_new(peer, "rack", from.peer->rack[0] ? json_string(from.peer->rack) : json_null());
	json_object_set_new(peer, "address", json_string(address));
	json_object_set_new(peer, "mac", from.resolved ? json_string(mac) : json_null());
	json_object_set_new(peer, "lost_forward", json_integer((json_int_t)from.lost_forward));
	json_object_set_new(peer, "rtt_us", json_distribution(from.rtt));
	json_object_set_new(peer, "residence_us", json_distribution(from.residence));
	json_object_set_new(peer, "clock_offset_us",
			    from.counters.fresh ? json_real(ns_to_us(from.offset)) : json_null());
	json_object_set_new(peer, "paths", json_paths(result, index, from.path_count));
	return peer;
}

static json_t *json_summary(const struct agent_summary *summary)
{
	return json_pack("{s:s,s:s,s:f,s:f,s:I,s:I,s:I,s:I,s:{s:I,s:I,s:I,s:I},s:{s:I,s:I,s:I,s:I,s:I}}", "stamps",
			 summary->stamps, "poll", summary->poll, "measured_s", ns_to_s(summary->measured),
			 "stamp_error_us", ns_to_us(summary->error_bound), "skipped", (json_int_t)summary->skipped,
			 "unstamped", (json_int_t)summary->unstamped, "send_failures",
			 (json_int_t)summary->send_failures, "broken_frames", (json_int_t)summary->broken_frames,
			 "reflector", "answered", (json_int_t)summary->reflector.answered, "malformed",
			 (json_int_t)summary->reflector.malformed, "sessions", (json_int_t)summary->reflector.sessions,
			 "evicted", (json_int_t)summary->reflector.evicted, "packets", "received",
			 (json_int_t)summary->port.rx_packets, "sent", (json_int_t)summary->port.tx_packets, "missed",
			 (json_int_t)summary->port.rx_missed, "no_buffer", (json_int_t)summary->port.rx_no_mbuf,
			 "send_errors", (json_int_t)summary->port.tx_errors);
}

int report_json(const struct station_result *result, struct error *err)
{
	struct agent_summary summary;
	char address[16];
	json_t *root, *peers = json_array();
	int code;

	agent_summary(result->agent, &summary);
	address_print_ipv4(result->address, address);
	for (size_t i = 0; i < agent_peer_count(result->agent); i++)
		json_array_append_new(peers, json_peer(result, i));
	root = json_pack("{s:s,s:s,s:s,s:{s:s,s:s,s:s},s:f,s:f,s:o,s:o}", "schema", "nomora.probe/1", "host",
			 result->name, "address", address, "port", "name", result->port.name, "driver",
			 result->port.driver, "mac", result->port.mac, "started_at", ns_to_s(result->started_at),
			 "finished_at", ns_to_s(result->finished_at), "run", json_summary(&summary), "peers", peers);
	if (!root)
		return error_set(err, ENOMEM, "cannot build the JSON result: out of memory");
	code = json_write_file("-", root, err);
	json_decref(root);
	return code;
}

static int add_entry(struct latency_matrix *matrix, const struct station_result *result, size_t index)
{
	struct latency_entry entry = {.updated_at = result->finished_at};
	struct agent_peer_result from;
	int64_t source, destination;

	agent_peer_result(result->agent, index, &from);
	source = latency_matrix_add_host(matrix, result->name);
	destination = latency_matrix_add_host(matrix, from.peer->name);
	if (source < 0 || destination < 0)
		return (int)(source < 0 ? source : destination);
	entry.source = (uint32_t)source;
	entry.destination = (uint32_t)destination;
	entry.samples = from.counters.fresh;
	entry.loss = from.counters.sent ? (double)from.counters.lost / (double)from.counters.sent : 1;
	entry.rtt_p50_us = entry.samples ? us_at(from.rtt, 50) : NAN;
	entry.rtt_p99_us = entry.samples ? us_at(from.rtt, 99) : NAN;
	entry.rtt_max_us = entry.samples ? (double)histogram_maximum(from.rtt) / 1e3 : NAN;
	return latency_matrix_set(matrix, &entry);
}

int report_row(const struct station_result *result, const char *path, struct error *err)
{
	struct latency_matrix *matrix = latency_matrix_create();
	int code = matrix ? 0 : -ENOMEM;

	for (size_t i = 0; !code && i < agent_peer_count(result->agent); i++)
		code = add_entry(matrix, result, i);
	if (code)
		error_set(err, -code, "cannot make the row of %s: %s", result->name, strerror(-code));
	else
		code = latency_matrix_write(matrix, path, err);
	latency_matrix_destroy(matrix);
	return code;
}
