/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>
#include <base/json.h>

enum { LEVELS_MAXIMUM = 512, RUNS_MAXIMUM = 256 };

/* The accepted runs at one delay. */
struct level {
	double delay_us; /* per direction */
	double rtt_us[RUNS_MAXIMUM], expected_us;
	size_t rtt_count;
	int runs, disturbed;
};

struct totals {
	struct level levels[LEVELS_MAXIMUM];
	size_t level_count;
	double baseline_us; /* NAN until the log names one */
	int runs, disturbed, repeated;
	double packets, dropped, disturbed_packets, stalls, stall_us, elapsed_s;
};

static struct level *level_of(struct totals *totals, double delay_us)
{
	struct level *level;

	for (size_t i = 0; i < totals->level_count; i++) {
		if (totals->levels[i].delay_us == delay_us)
			return &totals->levels[i];
	}
	if (totals->level_count == LEVELS_MAXIMUM)
		return NULL;
	level = &totals->levels[totals->level_count++];
	*level = (struct level){.delay_us = delay_us};
	return level;
}

static void add_run(struct totals *totals, struct json_reader *reader, const json_t *event)
{
	double delay_us = json_need_number(reader, event, "", "delay_us", 0, 1e9);
	double rtt_us = json_may_number(reader, event, "", "rtt_us", 0, 1e12, NAN);
	bool disturbed = json_may_boolean(reader, event, "", "disturbed", false);
	const json_t *injector = json_object_get(event, "injector");
	struct level *level;

	if (!json_may_boolean(reader, event, "", "accepted", false)) {
		totals->repeated++;
		return;
	}
	totals->runs++;
	totals->disturbed += disturbed;
	totals->elapsed_s += json_may_number(reader, event, "", "elapsed_s", 0, 1e9, 0);
	if (injector && !json_is_null(injector)) {
		totals->packets += json_may_number(reader, injector, "injector", "packets", 0, 1e18, 0);
		totals->dropped += json_may_number(reader, injector, "injector", "dropped", 0, 1e18, 0);
		totals->disturbed_packets += json_may_number(reader, injector, "injector", "disturbed", 0, 1e18, 0);
		totals->stalls += json_may_number(reader, injector, "injector", "stalls", 0, 1e18, 0);
		totals->stall_us += json_may_number(reader, injector, "injector", "stall_us", 0, 1e18, 0);
	}
	level = reader->failed ? NULL : level_of(totals, delay_us);
	if (!level)
		return;
	level->runs++;
	level->disturbed += disturbed;
	level->expected_us = json_may_number(reader, event, "", "rtt_expected_us", 0, 1e12, NAN);
	if (!isnan(rtt_us) && level->rtt_count < RUNS_MAXIMUM)
		level->rtt_us[level->rtt_count++] = rtt_us;
}

static int read_log(const char *path, struct totals *totals, struct error *err)
{
	struct file_lines *lines = file_lines_open(path, err);
	char *line;
	int status;

	if (!lines)
		return err ? -err->code : -EIO;
	while ((status = file_lines_next(lines, &line, err)) > 0) {
		struct json_reader reader = {path, file_lines_number(lines), err, false};
		json_t *event = json_read_text(path, reader.line, line, strlen(line), err);
		const char *kind = event ? json_need_string(&reader, event, "", "event") : NULL;

		if (kind && strcmp(kind, "baseline") == 0)
			totals->baseline_us = json_may_number(&reader, event, "", "rtt_us", 0, 1e12, NAN);
		else if (kind && strcmp(kind, "run") == 0)
			add_run(totals, &reader, event);
		json_decref(event);
		if (!event || reader.failed) {
			status = -EINVAL;
			break;
		}
	}
	file_lines_close(lines);
	return status;
}

static int by_delay(const void *a, const void *b)
{
	double x = ((const struct level *)a)->delay_us, y = ((const struct level *)b)->delay_us;

	return (x > y) - (x < y);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_level(FILE *out, struct level *level, double baseline_us)
{
	double rtt_us, off_us, tolerance_us;

	fprintf(out, "<tr><td class=\"n\">%g</td><td class=\"n\">%d</td>", level->delay_us, level->runs);
	if (level->rtt_count == 0 || isnan(level->expected_us) || isnan(baseline_us)) {
		fprintf(out,
			"<td></td><td></td><td></td><td class=\"n\">%d</td><td class=\"muted\">no ping</td></tr>\n",
			level->disturbed);
		return;
	}
	qsort(level->rtt_us, level->rtt_count, sizeof level->rtt_us[0], by_value);
	rtt_us = level->rtt_us[level->rtt_count / 2];
	off_us = rtt_us - level->expected_us;
	tolerance_us = 0.15 * (level->expected_us - baseline_us) + 30;
	fprintf(out,
		"<td class=\"n\">%.0f</td><td class=\"n\">%.0f</td><td class=\"n\">%+.0f</td><td class=\"n\">%d</td>"
		"<td class=\"tag %s\">%s</td></tr>\n",
		rtt_us, level->expected_us, off_us, level->disturbed, fabs(off_us) <= tolerance_us ? "ok" : "fail",
		fabs(off_us) <= tolerance_us ? "as injected" : "off");
}

int report_sweep_log(FILE *out, const char *path, struct error *err)
{
	struct totals *totals = calloc(1, sizeof *totals);
	int status;

	if (!totals)
		return error_set(err, ENOMEM, "out of memory");
	totals->baseline_us = NAN;
	status = read_log(path, totals, err);
	if (status < 0)
		goto out;
	qsort(totals->levels, totals->level_count, sizeof totals->levels[0], by_delay);
	fputs("<h3>Is the injected delay real, and how much was disturbed?</h3>\n<p>Before each run <code>ping</code> "
	      "measured the round trip between the two hosts (median). It has to rise by 2&nbsp;D; up to 15&nbsp;% + "
	      "30&nbsp;µs beside that is taken as true here.</p>\n<table><tr><th class=\"n\">D, µs</th>"
	      "<th class=\"n\">runs</th><th class=\"n\">ping, µs</th><th class=\"n\">expected, µs</th>"
	      "<th class=\"n\">off by, µs</th><th class=\"n\">disturbed runs</th><th></th></tr>\n",
	      out);
	for (size_t i = 0; i < totals->level_count; i++)
		print_level(out, &totals->levels[i], totals->baseline_us);
	fprintf(out,
		"</table>\n<p>The injector passed %.0f packets and dropped %.0f. It stalled %.0f times, %.2f&nbsp;%% "
		"of the "
		"time; %.2f&nbsp;%% of the packets met a stall. %d attempts failed a gate (stalls, ping) and were made "
		"again; %d of the %d runs that count were still disturbed.</p>\n",
		totals->packets, totals->dropped, totals->stalls,
		totals->elapsed_s > 0 ? totals->stall_us / 1e4 / totals->elapsed_s : 0,
		totals->packets > 0 ? 100 * totals->disturbed_packets / totals->packets : 0, totals->repeated,
		totals->disturbed, totals->runs);
out:
	free(totals);
	return status;
}
