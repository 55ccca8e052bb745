/* SPDX-License-Identifier: BSD-3-Clause */
/* Step schedules and recorded latencies as text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "series_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	for (size_t columns = 1; columns <= 2; columns++) {
		struct series series;
		struct error err = {0};

		if (series_parse("fuzz", text, columns, ':', &series, &err) == 0 && series.rows == 0)
			abort();
		free(series.values);
	}
	free(text);
	return 0;
}
