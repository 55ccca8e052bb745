/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A writer of a live matrix that is damaged before it is opened or between two batches: it ends, stays within the file,
 * and what it wrote is what a reader reads.
 */
#include <errno.h>

#include "fuzz_live.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_pair(struct latency_matrix *live, struct events *events)
{
	uint8_t kind = events_byte(events);
	struct latency_entry entry = live_entry(kind % LIVE_HOSTS, kind / 8 % LIVE_HOSTS, 1 + kind), found;
	int code = latency_matrix_set(live, &entry);

	law(code == 0 || code == -EINVAL);
	law(code == 0 || entry.source >= latency_matrix_hosts(live) || entry.destination >= latency_matrix_hosts(live));
	if (code == 0) {
		law(latency_matrix_load_pair(live, entry.source, entry.destination, &found));
		law(memcmp(&found, &entry, sizeof found) == 0);
	}
}

static void write_host(struct latency_matrix *live, struct events *events)
{
	static const char *const names[] = {"h1", "h5", "n1", "n2", "", "a b"};
	static const char *const racks[] = {"", "r1", "r2", "n1", "n2", "-"};
	uint8_t kind = events_byte(events);
	const char *name = names[kind % 6], *rack = racks[kind / 8 % 6];
	int64_t host = latency_live_add_host(live, name, rack, kind & 128 ? "p1" : "");

	law(host < (int64_t)latency_matrix_hosts(live));
	law(host >= 0 || host == -EINVAL || host == -ENOSPC);
	if (host < 0)
		return;
	/* "?": the record's last byte is damaged. */
	law(strcmp(latency_matrix_host(live, (uint32_t)host), name) == 0 ||
	    strcmp(latency_matrix_host(live, (uint32_t)host), "?") == 0);
	latency_live_set_status(live, (uint32_t)host, (enum latency_host_status)(kind % 3));
	law(latency_live_status(live, (uint32_t)host) == (enum latency_host_status)(kind % 3));
}

static void write_batch(struct latency_matrix *live, struct events *events)
{
	struct latency_entry entry;
	struct error err = {0};

	law(latency_live_begin(live, &err) == 0);
	for (uint32_t n = events_below(events, 16); n > 0; n--)
		if (n % 4 == 1)
			write_host(live, events);
		else
			write_pair(live, events);
	law(latency_live_update_maxima(live) == 0);
	latency_live_end(live);
	for (size_t i = 0; i < latency_matrix_count(live); i++)
		if (latency_matrix_load(live, i, &entry))
			live_check_entry(live, &entry);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct latency_live_size capacity = {.hosts = 1, .racks = 1, .pairs = 1};
	struct events events = {data, size};
	struct error err = {0};
	struct latency_matrix *live;

	live_begin(&events);
	live = latency_live_open(live_file.path, &capacity, &err);
	law(live || err.text[0]);
	for (int i = 0; live && i < 3 && (i == 0 || events_left(&events)); i++) {
		write_batch(live, &events);
		live_damage(&events);
	}
	latency_matrix_destroy(live);
	return 0;
}
