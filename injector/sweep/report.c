/* SPDX-License-Identifier: BSD-3-Clause */
#include <injector/sweep/sweeper.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/number.h>

int sweep_plan_list_runs(const struct sweep_plan *plan, struct sweep_plan_runs *runs, struct error *err)
{
	static double delays[SWEEP_SCHEDULE_DELAYS_MAXIMUM];
	int count = sweep_schedule_parse_delays(plan->delays, delays, err);

	*runs = (struct sweep_plan_runs){0};
	if (count < 0)
		return error_code(err, EINVAL);
	runs->delays = (size_t)count;
	runs->items = sweep_schedule_of_plan(plan, delays, runs->delays, &runs->count);
	return runs->items ? 0 : error_set(err, ENOMEM, "out of memory");
}

void sweep_plan_print_runs(const struct sweep_plan *plan, const struct sweep_plan_runs *runs, FILE *out)
{
	fprintf(out, "%zu run%s: %zu delay%s, %lld repetition%s; at most %lld attempt%s of %g s each\n", runs->count,
		number_s(runs->count), runs->delays, number_s(runs->delays), (long long)plan->repetitions,
		number_s((uint64_t)plan->repetitions), (long long)plan->attempts, number_s((uint64_t)plan->attempts),
		plan->timeout_s);
	for (size_t i = 0; i < runs->count; i++) {
		const struct sweep_schedule_run *run = &runs->items[i];

		if (run->run >= SWEEP_REFERENCE_RUN)
			fprintf(out, "%5zu  %8.10g us  reference\n", i + 1, run->delay_us);
		else
			fprintf(out, "%5zu  %8.10g us  run %lld\n", i + 1, run->delay_us, (long long)run->run);
	}
}

json_t *sweep_plan_runs_to_json(const struct sweep_plan_runs *runs)
{
	json_t *list = json_array();

	for (size_t i = 0; i < runs->count; i++) {
		const struct sweep_schedule_run *run = &runs->items[i];
		json_t *item = json_pack("{s:f,s:I}", "delay_us", run->delay_us, "run", (json_int_t)run->run);

		if (json_array_append_new(list, item) != 0) {
			json_decref(list);
			return NULL;
		}
	}
	return json_pack("{s:s,s:o}", "schema", "nomora.sweep-schedule/1", "runs", list);
}

/* Prints ", 3 runs left out" unless count is 0; the %s in `what` is for the plural's s. */
static void print_count(FILE *out, size_t count, const char *what)
{
	const char *gap = strstr(what, "%s");

	if (count > 0)
		fprintf(out, ", %zu %.*s%s%s", count, (int)(gap - what), what, number_s(count), gap + 2);
}

void sweep_summary_print(const struct sweep_plan *plan, const struct sweeper_summary *summary, FILE *out)
{
	fprintf(out, "%s: %zu of %zu run%s made in %.1f s", plan->output, summary->made,
		summary->planned + summary->extra, number_s(summary->planned + summary->extra), summary->elapsed_s);
	print_count(out, summary->extra, "run%s for precision");
	print_count(out, summary->found, "run%s already there");
	print_count(out, summary->repeated, "attempt%s repeated");
	print_count(out, summary->unrepeatable, "delay%s not repeatable");
	print_count(out, summary->disturbed, "run%s disturbed");
	print_count(out, summary->failed, "run%s left out");
	if (!isnan(summary->baseline_rtt_us))
		fprintf(out, ", %.4g us round trip without delay", summary->baseline_rtt_us);
	fputc('\n', out);
}

json_t *sweep_summary_to_json(const struct sweep_plan *plan, const struct sweeper_summary *summary)
{
	return json_pack("{s:s,s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:o,s:f}", "schema", "nomora.sweep/1",
			 "application", plan->application, "output", plan->output, "planned",
			 (json_int_t)summary->planned, "found", (json_int_t)summary->found, "made",
			 (json_int_t)summary->made, "repeated", (json_int_t)summary->repeated, "disturbed",
			 (json_int_t)summary->disturbed, "failed", (json_int_t)summary->failed, "extra",
			 (json_int_t)summary->extra, "unrepeatable", (json_int_t)summary->unrepeatable,
			 "baseline_rtt_us",
			 isnan(summary->baseline_rtt_us) ? json_null() : json_real(summary->baseline_rtt_us),
			 "elapsed_s", summary->elapsed_s);
}
