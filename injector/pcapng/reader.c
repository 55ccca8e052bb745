/* SPDX-License-Identifier: BSD-3-Clause */
#include <injector/pcapng/pcapng.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <base/array.h>

#include "pcapng_priv.h"

enum { BLOCK_HEAD_BYTES = 8, BLOCK_MAXIMUM = 16 << 20, INTERFACES_MAXIMUM = 64 };

#define EXPECTED "expected Enhanced Packet Blocks, as 'nomora inject --capture' writes them"

struct pcapng_reader {
	char *name;
	FILE *file;
	uint8_t *block; /* body of the current block */
	size_t capacity;
	uint64_t offset, index; /* of the current block */
	bool swapped, in_section, cut_off;
	uint64_t dropped;
	uint32_t interface_count;
	uint8_t resolution[INTERFACES_MAXIMUM]; /* [interface]: as in the option if_tsresol; the top bit means a power
						   of two */
};

static uint32_t get_32(const struct pcapng_reader *reader, const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof value);
	return reader->swapped ? __builtin_bswap32(value) : value;
}

static uint16_t get_16(const struct pcapng_reader *reader, const uint8_t *bytes)
{
	uint16_t value;

	memcpy(&value, bytes, sizeof value);
	return reader->swapped ? __builtin_bswap16(value) : value;
}

static int damaged(const struct pcapng_reader *reader, struct error *err, const char *what)
{
	return error_set(err, EBADMSG, "%s: block %llu at byte %llu: %s", reader->name,
			 (unsigned long long)reader->index, (unsigned long long)reader->offset, what);
}

static struct pcapng_reader *create(const char *name, FILE *file, struct error *err)
{
	struct pcapng_reader *reader = calloc(1, sizeof *reader);

	if (reader)
		reader->name = strdup(name);
	if (!reader || !reader->name) {
		error_set(err, ENOMEM, "%s: out of memory", name);
		free(reader);
		fclose(file);
		return NULL;
	}
	reader->file = file;
	return reader;
}

struct pcapng_reader *pcapng_open(const char *path, struct error *err)
{
	FILE *file = fopen(path, "rbe");
	struct stat info;

	if (!file) {
		error_set(err, errno, "%s: %s", path, strerror(errno));
		return NULL;
	}
	if (fstat(fileno(file), &info) == 0 && S_ISDIR(info.st_mode)) {
		fclose(file);
		error_set(err, EISDIR, "%s: it is a folder, expected a pcapng file", path);
		return NULL;
	}
	return create(path, file, err);
}

struct pcapng_reader *pcapng_open_memory(const char *name, const uint8_t *bytes, size_t count, struct error *err)
{
	/* The cast is safe: with "rb", fmemopen() only reads the buffer. It refuses an empty buffer. */
	FILE *file = count ? fmemopen((void *)(uintptr_t)bytes, count, "rb") : fopen("/dev/null", "rbe");

	if (!file) {
		error_set(err, errno, "%s: %s", name, strerror(errno));
		return NULL;
	}
	return create(name, file, err);
}

void pcapng_close(struct pcapng_reader *reader)
{
	if (!reader)
		return;
	fclose(reader->file);
	free(reader->block);
	free(reader->name);
	free(reader);
}

int pcapng_cut_off(const struct pcapng_reader *reader)
{
	return reader->cut_off;
}

uint64_t pcapng_dropped(const struct pcapng_reader *reader)
{
	return reader->dropped;
}

/*
 * Processes the value of an option. read_options() calls this function for each option in the bytes from `at` up to
 * but not including `end` of the block, and stops at the end mark, or at an option that does not fit into the block.
 */
typedef void (*option_taker)(struct pcapng_reader *reader, uint16_t code, const uint8_t *value, uint16_t bytes,
			     void *into);

static void read_options(struct pcapng_reader *reader, size_t at, size_t end, option_taker take, void *into)
{
	while (end - at >= 4) {
		uint16_t code = get_16(reader, reader->block + at);
		uint16_t bytes = get_16(reader, reader->block + at + 2);

		at += 4;
		if (code == 0 || bytes > end - at)
			return;
		take(reader, code, reader->block + at, bytes, into);
		at += ((size_t)bytes + 3) & ~(size_t)3;
		if (at > end)
			return;
	}
}

static void take_interface_option(struct pcapng_reader *reader, uint16_t code, const uint8_t *value, uint16_t bytes,
				  void *into)
{
	(void)reader;
	if (code == OPTION_TIME_RESOLUTION && bytes == 1)
		*(uint8_t *)into = *value;
}

static void take_packet_option(struct pcapng_reader *reader, uint16_t code, const uint8_t *value, uint16_t bytes,
			       void *into)
{
	if (code == OPTION_PACKET_FLAGS && bytes == 4)
		*(uint32_t *)into = get_32(reader, value);
}

/* Adds the dropped frames to the sum. The sum saturates, because a file may contain any number. */
static void take_statistics_option(struct pcapng_reader *reader, uint16_t code, const uint8_t *value, uint16_t bytes,
				   void *into)
{
	uint64_t dropped;

	(void)into;
	if (code != OPTION_DROPPED || bytes != sizeof dropped)
		return;
	memcpy(&dropped, value, sizeof dropped);
	if (reader->swapped)
		dropped = __builtin_bswap64(dropped);
	if (__builtin_add_overflow(reader->dropped, dropped, &reader->dropped))
		reader->dropped = UINT64_MAX;
}

static bool read_whole(struct pcapng_reader *reader, void *into, size_t bytes)
{
	if (fread(into, 1, bytes, reader->file) == bytes)
		return true;
	reader->cut_off = true;
	return false;
}

static int grow(struct pcapng_reader *reader, size_t bytes, struct error *err)
{
	uint8_t *block = array_reserve(reader->block, bytes, &reader->capacity, 1);

	if (!block)
		return error_set(err, ENOMEM, "%s: out of memory", reader->name);
	reader->block = block;
	return 0;
}

/* Returns true for the magic number of libpcap's older format, with stamps in us or ns, in either byte order. */
static bool is_pcap(uint32_t magic)
{
	return magic == 0xa1b2c3d4 || magic == 0xd4c3b2a1 || magic == 0xa1b23c4d || magic == 0x4d3cb2a1;
}

/*
 * Reads the next block: its type into *type, its body into reader->block. Returns 1, 0 at the end, or -errno with err
 * set.
 */
static int read_block(struct pcapng_reader *reader, uint32_t *type, size_t *body_bytes, struct error *err)
{
	uint8_t head[BLOCK_HEAD_BYTES + 4];
	size_t got = fread(head, 1, BLOCK_HEAD_BYTES, reader->file), known = 0;
	uint32_t total;

	if (got < BLOCK_HEAD_BYTES) {
		reader->cut_off = got > 0;
		return reader->index == 0 ? damaged(reader, err, "empty or too short for a pcapng file") : 0;
	}
	memcpy(type, head, 4);
	if (*type == BLOCK_SECTION) { /* this type is the same number in both byte orders; the magic that follows tells
					 the order */
		uint32_t magic;

		if (!read_whole(reader, head + BLOCK_HEAD_BYTES, 4))
			return 0;
		memcpy(&magic, head + BLOCK_HEAD_BYTES, 4);
		if (magic != BYTE_ORDER_MAGIC && magic != __builtin_bswap32(BYTE_ORDER_MAGIC))
			return damaged(reader, err, "no byte order magic 1a2b3c4d");
		reader->swapped = magic != BYTE_ORDER_MAGIC;
		reader->in_section = true;
		reader->interface_count = 0;
		known = 4;
	}
	if (!reader->in_section)
		return damaged(reader, err,
			       is_pcap(*type) ? "a pcap file, which has neither the port nor the direction of a "
						"frame: expected pcapng, as 'nomora inject --capture' writes it"
					      : "not a pcapng file: it starts without a section header");
	*type = get_32(reader, head);
	total = get_32(reader, head + 4);
	if (total < BLOCK_HEAD_BYTES + 4 + known || total % 4 != 0 || total > BLOCK_MAXIMUM)
		return damaged(reader, err, "impossible length");
	*body_bytes = total - BLOCK_HEAD_BYTES - 4;
	if (grow(reader, *body_bytes + 4, err))
		return -ENOMEM;
	memcpy(reader->block, head + BLOCK_HEAD_BYTES, known);
	if (!read_whole(reader, reader->block + known, *body_bytes + 4 - known))
		return 0;
	if (get_32(reader, reader->block + *body_bytes) != total)
		return damaged(reader, err, "its two lengths differ");
	reader->offset += total;
	reader->index++;
	return 1;
}

static int add_interface(struct pcapng_reader *reader, size_t bytes, struct error *err)
{
	uint8_t *resolution = &reader->resolution[reader->interface_count];

	if (bytes < 8)
		return damaged(reader, err, "too short for an interface");
	if (reader->interface_count == INTERFACES_MAXIMUM)
		return damaged(reader, err, "more than 64 interfaces");
	*resolution = 6; /* microseconds, unless an option says otherwise */
	read_options(reader, 8, bytes, take_interface_option, resolution);
	if ((*resolution & 0x7f) > ((*resolution & 0x80) ? 40 : 12))
		return damaged(reader, err, "impossible time resolution");
	reader->interface_count++;
	return 0;
}

/* Converts ticks of 10^-n or 2^-n seconds to nanoseconds. */
static int64_t to_ns(uint64_t ticks, uint8_t resolution)
{
	uint64_t scale = 1, seconds;

	if (resolution & 0x80) {
		unsigned int bits = resolution & 0x7f;

		seconds = ticks >> bits;
		ticks &= (UINT64_C(1) << bits) - 1;
		return (int64_t)(seconds * 1000000000U) +
		       (int64_t)((double)ticks * 1e9 / (double)(UINT64_C(1) << bits));
	}
	for (uint8_t i = resolution; i < 9; i++)
		scale *= 10;
	if (resolution <= 9)
		return (int64_t)(ticks * scale);
	for (uint8_t i = 9; i < resolution; i++)
		scale *= 10;
	return (int64_t)(ticks / scale);
}

static int read_packet(struct pcapng_reader *reader, size_t bytes, struct pcapng_packet *packet, struct error *err)
{
	const uint8_t *block = reader->block;
	uint32_t flags = 0;
	size_t options;

	if (bytes < 20)
		return damaged(reader, err, "too short for a packet");
	packet->interface = get_32(reader, block);
	packet->captured = get_32(reader, block + 12);
	packet->length = get_32(reader, block + 16);
	packet->bytes = block + 20;
	if (packet->interface >= reader->interface_count)
		return damaged(reader, err, "a packet has an interface that was not described");
	if (packet->captured > bytes - 20)
		return damaged(reader, err, "more captured bytes than the block holds");
	packet->time.v = to_ns((uint64_t)get_32(reader, block + 4) << 32 | get_32(reader, block + 8),
			       reader->resolution[packet->interface]);
	options = 20 + (((size_t)packet->captured + 3) & ~(size_t)3);
	if (options < bytes)
		read_options(reader, options, bytes, take_packet_option, &flags);
	packet->direction = (flags & 3) == 1 ? PCAPNG_INBOUND : (flags & 3) == 2 ? PCAPNG_OUTBOUND : PCAPNG_UNKNOWN;
	return 1;
}

int pcapng_next(struct pcapng_reader *reader, struct pcapng_packet *packet, struct error *err)
{
	for (;;) {
		uint32_t type = 0;
		size_t bytes = 0;
		int status = read_block(reader, &type, &bytes, err);

		if (status <= 0)
			return status;
		if (type == BLOCK_PACKET)
			return read_packet(reader, bytes, packet, err);
		if (type == BLOCK_SIMPLE_PACKET)
			return damaged(reader, err, "a Simple Packet Block, without time and direction: " EXPECTED);
		if (type == BLOCK_OBSOLETE_PACKET)
			return damaged(reader, err, "an obsolete Packet Block: " EXPECTED);
		if (type == BLOCK_STATISTICS && bytes > 12)
			read_options(reader, 12, bytes, take_statistics_option, NULL);
		if (type == BLOCK_INTERFACE) {
			status = add_interface(reader, bytes, err);
			if (status)
				return status;
		}
	}
}
