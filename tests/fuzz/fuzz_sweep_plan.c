/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values of a plan and output of a benchmark. The input's first line is a list of delays, the second a metric, the rest
 * output.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <injector/sweep/plan.h>

static double delays[SWEEP_SCHEDULE_DELAYS_MAXIMUM];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *metric_text, *output;
	struct sweep_metric_def metric;
	double value;
	int count;

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	metric_text = strchr(text, '\n');
	output = metric_text ? strchr(metric_text + 1, '\n') : NULL;
	if (metric_text)
		*metric_text++ = '\0';
	if (output)
		*output++ = '\0';
	count = sweep_schedule_parse_delays(text, delays, NULL);
	for (int i = 0; i < count; i++)
		if (!(delays[i] >= 0 && delays[i] <= SWEEP_SCHEDULE_DELAY_MAXIMUM_US))
			abort();
	if (metric_text && sweep_metric_parse(metric_text, &metric, NULL) == 0) {
		struct sweep_metric_input input = {output ? output : "", 0, 1};

		/* Long patterns on long texts are slow, and test only glibc. */
		if ((metric.source != SWEEP_METRIC_REGEX || strlen(metric.how) < 12) &&
		    sweep_metric_extract(&metric, &input, &value, NULL) == 0 && !isfinite(value))
			abort();
		sweep_metric_free(&metric);
	}
	free(text);
	return 0;
}
