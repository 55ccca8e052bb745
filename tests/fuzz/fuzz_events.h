/* SPDX-License-Identifier: BSD-3-Clause */
/* A fuzzer's input as a list of events: what is asked for beyond the end is 0. */
#ifndef FUZZ_EVENTS_H
#define FUZZ_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct events {
	const uint8_t *data;
	size_t left;
};

static inline bool events_left(const struct events *events)
{
	return events->left > 0;
}

static inline uint8_t events_byte(struct events *events)
{
	if (!events->left)
		return 0;
	events->left--;
	return *events->data++;
}

static inline uint32_t events_below(struct events *events, uint32_t limit)
{
	return events_byte(events) % limit;
}

/* Returns up to `wanted` bytes of the input, *count of them. */
static inline const uint8_t *events_bytes(struct events *events, size_t wanted, size_t *count)
{
	const uint8_t *bytes = events->data;

	*count = wanted < events->left ? wanted : events->left;
	events->data += *count;
	events->left -= *count;
	return bytes;
}

/* A law of the machine under test, which no input may break. */
#define law(holds) ((holds) ? (void)0 : broken(__FILE__, __LINE__, #holds))

static inline void broken(const char *file, int line, const char *text)
{
	fprintf(stderr, "%s:%d: broken law: %s\n", file, line, text);
	abort();
}

#endif
