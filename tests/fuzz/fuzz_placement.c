/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora.place/1: an accepted placement survives writing and reading. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <base/json.h>
#include <model/placement.h>

static char *print(const struct placement *placement, size_t *bytes)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, bytes);

	if (!out || !placement_print_begin(out, placement->policy, &placement->settings))
		abort();
	for (size_t i = 0; i < placement->task_count; i++) {
		if (!placement_print_task(out, &placement->tasks[i], i == 0))
			abort();
	}
	if (!placement_print_end(out, &placement->totals, &placement->solver, NULL, NULL) || fclose(out) != 0)
		abort();
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = {0};
	struct placement *placement = placement_from_json(
				 "fuzz", json_read_text("fuzz", 0, (const char *)data, size, &err), &err),
			 *again;
	char *text, *text_again;
	size_t bytes, bytes_again;

	if (!placement) {
		if (err.code == 0 || err.text[0] == '\0')
			abort();
		return 0;
	}
	text = print(placement, &bytes);
	again = placement_from_json("again", json_read_text("again", 0, text, bytes, &err), &err);
	if (!again)
		abort();
	text_again = print(again, &bytes_again);
	if (bytes != bytes_again || memcmp(text, text_again, bytes) != 0)
		abort();
	free(text);
	free(text_again);
	placement_destroy(again);
	placement_destroy(placement);
	return 0;
}
