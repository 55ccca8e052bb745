/* SPDX-License-Identifier: BSD-3-Clause */
/* Conditions on packets as text, up to a newline; then a frame of any bytes, which they read. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rule_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, '\n', size);
	size_t text_bytes = end ? (size_t)(end - data) : size, frame_bytes = end ? size - text_bytes - 1 : 0;
	const struct match_list *lists[1];
	struct match_list list;
	struct error err = {0};
	char *text = strndup((const char *)data, text_bytes);
	uint8_t *frame = malloc(frame_bytes + 1); /* its own, so that a read beyond it is found */
	struct dp_packet packet = {.length = (uint32_t)frame_bytes, .bytes = frame};

	if (text && frame && frame_bytes <= UINT16_MAX && match_parse("only", text, &list, &err) == 0) {
		if (end)
			memcpy(frame, end + 1, frame_bytes);
		lists[0] = &list;
		if (match_first(lists, 1, &packet) > 1)
			abort();
	}
	free(text);
	free(frame);
	return 0;
}
