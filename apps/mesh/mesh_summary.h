/* SPDX-License-Identifier: BSD-3-Clause */
/* What the pairs of a latency matrix have in common within a rack, and between racks. */
#ifndef APPS_MESH_SUMMARY_H
#define APPS_MESH_SUMMARY_H

#include <stdint.h>

#include <model/cluster.h>
#include <model/latency_matrix.h>

/* Without a cluster all pairs are of one rack; a host that the cluster does not have is of none. */
enum mesh_relation { MESH_SAME_RACK, MESH_OTHER_RACK, MESH_UNKNOWN_RACK, MESH_RELATIONS };

/* A host with itself is no pair here. The times are NAN when no pair has an answer. */
struct mesh_group {
	uint64_t pairs, silent, samples;                                /* silent: measured, but without an answer */
	double lowest_p50_us, p50_us, highest_p50_us, p99_us, worst_us; /* p50_us, p99_us: medians; worst: of all */
	double loss;                                                    /* mean; NAN without pairs */
};

/* cluster may be NULL. 0 or -ENOMEM. */
int mesh_summarise(const struct latency_matrix *matrix, const struct cluster *cluster,
		   struct mesh_group groups[MESH_RELATIONS]);

#endif
