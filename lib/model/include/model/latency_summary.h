/* SPDX-License-Identifier: BSD-3-Clause */
/* A latency matrix in a few figures: for the pairs within a rack, and for those between racks. */
#ifndef MODEL_LATENCY_SUMMARY_H
#define MODEL_LATENCY_SUMMARY_H

#include <stdint.h>

#include <model/cluster.h>
#include <model/latency_matrix.h>

/* Without a cluster, all hosts are in the same rack. The rack of a host that is not in the cluster is unknown. */
enum latency_relation { LATENCY_SAME_RACK, LATENCY_OTHER_RACK, LATENCY_UNKNOWN_RACK, LATENCY_RELATIONS };

/*
 * Figures over the pairs of one relation; pairs of a host with itself do not count. The times are NAN if no pair has an
 * answer.
 */
struct latency_group {
	uint64_t pairs, silent, samples;                                /* silent: pairs without an answer */
	double lowest_p50_us, p50_us, highest_p50_us, p99_us, worst_us; /* p50_us, p99_us: medians; worst_us: maximum */
	double loss; /* mean over the pairs, 0..1; NAN without pairs */
};

/* cluster may be NULL. 0 or -ENOMEM. */
int latency_summarise(const struct latency_matrix *matrix, const struct cluster *cluster,
		      struct latency_group groups[LATENCY_RELATIONS]);

#endif
