/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host's row of the mesh (the latencies between all pairs of hosts): its measurements to each of its peers in one
 * window (see <probe/agent/agent.h>), as plain figures. Built from the agent's windows; written as JSON (the array
 * "peers" of nomora.probe/1) and to a latency matrix. Times are microseconds.
 */
#ifndef MESH_ROW_H
#define MESH_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include <model/latency_matrix.h>
#include <probe/agent/agent.h>

struct mesh_distribution {
	uint64_t samples; /* if 0, all other figures are 0, too */
	double min_us, p50_us, p90_us, p99_us, p999_us, max_us, mean_us;
};

struct mesh_path {
	uint16_t source_port;
	struct session_counters counters;
	bool lost_forward_known;
	uint64_t lost_forward;        /* the part of counters.lost that the reflector never received */
	struct mesh_distribution rtt; /* undisturbed samples */
	struct path route;            /* the path's hops; set if mesh_pair.finds_paths */
};

struct mesh_pair {
	struct peer peer;
	bool resolved, unresolvable; /* see struct agent_row */
	uint8_t mac[FRAME_MAC_BYTES];
	struct ns updated_at;  /* end of the window; wall clock */
	struct ns answered_at; /* the last answer of the window; 0 = none */
	struct session_counters counters;
	uint64_t impossible, disturbed;
	struct agent_headers headers;
	struct tlv_reading tlvs;
	bool ssid_ignored, lost_forward_known, has_offset;
	uint64_t lost_forward;
	double offset_us;
	struct mesh_distribution rtt, undisturbed, residence;
	struct mesh_distribution forward, backward; /* empty if the clocks are not exact enough, see agent.h */
	double peer_stalled; /* share of the round trips that the peer held for over LATENCY_STALL_US */
	double one_way_error_us;
	struct agent_stamp_counts stamps;
	struct agent_clocks clocks;
	uint32_t path_count;
	struct mesh_path *paths;
	bool finds_paths;
	uint32_t paths_known; /* number of paths found so far */
	double paths_confidence;
};

struct mesh_row {
	char host[LATENCY_NAME_BYTES];
	double error_us; /* bound on the error of one of our stamps */
	size_t count, capacity;
	struct mesh_pair *pairs;
};

struct mesh_distribution mesh_distribution_of(const struct histogram *histogram_ns);

/* Appends a pair with the figures of a peer's window. Returns 0 or -ENOMEM. */
int mesh_row_add(struct mesh_row *row, const struct agent_row *window);
void mesh_row_clear(struct mesh_row *row); /* frees the pairs */

/*
 * Returns the latency of a pair. Its p50 is the highest p50 of the paths with at least 2 samples; its p99 is the
 * highest p99 of the paths with at least 100 samples. Neither is below the figure for all paths together. Only
 * undisturbed samples are used, if there are any. The caller sets source and destination.
 */
struct latency_entry mesh_pair_entry(const struct mesh_pair *pair);

/*
 * mesh_pair_slowest() returns the path with the highest p99 among those with at least 100 samples. If there is no such
 * path, it returns the path with the highest p50; NULL if no path has samples.
 *
 * mesh_pair_lossiest() returns the path that loses the largest share of its probes; NULL if no path has losses. If the
 * losses on the way to the peer are known for every path, and there are any, only these count, because answers may
 * return over other paths.
 */
const struct mesh_path *mesh_pair_slowest(const struct mesh_pair *pair);
const struct mesh_path *mesh_pair_lossiest(const struct mesh_pair *pair);
enum { MESH_ROUTE_TEXT_BYTES = PATHS_HOPS_MAXIMUM * (ADDRESS_TEXT_BYTES + 1) };
/* Prints the hops, separated by blanks. */
void mesh_print_route(const struct path *route, char text[MESH_ROUTE_TEXT_BYTES]);

/* Writes a matrix file with only this row. Returns 0, or -errno with err set. */
int mesh_row_write(const struct mesh_row *row, const char *path, struct error *err);

/* Returns the array "peers" of nomora.probe/1, or NULL if out of memory. */
json_t *mesh_row_json(const struct mesh_row *row);
/* Returns min, p50 ... mean of round trips or other times, or null if there are no samples. */
json_t *mesh_distribution_json(const struct mesh_distribution *distribution);

#endif
