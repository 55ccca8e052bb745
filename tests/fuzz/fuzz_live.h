/* SPDX-License-Identifier: BSD-3-Clause */
/* A live matrix in a file of its own, which a fuzzer damages: before it is opened, and while it is mapped. */
#ifndef FUZZ_LIVE_H
#define FUZZ_LIVE_H

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <model/latency_live.h>

#include "fuzz_events.h"

enum { LIVE_HOSTS = 6, LIVE_RACKS = 3, LIVE_PAIRS = 12, LIVE_BYTES = 1 << 16 };

static const int64_t live_now_ns = INT64_C(1795188663000000000);

struct live_file {
	char folder[64], path[96], lock[96];
	uint8_t whole[LIVE_BYTES];
	size_t bytes;
	uint8_t *map; /* of the damaged file */
	int fd;
};

static struct live_file live_file = {.folder = "/tmp/nomora-fuzz-live.XXXXXX"};

static inline struct latency_entry live_entry(uint32_t source, uint32_t destination, double us)
{
	return (struct latency_entry){.source = source,
				      .destination = destination,
				      .rtt_p50_us = us,
				      .rtt_p99_us = 2 * us,
				      .rtt_max_us = 3 * us,
				      .loss = 0.01,
				      .samples = 1000,
				      .updated_at = {live_now_ns},
				      .answered_at = {live_now_ns},
				      .paths = 4,
				      .paths_covered = 3,
				      .hop = 0x0a000001,
				      .next_hop = 0x0a000002,
				      .hop_us = 7};
}

static void live_remove(void)
{
	unlink(live_file.path);
	unlink(live_file.lock);
	rmdir(live_file.folder);
}

static void live_fill(struct latency_matrix *live)
{
	static const char *const names[] = {"h1", "h2", "h3", "h4", "h5"};
	struct error err = {0};

	law(live && latency_live_begin(live, &err) == 0);
	for (uint32_t i = 0; i < 5; i++)
		law(latency_live_add_host(live, names[i], i < 3 ? "r1" : "r2", i < 3 ? "p1" : "p2") == i);
	for (uint32_t i = 0; i < 11; i++) {
		struct latency_entry entry = live_entry(i % 5, (i + 1 + i / 5) % 5, 10 + i);

		law(latency_matrix_set(live, &entry) == 0);
	}
	law(latency_live_update_maxima(live) == 0);
	latency_live_end(live);
	latency_matrix_destroy(live);
}

static void live_make(void)
{
	static const struct latency_live_size size = {.hosts = LIVE_HOSTS, .racks = LIVE_RACKS, .pairs = LIVE_PAIRS};
	struct error err = {0};

	law(mkdtemp(live_file.folder));
	snprintf(live_file.path, sizeof live_file.path, "%s/m", live_file.folder);
	snprintf(live_file.lock, sizeof live_file.lock, "%s/m.lock", live_file.folder);
	atexit(live_remove);
	live_fill(latency_live_open(live_file.path, &size, &err));
	live_file.fd = open(live_file.path, O_RDWR);
	live_file.bytes = (size_t)read(live_file.fd, live_file.whole, LIVE_BYTES);
	live_file.map = mmap(NULL, live_file.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, live_file.fd, 0);
	law(live_file.bytes > 4096 && live_file.bytes < LIVE_BYTES && live_file.map != MAP_FAILED);
}

/* Puts 1 to 8 bytes of the input anywhere, most often where the file has its records. */
static inline void live_damage(struct events *events)
{
	uint8_t kind = events_byte(events);
	size_t at = (size_t)(events_byte(events) << 8 | events_byte(events)), count;
	const uint8_t *bytes = events_bytes(events, 1 + (kind & 7), &count);

	at %= live_file.bytes - 8;
	if (kind & 8) /* a field: the first page has 48 + 64 bytes of them, all others are 4 or 8 bytes long */
		at = at % 2 ? at % 112 & ~(size_t)3 : at & ~(size_t)7;
	memcpy(live_file.map + at, bytes, count);
	if (kind & 16)
		memset(live_file.map + at, kind & 32 ? 0xff : 0, count);
}

/* Begins with the whole file and damages it as the input says. */
static inline void live_begin(struct events *events)
{
	if (!live_file.map)
		live_make();
	memcpy(live_file.map, live_file.whole, live_file.bytes);
	for (uint32_t n = events_below(events, 4); n > 0; n--)
		live_damage(events);
}

static inline void live_check_entry(const struct latency_matrix *live, const struct latency_entry *entry)
{
	law(entry->source < latency_matrix_hosts(live) && entry->destination < latency_matrix_hosts(live));
	law(entry->state <= LATENCY_STATE_NEVER && entry->loss >= 0 && entry->loss <= 1);
	law(entry->samples == 0 || (entry->rtt_p50_us <= entry->rtt_p99_us && isfinite(entry->rtt_max_us)));
	law((entry->samples > 0) == (entry->state == LATENCY_STATE_MEASURED));
}

#endif
