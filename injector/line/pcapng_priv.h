/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes pcapng (IETF draft-ietf-opsawg-pcapng): one section, two Ethernet interfaces "A" and "B" with nanosecond
 * stamps, enhanced packet blocks whose flags tell inbound from outbound. Host byte order, as the format allows.
 */
#ifndef INJECTOR_PCAPNG_PRIV_H
#define INJECTOR_PCAPNG_PRIV_H

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

/* 0 or -errno. */
int pcapng_write_header(FILE *file, uint32_t snap_bytes);
int pcapng_write_frame(FILE *file, const struct pcapng_frame *frame);

#endif
