/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/mcf/verify.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "mcf_priv.h"

const char *mcf_fault_name(enum mcf_fault fault)
{
	static const char *const names[] = {"none",         "status",         "lower bound",   "capacity",
					    "conservation", "under-used arc", "over-used arc", "cost",
					    "duality",      "not infeasible"};

	return (size_t)fault < sizeof names / sizeof *names ? names[fault] : "unknown";
}

__attribute__((format(printf, 3, 4))) static bool fail(struct mcf_verdict *verdict, enum mcf_fault fault,
						       const char *format, ...)
{
	va_list arguments;

	verdict->fault = fault;
	va_start(arguments, format);
	vsnprintf(verdict->text, sizeof verdict->text, format, arguments);
	va_end(arguments);
	return false;
}

/* printf cannot print 128-bit numbers; a verdict needs only the leading digits. */
static double rough(mcf_wide value)
{
	return (double)value;
}

static int32_t lower_bound(const struct mcf_problem *problem, int32_t arc)
{
	return problem->lower ? problem->lower[arc] : 0;
}

static mcf_wide reduced_cost(const struct mcf_problem *problem, const int64_t *potential, int32_t arc)
{
	return (mcf_wide)problem->cost[arc] + potential[problem->tail[arc]] - potential[problem->head[arc]];
}

static bool check_bounds(const struct mcf_problem *problem, const int32_t *flow, struct mcf_verdict *verdict)
{
	for (int32_t a = 0; a < problem->arc_count; a++) {
		verdict->arc = a;
		if (flow[a] < lower_bound(problem, a))
			return fail(verdict, MCF_FAULT_LOWER, "arc %d carries %d, under its lower bound %d", a, flow[a],
				    lower_bound(problem, a));
		if (flow[a] > problem->capacity[a])
			return fail(verdict, MCF_FAULT_CAPACITY, "arc %d carries %d, over its capacity %d", a, flow[a],
				    problem->capacity[a]);
	}
	verdict->arc = -1;
	return true;
}

static bool check_conservation(const struct mcf_problem *problem, const int32_t *flow, struct mcf_verdict *verdict)
{
	/* arc_count * INT32_MAX < 2^62: int64 sums cannot overflow. */
	int64_t *net = calloc((size_t)problem->node_count + 1, sizeof *net);

	if (!net)
		return fail(verdict, MCF_FAULT_STATUS, "out of memory while checking the answer");
	for (int32_t a = 0; a < problem->arc_count; a++) {
		net[problem->tail[a]] += flow[a];
		net[problem->head[a]] -= flow[a];
	}
	for (int32_t v = 0; v < problem->node_count; v++) {
		if (net[v] == problem->supply[v])
			continue;
		verdict->node = v;
		fail(verdict, MCF_FAULT_CONSERVATION,
		     "node %d sends %" PRId64 " more than it gets, its supply is %" PRId64, v, net[v],
		     problem->supply[v]);
		break;
	}
	free(net);
	return verdict->node < 0;
}

static bool check_slackness(const struct mcf_problem *problem, const struct mcf_solution *solution,
			    struct mcf_verdict *verdict)
{
	for (int32_t a = 0; a < problem->arc_count; a++) {
		mcf_wide reduced = reduced_cost(problem, solution->potential, a);

		verdict->arc = a;
		if (reduced < 0 && solution->flow[a] < problem->capacity[a])
			return fail(verdict, MCF_FAULT_UNDER_USED,
				    "arc %d has reduced cost %.17g, but carries only %d of %d", a, rough(reduced),
				    solution->flow[a], problem->capacity[a]);
		if (reduced > 0 && solution->flow[a] > lower_bound(problem, a))
			return fail(verdict, MCF_FAULT_OVER_USED,
				    "arc %d has reduced cost %.17g, but carries %d, more than its lower bound %d", a,
				    rough(reduced), solution->flow[a], lower_bound(problem, a));
	}
	verdict->arc = -1;
	return true;
}

/* The dual value: the lower bound that the potentials prove for the cost of any feasible flow. */
static mcf_wide dual_cost(const struct mcf_problem *problem, const int64_t *potential)
{
	mcf_wide dual = 0;

	for (int32_t v = 0; v < problem->node_count; v++)
		dual -= (mcf_wide)potential[v] * problem->supply[v];
	for (int32_t a = 0; a < problem->arc_count; a++) {
		mcf_wide reduced = reduced_cost(problem, potential, a);

		dual += reduced * (reduced < 0 ? problem->capacity[a] : lower_bound(problem, a));
	}
	return dual;
}

static bool check_costs(const struct mcf_problem *problem, const struct mcf_solution *solution,
			struct mcf_verdict *verdict)
{
	mcf_wide primal = 0, dual = dual_cost(problem, solution->potential);

	for (int32_t a = 0; a < problem->arc_count; a++)
		primal += (mcf_wide)problem->cost[a] * solution->flow[a];
	if (primal != solution->cost)
		return fail(verdict, MCF_FAULT_COST, "the answer states cost %" PRId64 ", its flow costs %.17g",
			    solution->cost, rough(primal));
	if (primal != dual)
		return fail(verdict, MCF_FAULT_DUALITY, "primal cost %.17g differs from dual cost %.17g", rough(primal),
			    rough(dual));
	return true;
}

/* Checks Farkas' inequality: weighted with y, the supplies exceed the value of any flow within the capacities. */
static bool check_infeasible(const struct mcf_problem *problem, const int64_t *y, struct mcf_verdict *verdict)
{
	mcf_wide wanted = 0, possible = 0;

	for (int32_t v = 0; v < problem->node_count; v++)
		wanted += (mcf_wide)y[v] * problem->supply[v];
	for (int32_t a = 0; a < problem->arc_count; a++) {
		mcf_wide weight = (mcf_wide)y[problem->tail[a]] - y[problem->head[a]];

		possible += weight * (weight > 0 ? problem->capacity[a] : lower_bound(problem, a));
	}
	if (wanted > possible)
		return true;
	return fail(verdict, MCF_FAULT_NOT_INFEASIBLE,
		    "invalid proof of infeasibility: the weighted supplies are %.17g, but must exceed the largest "
		    "weighted flow, %.17g",
		    rough(wanted), rough(possible));
}

bool mcf_verify(const struct mcf_problem *problem, const struct mcf_solution *solution, struct mcf_verdict *verdict)
{
	*verdict = (struct mcf_verdict){.arc = -1, .node = -1};
	if (solution->status == MCF_INFEASIBLE)
		return check_infeasible(problem, solution->potential, verdict);
	if (solution->status != MCF_OPTIMAL)
		return fail(verdict, MCF_FAULT_STATUS, "there is no answer to check: %s",
			    mcf_status_name(solution->status));
	return check_bounds(problem, solution->flow, verdict) && check_conservation(problem, solution->flow, verdict) &&
	       check_slackness(problem, solution, verdict) && check_costs(problem, solution, verdict);
}
