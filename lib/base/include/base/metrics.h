/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prometheus's text format (version 0.0.4; OpenMetrics, if the caller ends it with "# EOF"). Errors of the stream are
 * left to the caller.
 */
#ifndef BASE_METRICS_H
#define BASE_METRICS_H

#include <stdio.h>

/* Labels of a sample: METRIC_LABELS("from", "r1", "to", "r2"). */
#define METRIC_LABELS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Prints what precedes the samples of a metric. type: "counter", "gauge", "summary", "histogram"; unit: NULL = none. */
void metric_head(FILE *out, const char *name, const char *type, const char *unit, const char *help);

/* Prints a sample; labels: NULL = none. Prints nothing if the value is not known (NAN): it is not 0. */
void metric_sample(FILE *out, const char *name, const char *const *labels, double value);

/* A metric with one sample. */
struct metric {
	const char *name, *type, *help;
	double value;
};

/* Prints the metrics whose value is known. Each name follows `prefix`. */
void metrics_print(FILE *out, const char *prefix, const struct metric *metrics, size_t count);

#endif
