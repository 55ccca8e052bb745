/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes pcapng (IETF draft-ietf-opsawg-pcapng), in the byte order of the host, which the format allows. The file has
 * one section and two Ethernet interfaces, "A" and "B", with nanosecond stamps. Enhanced Packet Blocks have the
 * direction in their flags. At the end, a statistics block per interface has the number of frames that are missing in
 * the file.
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
	uint32_t captured, length; /* captured: number of bytes to write; length: bytes of the frame */
	const uint8_t *bytes;
};

/* The numbers of frames of one interface, for its statistics block. */
struct pcapng_totals {
	uint64_t wall_ns; /* time of the block, ns since the epoch */
	uint32_t interface;
	uint64_t seen, lost; /* seen: frames that passed; lost: the part of them that is missing in the file */
};

/* These return 0 or -errno. snap_bytes: maximum of pcapng_frame.captured. */
int pcapng_write_header(FILE *file, uint32_t snap_bytes);
int pcapng_write_frame(FILE *file, const struct pcapng_frame *frame);
int pcapng_write_totals(FILE *file, const struct pcapng_totals *totals);

#endif
