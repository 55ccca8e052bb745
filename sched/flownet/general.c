/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A round by any algorithm of mcf, which solves the whole network, with one node per task, from scratch. It is slow and
 * simple: a reference for the structured solver. Flow through the cluster and the racks is decomposed unit by unit.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sched/flownet/network.h>
#include <sched/mcf/algorithms.h>
#include <sched/mcf/verify.h>

#include "flownet_priv.h"

/* State of the decomposition of a flow into one path per task. first[] skips arcs whose flow is used up. */
struct decomposition {
	const struct flownet_network *network;
	int32_t *left;         /* [arcs] flow not yet given to a task */
	int32_t *first, *next; /* lists of arcs by tail: first[nodes], next[arcs]; -1 = end */
};

static int32_t node_of_unit(struct decomposition *state, int32_t node)
{
	while (state->network->nodes[node].kind == FLOWNET_NODE_CLUSTER ||
	       state->network->nodes[node].kind == FLOWNET_NODE_RACK) {
		int32_t arc = state->first[node];

		while (state->left[arc] == 0)
			arc = state->next[arc];
		state->first[node] = arc;
		state->left[arc]--;
		node = state->network->head[arc];
	}
	return node;
}

/* Sets column_of_node[] of every task node to the machine that its unit reaches, or to FLOWNET_NONE. 0 or -ENOMEM. */
static int decompose(const struct flownet_network *network, const int32_t *flow, int32_t *column_of_node)
{
	int32_t nodes = network->problem.node_count, arcs = network->problem.arc_count;
	struct decomposition state = {.network = network};
	int code = -ENOMEM;

	state.left = malloc(((size_t)arcs + 1) * sizeof *state.left);
	state.next = malloc(((size_t)arcs + 1) * sizeof *state.next);
	state.first = malloc(((size_t)nodes + 1) * sizeof *state.first);
	if (!state.left || !state.next || !state.first)
		goto out;
	memcpy(state.left, flow, (size_t)arcs * sizeof *flow);
	for (int32_t v = 0; v < nodes; v++)
		state.first[v] = column_of_node[v] = FLOWNET_NONE;
	for (int32_t a = arcs - 1; a >= 0; a--) {
		state.next[a] = state.first[network->tail[a]];
		state.first[network->tail[a]] = a;
	}
	for (int32_t a = 0; a < arcs; a++) {
		int32_t tail = network->tail[a], end;

		if (network->nodes[tail].kind != FLOWNET_NODE_TASK || flow[a] == 0)
			continue;
		end = node_of_unit(&state, network->head[a]);
		if (network->nodes[end].kind == FLOWNET_NODE_MACHINE)
			column_of_node[tail] = (int32_t)network->nodes[end].number;
	}
	code = 0;
out:
	free(state.left);
	free(state.next);
	free(state.first);
	return code;
}

static int compare_columns(const void *left, const void *right)
{
	const struct structured_share *a = left, *b = right;

	return a->column < b->column ? -1 : a->column > b->column;
}

/*
 * Counts the units of members first..end-1 by machine: writes the counts to net->shares, in ascending order of
 * machines. Returns the number of shares, or -ENOMEM. column_of_task[]: the machine of each task of the job.
 */
static int32_t gather_shares(struct flownet *net, size_t first, size_t end, const int32_t *column_of_task)
{
	int32_t count = 0, kept = 0;

	if (net_reserve((void **)&net->shares, &net->share_room, end - first, sizeof *net->shares) != 0)
		return -ENOMEM;
	for (size_t i = first; i < end; i++) {
		int32_t column = column_of_task[net->members[i].task];

		if (column != FLOWNET_NONE)
			net->shares[count++] =
				(struct structured_share){.column = column, .units = 1, .cost = INT32_MAX};
	}
	qsort(net->shares, (size_t)count, sizeof *net->shares, compare_columns);
	for (int32_t i = 0; i < count; i++) {
		if (kept > 0 && net->shares[kept - 1].column == net->shares[i].column)
			net->shares[kept - 1].units++;
		else
			net->shares[kept++] = net->shares[i];
	}
	return kept;
}

static int extract_job(struct flownet *net, uint32_t job, const int32_t *column_of_task)
{
	int64_t count = net_members(net, job);

	for (size_t first = 0; count >= 0 && first < (size_t)count;) {
		size_t end = net_class_end(net, first, (size_t)count);
		int32_t shares = gather_shares(net, first, end, column_of_task);

		if (shares < 0 || net_extract_class(net, job, first, end - first, shares, FLOWNET_NONE) != 0)
			return -ENOMEM;
		first = end;
	}
	return count < 0 ? -ENOMEM : 0;
}

static int extract_all(struct flownet *net, const struct flownet_network *network, const int32_t *column_of_node)
{
	uint32_t most_tasks = 0;
	int32_t *column_of_task;
	int code = 0;

	for (size_t i = 0; i < net->live.count; i++) {
		if (flownet_task_limit(net, net->live.jobs[i]) > most_tasks)
			most_tasks = flownet_task_limit(net, net->live.jobs[i]);
	}
	column_of_task = calloc((size_t)most_tasks + 1, sizeof *column_of_task);
	if (!column_of_task)
		return -ENOMEM;
	/* A job's tasks follow its "unscheduled" node. */
	for (int32_t v = 0; v < network->problem.node_count && code == 0;) {
		uint32_t job = network->nodes[v].number;

		if (network->nodes[v].kind != FLOWNET_NODE_UNSCHEDULED) {
			v++;
			continue;
		}
		for (v++; v < network->problem.node_count && network->nodes[v].kind == FLOWNET_NODE_TASK; v++)
			column_of_task[network->nodes[v].task] = column_of_node[v];
		code = extract_job(net, job, column_of_task);
	}
	free(column_of_task);
	return code;
}

/* The totals that a round reports, computed from the flow. */
static void count_flow(const struct flownet_network *network, const struct mcf_solution *solution,
		       struct flownet_round *round)
{
	round->cost = solution->cost - network->pinned_cost;
	for (int32_t a = 0; a < network->problem.arc_count; a++) {
		if (network->nodes[network->head[a]].kind != FLOWNET_NODE_SINK)
			continue;
		if (network->nodes[network->tail[a]].kind == FLOWNET_NODE_TASK) {
			round->unrouted += solution->flow[a];
			round->cost -= solution->flow[a] * network->overflow_cost;
		} else if (network->nodes[network->tail[a]].kind == FLOWNET_NODE_UNSCHEDULED) {
			round->unscheduled += solution->flow[a];
		}
	}
}

static int check(const struct flownet_network *network, const struct mcf_solution *solution, struct error *err)
{
	struct mcf_verdict verdict;

	if (mcf_verify(&network->problem, solution, &verdict))
		return 0;
	return error_set(err, EIO, "the solver's answer fails verification: %s", verdict.text);
}

int net_general_prove(const struct flownet *net, int64_t cost, struct error *err)
{
	struct flownet_network network;
	struct mcf_solution solution = {0};
	struct flownet_round optimum = {0};
	int code = flownet_network_build(net, &network, err);

	if (code != 0)
		goto out;
	if (mcf_solve(mcf_algorithm_find("simplex"), &network.problem, &solution) != MCF_OPTIMAL) {
		code = error_set(err, EIO, "internal check failed: the simplex found no optimum");
		goto out;
	}
	code = check(&network, &solution, err);
	count_flow(&network, &solution, &optimum);
	if (code == 0 && optimum.cost != cost)
		code = error_set(
			err, EIO,
			"internal check failed: the placement of the roots costs %lld, but the optimum costs %lld",
			(long long)cost, (long long)optimum.cost);
out:
	mcf_solution_free(&solution);
	flownet_network_free(&network);
	return code;
}

int net_general_solve(struct flownet *net, struct flownet_round *round, struct error *err)
{
	struct flownet_network network;
	struct mcf_solution solution = {0};
	int32_t *column_of_node = NULL;
	enum mcf_status status;
	int code = flownet_network_build(net, &network, err);

	if (code != 0)
		goto out;
	status = mcf_solve(net->settings.algorithm, &network.problem, &solution);
	round->algorithm =
		solution.statistics.algorithm ? solution.statistics.algorithm : net->settings.algorithm->name;
	if (status != MCF_OPTIMAL) {
		code = error_set(err, status == MCF_NO_MEMORY ? ENOMEM : ERANGE, "the flow solver '%s' failed: %s",
				 net->settings.algorithm->name, mcf_status_name(status));
		goto out;
	}
	if (net->settings.verify) {
		code = check(&network, &solution, err);
		round->verified = code == 0;
		if (code != 0)
			goto out;
	}
	count_flow(&network, &solution, round);
	column_of_node = calloc((size_t)network.problem.node_count + 1, sizeof *column_of_node);
	code = column_of_node ? decompose(&network, solution.flow, column_of_node) : -ENOMEM;
	if (code == 0)
		code = extract_all(net, &network, column_of_node);
	if (code != 0)
		error_set(err, -code, "out of memory");
out:
	free(column_of_node);
	mcf_solution_free(&solution);
	flownet_network_free(&network);
	return code;
}
