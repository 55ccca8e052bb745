/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/mesh/row.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/address.h>
#include <base/array.h>

enum { P50_SAMPLES = 2, P99_SAMPLES = 100 };

struct mesh_distribution mesh_distribution_of(const struct histogram *histogram_ns)
{
	static const double percentiles[] = {50, 90, 99, 99.9};
	double us[4];

	if (histogram_count(histogram_ns) == 0)
		return (struct mesh_distribution){0};
	for (size_t i = 0; i < 4; i++)
		us[i] = (double)histogram_percentile(histogram_ns, percentiles[i]) / 1e3;
	return (struct mesh_distribution){
		.samples = histogram_count(histogram_ns),
		.min_us = (double)histogram_minimum(histogram_ns) / 1e3,
		.p50_us = us[0],
		.p90_us = us[1],
		.p99_us = us[2],
		.p999_us = us[3],
		.max_us = (double)histogram_maximum(histogram_ns) / 1e3,
		.mean_us = histogram_mean(histogram_ns) / 1e3,
	};
}

/* The share of the round trips that the peer held for longer than a stall. */
static double stalled_share(const struct histogram *residence)
{
	struct histogram_cursor cursor = {0};
	uint64_t stalled = 0, count = histogram_count(residence);

	if (histogram_maximum(residence) <= LATENCY_STALL_US * NS_PER_US)
		return 0;
	while (histogram_next(residence, &cursor))
		stalled += cursor.low > LATENCY_STALL_US * NS_PER_US ? cursor.count : 0;
	return (double)stalled / (double)count;
}

int mesh_row_add(struct mesh_row *row, const struct agent_row *window)
{
	struct mesh_pair *pairs = array_grow(row->pairs, row->count, &row->capacity, sizeof *pairs), *pair;
	struct mesh_path *paths = calloc(window->path_count + 1, sizeof *paths); /* calloc(0) may return NULL */

	row->pairs = pairs ? pairs : row->pairs;
	if (!pairs || !paths) {
		free(paths);
		return -ENOMEM;
	}
	pair = &row->pairs[row->count++];
	*pair = (struct mesh_pair){
		.peer = window->peer,
		.resolved = window->resolved,
		.unresolvable = window->unresolvable,
		.updated_at = {window->ended.ns},
		.answered_at = {window->last_answer.valid ? window->last_answer.ns : 0},
		.counters = window->counters,
		.impossible = window->impossible,
		.disturbed = window->disturbed,
		.headers = window->headers,
		.tlvs = window->tlvs,
		.ssid_ignored = window->ssid_ignored,
		.lost_forward_known = window->lost_forward_known,
		.lost_forward = window->lost_forward,
		.has_offset = window->offset.valid,
		.offset_us = (double)window->offset.ns / 1e3,
		.rtt = mesh_distribution_of(window->rtt),
		.undisturbed = mesh_distribution_of(window->undisturbed),
		.residence = mesh_distribution_of(window->residence),
		.peer_stalled = stalled_share(window->residence),
		.forward = mesh_distribution_of(window->forward),
		.backward = mesh_distribution_of(window->backward),
		.one_way_error_us = ns_to_us(window->one_way_error),
		.stamps = window->stamps,
		.clocks = window->clocks,
		.path_count = window->path_count,
		.paths = paths,
		.finds_paths = window->finds_paths,
		.paths_known = window->paths_known,
		.paths_confidence = window->paths_confidence,
	};
	memcpy(pair->mac, window->mac, FRAME_MAC_BYTES);
	for (uint32_t i = 0; i < window->path_count; i++)
		paths[i] = (struct mesh_path){
			.source_port = window->paths[i].source_port,
			.counters = window->paths[i].counters,
			.lost_forward_known = window->paths[i].lost_forward_known,
			.lost_forward = window->paths[i].lost_forward,
			.rtt = mesh_distribution_of(window->paths[i].rtt),
			.route = window->paths[i].route,
		};
	return 0;
}

void mesh_row_clear(struct mesh_row *row)
{
	for (size_t i = 0; i < row->count; i++)
		free(row->pairs[i].paths);
	free(row->pairs);
	row->pairs = NULL;
	row->count = row->capacity = 0;
}

struct latency_entry mesh_pair_entry(const struct mesh_pair *pair)
{
	const struct mesh_distribution *all = pair->undisturbed.samples ? &pair->undisturbed : &pair->rtt;
	struct latency_entry entry = {
		.updated_at = pair->updated_at,
		.answered_at = pair->answered_at,
		.samples = pair->rtt.samples,
		.loss = pair->counters.sent ? (double)pair->counters.lost / (double)pair->counters.sent : 0,
		.rtt_p50_us = NAN,
		.rtt_p99_us = NAN,
		.rtt_max_us = NAN,
	};

	if (entry.loss > 1)
		entry.loss = 1; /* probes of an earlier window may be counted as lost in this one */
	entry.paths = (uint16_t)pair->paths_known;
	for (uint32_t i = 0; i < pair->path_count; i++)
		entry.paths_covered = (uint16_t)(entry.paths_covered + (pair->paths[i].counters.fresh > 0));
	if (!entry.samples) {
		bool probed = pair->counters.lost || pair->counters.fresh || pair->unresolvable;

		entry.state = probed ? LATENCY_STATE_UNREACHABLE : LATENCY_STATE_NEVER;
		entry.loss = probed ? 1 : 0;
		return entry;
	}
	entry.disturbed = (float)pair->disturbed / (float)entry.samples;
	entry.peer_stalled = (float)pair->peer_stalled;
	entry.peer_stall_us = (float)pair->residence.max_us;
	entry.rtt_p50_us = all->p50_us;
	entry.rtt_p99_us = all->p99_us;
	entry.rtt_max_us = all->max_us;
	for (uint32_t i = 0; i < pair->path_count; i++) {
		const struct mesh_distribution *path = &pair->paths[i].rtt;

		if (path->samples >= P50_SAMPLES)
			entry.rtt_p50_us = fmax(entry.rtt_p50_us, path->p50_us);
		if (path->samples >= P99_SAMPLES)
			entry.rtt_p99_us = fmax(entry.rtt_p99_us, path->p99_us);
	}
	entry.rtt_p99_us = fmax(entry.rtt_p99_us, entry.rtt_p50_us);
	/* A percentile is rounded up to the end of its histogram bucket, which may exceed the exact maximum. */
	entry.rtt_p99_us = fmin(entry.rtt_p99_us, entry.rtt_max_us);
	entry.rtt_p50_us = fmin(entry.rtt_p50_us, entry.rtt_max_us);
	return entry;
}

static double slowness(const struct mesh_path *path, bool by_p99)
{
	if (by_p99)
		return path->rtt.samples >= P99_SAMPLES ? path->rtt.p99_us : -1;
	return path->rtt.samples ? path->rtt.p50_us : -1;
}

const struct mesh_path *mesh_pair_slowest(const struct mesh_pair *pair)
{
	const struct mesh_path *slowest = NULL;

	for (int by_p99 = 1; by_p99 >= 0 && !slowest; by_p99--)
		for (uint32_t i = 0; i < pair->path_count; i++)
			if (slowness(&pair->paths[i], by_p99) > (slowest ? slowness(slowest, by_p99) : -1))
				slowest = &pair->paths[i];
	return slowest;
}

static double loss_of(const struct mesh_path *path, bool forward)
{
	uint64_t lost = forward ? path->lost_forward : path->counters.lost;

	return path->counters.sent ? (double)lost / (double)path->counters.sent : 0;
}

const struct mesh_path *mesh_pair_lossiest(const struct mesh_pair *pair)
{
	const struct mesh_path *lossiest = NULL;
	bool forward = pair->lost_forward_known && pair->lost_forward;

	for (uint32_t i = 0; i < pair->path_count; i++)
		if (loss_of(&pair->paths[i], forward) > (lossiest ? loss_of(lossiest, forward) : 0))
			lossiest = &pair->paths[i];
	return lossiest;
}

static void print_hop(ip_address hop, char text[ADDRESS_TEXT_BYTES])
{
	if (hop)
		address_print(hop, text);
	else
		strcpy(text, "?");
}

void mesh_print_route(const struct path *route, char text[MESH_ROUTE_TEXT_BYTES])
{
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < route->hop_count; i++) {
		if (i > 0)
			text[used++] = ' ';
		print_hop(route->hops[i], text + used);
		used += strlen(text + used);
	}
}

/* Stores every pair in the matrix. Returns 0 or -errno. */
static int store_row(const struct mesh_row *row, struct latency_matrix *matrix)
{
	int64_t source = latency_matrix_add_host(matrix, row->host);

	for (size_t i = 0; source >= 0 && i < row->count; i++) {
		struct latency_entry entry = mesh_pair_entry(&row->pairs[i]);
		int64_t destination = latency_matrix_add_host(matrix, row->pairs[i].peer.name);
		int code;

		if (destination < 0)
			return (int)destination;
		entry.error_us = (float)row->error_us;
		entry.source = (uint32_t)source;
		entry.destination = (uint32_t)destination;
		code = latency_matrix_set(matrix, &entry);
		if (code)
			return code;
	}
	return source < 0 ? (int)source : 0;
}

int mesh_row_write(const struct mesh_row *row, const char *path, struct error *err)
{
	struct latency_matrix *matrix = latency_matrix_create();
	int code = matrix ? store_row(row, matrix) : -ENOMEM;

	if (code)
		error_set(err, -code, "cannot build the row of host %s: %s", row->host, strerror(-code));
	else
		code = latency_matrix_write(matrix, path, err);
	latency_matrix_destroy(matrix);
	return code;
}

json_t *mesh_distribution_json(const struct mesh_distribution *d)
{
	if (d->samples == 0)
		return json_null();
	return json_pack("{s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "min", d->min_us, "p50", d->p50_us, "p90", d->p90_us, "p99",
			 d->p99_us, "p99.9", d->p999_us, "max", d->max_us, "mean", d->mean_us);
}

static json_t *counters_json(const struct session_counters *counters)
{
	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "sent", (json_int_t)counters->sent, "received",
			 (json_int_t)counters->fresh, "lost", (json_int_t)counters->lost, "late",
			 (json_int_t)counters->late, "duplicates", (json_int_t)counters->duplicates, "reordered",
			 (json_int_t)counters->reordered, "unknown", (json_int_t)counters->unknown);
}

static json_t *hops_json(const struct path *route)
{
	json_t *hops = json_array();
	char text[ADDRESS_TEXT_BYTES];

	for (uint32_t i = 0; i < route->hop_count; i++) {
		print_hop(route->hops[i], text);
		json_array_append_new(hops, route->hops[i] ? json_string(text) : json_null());
	}
	return hops;
}

static json_t *paths_json(const struct mesh_pair *pair)
{
	json_t *paths = json_array();

	for (uint32_t i = 0; i < pair->path_count; i++) {
		json_t *path = counters_json(&pair->paths[i].counters);

		json_object_set_new(path, "source_port", json_integer(pair->paths[i].source_port));
		json_object_set_new(path, "lost_forward",
				    pair->paths[i].lost_forward_known
					    ? json_integer((json_int_t)pair->paths[i].lost_forward)
					    : json_null());
		json_object_set_new(path, "rtt_us", mesh_distribution_json(&pair->paths[i].rtt));
		if (pair->finds_paths)
			json_object_set_new(path, "hops", hops_json(&pair->paths[i].route));
		json_array_append_new(paths, path);
	}
	return paths;
}

static json_t *entry_json(const struct latency_entry *entry)
{
	if (!entry->samples)
		return json_null();
	return json_pack("{s:f,s:f,s:f}", "p50", entry->rtt_p50_us, "p99", entry->rtt_p99_us, "max", entry->rtt_max_us);
}

static json_t *headers_json(const struct agent_headers *headers)
{
	if (!headers->seen)
		return json_null();
	return json_pack("{s:o,s:i,s:i,s:i,s:b,s:I}", "request_ttl",
			 headers->request_ttl ? json_integer(headers->request_ttl) : json_null(), "ttl", headers->ttl,
			 "dscp", headers->dscp, "ecn", headers->ecn, "dont_fragment", !headers->may_fragment,
			 "congested", (json_int_t)headers->congested);
}

static json_t *tlv_names(uint32_t types)
{
	json_t *list = json_array();

	for (int type = 0; type < TLV_TYPES; type++)
		if (types >> type & 1)
			json_array_append_new(list, json_string(tlv_name((enum tlv_type)type)));
	return list;
}

static json_t *address_json(ip_address address)
{
	char text[ADDRESS_TEXT_BYTES];

	if (!address)
		return json_null();
	address_print(address, text);
	return json_string(text);
}

static json_t *location_json(const struct tlv_reading *from)
{
	char mac[ADDRESS_MAC_TEXT_BYTES];

	address_print_mac(from->source_mac, mac);
	return json_pack("{s:o,s:i,s:o,s:i,s:o}", "source", address_json(from->source), "source_port",
			 from->source_port, "destination", address_json(from->destination), "destination_port",
			 from->destination_port, "source_mac", from->has_mac ? json_string(mac) : json_null());
}

static json_t *tlvs_json(const struct tlv_reading *from)
{
	json_t *tlvs;

	if (!from->filled && !from->flagged)
		return json_null();
	tlvs = json_pack("{s:o,s:o,s:b}", "filled", tlv_names(from->filled), "flagged", tlv_names(from->flagged),
			 "bad_hmac", from->bad_hmac);
	if (from->filled >> TLV_LOCATION & 1)
		json_object_set_new(tlvs, "location", location_json(from));
	if (from->filled >> TLV_TIMESTAMP & 1)
		json_object_set_new(tlvs, "timestamp",
				    json_pack("{s:i,s:i,s:i,s:i}", "clock_in", from->clock_in, "method_in",
					      from->method_in, "clock_out", from->clock_out, "method_out",
					      from->method_out));
	if (from->filled >> TLV_CLASS & 1)
		json_object_set_new(tlvs, "class",
				    json_pack("{s:i,s:i,s:b}", "dscp", from->dscp, "ecn", from->ecn, "refused",
					      from->class_refused));
	if (from->filled >> TLV_DIRECT & 1)
		json_object_set_new(tlvs, "direct",
				    json_pack("{s:I,s:I,s:I}", "sent", (json_int_t)from->sent, "received",
					      (json_int_t)from->received, "answered", (json_int_t)from->answered));
	if (from->filled >> TLV_MICRO_SESSION & 1)
		json_object_set_new(tlvs, "micro_session",
				    json_pack("{s:i,s:i}", "sender", from->member, "reflector", from->peer_member));
	if (from->filled >> TLV_FOLLOW_UP & 1)
		json_object_set_new(tlvs, "follow_up",
				    json_pack("{s:I,s:f}", "sequence", (json_int_t)from->follow_up_sequence, "left_at",
					      ns_to_s(from->follow_up_at)));
	return tlvs;
}

static json_t *clock_error_json(bool synchronised, struct ns error)
{
	return synchronised ? json_real(ns_to_us(error)) : json_null();
}

/* Describes the sources of the samples' stamps, and the error bounds of the two clocks against UTC. */
static json_t *stamps_json(const struct mesh_pair *from)
{
	const struct agent_clocks *clocks = &from->clocks;

	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:o,s:o}", "samples", (json_int_t)from->rtt.samples, "t1_kernel",
			 (json_int_t)from->stamps.departures, "t3_follow_up", (json_int_t)from->stamps.follow_ups,
			 "t4_kernel", (json_int_t)from->stamps.arrivals, "t4_nic",
			 (json_int_t)from->stamps.nic_arrivals, "clock_error_us",
			 clock_error_json(clocks->synchronised, clocks->error), "peer_clock_error_us",
			 clock_error_json(clocks->peer_synchronised, clocks->peer_error));
}

static json_t *one_way_json(const struct mesh_pair *from)
{
	if (!from->forward.samples)
		return json_null();
	return json_pack("{s:I,s:o,s:o,s:f}", "samples", (json_int_t)from->forward.samples, "forward_us",
			 mesh_distribution_json(&from->forward), "backward_us", mesh_distribution_json(&from->backward),
			 "error_us", from->one_way_error_us);
}

/*
 * These functions compute the number of hops from the hop limits as sent and as received. On the way there, the number
 * is null if the reflector does not report the hop limit that it received. On the way back, it is null if the reflector
 * does not send with hop limit 255 (RFC 8762 section 4).
 */
static json_t *hops_there_json(const struct agent_headers *headers)
{
	bool known = headers->request_ttl && headers->request_ttl <= headers->sent_ttl;

	return known ? json_integer(headers->sent_ttl - headers->request_ttl) : json_null();
}

static json_t *hops_back_json(const struct agent_headers *headers)
{
	return headers->seen && headers->ttl > 128 ? json_integer(UINT8_MAX - headers->ttl) : json_null();
}

static json_t *pair_json(const struct mesh_pair *from)
{
	struct latency_entry entry = mesh_pair_entry(from);
	json_t *pair = counters_json(&from->counters);
	char address[ADDRESS_TEXT_BYTES], mac[ADDRESS_MAC_TEXT_BYTES];

	address_print(from->peer.address, address);
	address_print_mac(from->mac, mac);
	json_object_set_new(pair, "name", json_string(from->peer.name));
	json_object_set_new(pair, "rack", from->peer.rack[0] ? json_string(from->peer.rack) : json_null());
	json_object_set_new(pair, "address", json_string(address));
	json_object_set_new(pair, "mac", from->resolved ? json_string(mac) : json_null());
	json_object_set_new(pair, "lost_forward",
			    from->lost_forward_known ? json_integer((json_int_t)from->lost_forward) : json_null());
	json_object_set_new(pair, "impossible", json_integer((json_int_t)from->impossible));
	json_object_set_new(pair, "disturbed", json_integer((json_int_t)from->disturbed));
	json_object_set_new(pair, "ssid_ignored", json_boolean(from->ssid_ignored));
	json_object_set_new(pair, "headers", headers_json(&from->headers));
	json_object_set_new(pair, "hops_there", hops_there_json(&from->headers));
	json_object_set_new(pair, "hops_back", hops_back_json(&from->headers));
	json_object_set_new(pair, "tlvs", tlvs_json(&from->tlvs));
	json_object_set_new(pair, "updated_at", json_real(ns_to_s(from->updated_at)));
	json_object_set_new(pair, "answered_at",
			    from->answered_at.v ? json_real(ns_to_s(from->answered_at)) : json_null());
	json_object_set_new(pair, "rtt_us", mesh_distribution_json(&from->rtt));
	json_object_set_new(pair, "undisturbed_rtt_us", mesh_distribution_json(&from->undisturbed));
	json_object_set_new(pair, "row_us", entry_json(&entry));
	json_object_set_new(pair, "residence_us", mesh_distribution_json(&from->residence));
	json_object_set_new(pair, "peer_stalled", json_real(from->peer_stalled));
	json_object_set_new(pair, "stamps", stamps_json(from));
	json_object_set_new(pair, "one_way", one_way_json(from));
	json_object_set_new(pair, "clock_offset_us", from->has_offset ? json_real(from->offset_us) : json_null());
	json_object_set_new(pair, "paths", paths_json(from));
	json_object_set_new(pair, "paths_known", from->finds_paths ? json_integer(from->paths_known) : json_null());
	json_object_set_new(pair, "paths_covered", json_integer(entry.paths_covered));
	json_object_set_new(pair, "paths_confidence",
			    from->finds_paths ? json_real(from->paths_confidence) : json_null());
	return pair;
}

json_t *mesh_row_json(const struct mesh_row *row)
{
	json_t *peers = json_array();

	for (size_t i = 0; i < row->count; i++)
		json_array_append_new(peers, pair_json(&row->pairs[i]));
	return peers;
}
