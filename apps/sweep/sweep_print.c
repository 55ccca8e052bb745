/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweep_print.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/json.h>
#include <model/sweep.h>
#include <injector/sweep/schedule.h>

#include "command.h"

int sweep_print_schedule(const struct sweep_plan *plan)
{
	static double delays[SWEEP_SCHEDULE_DELAYS_MAXIMUM];
	struct error err = {0};
	int count = sweep_schedule_parse_delays(plan->delays, delays, &err);
	struct sweep_schedule_run *runs;
	json_t *list;
	size_t total;

	if (count < 0)
		return command_fail(&err, COMMAND_USAGE);
	runs = sweep_schedule_of_plan(plan, delays, (size_t)count, &total);
	if (!runs) {
		error_set(&err, ENOMEM, "out of memory");
		return command_fail(&err, COMMAND_FAILED);
	}
	list = json_array();
	if (!plan->json)
		printf("%zu runs: %d delays, %lld repetitions; at most %lld attempts of %g s each\n", total, count,
		       (long long)plan->repetitions, (long long)plan->attempts, plan->timeout_s);
	for (size_t i = 0; i < total; i++) {
		if (plan->json)
			json_array_append_new(list, json_pack("{s:f,s:I}", "delay_us", runs[i].delay_us, "run",
							      (json_int_t)runs[i].run));
		else if (runs[i].run >= SWEEP_REFERENCE_RUN)
			printf("%5zu  %8.10g us  reference\n", i + 1, runs[i].delay_us);
		else
			printf("%5zu  %8.10g us  run %lld\n", i + 1, runs[i].delay_us, (long long)runs[i].run);
	}
	free(runs);
	if (plan->json) {
		json_t *root = json_pack("{s:s,s:O}", "schema", "nomora.sweep-schedule/1", "runs", list);

		json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
		putchar('\n');
		json_decref(root);
	}
	json_decref(list);
	return COMMAND_OK;
}

/* ", 3 runs left out", unless there are none; `what` has the plural's place. */
static void print_count(size_t count, const char *what)
{
	const char *gap = strstr(what, "%s");

	if (count > 0)
		printf(", %zu %.*s%s%s", count, (int)(gap - what), what, count == 1 ? "" : "s", gap + 2);
}

void sweep_print_summary(const struct sweep_plan *plan, const struct sweeper_summary *summary)
{
	if (plan->json) {
		json_t *root =
			json_pack("{s:s,s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:o,s:f}", "schema", "nomora.sweep/1",
				  "application", plan->application, "output", plan->output, "planned",
				  (json_int_t)summary->planned, "found", (json_int_t)summary->found, "made",
				  (json_int_t)summary->made, "repeated", (json_int_t)summary->repeated, "disturbed",
				  (json_int_t)summary->disturbed, "failed", (json_int_t)summary->failed, "extra",
				  (json_int_t)summary->extra, "unrepeatable", (json_int_t)summary->unrepeatable,
				  "baseline_rtt_us",
				  isnan(summary->baseline_rtt_us) ? json_null() : json_real(summary->baseline_rtt_us),
				  "elapsed_s", summary->elapsed_s);

		json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
		putchar('\n');
		json_decref(root);
		return;
	}
	printf("%s: %zu of %zu runs made in %.1f s", plan->output, summary->made, summary->planned + summary->extra,
	       summary->elapsed_s);
	print_count(summary->extra, "run%s for precision");
	print_count(summary->found, "run%s already there");
	print_count(summary->repeated, "attempt%s repeated");
	print_count(summary->unrepeatable, "delay%s not repeatable");
	print_count(summary->disturbed, "run%s disturbed");
	print_count(summary->failed, "run%s left out");
	if (!isnan(summary->baseline_rtt_us))
		printf(", %.4g us round trip without delay", summary->baseline_rtt_us);
	putchar('\n');
}
