/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrivals, faults and repairs are events in a queue. The times at which sources end follow from the current rates. */
#include <sched/dataflow/simulate.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/event_queue.h>
#include <base/rng.h>

enum event_kind { ARRIVAL, FAIL, REPAIR };

/* A source has ended when the rest of its data is at most this fraction of its volume, or is sent within INSTANT_S. */
#define ROUNDING 1e-12
#define INSTANT_S 1e-9

struct running {
	struct dataflow_job *job;
	struct dataflow_graph *graph;
	/* By source: data still to send, MB; offered rate, MB/s (0: all data is sent); present rate, MB/s. */
	double *left, *offered, *rate;
	uint32_t *pinned; /* copy of job->hosts[] before the simulation; restored at the end */
};

struct simulation {
	struct dataflow *dataflow;
	const struct dataflow_simulate_options *options;
	struct dataflow_simulate_result *result;
	struct network *network;
	struct event_queue queue;
	struct rng rng;
	struct running *jobs;
	uint32_t *order; /* indexes in jobs[] of the running jobs, in the order of network_jobs() */
	uint32_t order_count;
	uint32_t *waiting; /* indexes in jobs[] of the jobs that wait to be placed, first one first */
	uint32_t waiting_count;
	uint32_t *link_faults; /* by link: number of faults that keep it down at present */
	uint32_t **used_links; /* by fault: the links that a fault of kind SIMULATE_USED took down, ending with
				  UINT32_MAX; NULL: none */
	double *rates;         /* rates of all sources on the network, MB/s */
	size_t rates_capacity;
	double now_s;
	struct error *err;
};

static int64_t to_ns(double s)
{
	return (int64_t)llround(s * 1e9);
}

static double wall_s(const struct simulation *simulation)
{
	return simulation->options->engine_options.now ? ns_to_s(simulation->options->engine_options.now()) : 0;
}

static int out_of_memory(struct simulation *simulation)
{
	return error_set(simulation->err, ENOMEM, "out of memory");
}

static int append(double **items, size_t *count, size_t *capacity, double value)
{
	double *all = array_grow(*items, *count, capacity, sizeof *all);

	if (!all)
		return -ENOMEM;
	*items = all;
	all[(*count)++] = value;
	return 0;
}

/* Computes the rates of all running sources; writes them to each job's rate[] and their sum to the result. */
static int update_rates(struct simulation *simulation)
{
	struct dataflow_simulate_result *result = simulation->result;
	uint32_t sources = network_source_count(simulation->network), at = 0;
	double *rates = array_reserve(simulation->rates, sources + 1, &simulation->rates_capacity, sizeof *rates);
	struct simulate_rate *series =
		array_grow(result->rates, result->rate_count, &result->rate_capacity, sizeof *series);
	double sum = 0;

	simulation->rates = rates ? rates : simulation->rates;
	result->rates = series ? series : result->rates;
	if (!rates || !series || network_rates(simulation->network, rates, NULL) < 0)
		return out_of_memory(simulation);
	for (uint32_t i = 0; i < simulation->order_count; i++) {
		struct running *running = &simulation->jobs[simulation->order[i]];

		for (uint32_t s = 0; s < running->graph->source_count; s++, at++) {
			running->rate[s] = rates[at];
			sum += running->rate[s];
		}
	}
	series[result->rate_count++] = (struct simulate_rate){.time_s = simulation->now_s, .MBps = sum};
	return 0;
}

/* Returns the seconds until the next source has sent everything. */
static double next_end_s(const struct simulation *simulation)
{
	double least = INFINITY;

	for (uint32_t i = 0; i < simulation->order_count; i++) {
		const struct running *running = &simulation->jobs[simulation->order[i]];

		for (uint32_t s = 0; s < running->graph->source_count; s++)
			if (running->rate[s] > 0)
				least = fmin(least, running->left[s] / running->rate[s]);
	}
	return least;
}

static void advance(struct simulation *simulation, double seconds)
{
	for (uint32_t i = 0; i < simulation->order_count; i++) {
		struct running *running = &simulation->jobs[simulation->order[i]];

		for (uint32_t s = 0; s < running->graph->source_count; s++) {
			double sent = running->rate[s] * seconds;

			simulation->result->jobs[simulation->order[i]].MB += fmin(sent, running->left[s]);
			running->left[s] -= sent;
		}
	}
	simulation->now_s += seconds;
}

static void drop_running(struct simulation *simulation, uint32_t index)
{
	network_stop(simulation->network, index);
	simulation->order_count--;
	memmove(&simulation->order[index], &simulation->order[index + 1],
		(simulation->order_count - index) * sizeof *simulation->order);
}

/* Ends the sources that have sent all their data, and the jobs all of whose sources have ended. */
static void end_sources(struct simulation *simulation)
{
	for (uint32_t i = simulation->order_count; i-- > 0;) {
		struct running *running = &simulation->jobs[simulation->order[i]];
		uint32_t open = 0;

		for (uint32_t s = 0; s < running->graph->source_count; s++) {
			uint32_t component = dataflow_component_of(running->job, running->graph->sources[s]);

			if (running->offered[s] > 0 && isfinite(running->left[s]) &&
			    running->left[s] <= fmax(ROUNDING * running->job->components[component].MB,
						     INSTANT_S * running->rate[s]))
				running->left[s] = running->offered[s] = 0;
			open += running->left[s] > 0;
		}
		if (open == 0) {
			simulation->result->jobs[simulation->order[i]].end_s = simulation->now_s;
			drop_running(simulation, i);
		}
	}
}

/* Places and starts a job. Returns 0 or an error of engine_place(). */
static int start(struct simulation *simulation, uint32_t j)
{
	struct running *running = &simulation->jobs[j];
	struct engine_options options = simulation->options->engine_options;
	struct dataflow_simulate_result *result = simulation->result;
	struct engine_answer answer;
	double begin = wall_s(simulation);
	int code;

	options.seed += j;
	code = engine_place(simulation->options->engine, simulation->network, running->job, running->graph, &options,
			    &answer, simulation->err);
	if (code == 0 && append(&result->decision_s, &result->decision_count, &result->decision_capacity,
				wall_s(simulation) - begin) < 0)
		code = out_of_memory(simulation);
	if (code == 0)
		code = engine_start(simulation->network, running->job, running->graph, &answer, simulation->err);
	engine_answer_clear(&answer);
	if (code < 0)
		return code;
	network_offer(simulation->network, simulation->order_count, running->offered);
	simulation->order[simulation->order_count++] = j;
	if (isnan(result->jobs[j].start_s))
		result->jobs[j].start_s = simulation->now_s;
	return 0;
}

static bool is_full(int code)
{
	return code == -ENOSPC || code == -EHOSTUNREACH;
}

/* Starts waiting jobs in order until one cannot be placed. */
static int start_waiting(struct simulation *simulation)
{
	int code = 0;

	while (simulation->waiting_count > 0 && code == 0) {
		code = start(simulation, simulation->waiting[0]);
		if (code < 0)
			break;
		simulation->waiting_count--;
		memmove(simulation->waiting, simulation->waiting + 1,
			simulation->waiting_count * sizeof *simulation->waiting);
	}
	if (code < 0 && !is_full(code))
		return code;
	/* No job runs and no event is left, so slots will never become free. */
	if (code < 0 && simulation->order_count == 0 && simulation->queue.count == 0)
		return code;
	return 0;
}

static void wait_at(struct simulation *simulation, uint32_t place, uint32_t j)
{
	memmove(&simulation->waiting[place + 1], &simulation->waiting[place],
		(simulation->waiting_count - place) * sizeof *simulation->waiting);
	simulation->waiting[place] = j;
	simulation->waiting_count++;
}

/* ---- faults ---- */

static void hold_link(struct simulation *simulation, uint32_t link, bool down)
{
	simulation->link_faults[link] += down ? 1 : -1U;
	simulation->dataflow->topology->links[link].up = simulation->link_faults[link] == 0;
}

static int draw_used(struct simulation *simulation, uint32_t fault, uint32_t per_cent)
{
	uint32_t *links = malloc((simulation->dataflow->topology->link_count + 1) * sizeof *links);
	int count = links ? network_links_in_use(simulation->network, links) : -ENOMEM;

	free(simulation->used_links[fault]);
	simulation->used_links[fault] = links;
	if (count < 0)
		return out_of_memory(simulation);
	rng_shuffle(&simulation->rng, links, (uint64_t)count, sizeof *links);
	links[(uint64_t)count * per_cent / 100] = UINT32_MAX;
	return 0;
}

/*
 * Places the tasks of a failed host again. If this is impossible for a job (no free slots or no route), the whole job
 * stops. It then waits to be placed again, at the head of the waiting jobs.
 */
static int lose_host(struct simulation *simulation, uint32_t host)
{
	uint32_t *moved = malloc((simulation->order_count + 1) * sizeof *moved), count = 0;
	int code = 0;

	if (!moved)
		return out_of_memory(simulation);
	for (uint32_t i = simulation->order_count; i-- > 0;) {
		uint32_t j = simulation->order[i], lost = 0;
		struct dataflow_job *job = simulation->jobs[j].job;

		for (uint32_t t = 0; t < job->task_count; t++)
			lost += job->hosts[t] == host;
		if (lost == 0)
			continue;
		drop_running(simulation, i);
		for (uint32_t t = 0; t < job->task_count; t++)
			if (job->hosts[t] == host)
				job->hosts[t] = DATAFLOW_NOWHERE;
		simulation->result->jobs[j].moved_tasks += lost;
		moved[count++] = j;
	}
	network_hold_slots(simulation->network, host, true);
	while (count > 0 && code == 0) {
		uint32_t j = moved[--count];

		code = start(simulation, j);
		if (!is_full(code))
			continue;
		for (uint32_t t = 0; t < simulation->jobs[j].job->task_count; t++)
			simulation->jobs[j].job->hosts[t] = DATAFLOW_NOWHERE;
		wait_at(simulation, 0, j);
		code = 0;
	}
	free(moved);
	return code;
}

static int change_links(struct simulation *simulation, uint32_t fault, bool down)
{
	const struct simulate_fault *of = &simulation->options->faults[fault];
	struct dataflow_simulate_result *result = simulation->result;
	double begin;
	int changed;

	if (of->kind == SIMULATE_LINK)
		hold_link(simulation, of->subject, down);
	else if (down && draw_used(simulation, fault, of->subject) < 0)
		return -ENOMEM;
	for (const uint32_t *link = simulation->used_links[fault]; link && *link != UINT32_MAX; link++)
		hold_link(simulation, *link, down);
	begin = wall_s(simulation);
	changed = network_reroute_pairs(simulation->network, !down);
	if (changed < 0 || (down && append(&result->reroute_s, &result->reroute_count, &result->reroute_capacity,
					   wall_s(simulation) - begin) < 0))
		return out_of_memory(simulation);
	result->rerouted += down ? (uint32_t)changed : 0;
	if (changed > 0 && down && engine_seeks_rates(simulation->options->engine) &&
	    network_improve_rerouted(simulation->network) < 0)
		return out_of_memory(simulation);
	return 0;
}

static int change(struct simulation *simulation, uint32_t fault, bool down)
{
	const struct simulate_fault *of = &simulation->options->faults[fault];

	if (of->kind != SIMULATE_HOST)
		return change_links(simulation, fault, down);
	if (down)
		return lose_host(simulation, of->subject);
	network_hold_slots(simulation->network, of->subject, false);
	return 0;
}

/* ---- the run ---- */

static int handle(struct simulation *simulation, const struct event *event)
{
	if (event->kind == ARRIVAL) {
		wait_at(simulation, simulation->waiting_count, event->subject);
		return 0;
	}
	return change(simulation, event->subject, event->kind == FAIL);
}

/* Advances to the next event or end of a source, or to until_s. Handles everything that happens at this time. */
static int step(struct simulation *simulation)
{
	const struct event *first = event_queue_first(&simulation->queue);
	double event_s = first ? fmax((double)first->time * 1e-9, simulation->now_s) : INFINITY,
	       end_s = simulation->now_s + next_end_s(simulation), until_s = simulation->options->until_s;
	struct event event;
	int code = 0;

	if (isinf(event_s) && isinf(end_s) && isinf(until_s))
		return error_set(simulation->err, EHOSTUNREACH, "at %g s, no running job can send and no event is left",
				 simulation->now_s);
	if (fmin(event_s, end_s) >= until_s) {
		advance(simulation, until_s - simulation->now_s);
		return 0;
	}
	advance(simulation, fmin(event_s, end_s) - simulation->now_s);
	end_sources(simulation);
	while (code == 0 && event_s <= end_s && event_queue_take(&simulation->queue, to_ns(event_s), &event))
		code = handle(simulation, &event);
	if (code == 0)
		code = start_waiting(simulation);
	return code == 0 ? update_rates(simulation) : code;
}

static bool is_over(const struct simulation *simulation)
{
	return simulation->now_s >= simulation->options->until_s ||
	       (simulation->order_count == 0 && simulation->waiting_count == 0 && simulation->queue.count == 0);
}

static int begin_job(struct simulation *simulation, uint32_t j)
{
	struct running *running = &simulation->jobs[j];
	struct dataflow_job *job = &simulation->dataflow->jobs[j];
	uint32_t sources;

	running->job = job;
	running->graph = dataflow_graph_create(job, simulation->err);
	if (!running->graph)
		return error_code(simulation->err, EINVAL);
	sources = running->graph->source_count;
	running->left = malloc(3 * sources * sizeof *running->left + 1);
	running->pinned = malloc(job->task_count * sizeof *running->pinned + 1);
	if (!running->left || !running->pinned)
		return out_of_memory(simulation);
	running->offered = running->left + sources;
	running->rate = running->offered + sources;
	memcpy(running->pinned, job->hosts, job->task_count * sizeof *running->pinned);
	for (uint32_t s = 0; s < sources; s++) {
		const struct dataflow_component *component =
			&job->components[dataflow_component_of(job, running->graph->sources[s])];

		running->left[s] = component->MB;
		running->offered[s] =
			component->MB > 0 ? fmin(component->MBps, simulation->options->engine_options.local_MBps) : 0;
		running->rate[s] = 0;
		if (isinf(simulation->options->until_s) && (isinf(component->MB) || component->MBps == 0))
			return error_set(simulation->err, EINVAL,
					 "job '%s' never ends: set the MB and MBps of its sources, or --until",
					 job->name);
	}
	simulation->result->jobs[j] = (struct simulate_job){.arrival_s = job->arrival_s, .start_s = NAN, .end_s = NAN};
	return event_queue_add(&simulation->queue, to_ns(job->arrival_s), ARRIVAL, j, 0) < 0 ? out_of_memory(simulation)
											     : 0;
}

static int begin(struct simulation *simulation)
{
	const struct dataflow_simulate_options *options = simulation->options;
	struct dataflow *dataflow = simulation->dataflow;
	uint32_t jobs = dataflow->job_count;
	int code = 0;

	rng_seed(&simulation->rng, options->engine_options.seed);
	simulation->result->jobs = calloc(jobs + 1u, sizeof *simulation->result->jobs);
	simulation->jobs = calloc(jobs + 1u, sizeof *simulation->jobs);
	simulation->order = malloc((jobs + 1u) * sizeof *simulation->order);
	simulation->waiting = malloc((jobs + 1u) * sizeof *simulation->waiting);
	simulation->link_faults = calloc(dataflow->topology->link_count + 1u, sizeof *simulation->link_faults);
	simulation->used_links = calloc(options->fault_count + 1u, sizeof *simulation->used_links);
	if (!simulation->result->jobs || !simulation->jobs || !simulation->order || !simulation->waiting ||
	    !simulation->link_faults || !simulation->used_links)
		return out_of_memory(simulation);
	simulation->result->job_count = jobs;
	simulation->network =
		network_create(dataflow->topology, dataflow->slots, dataflow->cpu, &options->paths, simulation->err);
	if (!simulation->network)
		return error_code(simulation->err, ENOMEM);
	for (uint32_t j = 0; j < jobs && code == 0; j++)
		code = begin_job(simulation, j);
	for (uint32_t f = 0; f < options->fault_count && code == 0; f++) {
		const struct simulate_fault *fault = &options->faults[f];

		if (event_queue_add(&simulation->queue, to_ns(fault->fail_s), FAIL, f, 0) < 0 ||
		    (isfinite(fault->repair_s) &&
		     event_queue_add(&simulation->queue, to_ns(fault->repair_s), REPAIR, f, 0) < 0))
			code = out_of_memory(simulation);
	}
	return code;
}

/* Restores the scenario's hosts and link states. */
static void end(struct simulation *simulation)
{
	struct dataflow *dataflow = simulation->dataflow;

	for (uint32_t l = 0; simulation->link_faults && l < dataflow->topology->link_count; l++)
		if (simulation->link_faults[l] > 0)
			dataflow->topology->links[l].up = true;
	for (uint32_t j = 0; simulation->jobs && j < dataflow->job_count; j++) {
		struct running *running = &simulation->jobs[j];

		if (running->pinned)
			memcpy(running->job->hosts, running->pinned,
			       running->job->task_count * sizeof *running->pinned);
		dataflow_graph_destroy(running->graph);
		free(running->left);
		free(running->pinned);
	}
	for (uint32_t f = 0; simulation->used_links && f < simulation->options->fault_count; f++)
		free(simulation->used_links[f]);
	free(simulation->used_links);
	free(simulation->link_faults);
	free(simulation->jobs);
	free(simulation->order);
	free(simulation->waiting);
	free(simulation->rates);
	event_queue_free(&simulation->queue);
	network_destroy(simulation->network);
}

int dataflow_simulate(struct dataflow *dataflow, const struct dataflow_simulate_options *options,
		      struct dataflow_simulate_result *result, struct error *err)
{
	struct error scratch = {0};
	struct simulation simulation = {
		.dataflow = dataflow, .options = options, .result = result, .err = err ? err : &scratch};
	int code;

	*result = (struct dataflow_simulate_result){0};
	code = begin(&simulation);
	while (code == 0 && !is_over(&simulation))
		code = step(&simulation);
	if (code == 0)
		code = update_rates(&simulation);
	end(&simulation);
	if (code < 0)
		simulate_result_clear(result);
	else
		simulation.err->code = 0; /* a job that had to wait may have set it */
	return code;
}

void simulate_result_clear(struct dataflow_simulate_result *result)
{
	free(result->jobs);
	free(result->rates);
	free(result->decision_s);
	free(result->reroute_s);
	*result = (struct dataflow_simulate_result){0};
}

double simulate_mean_MBps(const struct dataflow_simulate_result *result, double from_s, double to_s)
{
	double sum = 0;

	for (size_t i = 0; i + 1 < result->rate_count; i++) {
		double begin = fmax(from_s, result->rates[i].time_s), finish = fmin(to_s, result->rates[i + 1].time_s);

		if (finish > begin)
			sum += (finish - begin) * result->rates[i].MBps;
	}
	return sum / (to_s - from_s);
}
