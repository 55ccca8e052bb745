/* SPDX-License-Identifier: BSD-3-Clause */
#include <injector/pcapng/pcapng.h>

#include <errno.h>
#include <string.h>

#include "pcapng_priv.h"

enum { RESOLUTION_NANOSECONDS = 9 /* 10^-9 */ };

static uint32_t padded(uint32_t bytes)
{
	return (bytes + 3) & ~UINT32_C(3);
}

static int put(FILE *file, const void *data, size_t bytes)
{
	return fwrite(data, 1, bytes, file) == bytes ? 0 : errno ? -errno : -EIO;
}

int pcapng_write_header(FILE *file, uint32_t snap_bytes)
{
	const struct {
		uint32_t type, total, magic;
		uint16_t major, minor;
		int64_t section_bytes;
		uint32_t total_again;
	} __attribute__((packed)) section = {BLOCK_SECTION, sizeof section, BYTE_ORDER_MAGIC, 1, 0, -1, sizeof section};
	int status = put(file, &section, sizeof section);

	for (char name = 'A'; !status && name <= 'B'; name++) {
		const struct {
			uint32_t type, total;
			uint16_t link_type, reserved;
			uint32_t snap_bytes;
			uint16_t name_code, name_bytes;
			char name[4];
			uint16_t resolution_code, resolution_bytes;
			uint8_t resolution[4];
			uint16_t end_code, end_bytes;
			uint32_t total_again;
		} __attribute__((packed)) interface = {
			BLOCK_INTERFACE,
			sizeof interface,
			LINKTYPE_ETHERNET,
			0,
			snap_bytes,
			OPTION_INTERFACE_NAME,
			1,
			{name},
			OPTION_TIME_RESOLUTION,
			1,
			{RESOLUTION_NANOSECONDS},
			OPTION_END_OF_OPTIONS,
			0,
			sizeof interface,
		};

		status = put(file, &interface, sizeof interface);
	}
	return status;
}

int pcapng_write_frame(FILE *file, const struct pcapng_frame *frame)
{
	struct {
		uint32_t type, total, interface, time_high, time_low, captured, length;
	} head = {
		BLOCK_PACKET,
		0,
		frame->interface,
		(uint32_t)(frame->wall_ns >> 32),
		(uint32_t)frame->wall_ns,
		frame->captured,
		frame->length,
	};
	struct {
		uint16_t flags_code, flags_bytes;
		uint32_t flags;
		uint16_t end_code, end_bytes;
		uint32_t total_again;
	} tail = {OPTION_PACKET_FLAGS, 4, frame->outbound ? FLAG_OUTBOUND : FLAG_INBOUND, OPTION_END_OF_OPTIONS, 0, 0};
	static const uint8_t zeros[4];
	int status;

	head.total = tail.total_again = (uint32_t)(sizeof head + padded(frame->captured) + sizeof tail);
	status = put(file, &head, sizeof head);
	if (!status)
		status = put(file, frame->bytes, frame->captured);
	if (!status)
		status = put(file, zeros, padded(frame->captured) - frame->captured);
	return status ? status : put(file, &tail, sizeof tail);
}

int pcapng_write_totals(FILE *file, const struct pcapng_totals *totals)
{
	const struct {
		uint32_t type, total, interface, time_high, time_low;
		uint16_t received_code, received_bytes;
		uint64_t received;
		uint16_t dropped_code, dropped_bytes;
		uint64_t dropped;
		uint16_t end_code, end_bytes;
		uint32_t total_again;
	} __attribute__((packed)) block = {
		BLOCK_STATISTICS,
		sizeof block,
		totals->interface,
		(uint32_t)(totals->wall_ns >> 32),
		(uint32_t)totals->wall_ns,
		OPTION_RECEIVED,
		sizeof block.received,
		totals->seen,
		OPTION_DROPPED,
		sizeof block.dropped,
		totals->lost,
		OPTION_END_OF_OPTIONS,
		0,
		sizeof block,
	};

	return put(file, &block, sizeof block);
}
