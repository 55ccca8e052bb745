/* SPDX-License-Identifier: BSD-3-Clause */
/* A capture's round trips by pair of hosts: reading, text, nomora.rtt/1 and the CSV of every round trip. One thread. */
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
	const char *peers;   /* names for the addresses; NULL = none */
	const char *samples; /* writes every round trip there (CSV); NULL = not */
	const char *compare; /* the captured prober's samples, model/rtt_samples.h; outlives the pairs; NULL = none */
	uint16_t udp_port;   /* of the reflectors */
	unsigned int protocols;    /* bits 1 << capture_protocol */
	bool gross;                /* keep the reflector's own time (t3 - t2) */
	struct progress *progress; /* NULL is legal */
};

struct rtt_pairs;

/*
 * Borrows the settings for the call. NULL with err set (ENODATA: `compare` has no probe of the capture); free with
 * rtt_pairs_destroy().
 */
struct rtt_pairs *rtt_pairs_read(const char *path, const struct rtt_pairs_settings *settings, struct error *err);
void rtt_pairs_destroy(struct rtt_pairs *pairs); /* NULL is legal */

const struct capture_counters *rtt_pairs_counters(const struct rtt_pairs *pairs);
void rtt_pairs_print(const struct rtt_pairs *pairs, FILE *out);
/* nomora.rtt/1; `path`: as the user gave it. NULL if out of memory. */
json_t *rtt_pairs_to_json(const struct rtt_pairs *pairs, const char *path);

#endif
