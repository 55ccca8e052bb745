/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host's row of the mesh: what it measured to each of its peers in a window, as plain figures. Made from the agent's
 * windows; written as JSON (the peers of nomora.probe/1) and to a latency matrix. Times are microseconds.
 */
#ifndef MESH_ROW_H
#define MESH_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include <model/latency_matrix.h>
#include <probe/agent/agent.h>

struct mesh_distribution {
	uint64_t samples; /* 0: all other figures are 0 too */
	double min_us, p50_us, p90_us, p99_us, p999_us, max_us, mean_us;
};

struct mesh_path {
	uint16_t source_port;
	struct session_counters counters;
	bool lost_forward_known;
	uint64_t lost_forward;        /* of counters.lost, never seen by the reflector */
	struct mesh_distribution rtt; /* undisturbed samples */
	struct path route;            /* with finds_paths */
};

struct mesh_pair {
	struct peer peer;
	bool resolved, unresolvable; /* see struct agent_row */
	uint8_t mac[FRAME_MAC_BYTES];
	struct ns updated_at; /* the last answer, or the window's end where there was none; wall clock */
	struct session_counters counters;
	uint64_t impossible, disturbed;
	struct agent_headers headers;
	struct tlv_reading tlvs;
	bool ssid_ignored, lost_forward_known, has_offset;
	uint64_t lost_forward;
	double offset_us;
	struct mesh_distribution rtt, undisturbed, residence;
	struct mesh_distribution forward, backward; /* without samples if the clocks do not allow it, see agent.h */
	double one_way_error_us;
	struct agent_stamp_counts stamps;
	struct agent_clocks clocks;
	uint32_t path_count;
	struct mesh_path *paths;
	bool finds_paths;
	uint32_t paths_known;
	double paths_confidence;
};

struct mesh_row {
	char host[LATENCY_NAME_BYTES];
	double error_us; /* bound of one stamp's error */
	size_t count, capacity;
	struct mesh_pair *pairs;
};

struct mesh_distribution mesh_distribution_of(const struct histogram *histogram_ns);

/* Appends a peer's window. 0 or -ENOMEM. */
int mesh_row_add(struct mesh_row *row, const struct agent_row *window);
void mesh_row_clear(struct mesh_row *row); /* frees the pairs */

/*
 * The latency of a pair: each figure is the worst over its paths with enough samples (2 for p50, 100 for p99), from
 * undisturbed samples if there are any. source and destination are the caller's.
 */
struct latency_entry mesh_pair_entry(const struct mesh_pair *pair);

/*
 * The path with the highest p99 among those with 100 samples, or else with the highest p50; and the path that loses the
 * largest share of its probes (on the way there, if that is known for every path, as answers may return over other
 * paths). NULL if none has samples, or none loses any.
 */
const struct mesh_path *mesh_pair_slowest(const struct mesh_pair *pair);
const struct mesh_path *mesh_pair_lossiest(const struct mesh_pair *pair);
enum { MESH_ROUTE_TEXT_BYTES = PATHS_HOPS_MAXIMUM * (ADDRESS_TEXT_BYTES + 1) };
/* The hops, with blanks between. */
void mesh_print_route(const struct path *route, char text[MESH_ROUTE_TEXT_BYTES]);

/* Writes a matrix file with only this row. 0 or -errno with err set. */
int mesh_row_write(const struct mesh_row *row, const char *path, struct error *err);

/* The array "peers" of nomora.probe/1, NULL = out of memory. */
json_t *mesh_row_json(const struct mesh_row *row);
/* Round trips or other times as min, p50 ... mean; null without samples. */
json_t *mesh_distribution_json(const struct mesh_distribution *distribution);

#endif
