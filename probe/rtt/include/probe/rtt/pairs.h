/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The round trips of a capture, by pair of hosts: reads them, prints their figures as text or as JSON (nomora.rtt/1),
 * and writes each round trip as a line of CSV. One thread.
 */
#ifndef RTT_PAIRS_H
#define RTT_PAIRS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <base/error.h>
#include <base/progress.h>
#include <probe/rtt/capture.h>

struct rtt_pairs_settings {
	const char *peers;   /* file with names for the addresses; NULL = none */
	const char *samples; /* CSV file to which every round trip is written; NULL = none */
	const char *compare; /* file with the samples of the captured prober (format: model/rtt_samples.h); NULL = none.
				The string must outlive the pairs */
	uint16_t udp_port;   /* of the reflectors */
	unsigned int protocols;    /* bits 1 << capture_protocol */
	bool gross;                /* do not subtract the reflector's own time (t3 - t2) */
	struct progress *progress; /* NULL is legal */
};

struct rtt_pairs;

/*
 * Reads the capture `path`. Returns NULL with err set on failure; ENODATA if no probe of the file `compare` is in the
 * capture. The settings may be freed after the call, except for the string `compare`. Free with rtt_pairs_destroy().
 */
struct rtt_pairs *rtt_pairs_read(const char *path, const struct rtt_pairs_settings *settings, struct error *err);
void rtt_pairs_destroy(struct rtt_pairs *pairs); /* NULL is legal */

const struct capture_counters *rtt_pairs_counters(const struct rtt_pairs *pairs);
void rtt_pairs_print(const struct rtt_pairs *pairs, FILE *out);
/* Returns nomora.rtt/1, or NULL if out of memory. `path`: as the user gave it. */
json_t *rtt_pairs_to_json(const struct rtt_pairs *pairs, const char *path);

#endif
