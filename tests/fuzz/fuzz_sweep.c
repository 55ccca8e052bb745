/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses a sweep, checks what its reader promises, and prepares it for fitting. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include <fitting/observations/observations.h>
#include <model/sweep.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rows(const struct sweep *sweep)
{
	if (sweep->count == 0 || sweep->metric_count == 0 || sweep->metric_count > SWEEP_METRICS_MAXIMUM)
		abort();
	for (size_t i = 0; i < sweep->count; i++) {
		const struct sweep_row *row = &sweep->rows[i];

		if (row->metric >= sweep->metric_count || !isfinite(row->value) || !(row->delay_us >= 0) ||
		    !(row->deviation >= 0) || row->runs < 1 || row->line < 1)
			abort();
	}
}

static void check_levels(const struct observations *observations)
{
	if (observations->count < 3)
		abort();
	for (size_t i = 0; i < observations->count; i++)
		if (!isfinite(observations->levels[i].mean) || !(observations->levels[i].weight > 0) ||
		    (i > 0 && !(observations->levels[i].x_us > observations->levels[i - 1].x_us)))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = {0};
	struct sweep *sweep = sweep_read(file_lines_from_memory("fuzz", (const char *)data, size, &err), &err);
	struct observations observations;

	if (!sweep) {
		if (!err.text[0])
			abort();
		return 0;
	}
	check_rows(sweep);
	for (int absolute = 0; absolute < 2; absolute++) {
		struct observation_settings settings = {.absolute_sigma = absolute, .without_outliers = absolute};

		if (observations_prepare(sweep, &settings, &observations, &err) != 0)
			continue;
		check_levels(&observations);
		observations_free(&observations);
	}
	sweep_destroy(sweep);
	return 0;
}
