/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>

#include <model/peers.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = {0};
	struct file_lines *lines = file_lines_from_memory("fuzz", (const char *)data, size, &err);
	struct peers peers;

	if (!lines)
		return 0;
	if (peers_parse(lines, &peers, &err) == 0) {
		for (size_t i = 0; i < peers.count; i++)
			if (peers_find(&peers, peers.items[i].address) != &peers.items[i])
				abort();
		peers_free(&peers);
	} else if (err.code <= 0) {
		abort();
	}
	file_lines_close(lines);
	return 0;
}
