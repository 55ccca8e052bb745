/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares recomputed delays with a limit, and reports them as text and as JSON (nomora.inject-check/1). */
#ifndef CHECK_REPORT_H
#define CHECK_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include <injector/check/delays.h>

struct check_limit {
	double limit_us;   /* limit for the `percentile` of the deviation, us; 0 = no limit */
	double percentile; /* the percentile of the deviation to compare with limit_us, 0..100 */
};

/*
 * Returns false if there is no limit. Otherwise returns true if, in one of the directions,
 * - the percentile of the deviation is above the limit, or
 * - a packet is early, missing, extra or reordered,
 * or if no packet of either direction was matched.
 */
bool check_report_over_limit(const struct check_report *report, const struct check_limit *limit);

void check_report_print(const struct check_report *report, FILE *out);
/* `path` is the file name as the user gave it. Returns NULL if out of memory. */
json_t *check_report_to_json(const struct check_report *report, const char *path, const struct check_limit *limit);

#endif
