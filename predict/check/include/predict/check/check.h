/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks a prediction by a sweep: predicted against measured performance at each of its delays. Both are relative to
 * the run without added latency. One thread.
 */
#ifndef PREDICT_CHECK_H
#define PREDICT_CHECK_H

#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

#include <base/error.h>
#include <model/sweep.h>
#include <predict/prediction/prediction.h>

struct check_level {
	double added_rtt_us; /* > 0 */
	double measured;     /* mean performance of the runs */
	double deviation;    /* standard error of `measured`; 0 = not known */
	double predicted;
	double error; /* predicted / measured - 1 */
	long runs;
};

struct check {
	struct sweep_metric metric;                 /* the sweep's first */
	struct check_level *levels;                 /* by rising added_rtt_us */
	size_t count;                               /* at least 1 */
	double median_error, worst_error, worst_us; /* sizes of errors, without their signs; where the worst is */
	long runs, disturbed;                       /* also those without delay */
};

/*
 * Reads the sweep and compares. Returns 0, or -errno with err set: also if the sweep has a delay beyond the prediction,
 * or none above 0. check_free() is legal after both.
 */
int check_make(const struct prediction *prediction, const char *path, struct check *check, struct error *err);
void check_free(struct check *check);

void check_print(const struct check *check, FILE *out);
json_t *check_json(const struct check *check); /* NULL: out of memory */

#endif
