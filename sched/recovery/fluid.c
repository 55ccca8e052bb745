/* SPDX-License-Identifier: BSD-3-Clause */
/* Event-driven simulation: between two events every flow has a constant rate. */
#include <sched/recovery/sharing.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sched/recovery/recovery.h>

/* A flow has ended when no more than this part of its volume is left. */
static const double rest = 1e-9;

const struct sharing_policy *const sharing_policies[] = {&sharing_performance, &sharing_work_conserving, &sharing_equal,
							 &sharing_max_min, NULL};

static double start_of(const struct recovery_scenario *s, const struct recovery_flow *flow)
{
	const struct recovery_task *from = &s->tasks[flow->from], *to = &s->tasks[flow->to];

	return fmax(from->failed ? from->relaunch_s : 0, to->failed ? to->relaunch_s : 0);
}

int fluid_create(const struct recovery_scenario *s, const uint32_t *server, double p, struct fluid *fluid)
{
	double *rate = malloc((s->flow_count + 1u) * sizeof *rate);

	*fluid = (struct fluid){.scenario = s,
				.flows = calloc(s->flow_count + 1u, sizeof *fluid->flows),
				.egress_MBps = calloc(2 * (s->server_count + 1u), sizeof *fluid->egress_MBps)};
	if (!rate || !fluid->flows || !fluid->egress_MBps) {
		free(rate);
		fluid_free(fluid);
		return -ENOMEM;
	}
	fluid->ingress_MBps = fluid->egress_MBps + s->server_count;
	for (uint32_t n = 0; n < s->server_count; n++) {
		fluid->egress_MBps[n] = s->servers[n].egress_MBps;
		fluid->ingress_MBps[n] = s->servers[n].ingress_MBps;
	}
	recovery_rates(s, server, p, rate);
	for (uint32_t i = 0; i < s->flow_count; i++) {
		const struct recovery_flow *flow = &s->flows[i];
		double MB = recovery_flow_left_MB(s, flow);

		if (server[flow->from] == server[flow->to] || MB <= 0)
			continue;
		fluid->flows[fluid->count++] = (struct fluid_flow){.index = i,
								   .application = s->tasks[flow->from].application,
								   .from = server[flow->from],
								   .to = server[flow->to],
								   .MB = MB,
								   .start_s = start_of(s, flow),
								   .share_MBps = rate[i]};
	}
	free(rate);
	return 0;
}

void fluid_free(struct fluid *fluid)
{
	free(fluid->flows);
	free(fluid->egress_MBps);
	*fluid = (struct fluid){0};
}

void fluid_result_free(struct fluid_result *result)
{
	free(result->flow_end_s);
	free(result->application_end_s);
}

/* Starts the flows that are due. Returns the time at which the next flow starts, or INFINITY if none is left. */
static double start_flows(struct fluid *fluid, double now_s)
{
	double next_s = INFINITY;

	for (uint32_t i = 0; i < fluid->count; i++) {
		struct fluid_flow *flow = &fluid->flows[i];

		if (flow->active || flow->left_MB <= 0)
			continue;
		if (flow->start_s <= now_s)
			flow->active = true;
		else
			next_s = fmin(next_s, flow->start_s);
	}
	return next_s;
}

static void end_flow(struct fluid_flow *flow, double end_s, struct fluid_result *result)
{
	flow->active = false;
	flow->left_MB = 0;
	result->flow_end_s[flow->index] = end_s;
}

/* Advances to the next event. Returns false if no flow will start or end any more. */
static bool advance(struct fluid *fluid, const double *rate, double step_s, double next_start_s, double *now_s,
		    struct fluid_result *result)
{
	double next_s = INFINITY;

	for (uint32_t i = 0; i < fluid->count; i++) {
		if (fluid->flows[i].active && rate[i] > 0)
			next_s = fmin(next_s, *now_s + fluid->flows[i].left_MB / rate[i]);
	}
	next_s = fmin(next_s + step_s, next_start_s);
	if (isinf(next_s))
		return false;
	for (uint32_t i = 0; i < fluid->count; i++) {
		struct fluid_flow *flow = &fluid->flows[i];
		double left_MB = flow->left_MB - rate[i] * (next_s - *now_s);

		if (!flow->active)
			continue;
		if (left_MB <= rest * flow->MB)
			end_flow(flow, fmin(next_s, *now_s + flow->left_MB / rate[i]), result);
		else
			flow->left_MB = left_MB;
	}
	*now_s = next_s;
	return true;
}

static void run_fixed(struct fluid *fluid, const double *rate, struct fluid_result *result)
{
	for (uint32_t i = 0; i < fluid->count; i++) {
		struct fluid_flow *flow = &fluid->flows[i];

		end_flow(flow, rate[i] > 0 ? flow->start_s + flow->MB / rate[i] : INFINITY, result);
	}
	result->events = fluid->count;
}

static int run_events(struct fluid *fluid, const struct sharing_policy *policy, double step_s, double *rate,
		      struct fluid_result *result)
{
	double now_s = 0;
	int code;

	for (;; result->events++) {
		double next_start_s = start_flows(fluid, now_s);

		code = policy->rates(fluid, rate);
		if (code != 0 || !advance(fluid, rate, step_s, next_start_s, &now_s, result))
			break;
	}
	for (uint32_t i = 0; i < fluid->count; i++) {
		if (fluid->flows[i].left_MB > 0)
			result->flow_end_s[fluid->flows[i].index] = INFINITY;
	}
	return code;
}

/*
 * Sets the ends of the applications and of the flows within a server. A flow within a server ends when both its tasks
 * run again.
 */
static void fill_ends(const struct fluid *fluid, struct fluid_result *result)
{
	const struct recovery_scenario *s = fluid->scenario;

	for (uint32_t i = 0; i < s->flow_count; i++) {
		uint32_t k = s->tasks[s->flows[i].from].application;

		if (result->flow_end_s[i] == 0 && recovery_flow_left_MB(s, &s->flows[i]) > 0)
			result->flow_end_s[i] = start_of(s, &s->flows[i]);
		result->application_end_s[k] = fmax(result->application_end_s[k], result->flow_end_s[i]);
	}
}

int fluid_run(struct fluid *fluid, const struct sharing_policy *policy, double step_s, struct fluid_result *result)
{
	double *rate = calloc(fluid->count + 1u, sizeof *rate);
	int code = -ENOMEM;

	*result = (struct fluid_result){
		.flow_end_s = calloc(fluid->scenario->flow_count + 1u, sizeof *result->flow_end_s),
		.application_end_s =
			calloc(fluid->scenario->application_count + 1u, sizeof *result->application_end_s)};
	if (rate && result->flow_end_s && result->application_end_s) {
		for (uint32_t i = 0; i < fluid->count; i++) {
			fluid->flows[i].left_MB = fluid->flows[i].MB;
			fluid->flows[i].active = policy->fixed;
		}
		code = policy->fixed ? policy->rates(fluid, rate) : run_events(fluid, policy, step_s, rate, result);
		if (code == 0 && policy->fixed)
			run_fixed(fluid, rate, result);
		if (code == 0)
			fill_ends(fluid, result);
	}
	free(rate);
	if (code != 0)
		fluid_result_free(result);
	return code;
}
