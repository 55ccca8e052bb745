/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>

#include <base/metrics.h>

Test(metrics, labels_are_escaped_counters_exact_and_unknown_values_left_out)
{
	static const struct metric metrics[] = {{"a_total", "counter", "A.", 123456789012345},
						{"b", "gauge", "B.", NAN}};
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	metric_head(out, "rtt_seconds", "gauge", "seconds", "Round trip.");
	metric_sample(out, "rtt_seconds", METRIC_LABELS("from", "a\"b\\", "to", "c"), 40e-9);
	metric_sample(out, "rtt_seconds", METRIC_LABELS("from", "c", "to", "a"), NAN);
	metrics_print(out, "x_", metrics, 2);
	fclose(out);
	cr_assert_str_eq(text, "# HELP rtt_seconds Round trip.\n# UNIT rtt_seconds seconds\n# TYPE rtt_seconds gauge\n"
			       "rtt_seconds{from=\"a\\\"b\\\\\",to=\"c\"} 4e-08\n"
			       "# HELP x_a_total A.\n# TYPE x_a_total counter\nx_a_total 123456789012345\n");
	free(text);
}
