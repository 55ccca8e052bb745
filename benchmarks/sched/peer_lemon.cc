/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctime>
#include <vector>

#include <lemon/cost_scaling.h>
#include <lemon/network_simplex.h>
#include <lemon/static_graph.h>

#include "peer_lemon.h"

namespace
{

typedef lemon::StaticDigraph Graph;

double processor_seconds()
{
	timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/* StaticDigraph, LEMON's fastest, wants the arcs ordered by tail. */
struct Network {
	Graph graph;
	std::vector<int32_t> order;
	Graph::ArcMap<int64_t> capacity, cost;
	Graph::NodeMap<int64_t> supply;

	explicit Network(const mcf_problem *problem) : capacity(graph), cost(graph), supply(graph)
	{
		std::vector<int32_t> first(static_cast<size_t>(problem->node_count) + 1);
		std::vector<std::pair<int, int>> arcs(static_cast<size_t>(problem->arc_count));

		order.resize(arcs.size());
		for (int32_t i = 0; i < problem->arc_count; i++)
			first[static_cast<size_t>(problem->tail[i]) + 1]++;
		for (size_t i = 1; i < first.size(); i++)
			first[i] += first[i - 1];
		for (int32_t i = 0; i < problem->arc_count; i++) {
			size_t place = static_cast<size_t>(first[static_cast<size_t>(problem->tail[i])]++);

			order[place] = i;
			arcs[place] = std::make_pair(problem->tail[i], problem->head[i]);
		}
		graph.build(problem->node_count, arcs.begin(), arcs.end());
		for (int32_t i = 0; i < problem->arc_count; i++) {
			int32_t from = order[static_cast<size_t>(i)];

			capacity[graph.arc(i)] = problem->capacity[from];
			cost[graph.arc(i)] = problem->cost[from];
		}
		for (int32_t i = 0; i < problem->node_count; i++)
			supply[graph.node(i)] = problem->supply[i];
	}
};

template <class Solver>
bool run(const mcf_problem *problem, peer_lemon_answer *answer)
{
	double start = processor_seconds();
	Network network(problem);
	Solver solver(network.graph);

	solver.upperMap(network.capacity).costMap(network.cost).supplyMap(network.supply);
	double built = processor_seconds();
	bool optimal = solver.run() == Solver::OPTIMAL;

	answer->build_s = built - start;
	answer->solve_s = processor_seconds() - built;
	answer->cost = optimal ? solver.template totalCost<int64_t>() : 0;
	return optimal;
}

}

bool peer_lemon_solve(enum peer_lemon_algorithm algorithm, const struct mcf_problem *problem,
		      struct peer_lemon_answer *answer)
{
	if (algorithm == PEER_LEMON_NETWORK_SIMPLEX)
		return run<lemon::NetworkSimplex<Graph, int64_t, int64_t>>(problem, answer);
	return run<lemon::CostScaling<Graph, int64_t, int64_t>>(problem, answer);
}
