/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares a prober's samples with a capture of the same probes: the difference is the delay that the prober adds. One
 * thread. */
#ifndef RTT_COMPARE_PRIV_H
#define RTT_COMPARE_PRIV_H

#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <base/error.h>
#include <model/rtt_samples.h>
#include <probe/rtt/capture.h>

/* A probe in both. */
struct compare_match {
	ip_address source, destination;
	double added_us; /* (t4 - t1) of the prober minus the time between both packets in the capture */
};

/* Sorted, nearest rank. */
struct compare_figures {
	uint64_t count;
	double min_us, p50_us, p99_us, max_us;
};

struct compare {
	const char *path; /* NULL = nothing to compare with */
	struct rtt_samples samples;
	struct compare_match *matches;
	size_t count, capacity;
	ip_address prober;
	struct compare_figures all;
};

/* Borrows the path. 0 or -errno with err set. Free with compare_free(); a zeroed struct compares nothing. */
int compare_open(struct compare *compare, const char *path, struct error *err);
void compare_free(struct compare *compare);

/* An exchange of the capture; `destination` is its name there. 0 or -ENOMEM. */
int compare_take(struct compare *compare, const struct capture_sample *exchange, const char *destination);

/*
 * After the last exchange. The capture may contain other probers with equal ports and numbers: the one with the most
 * probes in common is that of the samples, and the matches of the others are dropped. -ENODATA with err set: no probe
 * is in both.
 */
int compare_finish(struct compare *compare, struct error *err);

/* Samples without an exchange in the capture. */
uint64_t compare_not_captured(const struct compare *compare);

/* Compares one pair; count 0: the pair is not the prober's, or no probe is in both files. */
struct compare_figures compare_pair(const struct compare *compare, ip_address source, ip_address destination);

/* {"probes", "min", "p50", "p99", "max"}; null for no probes. */
json_t *compare_figures_json(const struct compare_figures *figures);

#endif
