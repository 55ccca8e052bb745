/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes events as a journal. The journal begins with all machines, in the state down and in the order of their
 * numbers, and names each task by its number in the job; so a replay gives machines, jobs and tasks the same numbers.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "sim_priv.h"

enum { NAME_BYTES = 24 };

static void emit(struct sim *sim, const struct journal_event *event)
{
	sim->watch->journal(sim->watch->journal_context, event);
}

/* Returns the job's name in the journal or in the file of --job-curves, or else its id. */
static const char *job_name(const struct sim *sim, const struct workload_job *job, char buffer[static NAME_BYTES])
{
	if (job->note != WORKLOAD_NO_NOTE)
		return sim->workload->notes[job->note].name;
	snprintf(buffer, NAME_BYTES, "%" PRIu64, job->id);
	return buffer;
}

static const char *machine_name(const struct sim *sim, int32_t machine)
{
	return machine == SIM_NONE ? NULL : sim->cluster->machines[machine].name;
}

static struct journal_event machine_event(const struct sim *sim, int64_t time_us, uint32_t machine,
					  enum journal_machine_state state, int32_t slots)
{
	const struct cluster_rack *rack = &sim->cluster->racks[sim->cluster->machines[machine].rack];

	return (struct journal_event){
		.kind = JOURNAL_MACHINE,
		.time_us = time_us,
		.machine = machine_name(sim, (int32_t)machine),
		.rack = rack->name,
		.pod = sim->cluster->pods[rack->pod],
		.slots = (uint32_t)slots,
		.machine_state = state,
	};
}

int sim_record_begin(struct sim *sim, struct error *err)
{
	const struct sim_settings *settings = sim->settings;

	if (!sim->watch->journal)
		return 0;
	for (uint32_t m = 0; m < sim->cluster->machine_count; m++) {
		struct journal_event event =
			machine_event(sim, 0, m, JOURNAL_DOWN, (int32_t)sim->cluster->machines[m].slots);

		emit(sim, &event);
	}
	for (uint32_t c = 0; c < settings->curve_count; c++) {
		char *text = curve_to_text(settings->curves[c], err);
		struct journal_event event = {
			.kind = JOURNAL_CURVE, .curve = settings->curve_names[c], .definition = text};

		if (!text)
			return error_code(err, ENOMEM);
		emit(sim, &event);
		free(text);
	}
	sim_record_latencies(sim);
	return 0;
}

/* Records the workload's round trips that take effect at this time. */
void sim_record_latencies(struct sim *sim)
{
	const struct workload_latency *latencies = sim->workload->latencies;
	size_t end = sim->latency.view ? sim->latency.next : 0;

	while (sim->watch->journal && sim->recorded_latencies < end) {
		const struct workload_latency *first = &latencies[sim->recorded_latencies++];
		struct journal_pair pair = {machine_name(sim, (int32_t)first->b), (double)first->rtt_us};

		emit(sim, &(struct journal_event){
				  .kind = JOURNAL_LATENCY,
				  .time_us = sim->now_us,
				  .machine = machine_name(sim, (int32_t)first->a),
				  .pairs = &pair,
				  .pair_count = 1,
			  });
	}
}

/*
 * Records the event, except a removal or update of an absent machine, and an addition or update of a present one that
 * has no number of slots.
 */
void sim_record_machine(struct sim *sim, const struct workload_machine_event *event, int32_t slots)
{
	bool *up = &sim->announced_up[event->machine], was_up = *up;
	struct journal_event line;

	if (event->change != WORKLOAD_MACHINE_UPDATED)
		*up = event->change == WORKLOAD_MACHINE_ADDED;
	if (!sim->watch->journal || (was_up == *up && !(was_up && event->slots != WORKLOAD_SLOTS_UNKNOWN)))
		return;
	line = machine_event(sim, event->time_us, event->machine, *up ? JOURNAL_UP : JOURNAL_DOWN, slots);
	emit(sim, &line);
}

/* Returns the edges between the numbers of the tasks, which are their names; NULL: no graph, or out of memory. */
static json_t *graph_json(const struct job_graph *graph)
{
	const char **names = graph ? calloc(graph->task_count, sizeof *names) : NULL;
	char(*texts)[NAME_BYTES] = graph ? calloc(graph->task_count, sizeof *texts) : NULL;
	json_t *edges = NULL;

	for (uint32_t t = 0; names && texts && t < graph->task_count; t++) {
		snprintf(texts[t], NAME_BYTES, "%" PRIu32, t);
		names[t] = texts[t];
	}
	if (names && texts)
		edges = job_graph_edges(graph, names);
	free(names);
	free(texts);
	return edges;
}

static void announce_job(struct sim *sim, uint32_t number, int64_t time_us)
{
	char name[NAME_BYTES];
	struct sim_job *job = &sim->jobs[number];
	json_t *graph;

	if (job->announced)
		return;
	graph = graph_json(job->graph);
	job->announced = true;
	emit(sim, &(struct journal_event){
			  .kind = JOURNAL_JOB,
			  .time_us = time_us,
			  .job = job_name(sim, &sim->workload->jobs[number], name),
			  .curve = sim->settings->curve_names[job->curve],
			  .task = "0",
			  .gang = sim->workload->jobs[number].gang,
			  .graph = graph,
		  });
	json_decref(graph);
}

static void emit_task(struct sim *sim, uint32_t task, enum journal_task_state state, int64_t time_us, int64_t run_us)
{
	const struct workload_job *job = &sim->workload->jobs[sim->workload->tasks[task].job];
	char name[NAME_BYTES], number[NAME_BYTES];

	snprintf(number, sizeof number, "%" PRIu32, task - job->first_task);
	emit(sim, &(struct journal_event){
			  .kind = JOURNAL_TASK,
			  .time_us = time_us,
			  .job = job_name(sim, job, name),
			  .task = number,
			  .task_state = state,
			  .machine = state == JOURNAL_RUNNING ? machine_name(sim, sim->tasks[task].machine) : NULL,
			  .run_us = run_us,
		  });
}

void sim_record_submission(struct sim *sim, uint32_t task)
{
	const struct workload_task *described = &sim->workload->tasks[task];

	if (!sim->watch->journal)
		return;
	announce_job(sim, described->job, described->submit_us);
	emit_task(sim, task, JOURNAL_WAITING, described->submit_us, described->run_us);
}

void sim_record_task(struct sim *sim, uint32_t task, enum journal_task_state state, int64_t time_us)
{
	if (sim->watch->journal)
		emit_task(sim, task, state, time_us, JOURNAL_RUN_UNKNOWN);
}

void sim_record_decision(struct sim *sim, uint32_t task, enum journal_decision decision, int32_t from, int32_t to)
{
	const struct workload_job *described = &sim->workload->jobs[sim->workload->tasks[task].job];
	const struct sim_job *job = &sim->jobs[sim->workload->tasks[task].job];
	bool predicted = to != SIM_NONE && job->root_machine != SIM_NONE && task != described->first_task;
	char name[NAME_BYTES], number[NAME_BYTES];
	double rtt_us;

	if (!sim->watch->journal)
		return;
	snprintf(number, sizeof number, "%" PRIu32, task - described->first_task);
	rtt_us = predicted ? (double)sim_latency_believed_us(&sim->latency, (uint32_t)job->root_machine, (uint32_t)to)
			   : NAN;
	emit(sim, &(struct journal_event){
			  .kind = JOURNAL_DECISION,
			  .time_us = sim->now_us,
			  .decision = decision,
			  .sequence = ++sim->decisions,
			  .job = job_name(sim, described, name),
			  .task = number,
			  .from = machine_name(sim, from),
			  .to = machine_name(sim, to),
			  .rtt_us = rtt_us,
			  .performance = predicted ? sim_performance_at(sim, job->curve, rtt_us) : NAN,
			  .gain = NAN,
		  });
}
