// SPDX-License-Identifier: BSD-3-Clause
#include "lemon_peer.h"

#include <ctime>

#include <lemon/cost_scaling.h>
#include <lemon/network_simplex.h>
#include <lemon/smart_graph.h>

using Graph = lemon::SmartDigraph;

static double cpu_seconds()
{
	timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

template <class Solver> static lemon_answer solve(const mcf_problem *problem)
{
	double start = cpu_seconds();
	Graph graph;

	graph.reserveNode(problem->node_count);
	graph.reserveArc(problem->arc_count);
	for (int v = 0; v < problem->node_count; v++)
		graph.addNode();
	for (int a = 0; a < problem->arc_count; a++)
		graph.addArc(graph.nodeFromId(problem->tail[a]), graph.nodeFromId(problem->head[a]));
	Graph::ArcMap<int> capacity(graph), cost(graph);
	Graph::NodeMap<int> supply(graph);
	for (int a = 0; a < problem->arc_count; a++) {
		capacity[graph.arcFromId(a)] = problem->capacity[a];
		cost[graph.arcFromId(a)] = int(problem->cost[a]);
	}
	for (int v = 0; v < problem->node_count; v++)
		supply[graph.nodeFromId(v)] = int(problem->supply[v]);
	Solver solver(graph);
	solver.upperMap(capacity).costMap(cost).supplyMap(supply);
	double built = cpu_seconds();
	bool optimal = solver.run() == Solver::OPTIMAL;
	double end = cpu_seconds();
	return lemon_answer{optimal, optimal ? solver.template totalCost<int64_t>() : 0, built - start, end - built};
}

lemon_answer lemon_solve(lemon_algorithm algorithm, const mcf_problem *problem)
{
	if (algorithm == LEMON_NETWORK_SIMPLEX)
		return solve<lemon::NetworkSimplex<Graph>>(problem);
	return solve<lemon::CostScaling<Graph>>(problem);
}
