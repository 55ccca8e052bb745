/* SPDX-License-Identifier: BSD-3-Clause */
/* A checkpoint of a simulation, unchanged and with its hash corrected. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/hash.h>
#include <sched/simulate/simulate.h>

static void read_one(const char *text, size_t size)
{
	struct sim_history history;
	struct error err = {0};
	char *settings;
	uint64_t moves = 0;

	if (simulate_read_checkpoint("fuzz", text, size, &history, &settings, &err) != 0) {
		if (err.code == 0 || err.text[0] == '\0')
			abort(); /* a refusal says why */
		return;
	}
	for (size_t r = 0; r < history.round_count; r++)
		moves += history.rounds[r].moves;
	if (moves != history.move_count || history.checkpoints == 0)
		abort();
	sim_history_free(&history);
	free(settings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	read_one((const char *)data, size);
	fwrite(data, 1, size, out);
	fprintf(out, "hash %016" PRIx64 "\n", hash_fnv_bytes(HASH_FNV_START, data, size));
	fclose(out);
	read_one(text, bytes);
	free(text);
	return 0;
}
