/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sched/flows/max_min.h>
#include <sched/recovery/sharing.h>

struct arrays {
	double *weight, *offered, *load, *capacity, *work;
	uint32_t *first, *source;
};

static void free_arrays(struct arrays *a)
{
	free(a->weight);
	free(a->offered);
	free(a->load);
	free(a->capacity);
	free(a->work);
	free(a->first);
	free(a->source);
}

/*
 * Makes the max-min problem. Its sources are the flows; an inactive flow has the offered rate 0. Its resources are the
 * egress links, then the ingress links.
 */
static bool fill(const struct fluid *fluid, struct arrays *a, struct max_min_problem *problem)
{
	uint32_t servers = fluid->scenario->server_count, resources = 2 * servers, count = fluid->count;

	a->weight = malloc((count + 1u) * sizeof *a->weight);
	a->offered = malloc((count + 1u) * sizeof *a->offered);
	a->load = malloc((2 * count + 1u) * sizeof *a->load);
	a->source = malloc((2 * count + 1u) * sizeof *a->source);
	a->capacity = malloc((resources + 1u) * sizeof *a->capacity);
	a->first = calloc(resources + 2u, sizeof *a->first);
	if (!a->weight || !a->offered || !a->load || !a->source || !a->capacity || !a->first)
		return false;
	memcpy(a->capacity, fluid->egress_MBps, servers * sizeof *a->capacity);
	memcpy(a->capacity + servers, fluid->ingress_MBps, servers * sizeof *a->capacity);
	for (uint32_t i = 0; i < count; i++) {
		a->weight[i] = 1;
		a->offered[i] = fluid->flows[i].active ? INFINITY : 0;
		a->first[fluid->flows[i].from + 2] += fluid->flows[i].active;
		a->first[servers + fluid->flows[i].to + 2] += fluid->flows[i].active;
	}
	/*
	 * Sets first[r + 1] to the beginning of resource r's list. Filling the list then advances first[r + 1] to the
	 * list's end, which is the beginning of the next list.
	 */
	for (uint32_t r = 2; r <= resources + 1; r++)
		a->first[r] += a->first[r - 1];
	for (uint32_t i = 0; i < count; i++) {
		uint32_t links[2] = {fluid->flows[i].from, servers + fluid->flows[i].to};

		for (int end = 0; end < 2 && fluid->flows[i].active; end++) {
			a->load[a->first[links[end] + 1]] = 1;
			a->source[a->first[links[end] + 1]++] = i;
		}
	}
	*problem = (struct max_min_problem){.source_count = count,
					    .resource_count = resources,
					    .capacity = a->capacity,
					    .weight = a->weight,
					    .offered = a->offered,
					    .first = a->first,
					    .source = a->source,
					    .load = a->load};
	a->work = malloc((max_min_work_doubles(problem) + 1) * sizeof *a->work);
	return a->work != NULL;
}

static int rates(const struct fluid *fluid, double *rate)
{
	struct arrays arrays = {0};
	struct max_min_problem problem;
	bool good = fill(fluid, &arrays, &problem);

	if (good)
		max_min_solve(&problem, rate, NULL, arrays.work);
	free_arrays(&arrays);
	return good ? 0 : -ENOMEM;
}

const struct sharing_policy sharing_max_min = {"max-min", "max-min fair rates per flow", false, rates};

static int equal_rates(const struct fluid *fluid, double *rate)
{
	uint32_t servers = fluid->scenario->server_count;
	uint32_t *out = calloc(2 * (servers + 1u), sizeof *out), *in = out ? out + servers : NULL;

	if (!out)
		return -ENOMEM;
	for (uint32_t i = 0; i < fluid->count; i++) {
		out[fluid->flows[i].from]++;
		in[fluid->flows[i].to]++;
	}
	for (uint32_t i = 0; i < fluid->count; i++) {
		const struct fluid_flow *flow = &fluid->flows[i];

		rate[i] = fmin(fluid->egress_MBps[flow->from] / out[flow->from],
			       fluid->ingress_MBps[flow->to] / in[flow->to]);
	}
	free(out);
	return 0;
}

const struct sharing_policy sharing_equal = {"equal", "fixed equal shares of each link per flow", true, equal_rates};

static int performance_rates(const struct fluid *fluid, double *rate)
{
	for (uint32_t i = 0; i < fluid->count; i++)
		rate[i] = fluid->flows[i].active ? fluid->flows[i].share_MBps : 0;
	return 0;
}

const struct sharing_policy sharing_performance = {
	"performance", "eq. 19: the flows of an application end together, after a time set by its weight", true,
	performance_rates};
