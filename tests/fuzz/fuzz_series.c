/* SPDX-License-Identifier: BSD-3-Clause */
/* Step schedules, recorded latencies and distribution tables of netem as text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mode_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct file_lines *lines;
	struct error err = {0};
	struct series table;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	for (size_t columns = 1; columns <= 2; columns++) {
		struct series series;

		if (series_parse("fuzz", text, columns, ':', &series, &err) == 0 && series.rows == 0)
			abort();
		free(series.values);
	}
	lines = file_lines_from_memory("fuzz", text, size, &err);
	if (lines && series_parse_netem(lines, &table, &err) == 0) {
		if (table.rows == 0)
			abort();
		free(table.values);
	}
	file_lines_close(lines);
	free(text);
	return 0;
}
