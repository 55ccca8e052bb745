/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <sched/flows/max_min.h>
#include <sched/recovery/sharing.h>

/*
 * The max-min problem: source k is application k. Its rate is the fraction of the application's remaining volume that
 * is sent per second in addition to the rates of eq. 19.
 */
struct arrays {
	double *weight, *offered, *capacity, *load, *extra, *work, *sum;
	uint32_t *first, *source, *touched;
};

static bool allocate(const struct fluid *fluid, struct arrays *a)
{
	uint32_t resources = 2 * fluid->scenario->server_count, count = fluid->scenario->application_count;

	a->weight = calloc(count + 1u, sizeof *a->weight);
	a->offered = calloc(count + 1u, sizeof *a->offered);
	a->extra = calloc(count + 1u, sizeof *a->extra);
	a->capacity = calloc(resources + 1u, sizeof *a->capacity);
	a->sum = calloc(resources + 1u, sizeof *a->sum);
	a->touched = calloc(resources + 1u, sizeof *a->touched);
	a->first = calloc(resources + 2u, sizeof *a->first);
	a->load = calloc(2 * fluid->count + 1u, sizeof *a->load);
	a->source = calloc(2 * fluid->count + 1u, sizeof *a->source);
	return a->weight && a->offered && a->extra && a->capacity && a->sum && a->touched && a->first && a->load &&
	       a->source;
}

static void free_arrays(struct arrays *a)
{
	free(a->weight);
	free(a->offered);
	free(a->extra);
	free(a->capacity);
	free(a->sum);
	free(a->touched);
	free(a->first);
	free(a->load);
	free(a->source);
	free(a->work);
}

/*
 * Computes the load of each application on each resource (link). Counts the pairs with a load, or stores them if
 * `write` is set.
 */
static void walk_loads(const struct fluid *fluid, struct arrays *a, bool write)
{
	uint32_t servers = fluid->scenario->server_count, i = 0;

	while (i < fluid->count) {
		uint32_t k = fluid->flows[i].application, touched = 0;

		for (; i < fluid->count && fluid->flows[i].application == k; i++) {
			uint32_t links[2] = {fluid->flows[i].from, servers + fluid->flows[i].to};

			for (int end = 0; end < 2 && fluid->flows[i].active; end++) {
				if (a->sum[links[end]] == 0)
					a->touched[touched++] = links[end];
				a->sum[links[end]] += fluid->flows[i].left_MB;
			}
		}
		for (uint32_t j = 0; j < touched; j++) {
			uint32_t r = a->touched[j];

			if (write) {
				a->load[a->first[r + 1]] = a->sum[r];
				a->source[a->first[r + 1]++] = k;
			} else {
				a->first[r + 2]++;
			}
			a->sum[r] = 0;
		}
	}
}

static void fill(const struct fluid *fluid, struct arrays *a)
{
	const struct recovery_scenario *s = fluid->scenario;
	uint32_t servers = s->server_count, resources = 2 * servers;

	for (uint32_t n = 0; n < servers; n++) {
		a->capacity[n] = fluid->egress_MBps[n];
		a->capacity[servers + n] = fluid->ingress_MBps[n];
	}
	for (uint32_t k = 0; k < s->application_count; k++)
		a->weight[k] = s->applications[k].weight;
	for (uint32_t i = 0; i < fluid->count; i++) {
		const struct fluid_flow *flow = &fluid->flows[i];

		if (!flow->active)
			continue;
		a->offered[flow->application] = INFINITY;
		a->capacity[flow->from] -= flow->share_MBps;
		a->capacity[servers + flow->to] -= flow->share_MBps;
	}
	for (uint32_t r = 0; r < resources; r++)
		a->capacity[r] = fmax(0, a->capacity[r]);
	walk_loads(fluid, a, false);
	for (uint32_t r = 2; r <= resources + 1; r++)
		a->first[r] += a->first[r - 1];
	walk_loads(fluid, a, true);
}

static int rates(const struct fluid *fluid, double *rate)
{
	struct arrays a = {0};
	struct max_min_problem problem;
	int code = allocate(fluid, &a) ? 0 : -ENOMEM;

	if (code == 0) {
		fill(fluid, &a);
		problem = (struct max_min_problem){.source_count = fluid->scenario->application_count,
						   .resource_count = 2 * fluid->scenario->server_count,
						   .capacity = a.capacity,
						   .weight = a.weight,
						   .offered = a.offered,
						   .first = a.first,
						   .source = a.source,
						   .load = a.load};
		a.work = malloc((max_min_work_doubles(&problem) + 1) * sizeof *a.work);
		code = a.work ? 0 : -ENOMEM;
	}
	if (code == 0)
		max_min_solve(&problem, a.extra, NULL, a.work);
	for (uint32_t i = 0; i < fluid->count && code == 0; i++) {
		const struct fluid_flow *flow = &fluid->flows[i];

		rate[i] = flow->active ? flow->share_MBps + a.extra[flow->application] * flow->left_MB : 0;
	}
	free_arrays(&a);
	return code;
}

const struct sharing_policy sharing_work_conserving = {
	"work-conserving", "at least the rates of eq. 19; the remaining capacity by weighted max-min over applications",
	false, rates};
