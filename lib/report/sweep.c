/* SPDX-License-Identifier: BSD-3-Clause */
#include "report_priv.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <base/json.h>
#include <base/name.h>
#include <base/number.h>
#include <base/quantile.h>
#include <model/injector_state.h>
#include <model/sweep_log.h>

/*
 * Packets are late if they leave the injector more than this share of the delay, and more than INJECTOR_LATE_LEAST_US,
 * after they were due. Late packets make round trips longer than the injected delay does.
 */
#define INJECTOR_LATE_SHARE 0.1
#define INJECTOR_LATE_LEAST_US 1.0

/*
 * Largest shares of packets that a stall may have delayed: up to the first, hardly any figure shows it; above the
 * second, a median may be wrong, too.
 */
#define DISTURBED_FEW_PERCENT 1.0
#define DISTURBED_MANY_PERCENT 50.0

/* Accepted deviation of a round trip from the expected one, as in the check that a sweep makes. */
#define ROUND_TRIP_OFF_SHARE 0.15
#define ROUND_TRIP_OFF_US 30.0

enum { LEVELS_MAXIMUM = 512, RUNS_MAXIMUM = 256 };

/* The accepted runs at one delay. */
struct level {
	double delay_us; /* injected delay per direction, µs */
	double added_us; /* injected delay of a round trip, µs */
	/* off_us[i], for i < rtt_count: round trip measured minus the expected one, in an accepted attempt */
	double off_us[RUNS_MAXIMUM];
	size_t rtt_count;
	char unchecked[SWEEP_LOG_UNCHECKED_BYTES]; /* why none was measured; "" = not known */
	/* delays that the injector applied: sums of the means of `applied_runs` runs, and greatest 99th percentile */
	double applied_us[INJECTOR_STATE_DIRECTIONS], applied_p99_us[INJECTOR_STATE_DIRECTIONS];
	int applied_runs[INJECTOR_STATE_DIRECTIONS];
	/*
	 * processors_used: mean number of processors in use during a run, summed over the runs; processors: number of
	 * the machine's processors
	 */
	double processors_used, processors;
	int runs, disturbed;
};

struct report_sweep {
	struct level levels[LEVELS_MAXIMUM];
	struct sweep_log_attempt attempts[SWEEP_LOG_ATTEMPTS_MAXIMUM]; /* attempts read since the last accepted run */
	size_t level_count, attempt_count;
	struct injector_interval sum;    /* sums over the accepted attempts */
	double stalled_s, stall_bound_s; /* seconds stalled during sum.elapsed_s: the mean over the lcores, and an upper
					    bound for one lcore */
	int runs, disturbed_runs, repeated;
};

static struct level *level_of(struct report_sweep *totals, double delay_us)
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

/*
 * Prints for example "1.20 % of the time"; if there are several threads, prints their mean and the upper bound for one
 * thread.
 */
static void print_stalls(FILE *out, double percent, double bound_percent, double lcores)
{
	fprintf(out, "%.2f&nbsp;%% of the time", percent);
	if (lcores > 1)
		fprintf(out, " on average of its %.0f threads (none of them over %.2f&nbsp;%%)", lcores, bound_percent);
	fputs(", not counting its own transmit calls", out);
}

static void add_applied(struct level *level, const struct injector_interval *injector)
{
	for (size_t d = 0; d < INJECTOR_STATE_DIRECTIONS; d++) {
		const struct injector_interval_delays *delays = &injector->delays[d];

		if (isnan(delays->applied_us) || isnan(delays->applied_p99_us))
			continue;
		level->applied_us[d] += delays->applied_us;
		level->applied_p99_us[d] = fmax(level->applied_p99_us[d], delays->applied_p99_us);
		level->applied_runs[d]++;
	}
}

static void add_up(struct report_sweep *totals, struct level *level, const struct sweep_log_attempt *attempt)
{
	const struct injector_interval *injector = &attempt->injector;

	level->processors_used += attempt->processors_used;
	level->processors = attempt->processors;
	if (!isnan(attempt->rtt_us) && !isnan(attempt->rtt_expected_us) && level->rtt_count < RUNS_MAXIMUM)
		level->off_us[level->rtt_count++] = attempt->rtt_us - attempt->rtt_expected_us;
	memcpy(level->unchecked, attempt->rtt_unchecked, sizeof level->unchecked);
	totals->sum.elapsed_s += attempt->elapsed_s;
	if (!attempt->has_injector)
		return;
	add_applied(level, injector);
	totals->sum.packets += injector->packets;
	totals->sum.dropped += injector->dropped;
	totals->sum.disturbed += injector->disturbed;
	totals->sum.stalls += injector->stalls;
	totals->sum.lcores = fmax(totals->sum.lcores, injector->lcores);
	totals->stalled_s += injector_interval_stall_percent(injector) / 100 * attempt->elapsed_s;
	totals->stall_bound_s += injector_interval_stall_bound_percent(injector) / 100 * attempt->elapsed_s;
}

/* Adds the accepted attempt of a run to the totals. It is one of the attempts read since the previous accepted run. */
static void accept_run(struct report_sweep *totals, const struct sweep_log_run *run)
{
	struct level *level = level_of(totals, run->delay_us);

	if (!level)
		return;
	totals->runs++;
	totals->disturbed_runs += run->disturbed;
	totals->repeated += totals->attempt_count > 0 ? (int)totals->attempt_count - 1 : 0;
	level->added_us = run->direction == SWEEP_BOTH ? 2 * run->delay_us : run->delay_us;
	level->runs++;
	level->disturbed += run->disturbed;
	for (size_t i = 0; i < totals->attempt_count; i++)
		if (totals->attempts[i].run.attempt == run->attempt)
			add_up(totals, level, &totals->attempts[i]);
	totals->attempt_count = 0;
}

static int read_log(const char *path, struct report_sweep *totals, struct error *err)
{
	struct sweep_log_reader *reader = sweep_log_open(file_lines_open(path, err), err);
	struct sweep_log_event event;
	int status;

	if (!reader)
		return error_code(err, EIO);
	while ((status = sweep_log_next(reader, &event, err)) > 0) {
		if (event.kind == SWEEP_LOG_ATTEMPT && totals->attempt_count < SWEEP_LOG_ATTEMPTS_MAXIMUM)
			totals->attempts[totals->attempt_count++] = event.attempt;
		else if (event.kind == SWEEP_LOG_ACCEPTED)
			accept_run(totals, &event.accepted);
	}
	sweep_log_close(reader);
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

/* As a sweep's log has no order by value, this sorts the level's off_us. Returns their median. */
static double median_off_us(struct level *level)
{
	quantile_sort(level->off_us, level->rtt_count);
	return level->off_us[level->rtt_count / 2];
}

static double tolerated_us(double added_us)
{
	return ROUND_TRIP_OFF_SHARE * added_us + ROUND_TRIP_OFF_US;
}

/* Prints a cell such as "50.2 (51.1) / 50.1 (50.9)"; "-" for a direction without packets. */
static void print_applied(FILE *out, const struct level *level)
{
	fputs("<td class=\"n\">", out);
	for (size_t d = 0; d < INJECTOR_STATE_DIRECTIONS; d++) {
		fputs(d > 0 ? " / " : "", out);
		if (level->applied_runs[d] > 0)
			fprintf(out, "%.4g (%.4g)", level->applied_us[d] / level->applied_runs[d],
				level->applied_p99_us[d]);
		else
			fputs("-", out);
	}
	fputs("</td>", out);
}

static void print_level(FILE *out, struct level *level)
{
	double off_us, tolerance_us;

	fprintf(out, "<tr><td class=\"n\">%g</td><td class=\"n\">%d</td><td class=\"n\">", level->delay_us,
		level->runs);
	if (level->processors > 0 && !isnan(level->processors_used))
		fprintf(out, "%.2f of %.0f", level->processors_used / level->runs, level->processors);
	fputs("</td>", out);
	print_applied(out, level);
	if (level->rtt_count == 0) {
		fprintf(out, "<td></td><td></td><td></td><td class=\"n\">%d</td><td class=\"muted\">not checked",
			level->disturbed);
		fputs(level->unchecked[0] ? ": " : "", out);
		xml_print(out, level->unchecked);
		fputs("</td></tr>\n", out);
		return;
	}
	off_us = median_off_us(level);
	tolerance_us = tolerated_us(level->added_us);
	fprintf(out,
		"<td class=\"n\">%.0f</td><td class=\"n\">%.0f</td><td class=\"n\">%+.0f</td><td class=\"n\">%d</td>",
		level->added_us, number_rounded(level->added_us + off_us, 0), number_rounded(off_us, 0),
		level->disturbed);
	if (fabs(off_us) > tolerance_us)
		fputs("<td class=\"tag fail\">off</td></tr>\n", out);
	else if (level->disturbed > 0)
		fputs("<td class=\"tag warn\">as injected, but disturbed</td></tr>\n", out);
	else
		fputs("<td class=\"tag ok\">as injected</td></tr>\n", out);
}

static size_t count_off(const struct report_sweep *totals, size_t *checked)
{
	size_t off = 0;

	*checked = 0;
	for (size_t i = 0; i < totals->level_count; i++) {
		struct level level = totals->levels[i];

		if (level.rtt_count == 0)
			continue;
		++*checked;
		off += fabs(median_off_us(&level)) > tolerated_us(level.added_us);
	}
	return off;
}

#define REPEAT_STRICTER                                                                                                \
	" Repeat the sweep on a quieter machine, or with stricter max-stall-percent and max-disturbed-percent."

/* The reason why the curve cannot be trusted, and what to do; NULL = it can. */
static const char *find_fault(const struct report_sweep *totals, size_t off, double percent)
{
	if (totals->disturbed_runs > 0)
		return "Runs failed a check of the sweep in every attempt. Repeat the sweep on a quieter machine.";
	if (totals->sum.packets <= 0)
		return "No packet passed the injector: its delay was not on the path.";
	if (off > 0)
		return "The round trip did not rise by the injected delay. Look for another path between the hosts, "
		       "or other load, then repeat the sweep.";
	if (percent > DISTURBED_MANY_PERCENT)
		return "The curve may show this machine's stalls more than the injected delay." REPEAT_STRICTER;
	if (percent > DISTURBED_FEW_PERCENT)
		return "Means and high percentiles may show this machine's stalls; medians do not." REPEAT_STRICTER;
	return NULL;
}

void report_sweep_verdict(FILE *out, const struct report_sweep *totals)
{
	double percent = injector_interval_disturbed_percent(&totals->sum);
	size_t checked, off = count_off(totals, &checked);
	const char *fault = find_fault(totals, off, percent);

	fprintf(out,
		"<p class=\"verdict %s\"><b>%s</b> %d of %d runs disturbed; a stall may have delayed %.0f of %.0f "
		"packets (%.2f&nbsp;%%)",
		fault ? "fail" : "ok", fault ? "Do not publish this curve." : "Measured as planned.",
		totals->disturbed_runs, totals->runs, totals->sum.disturbed, totals->sum.packets, percent);
	if (checked > 0)
		fprintf(out, "; the round trip rose as injected at %zu of %zu delays", checked - off, checked);
	else
		fputs("; no round trip checked the delays", out);
	fprintf(out, ". %s</p>\n", fault ? fault : "");
}

static void print_sum(FILE *out, const struct report_sweep *totals)
{
	const struct injector_interval *sum = &totals->sum;
	double percent_of_s = sum->elapsed_s > 0 ? 100 / sum->elapsed_s : 0;

	fprintf(out, "<p>The injector passed %.0f packets and dropped %.0f. It stalled %.0f times, ", sum->packets,
		sum->dropped, sum->stalls);
	print_stalls(out, totals->stalled_s * percent_of_s, totals->stall_bound_s * percent_of_s, sum->lcores);
	fprintf(out, ". %d attempts failed a check and were repeated.</p>\n", totals->repeated);
}

struct report_sweep *report_sweep_load(const char *path, struct error *err)
{
	struct report_sweep *totals = calloc(1, sizeof *totals);

	if (!totals) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	if (read_log(path, totals, err) < 0) {
		free(totals);
		return NULL;
	}
	qsort(totals->levels, totals->level_count, sizeof totals->levels[0], by_delay);
	return totals;
}

void report_sweep_destroy(struct report_sweep *sweep)
{
	free(sweep);
}

void report_sweep_details(FILE *out, struct report_sweep *totals)
{
	fputs("<h3>Is the injected delay real, and how much was disturbed?</h3>\n<p>The injector itself reports the "
	      "delay that it applied in each direction. Before each run, Nomora's probes (<code>ping</code> where they "
	      "cannot run) also measured the median round trip between the two hosts. It should rise by the injected "
	      "delay of both ways; deviations up to 15&nbsp;% + 30&nbsp;µs are accepted. Where all processors of this "
	      "machine were in use, the application lacked processor time at any delay, unless its programs poll while "
	      "they wait.</p>\n<table><tr><th class=\"n\">D, µs</th>"
	      "<th class=\"n\">runs</th><th class=\"n\">processors in use</th><th class=\"n\">applied A→B / B→A, mean "
	      "(p99), µs</th><th class=\"n\">injected, µs</th><th "
	      "class=\"n\">rise of the round trip, µs</th>"
	      "<th class=\"n\">off by, µs</th><th class=\"n\">disturbed runs</th><th></th></tr>\n",
	      out);
	for (size_t i = 0; i < totals->level_count; i++)
		print_level(out, &totals->levels[i]);
	fputs("</table>\n", out);
	print_sum(out, totals);
}

/*
 * Returns how far the latency matrix is off: the median between racks, less the median within racks, less the injected
 * delay. 0 if a median is not known.
 */
static double mesh_off_us(const struct latency_group *groups, double added_us)
{
	const struct latency_group *within, *between;

	if (!groups)
		return 0;
	within = &groups[LATENCY_SAME_RACK];
	between = &groups[LATENCY_OTHER_RACK];
	if (within->silent >= within->pairs || between->silent >= between->pairs)
		return 0;
	return between->p50_us - within->p50_us - added_us;
}

/*
 * Judges the round trips between the racks. The first case that holds is printed:
 * - The median packet left the injector late: no figure shows the injected delay.
 * - The matrix is off by more than tolerance_us (off_us is from mesh_off_us()): packets also waited outside the
 *   injector, or it had another delay during the measurement. No figure shows the injected delay.
 * - More than 1 % of the packets left late: the median shows the injected delay, but the high percentiles do not.
 */
static void print_lateness(FILE *out, double delay_us, double p50_us, double p99_us, double off_us, double tolerance_us)
{
	double limit_us = fmax(INJECTOR_LATE_SHARE * delay_us, INJECTOR_LATE_LEAST_US);

	fprintf(out,
		"<p>Half of the packets left within %.3g&nbsp;µs of when they were due, 99&nbsp;%% within "
		"%.3g&nbsp;µs.</p>\n",
		p50_us, p99_us);
	if (p50_us > limit_us)
		fputs("<p class=\"tag fail\">That is too late: the figures between the racks show this machine's "
		      "load, not the injected delay.</p>\n",
		      out);
	else if (fabs(off_us) > tolerance_us)
		fprintf(out,
			"<p class=\"tag fail\">Yet the median between the racks is off by %+.0f&nbsp;µs: %s. Those "
			"figures do not show the injected delay.</p>\n",
			off_us,
			off_us > 0 ? "packets waited elsewhere, most likely for this machine's processors; measure "
				     "again when it is quieter"
				   : "this injector had another delay during the measurement, or was not between the "
				     "racks");
	else if (p99_us > limit_us)
		fputs("<p class=\"tag warn\">The medians between the racks show the injected delay; their p99 and "
		      "worst show this machine's stalls.</p>\n",
		      out);
}

int report_injector(FILE *out, const char *path, const struct latency_group groups[LATENCY_RELATIONS],
		    struct error *err)
{
	json_t *root = json_read_file(path, err);
	struct injector_state_totals totals;
	struct injector_interval whole;
	double ab_us, ba_us;
	int status;

	if (!root)
		return error_code(err, EINVAL);
	status = injector_state_from_json(path, root, &totals, err);
	json_decref(root);
	if (status)
		return status;
	if (totals.delay_set_by[0])
		return error_set(err, EINVAL, "%s: delay_set_by: the delay was set by --%s; expected a fixed delay",
				 path, totals.delay_set_by);
	whole = injector_interval_whole(&totals);
	ab_us = totals.delay_us[0];
	ba_us = totals.delay_us[1];
	fprintf(out,
		"<p>An injector held every packet between the racks for %g&nbsp;µs one way and %g&nbsp;µs the other: "
		"expect %g&nbsp;µs more round trip than within a rack. It passed %.0f packets and dropped %.0f; "
		"it stalled ",
		ab_us, ba_us, ab_us + ba_us, whole.packets, whole.dropped);
	print_stalls(out, injector_interval_stall_percent(&whole), injector_interval_stall_bound_percent(&whole),
		     whole.lcores);
	fprintf(out, ", and %.1f&nbsp;%% of the packets may have been delayed by a stall.</p>\n",
		injector_interval_disturbed_percent(&whole));
	if (whole.packets > 0)
		print_lateness(out, fmin(ab_us, ba_us), (double)totals.lateness.p50_ns / 1e3,
			       (double)totals.lateness.p99_ns / 1e3, mesh_off_us(groups, ab_us + ba_us),
			       tolerated_us(ab_us + ba_us));
	return 0;
}
