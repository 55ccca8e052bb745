/* SPDX-License-Identifier: BSD-3-Clause */
/* A series from a mesh's history: all accepted values are above 0, and there are enough of them. */
#include <stdint.h>
#include <stdlib.h>

#include <model/rtt_series.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rtt_series series;
	struct error err = {0};

	if (rtt_series_parse_history(&series, "fuzz", (const char *)data, size, &err) != 0) {
		if (err.code == 0 || err.text[0] == '\0' || series.us)
			abort(); /* a refusal says why */
		return 0;
	}
	if (series.count < RTT_SERIES_SECONDS)
		abort();
	for (size_t i = 0; i < series.count; i++) {
		if (!(series.us[i] > 0))
			abort();
	}
	free(series.us);
	return 0;
}
