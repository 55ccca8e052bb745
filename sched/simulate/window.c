/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of the workload to simulate: --from, --until and --hours. */
#include "simulate_priv.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <base/log.h>
#include <base/number.h>

static const double hour_s = 3600, second_us = 1e6, hours_maximum = 1e6, usual_hours = 24;

/* An end of the window: hours of the workload, or seconds since 1970 (`is_date`). */
struct moment {
	double value;
	bool is_date;
};

/* Parses the rest of a time after the format's: nothing (local time) or Z (UTC). Refuses the 31st of February. */
static bool parse_date(const char *text, const char *format, double *seconds)
{
	struct tm tm = {.tm_isdst = -1}, given;
	const char *end = strptime(text, format, &tm);
	time_t at;

	if (!end || (*end && strcmp(end, "Z") != 0))
		return false;
	given = tm;
	at = *end ? timegm(&tm) : mktime(&tm);
	*seconds = (double)at;
	return at >= 0 && tm.tm_mday == given.tm_mday && tm.tm_mon == given.tm_mon;
}

static int parse_moment(const char *option, const char *text, struct moment *moment, struct error *err)
{
	static const char *const formats[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"};

	moment->is_date = false;
	if (number_parse_double(text, &moment->value) == 0 && moment->value >= 0 && moment->value <= hours_maximum)
		return 0;
	moment->is_date = true;
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (parse_date(text, formats[i], &moment->value))
			return 0;
	return error_set(err, EINVAL,
			 "--%s '%s': expected hours of the workload (0 to 1e6), or a date or time: 2026-11-23, "
			 "2026-11-23T18:14 or 2026-11-23T18:14:29, local time, or UTC with Z at the end",
			 option, text);
}

int simulate_check_window(const struct simulate_options *options, struct error *err)
{
	struct moment from = {0}, until;
	int code = options->from ? parse_moment("from", options->from, &from, err) : 0;

	if (code == 0 && options->until && options->hours > 0)
		return error_set(err, EINVAL, "--until and --hours are mutually exclusive");
	if (code == 0 && options->until)
		code = parse_moment("until", options->until, &until, err);
	if (code == 0 && options->until && until.is_date == from.is_date && until.value <= from.value)
		return error_set(err, EINVAL, "--until '%s': expected a time after --from", options->until);
	return code;
}

bool simulate_window_is_known(const struct simulate_options *options)
{
	struct moment from = {0}, until = {0};
	struct error none;

	if (options->from)
		parse_moment("from", options->from, &from, &none);
	if (options->until)
		parse_moment("until", options->until, &until, &none);
	return (options->hours > 0 || options->until) && !from.is_date && !until.is_date;
}

/* Converts to microseconds of the workload, whose times are divided by --speed-up. */
static int convert(const struct simulate *simulate, const char *option, const char *text, int64_t *at_us,
		   struct error *err)
{
	struct moment moment;
	int code = parse_moment(option, text, &moment, err);
	double at_s = moment.value * hour_s;

	if (code != 0)
		return code;
	if (moment.is_date && isnan(simulate->origin_s))
		return error_set(err, EINVAL,
				 "--%s '%s': the workload does not state at which date it begins; expected hours",
				 option, text);
	if (moment.is_date)
		at_s = (moment.value - simulate->origin_s) / simulate->options->speed_up;
	if (at_s > hours_maximum * hour_s)
		return error_set(err, EINVAL, "--%s '%s': more than 1e6 hours after the beginning of the workload",
				 option, text);
	*at_us = (int64_t)(fmax(0, at_s) * second_us);
	return 0;
}

/* Times of the first submission and of the last end, or of the last event that the reader saw. */
static void find_extent(const struct simulate *simulate, int64_t *first_us, int64_t *last_us)
{
	const struct workload *workload = simulate->workload;
	double speed_up = simulate->options->speed_up;

	*first_us = INT64_MAX;
	*last_us = (int64_t)((double)simulate->seen_us / speed_up);
	for (size_t t = 0; workload && t < workload->task_count; t++) {
		const struct workload_task *task = &workload->tasks[t];
		int64_t submit_us = (int64_t)((double)task->submit_us / speed_up);
		int64_t end_us = submit_us + (task->run_us == WORKLOAD_TO_THE_END ? 0 : task->run_us);

		*first_us = submit_us < *first_us ? submit_us : *first_us;
		if (!simulate->options->trace)
			*last_us = end_us > *last_us ? end_us : *last_us;
	}
	*first_us = *first_us == INT64_MAX ? 0 : *first_us / 1000000 * 1000000;
}

int simulate_set_window(struct simulate *simulate, struct workload_filter *filter, struct error *err)
{
	const struct simulate_options *options = simulate->options;
	bool recorded = options->trace || options->journal || options->swf || options->sacct || options->csv;
	int64_t first_us, last_us, until_us = 0;
	int code = options->from ? convert(simulate, "from", options->from, &filter->begin_us, err) : 0;

	if (code == 0 && options->until)
		code = convert(simulate, "until", options->until, &until_us, err);
	if (code != 0)
		return code;
	find_extent(simulate, &first_us, &last_us);
	if (options->hours > 0)
		until_us = filter->begin_us + (int64_t)(options->hours * hour_s * second_us);
	else if (!options->until && recorded)
		until_us = last_us + 1000000;
	else if (!options->until)
		until_us = filter->begin_us + (int64_t)(usual_hours * hour_s * second_us);
	/* A middle part of a longer trace begins later than its parts before it would end. */
	if (!options->from && (first_us >= until_us || (recorded && options->hours <= 0 && !options->until))) {
		filter->begin_us = first_us;
		if (options->hours > 0) {
			until_us += first_us;
			log_warning("the first task is submitted at hour %.2f: simulating from there (--from)",
				    (double)first_us / second_us / hour_s);
		}
	}
	if (until_us <= filter->begin_us)
		return error_set(err, EINVAL,
				 "nothing to simulate: the workload's hours are %.2f to %.2f; expected --from and "
				 "--until within them",
				 (double)first_us / second_us / hour_s, (double)last_us / second_us / hour_s);
	filter->end_us = until_us;
	simulate->begin_us = filter->begin_us;
	simulate->end_us = filter->end_us - filter->begin_us;
	return 0;
}

/* Prints " (2026-11-23T10:00:00Z)" if the workload states its date. */
static void print_date(const struct simulate *simulate, int64_t at_us, FILE *out)
{
	double at_s = simulate->origin_s + (double)at_us / second_us * simulate->options->speed_up;
	time_t seconds = isnan(at_s) ? 0 : (time_t)at_s;
	char text[40] = "";
	struct tm utc;

	if (!isnan(at_s) && gmtime_r(&seconds, &utc) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc) > 0)
		fprintf(out, " (%s)", text);
}

void simulate_print_window(const struct simulate *simulate, FILE *out)
{
	int64_t end_us = simulate->begin_us + simulate->end_us;

	fprintf(out, "simulated: hour %.2f", (double)simulate->begin_us / second_us / hour_s);
	print_date(simulate, simulate->begin_us, out);
	fprintf(out, " to %.2f", (double)end_us / second_us / hour_s);
	print_date(simulate, end_us, out);
	fputs(" of the workload\n", out);
}
