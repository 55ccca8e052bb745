/* SPDX-License-Identifier: BSD-3-Clause */
/* The scheduler's state in Prometheus's text format (version 0.0.4). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <math.h>

#include "schedd_priv.h"

/*
 * Upper bounds of the histogram's buckets, in seconds; the histogram counts placed tasks by the time that they had
 * waited.
 */
static const double wait_bounds_s[WAIT_BOUNDS] = {0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 10, 60, 600};

void schedd_count_decision(struct schedd *schedd, const struct live_decision *decision)
{
	size_t b = 0;

	if (decision->kind != LIVE_PLACE)
		return;
	while (b < WAIT_BOUNDS && decision->waited_s > wait_bounds_s[b])
		b++;
	schedd->waits[b]++;
	schedd->waited_s += decision->waited_s;
	if (decision->is_root)
		return;
	schedd->placed_by_origin[decision->origin]++;
}

static void print_waits(const struct schedd *schedd, FILE *out)
{
	uint64_t count = 0;

	fputs("# TYPE nomora_schedd_decision_wait_seconds histogram\n# HELP nomora_schedd_decision_wait_seconds Time "
	      "that "
	      "placed tasks had waited.\n",
	      out);
	for (size_t b = 0; b <= WAIT_BOUNDS; b++) {
		count += schedd->waits[b];
		if (b < WAIT_BOUNDS)
			fprintf(out, "nomora_schedd_decision_wait_seconds_bucket{le=\"%g\"} %" PRIu64 "\n",
				wait_bounds_s[b], count);
	}
	fprintf(out,
		"nomora_schedd_decision_wait_seconds_bucket{le=\"+Inf\"} %" PRIu64
		"\nnomora_schedd_decision_wait_seconds_sum %.9g\nnomora_schedd_decision_wait_seconds_count %" PRIu64
		"\n",
		count, schedd->waited_s, count);
}

static void print_reasons(const struct schedd *schedd, const struct live_totals *totals, FILE *out)
{
	fprintf(out,
		"# TYPE nomora_schedd_waiting gauge\n# HELP nomora_schedd_waiting Waiting tasks by reason: root: "
		"the root has no machine yet; pause: after a failure; slot: none is free, or none is worth its cost.\n"
		"nomora_schedd_waiting{reason=\"root\"} %u\nnomora_schedd_waiting{reason=\"pause\"} %u\n"
		"nomora_schedd_waiting{reason=\"slot\"} %u\n",
		totals->waiting_root, totals->waiting_pause,
		totals->waiting - totals->waiting_root - totals->waiting_pause);
	fputs("# TYPE nomora_schedd_moves_withheld_total counter\n# HELP nomora_schedd_moves_withheld_total Proposed "
	      "moves "
	      "that were not made, by reason.\n",
	      out);
	for (int r = LIVE_REFUSED_NOT + 1; r < LIVE_REFUSALS; r++)
		fprintf(out, "nomora_schedd_moves_withheld_total{reason=\"%s\"} %" PRIu64 "\n",
			live_refusal_name((enum live_refusal)r), totals->refused[r]);
	fputs("# TYPE nomora_schedd_placed_total counter\n# HELP nomora_schedd_placed_total Placed tasks by the origin "
	      "of "
	      "their round trip to the root.\n",
	      out);
	for (int o = LATENCY_ORIGIN_MEASURED; o <= LATENCY_ORIGIN_SAME_MACHINE; o++)
		fprintf(out, "nomora_schedd_placed_total{origin=\"%s\"} %" PRIu64 "\n",
			latency_origin_name((enum latency_origin)o), schedd->placed_by_origin[o]);
}

static void print_rows(const struct mesh_totals *mesh, FILE *out)
{
	fprintf(out,
		"# TYPE nomora_schedd_mesh_rows gauge\n# HELP nomora_schedd_mesh_rows Rows of the last window: taken, "
		"of "
		"unknown machines, too old, from the future.\n"
		"nomora_schedd_mesh_rows{outcome=\"taken\"} %" PRIu64
		"\nnomora_schedd_mesh_rows{outcome=\"unknown\"} %" PRIu64
		"\nnomora_schedd_mesh_rows{outcome=\"old\"} %" PRIu64
		"\nnomora_schedd_mesh_rows{outcome=\"future\"} %" PRIu64 "\n",
		mesh->last.taken, mesh->last.unknown, mesh->last.old, mesh->last.future);
}

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
	double performance = live_performance(schedd->live);
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
	gauge(out, "measured_pairs", "Pairs of machines with a recent enough measurement.",
	      (double)totals.measured_pairs);
	gauge(out, "mesh_age_seconds", "Time since a usable window of the mesh was read; -1: none yet.", mesh.age_s);
	gauge(out, "last_round_seconds", "Wall clock time of the solver in the last round.", totals.last_round_s);
	if (!isnan(performance))
		gauge(out, "predicted_performance", "Mean predicted performance of running tasks other than roots.",
		      performance);
	gauge(out, "solver_seconds", "Wall clock time of the solver since the start.", totals.solver_s);
	gauge(out, "commit_seconds", "Time spent in commits of the state since the start.", schedd->commit_s);
	gauge(out, "healthy", "1: the state can be written.", schedd->trouble[0] == '\0');
	counter(out, "rounds", "Solves.", totals.rounds);
	counter(out, "solver_errors", "Rounds that failed; the network was rebuilt.", totals.solver_errors);
	counter(out, "slot_mismatches",
		"Checks that found other tasks on a machine than the network has; it was rebuilt.", schedd->mismatches);
	counter(out, "decisions", "Decisions made.", totals.decisions);
	counter(out, "moves", "Moves of running tasks that were carried out.", totals.moves);
	print_reasons(schedd, &totals, out);
	print_rows(&mesh, out);
	print_waits(schedd, out);
	counter(out, "timeouts", "Decisions that were not confirmed in time.", totals.timeouts);
	counter(out, "commits", "Transactions of the state that were synced.", schedd->commits);
	counter(out, "commit_failures", "Transactions of the state that failed.", schedd->commit_failures);
	counter(out, "mesh_reads", "Times that the mesh was read.", mesh.reads);
	counter(out, "mesh_errors", "Times that the mesh could not be read.", mesh.errors);
	return fclose(out) == 0 ? text : NULL;
}
