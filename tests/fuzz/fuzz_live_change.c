/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sched/live/change.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = {0};
	struct live_change change;
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (live_change_parse(text, &change, &err) == 0) {
		if (change.name[0] == '\0' || (change.kind == LIVE_CHANGE_ADD && change.count == 0))
			abort();
	} else if (err.code != 22) {
		abort();
	}
	free(text);
	return 0;
}
