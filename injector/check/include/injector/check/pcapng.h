/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads pcapng (IETF draft-ietf-opsawg-pcapng) with what libpcap hides: the interface and the direction of each
 * frame. Both byte orders, any time resolution, several sections. Frames in other blocks than Enhanced Packet
 * Blocks are refused, blocks without frames skipped. One thread.
 */
#ifndef CHECK_PCAPNG_H
#define CHECK_PCAPNG_H

#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <base/ns.h>

enum pcapng_direction { PCAPNG_UNKNOWN, PCAPNG_INBOUND, PCAPNG_OUTBOUND };

struct pcapng_packet {
	struct ns time; /* since the epoch */
	uint32_t interface;
	enum pcapng_direction direction;
	uint32_t captured, length; /* bytes here, bytes of the frame */
	const uint8_t *bytes;      /* valid until the next call */
};

struct pcapng_reader;

/* NULL with err set. */
struct pcapng_reader *pcapng_open(const char *path, struct error *err);
struct pcapng_reader *pcapng_open_memory(const char *name, const uint8_t *bytes, size_t count, struct error *err);

/*
 * 1 = a packet; 0 = end; -EBADMSG with err set: not pcapng, or damaged ("file: block 7 at byte 1234: ..."). A block cut
 * off at the end of the file, as a killed writer leaves it, is an end, and pcapng_cut_off() says so.
 */
int pcapng_next(struct pcapng_reader *reader, struct pcapng_packet *packet, struct error *err);
int pcapng_cut_off(const struct pcapng_reader *reader);

/* Frames that the blocks read so far say are missing in the file (isb_ifdrop of interface statistics blocks). */
uint64_t pcapng_dropped(const struct pcapng_reader *reader);
void pcapng_close(struct pcapng_reader *reader); /* NULL is legal */

#endif
