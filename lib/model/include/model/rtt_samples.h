/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The round trips that a prober measured, one by one: CSV with the columns
 *
 *   sent_at,peer,source_port,sequence,rtt_us,residence_us,offset_us,disturbed
 *
 * `nomora probe --samples` writes it. Plain data, owned by the caller.
 */
#ifndef MODEL_RTT_SAMPLES_H
#define MODEL_RTT_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <base/error.h>
#include <base/file.h>
#include <base/hash_table.h>
#include <base/ns.h>

struct rtt_sample {
	struct ns sent_at;   /* time since the epoch, by the prober's clock */
	struct ns rtt;       /* round trip without the time that the packet spent in the reflector */
	struct ns residence; /* time that the packet spent in the reflector */
	struct ns offset;    /* the peer's clock minus the prober's clock */
	uint32_t sequence;
	uint32_t peer; /* index in rtt_samples.peers; a writer leaves it 0 */
	uint16_t source_port;
	bool disturbed;
};

enum { RTT_SAMPLES_PEER_BYTES = 64 };

/* Samples in the order of the file; a zeroed struct is empty. */
struct rtt_samples {
	struct rtt_sample *items;
	char (*peers)[RTT_SAMPLES_PEER_BYTES];
	size_t count, capacity, peer_count, peer_capacity;
	struct hash_table by_probe, by_name;
};

void rtt_samples_print_head(FILE *out);
void rtt_samples_print(const struct rtt_sample *sample, const char *peer, FILE *out);

/*
 * Reads a file of samples; a file without a sample is an error. Returns 0, or -errno with err set "file:line: ...".
 * Free with rtt_samples_free().
 */
int rtt_samples_read(const char *path, struct rtt_samples *samples, struct error *err);
int rtt_samples_parse(struct file_lines *lines, struct rtt_samples *samples, struct error *err);
void rtt_samples_free(struct rtt_samples *samples);

/*
 * A probe is identified by peer, source port and sequence number. Returns its sample that was sent nearest to
 * `sent_at`, within `tolerance`; or NULL if there is none.
 */
const struct rtt_sample *rtt_samples_find(const struct rtt_samples *samples, const char *peer, uint16_t source_port,
					  uint32_t sequence, struct ns sent_at, struct ns tolerance);

#endif
