/* SPDX-License-Identifier: BSD-3-Clause */
/* Recomputed delays against a limit, as text and as nomora.inject-check/1. */
#ifndef CHECK_REPORT_H
#define CHECK_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include <injector/check/delays.h>

struct check_limit {
	double limit_us;   /* largest deviation; 0 = no limit */
	double percentile; /* of the deviation, 0..100 */
};

/*
 * True if a direction is over the limit: a larger deviation; a packet early, missing, extra or reordered; or none
 * matched.
 */
bool check_report_over_limit(const struct check_report *report, const struct check_limit *limit);

void check_report_print(const struct check_report *report, FILE *out);
/* `path`: as the user gave it. NULL if out of memory. */
json_t *check_report_to_json(const struct check_report *report, const char *path, const struct check_limit *limit);

#endif
