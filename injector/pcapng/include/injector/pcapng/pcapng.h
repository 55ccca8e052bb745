/* SPDX-License-Identifier: BSD-3-Clause */
/* Files in pcapng (IETF draft-ietf-opsawg-pcapng). */
#ifndef PCAPNG_PCAPNG_H
#define PCAPNG_PCAPNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <base/error.h>
#include <base/ns.h>

/*
 * Writes pcapng (IETF draft-ietf-opsawg-pcapng), in the byte order of the host, which the format allows. The file has
 * one section and two Ethernet interfaces, "A" and "B", with nanosecond stamps. Enhanced Packet Blocks have the
 * direction in their flags. At the end, a statistics block per interface has the number of frames that are missing in
 * the file.
 */

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

/*
 * Reads pcapng (IETF draft-ietf-opsawg-pcapng), and reports the interface and direction of each frame, which libpcap
 * does not. Supports both byte orders, any time resolution and several sections. Frames must be in Enhanced Packet
 * Blocks, other blocks with frames are errors; blocks without frames are skipped. Not thread-safe.
 */

enum pcapng_direction { PCAPNG_UNKNOWN, PCAPNG_INBOUND, PCAPNG_OUTBOUND };

struct pcapng_packet {
	struct ns time; /* since the epoch */
	uint32_t interface;
	enum pcapng_direction direction;
	uint32_t captured, length; /* captured: bytes in the file; length: bytes of the frame */
	const uint8_t *bytes;      /* valid until the next call */
};

struct pcapng_reader;

/*
 * Open a file, or `count` bytes in memory, which must stay valid until pcapng_close(); `name` is for messages. Return
 * NULL with err set on failure.
 */
struct pcapng_reader *pcapng_open(const char *path, struct error *err);
struct pcapng_reader *pcapng_open_memory(const char *name, const uint8_t *bytes, size_t count, struct error *err);

/*
 * Returns 1 with a packet, 0 at the end, or -errno with err set: -EBADMSG if the file is not pcapng or is damaged
 * ("file: block 7 at byte 1234: ..."), or -ENOMEM. An incomplete last block, left by a writer that was killed, counts
 * as the end; pcapng_cut_off() then returns true.
 */
int pcapng_next(struct pcapng_reader *reader, struct pcapng_packet *packet, struct error *err);
int pcapng_cut_off(const struct pcapng_reader *reader);

/* Frames missing in the file, according to the statistics blocks (isb_ifdrop) read so far. */
uint64_t pcapng_dropped(const struct pcapng_reader *reader);
void pcapng_close(struct pcapng_reader *reader); /* NULL is legal */

#endif
