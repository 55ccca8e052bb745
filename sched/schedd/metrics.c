/* SPDX-License-Identifier: BSD-3-Clause */
/* The scheduler's state in Prometheus's text format (version 0.0.4). */
#include <math.h>
#include <stdio.h>

#include <base/metrics.h>
#include <base/text_stream.h>

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
	static const char *const bucket = "nomora_schedd_decision_wait_seconds_bucket";
	uint64_t count = 0;
	char bound[32];

	metric_head(out, "nomora_schedd_decision_wait_seconds", "histogram", NULL,
		    "Time that placed tasks had waited.");
	for (size_t b = 0; b <= WAIT_BOUNDS; b++) {
		count += schedd->waits[b];
		snprintf(bound, sizeof bound, "%g", b < WAIT_BOUNDS ? wait_bounds_s[b] : 0);
		metric_sample(out, bucket, METRIC_LABELS("le", b < WAIT_BOUNDS ? bound : "+Inf"), (double)count);
	}
	metric_sample(out, "nomora_schedd_decision_wait_seconds_sum", NULL, schedd->waited_s);
	metric_sample(out, "nomora_schedd_decision_wait_seconds_count", NULL, (double)count);
}

/* A metric with a sample for each value of one label. */
struct labelled {
	const char *value;
	double count;
};

static void print_labelled(FILE *out, const char *name, const char *type, const char *help, const char *label,
			   const struct labelled *samples, size_t count)
{
	metric_head(out, name, type, NULL, help);
	for (size_t i = 0; i < count; i++)
		metric_sample(out, name, METRIC_LABELS(label, samples[i].value), samples[i].count);
}

static void print_reasons(const struct schedd *schedd, const struct live_totals *totals, FILE *out)
{
	static const char *const withheld = "nomora_schedd_moves_withheld_total", *const placed =
											  "nomora_schedd_placed_total";
	const struct labelled waiting[] = {{"root", totals->waiting_root},
					   {"pause", totals->waiting_pause},
					   {"slot", totals->waiting - totals->waiting_root - totals->waiting_pause}};

	print_labelled(out, "nomora_schedd_waiting", "gauge",
		       "Waiting tasks by reason: root: the root has no machine yet; pause: after a failure; slot: none "
		       "is free, or none is worth its cost.",
		       "reason", waiting, sizeof waiting / sizeof *waiting);
	metric_head(out, withheld, "counter", NULL, "Proposed moves that were not made, by reason.");
	for (int r = MIGRATION_ALLOWED + 1; r < MIGRATION_REFUSALS; r++)
		metric_sample(out, withheld, METRIC_LABELS("reason", migration_refusal_name((enum migration_refusal)r)),
			      (double)totals->refused[r]);
	metric_head(out, placed, "counter", NULL, "Placed tasks by the origin of their round trip to the root.");
	for (int o = LATENCY_ORIGIN_MEASURED; o <= LATENCY_ORIGIN_SAME_MACHINE; o++)
		metric_sample(out, placed, METRIC_LABELS("origin", latency_origin_name((enum latency_origin)o)),
			      (double)schedd->placed_by_origin[o]);
}

static void print_single(const struct schedd *schedd, const struct live_totals *totals, const struct mesh_totals *mesh,
			 FILE *out)
{
	const struct metric metrics[] = {
		{"jobs", "gauge", "Jobs that have not ended.", totals->jobs},
		{"machines", "gauge", "Machines of the cluster.", totals->machines},
		{"slots", "gauge", "Slots of machines that are not down.", (double)totals->slots},
		{"free_slots", "gauge", "Slots that no task holds.", (double)totals->free_slots},
		{"measured_pairs", "gauge", "Pairs of machines with a recent enough measurement.",
		 (double)totals->measured_pairs},
		{"mesh_age_seconds", "gauge", "Time since a usable window of the mesh was read; -1: none yet.",
		 mesh->age_s},
		{"last_round_seconds", "gauge", "Wall clock time of the solver in the last round.",
		 totals->last_round_s},
		{"predicted_performance", "gauge", "Mean predicted performance of running tasks other than roots.",
		 live_performance(schedd->live)},
		{"solver_seconds", "gauge", "Wall clock time of the solver since the start.", totals->solver_s},
		{"commit_seconds", "gauge", "Time spent in commits of the state since the start.", schedd->commit_s},
		{"healthy", "gauge", "1: the state can be written.", schedd->trouble[0] == '\0'},
		{"rounds_total", "counter", "Solves.", (double)totals->rounds},
		{"cost_total", "counter", "With --gap: 100 / performance of the tasks that rounds placed, summed up.",
		 totals->cost_bound > 0 ? (double)totals->cost : NAN},
		{"cost_bound_total", "counter",
		 "With --gap: the least that cost_total could be by what is proved for each round.",
		 totals->cost_bound > 0 ? (double)totals->cost_bound : NAN},
		{"solver_errors_total", "counter", "Rounds that failed; the network was rebuilt.",
		 (double)totals->solver_errors},
		{"slot_mismatches_total", "counter",
		 "Checks that found other tasks on a machine than the network has; it was rebuilt.",
		 (double)schedd->mismatches},
		{"decisions_total", "counter", "Decisions made.", (double)totals->decisions},
		{"moves_total", "counter", "Moves of running tasks that were carried out.", (double)totals->moves},
		{"timeouts_total", "counter", "Decisions that were not confirmed in time.", (double)totals->timeouts},
		{"recoveries_total", "counter", "With --network: recoveries of tasks whose machines failed.",
		 (double)totals->recoveries},
		{"recovered_tasks_total", "counter", "Tasks that these recoveries placed.", (double)totals->recovered},
		{"commits_total", "counter", "Transactions of the state that were synced.", (double)schedd->commits},
		{"commit_failures_total", "counter", "Transactions of the state that failed.",
		 (double)schedd->commit_failures},
		{"mesh_reads_total", "counter", "Times that the mesh was read.", (double)mesh->reads},
		{"mesh_errors_total", "counter", "Times that the mesh could not be read.", (double)mesh->errors},
	};

	metrics_print(out, "nomora_schedd_", metrics, sizeof metrics / sizeof *metrics);
}

char *schedd_metrics_text(const struct schedd *schedd)
{
	struct live_totals totals = live_totals(schedd->live);
	struct mesh_totals mesh = schedd->mesh ? mesh_totals(schedd->mesh) : (struct mesh_totals){.age_s = -1};
	const struct labelled tasks[] = {{"waiting", totals.waiting},
					 {"decided", totals.decided},
					 {"running", totals.running},
					 {"moving", totals.moving},
					 {"failed", totals.failed}};
	const struct labelled rows[] = {{"taken", (double)mesh.last.taken},
					{"unknown", (double)mesh.last.unknown},
					{"old", (double)mesh.last.old},
					{"future", (double)mesh.last.future}};
	char *text = NULL;
	size_t bytes;
	FILE *out = text_stream_open(&text, &bytes);

	if (!out)
		return NULL;
	print_labelled(out, "nomora_schedd_tasks", "gauge", "Tasks by state.", "state", tasks,
		       sizeof tasks / sizeof *tasks);
	print_single(schedd, &totals, &mesh, out);
	print_reasons(schedd, &totals, out);
	print_labelled(out, "nomora_schedd_mesh_rows", "gauge",
		       "Rows of the last window: taken, of unknown machines, too old, from the future.", "outcome",
		       rows, sizeof rows / sizeof *rows);
	print_waits(schedd, out);
	fclose(out);
	return text;
}
