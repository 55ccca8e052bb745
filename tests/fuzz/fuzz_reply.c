/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first byte is the size of the fragments: for every size, the answers are the same as for the unfragmented input.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "load_priv.h"

struct outcome {
	unsigned replies;
	size_t value_bytes;
	int code;
};

static struct outcome parse(const char *bytes, size_t count, size_t fragment)
{
	struct outcome outcome = {0};
	struct reply_parser parser;

	reply_parser_init(&parser);
	for (size_t at = 0; at < count && outcome.code >= 0; at += fragment) {
		size_t size = count - at < fragment ? count - at : fragment, taken = 0;
		/* A copy of exactly that size, so that reads past its end are detected. */
		char *copy = malloc(size);

		if (!copy)
			abort();
		memcpy(copy, bytes + at, size);
		while (taken < size && outcome.code >= 0) {
			struct reply reply;
			size_t used;

			outcome.code = reply_parse(&parser, copy + taken, size - taken, &used, &reply);
			taken += used;
			if (outcome.code == 1) {
				outcome.replies++;
				outcome.value_bytes += reply.value_bytes;
			}
		}
		free(copy);
	}
	return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outcome whole, pieces;

	if (size < 2)
		return 0;
	whole = parse((const char *)data + 1, size - 1, size - 1);
	pieces = parse((const char *)data + 1, size - 1, data[0] % 16 + 1);
	if (whole.replies != pieces.replies || whole.value_bytes != pieces.value_bytes ||
	    (whole.code < 0) != (pieces.code < 0))
		abort();
	return 0;
}
