/* SPDX-License-Identifier: BSD-3-Clause */
#include "decision.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Returns the minimum of share[] over the links of a route, in the direction of the route. */
static double least_of(const double *share, const struct network_route *route)
{
	double least = INFINITY;

	for (uint32_t i = 0; i < route->count; i++)
		least = share[network_route_link(route, i)] < least ? share[network_route_link(route, i)] : least;
	return least;
}

static double width_of(const struct utility *utility, const struct network_route *route)
{
	return least_of(utility->share, route);
}

static void count(struct utility *utility, const struct network_route *route, int direction)
{
	for (uint32_t r = 0; r < route->count; r++) {
		uint32_t link = network_route_link(route, r) / 2;

		utility->flows_on[link] += (uint32_t)direction;
		if (!utility->is_changed[link]) {
			utility->is_changed[link] = true;
			utility->changed[utility->changed_count++] = link;
		}
	}
}

/* Returns the route of a flow of the new job. Returns NULL if both tasks are on one host, or after an error. */
static const struct network_route *own_route(const struct utility *utility, uint32_t flow)
{
	struct decision *decision = utility->decision;
	const struct dataflow_flow *of = &decision->graph->flows[flow];
	uint32_t from = decision->job->hosts[of->from], to = decision->job->hosts[of->to];
	const struct network_pair *pair;

	if (utility->chosen[flow] != UTILITY_NO_PAIR)
		return &decision->pairs[utility->chosen[flow]].route;
	pair = from == to ? NULL : decision_pair(decision, from, to);
	return pair ? &pair->route : NULL;
}

/* Sets chosen[] of a flow of the new job, and counts the flow on the links of its route. */
static void add_own(struct utility *utility, uint32_t flow)
{
	struct decision *decision = utility->decision;
	const struct dataflow_flow *of = &decision->graph->flows[flow];
	uint32_t from = decision->job->hosts[of->from], to = decision->job->hosts[of->to];
	const struct network_pair *pair = from == to || decision->code < 0 ? NULL : decision_pair(decision, from, to);

	utility->chosen[flow] = UTILITY_NO_PAIR;
	if (!pair)
		return;
	if (!decision_pair_is_fixed(decision, from, to))
		utility->chosen[flow] = (uint32_t)(pair - decision->pairs);
	count(utility, &pair->route, 1);
}

/* Returns true if the flow begins or ends at a task of the slot that `leader` leads. */
static bool touches(const struct decision *decision, uint32_t flow, uint32_t leader)
{
	const struct dataflow_flow *of = &decision->graph->flows[flow];

	return dataflow_slot_leader(decision->job, of->from) == leader ||
	       dataflow_slot_leader(decision->job, of->to) == leader;
}

void utility_lift(struct utility *utility, uint32_t task)
{
	struct decision *decision = utility->decision;

	for (uint32_t f = 0; f < decision->graph->flow_count; f++) {
		const struct network_route *route = touches(decision, f, task) ? own_route(utility, f) : NULL;

		if (route)
			count(utility, route, -1);
	}
	decision_lift(decision, task);
}

void utility_put(struct utility *utility, uint32_t task, uint32_t host)
{
	struct decision *decision = utility->decision;

	decision_put(decision, task, host);
	for (uint32_t f = 0; f < decision->graph->flow_count; f++)
		if (touches(decision, f, task))
			add_own(utility, f);
}

void utility_count_pair(struct utility *utility, uint32_t pair, int direction)
{
	for (uint32_t f = 0; f < utility->decision->graph->flow_count; f++)
		if (utility->chosen[f] == pair)
			count(utility, &utility->decision->pairs[pair].route, direction);
}

static void share_link(const struct utility *utility, uint32_t link, uint32_t users, double *share)
{
	const struct network *network = utility->decision->network;
	double flows = users ? users : 1;

	share[2 * link] = network_capacity(network, 2 * link) / flows;
	share[2 * link + 1] = network_capacity(network, 2 * link + 1) / flows;
}

void utility_start(struct utility *utility)
{
	struct decision *decision = utility->decision;
	uint32_t links = decision->network->topology->link_count;

	memcpy(utility->flows_on, decision->link_users, links * sizeof *utility->flows_on);
	memcpy(utility->known_on, decision->link_users, links * sizeof *utility->known_on);
	for (uint32_t l = 0; l < links; l++)
		share_link(utility, l, decision->link_users[l], utility->running_share);
	memcpy(utility->share, utility->running_share, 2 * links * sizeof *utility->share);
	for (uint32_t f = 0; f < decision->graph->flow_count; f++)
		add_own(utility, f);
	for (uint32_t j = 0; j < decision->network->job_count; j++)
		utility->stale[j] = true;
}

/*
 * Widens the paths that end with a flow from a task. Returns true if that concerns a task before it: this pass over the
 * tasks comes to the later ones.
 */
static bool widen_from(struct utility *utility, const struct dataflow_graph *graph, uint32_t task)
{
	double *reach = utility->reach;
	bool changed = false;

	for (uint32_t f = graph->out[task]; reach[task] > 0 && f < graph->out[task + 1]; f++) {
		uint32_t to = graph->flows[f].to;
		double width = reach[task] < utility->width[f] ? reach[task] : utility->width[f];

		if (width > reach[to]) {
			reach[to] = width;
			changed |= to < task;
		}
	}
	return changed;
}

/*
 * Computes reach[]: for each task, the bandwidth of the widest path along flows from the source to the task. Bellman
 * and Ford's algorithm: passes over all tasks, until nothing changes.
 */
static void widen(struct utility *utility, const struct dataflow_graph *graph, uint32_t source)
{
	double *reach = utility->reach;
	bool changed = true;

	memset(reach, 0, graph->task_count * sizeof *reach);
	reach[source] = INFINITY;
	while (changed) {
		changed = false;
		for (uint32_t t = 0; t < graph->task_count; t++)
			changed |= widen_from(utility, graph, t);
	}
}

static double between(struct utility *utility, uint32_t from, uint32_t to)
{
	struct network_pair *pair;

	if (from == to)
		return INFINITY;
	pair = decision_pair(utility->decision, from, to);
	return pair ? width_of(utility, &pair->route) : 0;
}

/*
 * How to measure a sink's bandwidth. True: on the route between the hosts of the sink and its root (a source that
 * reaches it). False: on the flows from the root to the sink.
 */
static bool is_direct(const struct utility *utility)
{
	return utility->decision->options->direct;
}

static bool is_sink(const struct dataflow_graph *graph, uint32_t task)
{
	return graph->out[task] == graph->out[task + 1];
}

/*
 * For each sink of a job, computes the bandwidth from each of its roots (the sources that reach it) and takes the least
 * one. Returns the sum over the sinks. utility->width[] must contain the bandwidths of the job's flows.
 */
static double job_utility(struct utility *utility, const uint32_t *hosts, const struct dataflow_graph *graph)
{
	const struct engine_options *options = utility->decision->options;
	double sum = 0, *least = utility->least;
	bool direct = is_direct(utility);

	for (uint32_t t = 0; t < graph->task_count; t++)
		least[t] = INFINITY;
	for (uint32_t s = 0; s < graph->source_count; s++) {
		widen(utility, graph, graph->sources[s]);
		for (uint32_t t = 0; t < graph->task_count; t++) {
			double width = utility->reach[t];

			if (!is_sink(graph, t) || width == 0) /* 0: the source does not reach this sink */
				continue;
			if (direct)
				width = between(utility, hosts[t], hosts[graph->sources[s]]);
			least[t] = width < least[t] ? width : least[t];
		}
	}
	for (uint32_t t = 0; t < graph->task_count; t++)
		if (is_sink(graph, t))
			sum += fmin(least[t], options->local_MBps);
	return sum;
}

static double own_utility(struct utility *utility)
{
	const struct decision *decision = utility->decision;
	const struct dataflow_graph *graph = decision->graph;
	const uint32_t *hosts = decision->job->hosts;

	for (uint32_t f = 0; f < graph->flow_count; f++) {
		const struct network_route *route = own_route(utility, f);
		bool one_host = hosts[graph->flows[f].from] == hosts[graph->flows[f].to];

		utility->width[f] = route ? width_of(utility, route) : one_host ? INFINITY : 0;
	}
	return job_utility(utility, hosts, graph);
}

static double running_utility(struct utility *utility, uint32_t job)
{
	const struct network_job *of = &utility->decision->network->jobs[job];
	const struct network_route **routes = utility->routes + utility->first_route[job];

	for (uint32_t f = 0; f < of->graph->flow_count; f++)
		utility->width[f] = routes[f] ? width_of(utility, routes[f]) : INFINITY;
	return job_utility(utility, of->job->hosts, of->graph);
}

/*
 * Recomputes share[] of links whose numbers of flows have changed, and marks the running jobs on these links as stale.
 */
static void mark_stale(struct utility *utility)
{
	for (uint32_t c = 0; c < utility->changed_count; c++) {
		uint32_t link = utility->changed[c];

		utility->is_changed[link] = false;
		if (utility->known_on[link] == utility->flows_on[link])
			continue;
		utility->known_on[link] = utility->flows_on[link];
		share_link(utility, link, utility->flows_on[link], utility->share);
		for (uint32_t i = utility->first_on[link]; i < utility->first_on[link + 1]; i++)
			utility->stale[utility->jobs_on[i]] = true;
	}
	utility->changed_count = 0;
}

double utility_bandwidth(struct utility *utility, const struct network_route *route)
{
	mark_stale(utility);
	return width_of(utility, route);
}

double utility_running_bandwidth(const struct utility *utility, const struct network_route *route)
{
	return least_of(utility->running_share, route);
}

double utility_evaluate(struct utility *utility)
{
	struct decision *decision = utility->decision;
	double sum;

	decision->evaluations++;
	mark_stale(utility);
	sum = own_utility(utility);
	for (uint32_t j = 0; j < decision->network->job_count; j++) {
		if (utility->stale[j] || is_direct(utility))
			utility->of_job[j] = running_utility(utility, j);
		utility->stale[j] = false;
		sum += utility->of_job[j];
	}
	return sum;
}

static void list_routes(struct utility *utility)
{
	const struct network *network = utility->decision->network;
	uint32_t at = 0;

	for (uint32_t j = 0; j < network->job_count; j++) {
		const struct network_job *job = &network->jobs[j];

		utility->first_route[j] = at;
		for (uint32_t f = 0; f < job->graph->flow_count; f++) {
			uint32_t from = job->job->hosts[job->graph->flows[f].from];
			uint32_t to = job->job->hosts[job->graph->flows[f].to];

			utility->routes[at++] =
				from == to ? NULL : &network->pairs[network_find_pair(network, from, to)].route;
		}
	}
	utility->first_route[network->job_count] = at;
}

/* Fills jobs_on[], by a counting sort of the jobs' routes by link. */
static int index_links(struct utility *utility)
{
	const struct network *network = utility->decision->network;
	uint32_t *first = utility->first_on, links = network->topology->link_count;

	for (uint32_t i = 0; i < utility->first_route[network->job_count]; i++)
		for (uint32_t r = 0; utility->routes[i] && r < utility->routes[i]->count; r++)
			first[network_route_link(utility->routes[i], r) / 2 + 2]++;
	for (uint32_t l = 0; l < links; l++)
		first[l + 2] += first[l + 1];
	utility->jobs_on = malloc(first[links + 1] * sizeof *utility->jobs_on + 1);
	if (!utility->jobs_on)
		return -ENOMEM;
	for (uint32_t j = 0; j < network->job_count; j++)
		for (uint32_t i = utility->first_route[j]; i < utility->first_route[j + 1]; i++)
			for (uint32_t r = 0; utility->routes[i] && r < utility->routes[i]->count; r++)
				utility->jobs_on[first[network_route_link(utility->routes[i], r) / 2 + 1]++] = j;
	return 0;
}

int utility_begin(struct utility *utility, struct decision *decision)
{
	const struct network *network = decision->network;
	size_t links = network->topology->link_count, jobs = network->job_count, flows = 0;
	uint32_t tasks = decision->graph->task_count, most = decision->graph->flow_count;

	*utility = (struct utility){.decision = decision};
	for (uint32_t j = 0; j < jobs; j++) {
		const struct dataflow_graph *graph = network->jobs[j].graph;

		flows += graph->flow_count;
		tasks = graph->task_count > tasks ? graph->task_count : tasks;
		most = graph->flow_count > most ? graph->flow_count : most;
	}
	utility->flows_on = calloc(links + 1, sizeof *utility->flows_on);
	utility->known_on = calloc(links + 1, sizeof *utility->known_on);
	utility->share = malloc((2 * links + 1) * sizeof *utility->share);
	utility->running_share = malloc((2 * links + 1) * sizeof *utility->running_share);
	utility->changed = malloc((links + 1) * sizeof *utility->changed);
	utility->is_changed = calloc(links + 1, sizeof *utility->is_changed);
	utility->chosen = malloc(((size_t)decision->graph->flow_count + 1) * sizeof *utility->chosen);
	utility->of_job = calloc(jobs + 1, sizeof *utility->of_job);
	utility->stale = calloc(jobs + 1, sizeof *utility->stale);
	utility->routes = malloc((flows + 1) * sizeof *utility->routes);
	utility->first_route = malloc((jobs + 1) * sizeof *utility->first_route);
	utility->first_on = calloc(links + 3, sizeof *utility->first_on);
	utility->width = malloc(((size_t)most + 1) * sizeof *utility->width);
	utility->reach = malloc(((size_t)tasks + 1) * sizeof *utility->reach);
	utility->least = malloc(((size_t)tasks + 1) * sizeof *utility->least);
	if (!utility->flows_on || !utility->known_on || !utility->share || !utility->running_share ||
	    !utility->changed || !utility->is_changed || !utility->chosen || !utility->of_job || !utility->stale ||
	    !utility->routes || !utility->first_route || !utility->first_on || !utility->width || !utility->reach ||
	    !utility->least)
		return -ENOMEM;
	list_routes(utility);
	return index_links(utility);
}

void utility_end(struct utility *utility)
{
	free(utility->flows_on);
	free(utility->known_on);
	free(utility->share);
	free(utility->running_share);
	free(utility->changed);
	free(utility->is_changed);
	free(utility->chosen);
	free(utility->of_job);
	free(utility->stale);
	free(utility->routes);
	free(utility->first_route);
	free(utility->first_on);
	free(utility->jobs_on);
	free(utility->width);
	free(utility->reach);
	free(utility->least);
	*utility = (struct utility){0};
}
