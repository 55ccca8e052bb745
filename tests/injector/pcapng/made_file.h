/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds a pcapng file in memory, block by block, in either byte order. */
#ifndef TEST_MADE_FILE_H
#define TEST_MADE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static uint8_t file[4096];
static size_t length;
static bool swap;

static inline void put_32(uint32_t value)
{
	if (swap)
		value = __builtin_bswap32(value);
	memcpy(file + length, &value, 4);
	length += 4;
}

static inline void put_16(uint16_t value)
{
	if (swap)
		value = __builtin_bswap16(value);
	memcpy(file + length, &value, 2);
	length += 2;
}

static inline void put_section(void)
{
	put_32(0x0a0d0d0a);
	put_32(28);
	put_32(0x1a2b3c4d);
	put_16(1);
	put_16(0);
	put_32(0xffffffff);
	put_32(0xffffffff);
	put_32(28);
}

static inline void put_interface(int resolution)
{
	uint32_t total = resolution >= 0 ? 32 : 20;

	put_32(1);
	put_32(total);
	put_16(1);
	put_16(0);
	put_32(0);
	if (resolution >= 0) {
		put_16(9);
		put_16(1);
		file[length] = (uint8_t)resolution;
		length += 4;
		put_32(0);
	}
	put_32(total);
}

/* Includes a comment of five bytes before the flags, as options are padded to four bytes. */
static inline void put_packet_block(uint32_t interface, uint64_t time, uint8_t content, uint32_t flags, bool commented)
{
	uint32_t bytes = commented ? 60 : 48;

	put_32(6);
	put_32(bytes);
	put_32(interface);
	put_32((uint32_t)(time >> 32));
	put_32((uint32_t)time);
	put_32(1);
	put_32(60);
	file[length] = content;
	length += 4;
	if (commented) {
		put_16(1);
		put_16(5);
		memcpy(file + length, "hello", 5);
		length += 8;
	}
	put_16(2);
	put_16(4);
	put_32(flags);
	put_32(0);
	put_32(bytes);
}

static inline void put_packet(uint32_t interface, uint64_t time, uint8_t content, uint32_t flags)
{
	put_packet_block(interface, time, content, flags, false);
}

static inline void begin(bool other_order)
{
	memset(file, 0, sizeof file);
	length = 0;
	swap = other_order;
	put_section();
}

#endif
