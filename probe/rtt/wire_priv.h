/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers as they lie on the wire, big-endian and unaligned. */
#ifndef RTT_WIRE_PRIV_H
#define RTT_WIRE_PRIV_H

#include <stdint.h>

static inline void put16(uint8_t *out, uint16_t value)
{
	out[0] = (uint8_t)(value >> 8);
	out[1] = (uint8_t)value;
}

static inline void put32(uint8_t *out, uint32_t value)
{
	put16(out, (uint16_t)(value >> 16));
	put16(out + 2, (uint16_t)value);
}

static inline uint16_t get16(const uint8_t *bytes)
{
	return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static inline uint32_t get32(const uint8_t *bytes)
{
	return (uint32_t)get16(bytes) << 16 | get16(bytes + 2);
}

#endif
