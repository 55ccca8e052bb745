/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>
#include <base/json.h>

/* Packets that left later than this part of the delay make a round trip another one than was injected. */
#define INJECTOR_LATE_SHARE 0.1
#define INJECTOR_LATE_LEAST_US 1.0

/* A round trip may be off by so much, as in a sweep's check by ping. */
#define ROUND_TRIP_OFF_SHARE 0.15
#define ROUND_TRIP_OFF_US 30.0

enum { LEVELS_MAXIMUM = 512, RUNS_MAXIMUM = 256, ATTEMPTS_MAXIMUM = 1000 };

/* One line of the log about one try of a run. */
struct attempt {
	int64_t number;
	double rtt_us, expected_us, elapsed_s;
	double packets, dropped, disturbed, stalls; /* of the injector */
	/* Its stalls' time, but in its own calls that send, as sweep judges it: of `lcores` threads the mean, and what
	 * no single one of them can have exceeded. */
	double lcores, stall_us, stall_bound_us;
	double processors_used, processors; /* NAN: an older log */
};

/* The runs that count at one delay. */
struct level {
	double delay_us;                          /* per direction */
	double off_us[RUNS_MAXIMUM], expected_us; /* ping less expected; a baseline is taken anew now and then */
	size_t rtt_count;
	double processors_used, processors; /* sum over the runs; of how many */
	int runs, disturbed;
};

struct totals {
	struct level levels[LEVELS_MAXIMUM];
	struct attempt attempts[ATTEMPTS_MAXIMUM]; /* of the run under way */
	size_t level_count, attempt_count;
	struct attempt sum; /* over the attempts that count */
	int runs, disturbed_runs, repeated;
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

/* From what the injector counts: the sum over its threads. */
static void take_stalls(struct attempt *attempt, double lcores, double stall_us, double transmit_stall_us)
{
	double elapsed_us = attempt->elapsed_s * 1e6;

	stall_us = fmax(stall_us - transmit_stall_us, 0);
	attempt->lcores = lcores;
	/* A stall is counted when it ends: one that began before may be longer than all this. */
	attempt->stall_us = fmin(stall_us / lcores, elapsed_us);
	attempt->stall_bound_us = fmin(stall_us, elapsed_us);
}

/* "1.2 % of the time", and of whose. */
static void print_stalls(FILE *out, const struct attempt *seen)
{
	double percent_of_us = seen->elapsed_s > 0 ? 1e-4 / seen->elapsed_s : 0;

	fprintf(out, "%.2f&nbsp;%% of the time", seen->stall_us * percent_of_us);
	if (seen->lcores > 1)
		fprintf(out, " on average of its %.0f threads (none of them over %.2f&nbsp;%%)", seen->lcores,
			seen->stall_bound_us * percent_of_us);
	fputs(", its own calls that send left out", out);
}

/* Under 0 where the injector was restarted meanwhile: such an attempt never counts. */
static double counted(struct json_reader *reader, const json_t *injector, const char *name)
{
	return json_may_number(reader, injector, "injector", name, -1e18, 1e18, 0);
}

static void note_attempt(struct totals *totals, struct json_reader *reader, const json_t *event)
{
	const json_t *injector = json_object_get(event, "injector");
	struct attempt *attempt;

	if (totals->attempt_count == ATTEMPTS_MAXIMUM)
		return;
	attempt = &totals->attempts[totals->attempt_count++];
	*attempt = (struct attempt){
		.number = json_need_integer(reader, event, "", "attempt", 1, ATTEMPTS_MAXIMUM),
		.rtt_us = json_may_number(reader, event, "", "rtt_us", 0, 1e12, NAN),
		.expected_us = json_may_number(reader, event, "", "rtt_expected_us", 0, 1e12, NAN),
		.elapsed_s = json_may_number(reader, event, "", "elapsed_s", 0, 1e9, 0),
		.processors_used = json_may_number(reader, event, "", "processors_used", -1, 1e5, NAN),
		.processors = json_may_number(reader, event, "", "processors", 0, 1e5, NAN),
	};
	if (!injector || json_is_null(injector))
		return;
	attempt->packets = counted(reader, injector, "packets");
	attempt->dropped = counted(reader, injector, "dropped");
	attempt->disturbed = counted(reader, injector, "disturbed");
	attempt->stalls = counted(reader, injector, "stalls");
	take_stalls(attempt, json_may_number(reader, injector, "injector", "lcores", 1, 1024, 1),
		    counted(reader, injector, "stall_us"), counted(reader, injector, "transmit_stall_us"));
}

/* One of the attempts noted since the last run is the one that counts. */
static void accept_run(struct totals *totals, struct json_reader *reader, const json_t *event)
{
	double delay_us = json_need_number(reader, event, "", "delay_us", 0, 1e9);
	int64_t number = json_need_integer(reader, event, "", "attempt", 1, ATTEMPTS_MAXIMUM);
	bool disturbed = json_may_boolean(reader, event, "", "disturbed", false);
	struct level *level = reader->failed ? NULL : level_of(totals, delay_us);

	if (!level)
		return;
	totals->runs++;
	totals->disturbed_runs += disturbed;
	totals->repeated += totals->attempt_count > 0 ? (int)totals->attempt_count - 1 : 0;
	level->runs++;
	level->disturbed += disturbed;
	for (size_t i = 0; i < totals->attempt_count; i++) {
		const struct attempt *attempt = &totals->attempts[i];

		if (attempt->number != number)
			continue;
		totals->sum.packets += attempt->packets;
		totals->sum.dropped += attempt->dropped;
		totals->sum.disturbed += attempt->disturbed;
		totals->sum.stalls += attempt->stalls;
		totals->sum.lcores = fmax(totals->sum.lcores, attempt->lcores);
		totals->sum.stall_us += attempt->stall_us;
		totals->sum.stall_bound_us += attempt->stall_bound_us;
		totals->sum.elapsed_s += attempt->elapsed_s;
		level->processors_used += attempt->processors_used;
		level->processors = attempt->processors;
		if (isnan(attempt->rtt_us) || isnan(attempt->expected_us) || level->rtt_count == RUNS_MAXIMUM)
			continue;
		level->expected_us = attempt->expected_us;
		level->off_us[level->rtt_count++] = attempt->rtt_us - attempt->expected_us;
	}
	totals->attempt_count = 0;
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
		/* what does not parse is a line that a killed writer left half-written */
		json_t *event = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
		const char *kind = event ? json_need_string(&reader, event, "", "event") : NULL;

		if (kind && strcmp(kind, "attempt") == 0)
			note_attempt(totals, &reader, event);
		else if (kind && strcmp(kind, "accepted") == 0)
			accept_run(totals, &reader, event);
		json_decref(event);
		if (reader.failed) {
			status = -EINVAL;
			break;
		}
	}
	file_lines_close(lines);
	if (status == 0 && totals->runs == 0)
		return error_at(
			err, (struct error_place){path, 0, NULL}, EINVAL,
			"no accepted run in it; expected the .log file that nomora sweep writes beside its output");
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

static double tolerated_us(double added_us)
{
	return ROUND_TRIP_OFF_SHARE * added_us + ROUND_TRIP_OFF_US;
}

static void print_level(FILE *out, struct level *level)
{
	double off_us, tolerance_us;

	fprintf(out, "<tr><td class=\"n\">%g</td><td class=\"n\">%d</td><td class=\"n\">", level->delay_us,
		level->runs);
	if (!isnan(level->processors_used))
		fprintf(out, "%.2f of %.0f", level->processors_used / level->runs, level->processors);
	fputs("</td>", out);
	if (level->rtt_count == 0) {
		fprintf(out,
			"<td></td><td></td><td></td><td class=\"n\">%d</td><td class=\"muted\">no ping</td></tr>\n",
			level->disturbed);
		return;
	}
	qsort(level->off_us, level->rtt_count, sizeof level->off_us[0], by_value);
	off_us = level->off_us[level->rtt_count / 2];
	tolerance_us = tolerated_us(2 * level->delay_us);
	fprintf(out,
		"<td class=\"n\">%.0f</td><td class=\"n\">%.0f</td><td class=\"n\">%+.0f</td><td class=\"n\">%d</td>"
		"<td class=\"tag %s\">%s</td></tr>\n",
		level->expected_us + off_us, level->expected_us, off_us, level->disturbed,
		fabs(off_us) <= tolerance_us ? "ok" : "fail", fabs(off_us) <= tolerance_us ? "as injected" : "off");
}

/* The sentence that a reader must not miss. */
static void print_verdict(FILE *out, const struct totals *totals)
{
	const struct attempt *sum = &totals->sum;

	if (totals->disturbed_runs > 0)
		fprintf(out,
			"<p class=\"tag fail\">%d of the %d runs were disturbed (the injector stalled, or ping "
			"disagreed) "
			"and no attempt was better: do not publish this curve, repeat the sweep on a quieter "
			"machine.</p>\n",
			totals->disturbed_runs, totals->runs);
	else
		fprintf(out, "<p class=\"tag ok\">None of the %d runs was disturbed beyond its gates.</p>\n",
			totals->runs);
	fprintf(out, "<p>The injector passed %.0f packets and dropped %.0f. It stalled %.0f times, ", sum->packets,
		sum->dropped, sum->stalls);
	print_stalls(out, sum);
	fprintf(out, "; %.2f&nbsp;%% of the packets met a stall. %d attempts failed a gate and were made again.</p>\n",
		sum->packets > 0 ? 100 * sum->disturbed / sum->packets : 0, totals->repeated);
}

int report_sweep_log(FILE *out, const char *path, struct error *err)
{
	struct totals *totals = calloc(1, sizeof *totals);
	int status;

	if (!totals)
		return error_set(err, ENOMEM, "out of memory");
	status = read_log(path, totals, err);
	if (status < 0)
		goto out;
	qsort(totals->levels, totals->level_count, sizeof totals->levels[0], by_delay);
	fputs("<h3>Is the injected delay real, and how much was disturbed?</h3>\n<p>Before each run <code>ping</code> "
	      "measured the round trip between the two hosts (median). It has to rise by 2&nbsp;D; up to 15&nbsp;% + "
	      "30&nbsp;µs beside that is taken as true here. Where all of this machine's processors were in use, the "
	      "application was short of them whatever the delay, unless its programs poll while they "
	      "wait.</p>\n<table><tr><th class=\"n\">D, µs</th>"
	      "<th class=\"n\">runs</th><th class=\"n\">processors in use</th><th class=\"n\">ping, µs</th><th "
	      "class=\"n\">expected, µs</th>"
	      "<th class=\"n\">off by, µs</th><th class=\"n\">disturbed runs</th><th></th></tr>\n",
	      out);
	for (size_t i = 0; i < totals->level_count; i++)
		print_level(out, &totals->levels[i]);
	fputs("</table>\n", out);
	print_verdict(out, totals);
out:
	free(totals);
	return status;
}

/* By how much the medians between the racks are off those within them and what was added; 0 where that is not known. */
static double mesh_off_us(const struct mesh_group *groups, double added_us)
{
	const struct mesh_group *within, *between;

	if (!groups)
		return 0;
	within = &groups[MESH_SAME_RACK];
	between = &groups[MESH_OTHER_RACK];
	if (within->silent >= within->pairs || between->silent >= between->pairs)
		return 0;
	return between->p50_us - within->p50_us - added_us;
}

/*
 * Medians stand as long as the median packet left in time, percentiles as long as nearly all did; neither does where
 * packets waited elsewhere, which the injector does not see.
 */
static void print_lateness(FILE *out, double delay_us, double p50_us, double p99_us, double off_us, double tolerance_us)
{
	double limit_us = fmax(INJECTOR_LATE_SHARE * delay_us, INJECTOR_LATE_LEAST_US);

	fprintf(out,
		"<p>Half of them left within %.3g&nbsp;µs of when they were due, 99&nbsp;%% within %.3g&nbsp;µs.</p>\n",
		p50_us, p99_us);
	if (p50_us > limit_us)
		fputs("<p class=\"tag fail\">That is too late: the figures between the racks tell of this machine's "
		      "load, not of the injected delay.</p>\n",
		      out);
	else if (fabs(off_us) > tolerance_us)
		fprintf(out,
			"<p class=\"tag fail\">Yet the median between the racks is off by %+.0f&nbsp;µs: %s. Those "
			"figures do not tell of the injected delay.</p>\n",
			off_us,
			off_us > 0
				? "packets waited elsewhere, most likely for this machine's processors; measure "
				  "again when it is quieter"
				: "this injector had another delay while they were measured, or did not stand between "
				  "the racks");
	else if (p99_us > limit_us)
		fputs("<p class=\"tag warn\">The medians between the racks are the injected delay's; their p99 and "
		      "worst "
		      "are this machine's stalls.</p>\n",
		      out);
}

int report_injector(FILE *out, const char *path, const struct mesh_group groups[MESH_RELATIONS], struct error *err)
{
	json_t *root = json_read_file(path, err);
	struct json_reader reader = {path, 0, err, false};
	double ab_us, ba_us, packets, disturbed, lost, p50_us, p99_us;
	struct attempt seen = {0};

	if (!root)
		return err ? -err->code : -EINVAL;
	json_need_schema(&reader, root, "nomora.inject/1");
	ab_us = json_need_number(&reader, root, "", "delay_ab_us", 0, 1e9);
	ba_us = json_need_number(&reader, root, "", "delay_ba_us", 0, 1e9);
	seen.elapsed_s = json_need_number(&reader, root, "", "uptime_s", 0, 1e12);
	take_stalls(&seen, json_may_number(&reader, root, "", "lcores", 1, 1024, 1),
		    json_need_number(&reader, root, "", "stall_us_total", 0, 1e18),
		    json_may_number(&reader, root, "", "stall_us_in_transmit", 0, 1e18, 0));
	disturbed = json_need_number(&reader, root, "", "disturbed", 0, 1e18);
	packets = json_need_number(&reader, root, "", "tx_ab", 0, 1e18) +
		  json_need_number(&reader, root, "", "tx_ba", 0, 1e18);
	lost = json_may_number(&reader, root, "", "ring_full", 0, 1e18, 0) +
	       json_may_number(&reader, root, "", "nombuf", 0, 1e18, 0) +
	       json_may_number(&reader, root, "", "rx_missed", 0, 1e18, 0);
	p50_us = json_need_number(&reader, root, "", "lateness_p50_ns", 0, 1e18) / 1e3;
	p99_us = json_need_number(&reader, root, "", "lateness_p99_ns", 0, 1e18) / 1e3;
	json_decref(root);
	if (reader.failed)
		return -EINVAL;
	fprintf(out,
		"<p>An injector held every packet between the racks for %g&nbsp;µs one way and %g&nbsp;µs the other: "
		"expect %g&nbsp;µs more round trip than within a rack. It passed %.0f packets and dropped %.0f; "
		"it stalled ",
		ab_us, ba_us, ab_us + ba_us, packets, lost);
	print_stalls(out, &seen);
	fprintf(out, ", and %.1f&nbsp;%% of the packets were held through a stall.</p>\n",
		packets > 0 ? 100 * disturbed / packets : 0);
	if (packets > 0)
		print_lateness(out, fmin(ab_us, ba_us), p50_us, p99_us, mesh_off_us(groups, ab_us + ba_us),
			       tolerated_us(ab_us + ba_us));
	return 0;
}
