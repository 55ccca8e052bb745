/* SPDX-License-Identifier: BSD-3-Clause */
/* Replays calls of a journal: each is carried out or refused with a reason. */
#include <stdint.h>
#include <stdlib.h>

#include <sched/live/calls.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct file_lines *lines = file_lines_from_memory("fuzz", (const char *)data, size, NULL);
	struct live_replayed replayed;
	struct error err = {0};

	if (live_replay(lines, NULL, &replayed, &err) < 0 && (err.code == 0 || err.text[0] == '\0'))
		abort(); /* a refusal says why */
	if (replayed.unmade > replayed.recorded)
		abort();
	file_lines_close(lines);
	return 0;
}
