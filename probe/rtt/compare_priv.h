/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares the round trips of a prober's samples with those in a capture of the same probes. The difference is the
 * delay that the prober adds. One thread.
 */
#ifndef RTT_COMPARE_PRIV_H
#define RTT_COMPARE_PRIV_H

#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <base/error.h>
#include <model/rtt_samples.h>
#include <probe/rtt/capture.h>

/* A probe that is in both files. */
struct compare_match {
	ip_address source, destination;
	double added_us; /* (t4 - t1) by the prober minus (answer - request) by the capture */
};

/* The percentiles are by nearest rank. */
struct compare_figures {
	uint64_t count;
	double min_us, p50_us, p99_us, max_us;
};

struct compare {
	const char *path; /* of the samples; NULL = no comparison */
	struct rtt_samples samples;
	struct compare_match *matches;
	size_t count, capacity;
	ip_address prober;
	struct compare_figures all;
};

/*
 * Reads the samples; borrows the path. Returns 0, or -errno with err set. Free with compare_free(). A zeroed struct
 * compares nothing.
 */
int compare_open(struct compare *compare, const char *path, struct error *err);
void compare_free(struct compare *compare);

/* Adds an exchange of the capture; `destination`: name of its destination, as in the samples. Returns 0 or -ENOMEM. */
int compare_take(struct compare *compare, const struct capture_sample *exchange, const char *destination);

/*
 * Call it after the last exchange. The capture may contain several probers with equal ports and sequence numbers: the
 * prober with the most probes in common with the samples is taken, and the matches of the others are dropped. Returns
 * 0; -ENODATA with err set if no probe is in both files; or -ENOMEM.
 */
int compare_finish(struct compare *compare, struct error *err);

/* Returns the number of samples that have no exchange in the capture. */
uint64_t compare_not_captured(const struct compare *compare);

/*
 * Returns the figures of one pair of hosts. Their count is 0 if `source` is not the prober, or if no probe of the pair
 * is in both files.
 */
struct compare_figures compare_pair(const struct compare *compare, ip_address source, ip_address destination);

/* {"probes", "min", "p50", "p99", "max"}, or null if there are no probes. */
json_t *compare_figures_json(const struct compare_figures *figures);

#endif
