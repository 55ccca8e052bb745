/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A metric of a plan, "NAME UNIT higher|lower HOW", and its value in a benchmark's output. HOW is one of
 *   regex:PATTERN     POSIX extended; the number is the first group, or the whole match if there is no group; the last
 *                     match counts; ^ and $ match at the beginning and end of each line
 *   json:a.b[2].c     a number in the first valid JSON object or array that begins at the start of a line
 *   exit              the exit code of the command
 *   elapsed           how long the command ran, in seconds
 */
#ifndef SWEEP_METRIC_H
#define SWEEP_METRIC_H

#include <regex.h>
#include <stddef.h>

#include <base/error.h>
#include <model/sweep.h>

enum sweep_metric_source { SWEEP_METRIC_REGEX, SWEEP_METRIC_JSON, SWEEP_METRIC_EXIT, SWEEP_METRIC_ELAPSED };

struct sweep_metric_def {
	char name[SWEEP_NAME_BYTES], unit[SWEEP_NAME_BYTES];
	enum sweep_better better;
	enum sweep_metric_source source;
	const char *how;    /* the text after "regex:" or "json:"; borrowed from the parsed text */
	regex_t expression; /* compiled for SWEEP_METRIC_REGEX */
};

/*
 * Parses a metric. Returns 0 and a metric to be freed with sweep_metric_free(), or -errno with err set. `text` must
 * outlive the metric.
 */
int sweep_metric_parse(const char *text, struct sweep_metric_def *metric, struct error *err);
void sweep_metric_free(struct sweep_metric_def *metric);

struct sweep_metric_input {
	const char *output; /* NUL-terminated */
	int exit_code;
	double elapsed_s;
};

/*
 * Extracts the metric's value. Returns 0 and a finite value, or -errno with err set: -ENOENT (not in the output),
 * -EINVAL (not a number).
 */
int sweep_metric_extract(const struct sweep_metric_def *metric, const struct sweep_metric_input *input, double *value,
			 struct error *err);

#endif
