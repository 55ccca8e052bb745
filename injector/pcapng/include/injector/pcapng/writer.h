/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes pcapng (IETF draft-ietf-opsawg-pcapng): one section, two Ethernet interfaces "A" and "B" with nanosecond
 * stamps, enhanced packet blocks with the direction in their flags, and at the end a statistics block per interface
 * with the number of frames missing in the file. Host byte order, as the format allows.
 */
#ifndef PCAPNG_WRITER_H
#define PCAPNG_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct pcapng_frame {
	uint64_t wall_ns; /* since the epoch */
	uint32_t interface;
	bool outbound;
	uint32_t captured, length;
	const uint8_t *bytes;
};

/* The numbers of frames of one interface, for its statistics block. */
struct pcapng_totals {
	uint64_t wall_ns; /* time of the block, ns since the epoch */
	uint32_t interface;
	uint64_t seen, lost; /* frames that passed the interface; those of them that are missing in the file */
};

/* Returns 0 or -errno. */
int pcapng_write_header(FILE *file, uint32_t snap_bytes);
int pcapng_write_frame(FILE *file, const struct pcapng_frame *frame);
int pcapng_write_totals(FILE *file, const struct pcapng_totals *totals);

#endif
