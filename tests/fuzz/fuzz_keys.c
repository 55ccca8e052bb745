/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>

#include <probe/rtt/stamp.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = {0};
	struct file_lines *lines = file_lines_from_memory("fuzz", (const char *)data, size, &err);
	struct stamp_keys keys;

	if (!lines)
		return 0;
	if (stamp_keys_parse(lines, &keys, &err) == 0) {
		for (size_t i = 0; i < keys.count; i++)
			if (stamp_keys_find(&keys, keys.items[i].session) != &keys.items[i] ||
			    keys.items[i].length < STAMP_KEY_MINIMUM)
				abort();
		stamp_keys_free(&keys);
	} else if (err.code <= 0) {
		abort();
	}
	file_lines_close(lines);
	return 0;
}
