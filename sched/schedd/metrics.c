/* SPDX-License-Identifier: BSD-3-Clause */
/* The scheduler's state in Prometheus's text format (version 0.0.4). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "schedd_priv.h"

static void gauge(FILE *out, const char *name, const char *help, double value)
{
	fprintf(out, "# TYPE nomora_schedd_%s gauge\n# HELP nomora_schedd_%s %s\nnomora_schedd_%s %.9g\n", name, name,
		help, name, value);
}

static void counter(FILE *out, const char *name, const char *help, uint64_t value)
{
	fprintf(out,
		"# HELP nomora_schedd_%s_total %s\n# TYPE nomora_schedd_%s_total counter\nnomora_schedd_%s_total "
		"%" PRIu64 "\n",
		name, help, name, name, value);
}

char *schedd_metrics_text(const struct schedd *schedd)
{
	struct live_totals totals = live_totals(schedd->live);
	struct mesh_totals mesh = {.age_s = -1};
	const struct {
		const char *state;
		uint32_t count;
	} tasks[] = {{"waiting", totals.waiting},
		     {"decided", totals.decided},
		     {"running", totals.running},
		     {"moving", totals.moving},
		     {"failed", totals.failed}};
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	if (schedd->mesh)
		mesh = mesh_totals(schedd->mesh);
	fputs("# TYPE nomora_schedd_tasks gauge\n# HELP nomora_schedd_tasks Tasks by state.\n", out);
	for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
		fprintf(out, "nomora_schedd_tasks{state=\"%s\"} %u\n", tasks[i].state, tasks[i].count);
	gauge(out, "jobs", "Jobs that have not ended.", totals.jobs);
	gauge(out, "machines", "Machines of the cluster.", totals.machines);
	gauge(out, "slots", "Slots of machines that are not down.", (double)totals.slots);
	gauge(out, "free_slots", "Slots that no task holds.", (double)totals.free_slots);
	gauge(out, "measured_pairs", "Pairs of machines with a measurement young enough.",
	      (double)totals.measured_pairs);
	gauge(out, "mesh_age_seconds", "Time since a usable window of the mesh was read; -1: none yet.", mesh.age_s);
	gauge(out, "last_round_seconds", "Wall clock time of the solver in the last round.", totals.last_round_s);
	counter(out, "rounds", "Solves.", totals.rounds);
	counter(out, "solver_errors", "Rounds that failed; the network was rebuilt.", totals.solver_errors);
	counter(out, "decisions", "Decisions made.", totals.decisions);
	counter(out, "moves", "Moves of running tasks that were carried out.", totals.moves);
	fputs("# TYPE nomora_schedd_moves_withheld_total counter\n# HELP nomora_schedd_moves_withheld_total Proposed "
	      "moves "
	      "that were not made, by reason.\n",
	      out);
	for (int r = LIVE_REFUSED_NOT + 1; r < LIVE_REFUSALS; r++)
		fprintf(out, "nomora_schedd_moves_withheld_total{reason=\"%s\"} %" PRIu64 "\n",
			live_refusal_name((enum live_refusal)r), totals.refused[r]);
	counter(out, "timeouts", "Decisions that nobody confirmed in time.", totals.timeouts);
	counter(out, "commits", "Transactions of the state that were synced.", schedd->commits);
	counter(out, "commit_failures", "Transactions of the state that failed.", schedd->commit_failures);
	counter(out, "latency_reads", "Times that the mesh was read.", mesh.reads);
	counter(out, "latency_errors", "Times that the mesh could not be read.", mesh.errors);
	return fclose(out) == 0 ? text : NULL;
}
