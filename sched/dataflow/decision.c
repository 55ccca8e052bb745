/* SPDX-License-Identifier: BSD-3-Clause */
#include "decision.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/number.h>
#include <sched/dataflow/plan.h>

/* If the relative difference of two goals is at most this, they count as equal, and carried_MBps decides. */
#define SAME 1e-9
/*
 * Lower limit of a job's performance: keeps weight / rate finite if a host pair did not answer probes (performance 0).
 */
#define LEAST_PERFORMANCE 1e-3

uint32_t decision_free_slots(const struct decision *decision, uint32_t host)
{
	return decision->network->free_slots[host] - decision->taken[host];
}

void decision_lift(struct decision *decision, uint32_t task)
{
	decision->taken[decision->job->hosts[task]]--;
	dataflow_place_slot(decision->job, task, DATAFLOW_NOWHERE);
}

void decision_lift_all(struct decision *decision)
{
	for (uint32_t t = 0; t < decision->job->task_count; t++)
		if (!decision->pinned[t] && decision->job->hosts[t] != DATAFLOW_NOWHERE)
			decision_lift(decision, t);
}

void decision_put(struct decision *decision, uint32_t task, uint32_t host)
{
	decision->taken[host]++;
	dataflow_place_slot(decision->job, task, host);
}

uint32_t decision_random_host(struct decision *decision)
{
	uint32_t at = (uint32_t)rng_below(&decision->rng, decision->host_count);

	/* Tries 17 random hosts. If none has a free slot, tries those after the last one in the order of hosts[]. */
	for (int i = 0; i < 16; i++) {
		if (decision_free_slots(decision, decision->hosts[at]) > 0)
			return decision->hosts[at];
		at = (uint32_t)rng_below(&decision->rng, decision->host_count);
	}
	while (decision_free_slots(decision, decision->hosts[at]) == 0)
		at = (at + 1) % decision->host_count;
	return decision->hosts[at];
}

bool decision_pair_is_fixed(const struct decision *decision, uint32_t a, uint32_t b)
{
	return network_find_pair(decision->network, a, b) != HASH_TABLE_NONE;
}

/*
 * For each link of the route, divides the number of running jobs' flows by the link's capacity in MB/s. Returns the
 * largest of these quotients.
 */
static double busiest(const struct decision *decision, const struct network_route *route)
{
	double worst = 0;

	for (uint32_t i = 0; i < route->count; i++) {
		double use = decision->link_users[network_route_link(route, i) / 2] /
			     network_capacity(decision->network, network_route_link(route, i));

		worst = use > worst ? use : worst;
	}
	return worst;
}

static uint32_t choose(struct decision *decision, const struct network_route *routes, uint32_t count)
{
	uint32_t equal = 1, best = 0;
	double least = INFINITY;

	if (decision->routing == ROUTES_RANDOM)
		return (uint32_t)rng_below(&decision->rng, count);
	while (equal < count && routes[equal].count == routes[0].count)
		equal++;
	if (decision->routing == ROUTES_EQUAL_COST)
		return (uint32_t)rng_below(&decision->rng, equal);
	for (uint32_t i = 0; i < equal; i++) {
		double use = equal == 1 ? 0 : busiest(decision, &routes[i]);

		if (use < least) {
			least = use;
			best = i;
		}
	}
	return best;
}

static struct network_pair *add_pair(struct decision *decision, uint32_t low, uint32_t high)
{
	struct network_route routes[NETWORK_ROUTES_MAXIMUM];
	uint32_t numbers[NETWORK_ROUTES_MAXIMUM], chosen;
	struct network_pair *pairs =
		array_grow(decision->pairs, decision->pair_count, &decision->pair_capacity, sizeof *pairs);
	int count = pairs ? network_routes(decision->network, low, high, routes, numbers) : -ENOMEM;

	if (pairs)
		decision->pairs = pairs;
	if (count <= 0 ||
	    hash_table_insert(&decision->pair_table, network_pair_key(low, high), decision->pair_count) < 0) {
		decision->code = count == 0 ? -EHOSTUNREACH : -ENOMEM;
		decision->unreached[0] = low;
		decision->unreached[1] = high;
		return NULL;
	}
	chosen = choose(decision, routes, (uint32_t)count);
	pairs[decision->pair_count] =
		(struct network_pair){.low = low, .high = high, .number = numbers[chosen], .route = routes[chosen]};
	return &pairs[decision->pair_count++];
}

struct network_pair *decision_pair(struct decision *decision, uint32_t a, uint32_t b)
{
	uint32_t at = network_find_pair(decision->network, a, b);

	if (at != HASH_TABLE_NONE)
		return &decision->network->pairs[at];
	at = hash_table_find(&decision->pair_table, network_pair_key(a, b));
	if (at != HASH_TABLE_NONE)
		return &decision->pairs[at];
	return add_pair(decision, a < b ? a : b, a < b ? b : a);
}

static const struct network_route *route_of(void *context, uint32_t low, uint32_t high)
{
	struct network_pair *pair = decision_pair(context, low, high);

	return pair ? &pair->route : NULL;
}

static int add_running(struct decision *decision)
{
	uint32_t sources;
	int code = running_loads_begin(&decision->running, decision->network);

	if (code < 0)
		return code;
	sources = decision->running.source_count + decision->graph->source_count;
	decision->rates = malloc(sources * sizeof *decision->rates + 1);
	decision->bottlenecks = malloc(sources * sizeof *decision->bottlenecks + 1);
	return decision->rates && decision->bottlenecks ? 0 : -ENOMEM;
}

/*
 * Returns the amount to subtract from the goal because the job's performance is below 1 at the latency between its
 * hosts.
 */
static double latency_cost(const struct decision *decision, double own_s_per_MB, double own_MBps)
{
	double performance = dataflow_latency_performance(decision->options->latency, decision->job, decision->graph);

	if (decision->completion)
		return own_s_per_MB * (1 / fmax(performance, LEAST_PERFORMANCE) - 1);
	return own_MBps * (1 - performance);
}

struct value decision_evaluate(struct decision *decision)
{
	struct loads_routes routes = {.route = route_of, .context = decision};
	const struct network_job job = {.job = decision->job, .graph = decision->graph};
	struct loads *loads = &decision->loads;
	struct value value = {0};
	struct running_total all = {0}, own = {0};
	int code;

	loads_clear(loads);
	decision->evaluations++;
	code = loads_add_job(loads, decision->network, &job, &routes);
	for (size_t i = 0; code == 0 && i < loads->count; i++)
		if (loads->items[i].resource < 2 * decision->network->topology->link_count)
			value.carried_MBps += loads->items[i].load;
	if (code == 0)
		code = running_loads_spread(&decision->running, loads, &all);
	if (code == 0)
		code = loads_solve(loads, decision->network, decision->rates, decision->bottlenecks);
	if (code < 0 && decision->code == 0)
		decision->code = code;
	for (uint32_t s = 0; decision->code == 0 && s < loads->source_count; s++) {
		running_total_add(&all, loads, s, decision->rates[s], 1);
		if (s < decision->graph->source_count)
			running_total_add(&own, loads, s, decision->rates[s], 1);
	}
	value.own_MBps = own.MBps;
	value.all_MBps = all.MBps;
	value.goal = decision->completion ? -all.s_per_MB : all.MBps;
	if (decision->options->latency && decision->code == 0)
		value.goal -= latency_cost(decision, own.s_per_MB, value.own_MBps);
	return value;
}

bool value_better(const struct value *a, const struct value *b)
{
	if (fabs(a->goal - b->goal) > SAME * fabs(b->goal))
		return a->goal > b->goal;
	return a->carried_MBps < b->carried_MBps * (1 - SAME);
}

bool decision_done(const struct decision *decision)
{
	const struct engine_options *options = decision->options;

	return decision->code < 0 || decision->evaluations >= decision->evaluations_maximum ||
	       (options->now && options->deadline.v && options->now().v >= options->deadline.v);
}

static int count_slots(struct decision *decision, struct error *err)
{
	const struct topology *topology = decision->network->topology;
	struct dataflow_job *job = decision->job;
	uint64_t free_slots = 0, waiting = 0;

	for (uint32_t n = 0; n < topology->node_count; n++)
		if (topology->nodes[n].kind == TOPOLOGY_HOST)
			decision->hosts[decision->host_count++] = n;
	for (uint32_t t = 0; t < job->task_count; t++) {
		bool leads = dataflow_slot_leader(job, t) == t;

		decision->pinned[t] = job->hosts[t] != DATAFLOW_NOWHERE || !leads;
		waiting += !decision->pinned[t];
		if (leads && decision->pinned[t] &&
		    decision->taken[job->hosts[t]]++ >= decision->network->free_slots[job->hosts[t]])
			return error_set(err, ENOSPC, "job '%s': no slot is free on host '%s'", job->name,
					 topology->nodes[job->hosts[t]].name);
	}
	for (uint32_t h = 0; h < decision->host_count; h++)
		free_slots += decision_free_slots(decision, decision->hosts[h]);
	if (waiting > free_slots)
		return error_set(err, ENOSPC, "job '%s': %llu %s%s to place, %llu free slot%s", job->name,
				 (unsigned long long)waiting, job->shares_slots ? "shared slot" : "task",
				 number_s(waiting), (unsigned long long)free_slots, number_s(free_slots));
	return 0;
}

static void count_users(struct decision *decision)
{
	for (uint32_t p = 0; p < decision->network->pair_count; p++) {
		const struct network_pair *pair = &decision->network->pairs[p];

		for (uint32_t r = 0; r < pair->route.count; r++)
			decision->link_users[network_route_link(&pair->route, r) / 2] += pair->users;
	}
}

static int begin(struct decision *decision, struct error *err)
{
	uint32_t nodes = decision->network->topology->node_count;

	rng_seed(&decision->rng, decision->options->seed);
	decision->pinned = calloc(decision->job->task_count + 1, sizeof *decision->pinned);
	decision->taken = calloc(nodes + 1, sizeof *decision->taken);
	decision->hosts = malloc((nodes + 1) * sizeof *decision->hosts);
	decision->link_users = calloc(decision->network->topology->link_count + 1, sizeof *decision->link_users);
	if (!decision->pinned || !decision->taken || !decision->hosts || !decision->link_users ||
	    add_running(decision) < 0)
		return error_set(err, ENOMEM, "out of memory");
	count_users(decision);
	return count_slots(decision, err);
}

/* Writes the predicted rates, and the routes of the final placement that the network does not have yet. */
static int write_answer(struct decision *decision, struct engine_answer *answer)
{
	const struct value value = decision_evaluate(decision);
	const uint32_t *hosts = decision->job->hosts;

	*answer = (struct engine_answer){
		.evaluations = decision->evaluations, .own_MBps = value.own_MBps, .all_MBps = value.all_MBps};
	answer->routes = malloc(decision->pair_count * sizeof *answer->routes + 1);
	if (!answer->routes)
		return -ENOMEM;
	for (uint32_t f = 0; f < decision->graph->flow_count && decision->code == 0; f++) {
		uint32_t from = hosts[decision->graph->flows[f].from], to = hosts[decision->graph->flows[f].to];

		if (from != to && !decision_pair_is_fixed(decision, from, to))
			decision_pair(decision, from, to)->users = 1;
	}
	for (uint32_t p = 0; p < decision->pair_count; p++)
		if (decision->pairs[p].users > 0)
			answer->routes[answer->route_count++] =
				(struct engine_route){.low = decision->pairs[p].low,
						      .high = decision->pairs[p].high,
						      .number = decision->pairs[p].number};
	return decision->code;
}

static void end(struct decision *decision)
{
	free(decision->pinned);
	free(decision->taken);
	free(decision->hosts);
	free(decision->link_users);
	hash_table_free(&decision->pair_table);
	free(decision->pairs);
	loads_free(&decision->loads);
	running_loads_free(&decision->running);
	free(decision->rates);
	free(decision->bottlenecks);
}

int engine_place(const struct engine *engine, struct network *network, struct dataflow_job *job,
		 const struct dataflow_graph *graph, const struct engine_options *options, struct engine_answer *answer,
		 struct error *err)
{
	struct decision decision = {.network = network,
				    .job = job,
				    .graph = graph,
				    .options = options,
				    .routing = engine->routing,
				    .completion = engine->completion};
	uint32_t *before = malloc(job->task_count * sizeof *before + 1);
	int code;

	*answer = (struct engine_answer){0};
	network->local_MBps = options->local_MBps;
	if (!before)
		return error_set(err, ENOMEM, "out of memory");
	memcpy(before, job->hosts, job->task_count * sizeof *before);
	decision.evaluations_maximum = options->evaluations ? options->evaluations : engine->evaluations;
	code = begin(&decision, err);
	if (code == 0) {
		engine->place(&decision);
		code = decision.code ? decision.code : write_answer(&decision, answer);
		if (code == -EHOSTUNREACH)
			error_set(err, EHOSTUNREACH, "job '%s': no route from host '%s' to host '%s'", job->name,
				  network->topology->nodes[decision.unreached[0]].name,
				  network->topology->nodes[decision.unreached[1]].name);
		else if (code < 0)
			error_set(err, -code, "job '%s': out of memory", job->name);
	}
	if (code < 0) {
		memcpy(job->hosts, before, job->task_count * sizeof *before);
		engine_answer_clear(answer);
	}
	free(before);
	end(&decision);
	return code;
}

static int64_t answer_route(void *context, uint32_t low, uint32_t high)
{
	uint32_t number = hash_table_find(context, network_pair_key(low, high));

	return number == HASH_TABLE_NONE ? -ENOENT : (int64_t)number;
}

int engine_start(struct network *network, struct dataflow_job *job, const struct dataflow_graph *graph,
		 const struct engine_answer *answer, struct error *err)
{
	struct hash_table numbers = {0}; /* of the answer's routes, by pair of hosts */
	int code = hash_table_reserve(&numbers, answer->route_count);

	for (uint32_t i = 0; i < answer->route_count && code == 0; i++)
		code = hash_table_insert(&numbers, network_pair_key(answer->routes[i].low, answer->routes[i].high),
					 answer->routes[i].number);
	code = code < 0 ? error_set(err, ENOMEM, "out of memory")
			: network_start(network, job, graph, answer_route, &numbers, err);
	hash_table_free(&numbers);
	return code;
}

void engine_answer_clear(struct engine_answer *answer)
{
	free(answer->routes);
	*answer = (struct engine_answer){0};
}
