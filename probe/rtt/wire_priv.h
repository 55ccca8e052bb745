/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers in network byte order, big-endian and unaligned. */
#ifndef RTT_WIRE_PRIV_H
#define RTT_WIRE_PRIV_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

/* memcpy() compiles to one instruction; compilers do not always join single-byte stores. */
static inline void put16(uint8_t *out, uint16_t value)
{
	value = htobe16(value);
	memcpy(out, &value, sizeof value);
}

static inline void put32(uint8_t *out, uint32_t value)
{
	value = htobe32(value);
	memcpy(out, &value, sizeof value);
}

static inline uint16_t get16(const uint8_t *bytes)
{
	uint16_t value;

	memcpy(&value, bytes, sizeof value);
	return be16toh(value);
}

static inline uint32_t get32(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof value);
	return be32toh(value);
}

#endif
