/* SPDX-License-Identifier: BSD-3-Clause */
/* A series of round trips: all accepted values are above 0, and the median is one of them. */
#include <stdint.h>
#include <stdlib.h>

#include <model/rtt_series.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct file_lines *lines = file_lines_from_memory("fuzz", (const char *)data, size, NULL);
	struct rtt_series series;
	struct error err = {0};
	size_t medians = 0;

	if (rtt_series_parse(&series, lines, &err) != 0) {
		if (err.code == 0 || err.text[0] == '\0')
			abort(); /* a refusal says why */
	} else {
		for (size_t i = 0; i < series.count; i++) {
			if (!(series.us[i] >= 0))
				abort();
			medians += series.us[i] == series.median_us;
		}
		if (medians == 0)
			abort();
	}
	free(series.us);
	file_lines_close(lines);
	return 0;
}
