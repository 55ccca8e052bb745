/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ways to share the links among the flows of a placement, and a fluid simulation of when flows and applications end.
 * Links are the access links of servers, one per direction; flows within a server end at once. Rates are MB/s. Pure.
 */
#ifndef SCHED_RECOVERY_SHARING_H
#define SCHED_RECOVERY_SHARING_H

#include <stdbool.h>
#include <stdint.h>

#include <model/recovery.h>

struct fluid_flow {
	uint32_t index; /* index of the flow in the scenario */
	uint32_t application;
	uint32_t from, to; /* servers */
	double MB, start_s;
	double share_MBps; /* rate by eq. 19 */
	/* state */
	double left_MB;
	bool active;
};

/* Flows that cross the network, sorted by application. */
struct fluid {
	const struct recovery_scenario *scenario;
	struct fluid_flow *flows;
	uint32_t count;
	double *egress_MBps, *ingress_MBps; /* by server */
};

struct sharing_policy {
	const char *name, *summary;
	bool fixed; /* rates do not change when flows end */
	/* Fills rate[fluid->count] (0 for flows that are not active). Returns 0 or -ENOMEM. */
	int (*rates)(const struct fluid *fluid, double *rate);
};

/*
 * - performance: eq. 19. The flows of an application end together, after a time that is inversely proportional to the
 *   application's weight.
 * - work-conserving: eq. 19 as a floor. Applications share the remaining capacity by weighted max-min fairness,
 *   computed again whenever a flow starts or ends. No application ends later than with eq. 19.
 * - equal: each flow has a fixed rate. A link offers each of its flows capacity / number of flows; a flow gets the
 *   smaller of the offers of its two links.
 * - max-min: max-min fair rates per flow, computed again whenever a flow starts or ends.
 */
extern const struct sharing_policy sharing_performance, sharing_work_conserving, sharing_equal, sharing_max_min;
extern const struct sharing_policy *const sharing_policies[]; /* NULL-terminated */

struct fluid_result {
	double *flow_end_s;        /* end of each flow of the scenario */
	double *application_end_s; /* end of each application's last flow */
	uint64_t events;
};

/* Lists the flows that cross the network. server: each task's server. p: for share_MBps (eq. 19). 0 or -ENOMEM. */
int fluid_create(const struct recovery_scenario *scenario, const uint32_t *server, double p, struct fluid *fluid);
void fluid_free(struct fluid *fluid);

/*
 * Simulates until every flow has ended. An event ends the next flow and those that end within step_s after it; then the
 * rates are computed again. step_s = 0 is exact. A flow that never gets a rate ends at INFINITY. 0 or -ENOMEM. The
 * caller frees the result by fluid_result_free().
 */
int fluid_run(struct fluid *fluid, const struct sharing_policy *policy, double step_s, struct fluid_result *result);
void fluid_result_free(struct fluid_result *result);

#endif
