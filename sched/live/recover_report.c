/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports on the last recovery. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "recover_priv.h"

double live_slowest_s(const struct recovery_scenario *s, double p)
{
	double slowest = 0;

	for (uint32_t k = 0; k < s->application_count; k++)
		slowest = fmax(slowest, recovery_transfer_time_s(s, k, p));
	return isfinite(slowest) ? slowest : NAN;
}

static const char *server_name(const struct recovery_scenario *s, uint32_t server)
{
	return s->servers[server].name;
}

/* The lost tasks with their machines, and the sums of the rates of their flows. */
static json_t *places_report(const struct recovery_scenario *s, const uint32_t *server, const double *rate_MBps)
{
	double *sums = calloc(2 * (s->task_count + (size_t)1), sizeof *sums), *in = sums ? sums + s->task_count : NULL;
	json_t *list = sums ? json_array() : NULL;

	for (uint32_t f = 0; sums && f < s->flow_count; f++) {
		sums[s->flows[f].from] += rate_MBps[f];
		in[s->flows[f].to] += rate_MBps[f];
	}
	for (uint32_t t = 0; list && t < s->task_count; t++)
		if (s->tasks[t].failed)
			json_array_append_new(list,
					      json_pack("{s:s, s:s, s:s, s:s, s:f, s:f}", "job",
							s->applications[s->tasks[t].application].name, "task",
							s->tasks[t].name, "from", server_name(s, s->tasks[t].server),
							"to", server_name(s, server[t]), "send_MBps", sums[t],
							"receive_MBps", in[t]));
	free(sums);
	return list;
}

static json_t *rates_report(const struct recovery_scenario *s, const double *rate_MBps)
{
	json_t *list = json_array();

	for (uint32_t f = 0; f < s->flow_count; f++) {
		const struct recovery_task *from = &s->tasks[s->flows[f].from];

		if (rate_MBps[f] > 0)
			json_array_append_new(list,
					      json_pack("{s:s, s:s, s:s, s:f}", "job",
							s->applications[from->application].name, "from", from->name,
							"to", s->tasks[s->flows[f].to].name, "MBps", rate_MBps[f]));
	}
	return list;
}

json_t *live_recovery_figures(const struct live *live)
{
	const struct live_recovered *last = live->recovered;
	json_t *figures = json_pack(
		"{s:s, s:s, s:I, s:I, s:I, s:f, s:o}", "schema", "nomora.recovery-live/1", "status",
		recovery_status_name(last->status), "lost", (json_int_t)last->lost, "flows",
		(json_int_t)last->scenario->flow_count, "measured", (json_int_t)last->measured, "solve_ms",
		1000 * last->solve_s, "slowest_before_s",
		json_number_or_null(live_slowest_s(last->scenario, recovery_evaluate_before(last->scenario))));

	if (figures && last->placed)
		json_object_update_new(figures, json_pack("{s:o, s:f}", "slowest_s",
							  json_number_or_null(live_slowest_s(last->scenario, last->p)),
							  "gap", last->gap));
	return figures;
}

json_t *live_recovery_to_json(const struct live *live)
{
	const struct live_recovered *last = live->recovered;
	json_t *root = last ? live_recovery_figures(live) : NULL;
	double *rate_MBps = root ? calloc(last->scenario->flow_count + (size_t)1, sizeof *rate_MBps) : NULL;

	if (rate_MBps && last->placed) {
		recovery_rates(last->scenario, last->server, last->p, rate_MBps);
		json_object_update_new(root, json_pack("{s:o, s:o}", "tasks",
						       places_report(last->scenario, last->server, rate_MBps), "rates",
						       rates_report(last->scenario, rate_MBps)));
	}
	free(rate_MBps);
	return root;
}

void live_recovered_free(struct live_recovered *recovered)
{
	if (!recovered)
		return;
	recovery_destroy(recovered->scenario);
	free(recovered->server);
	free(recovered);
}

void live_recovery_say(const struct live_task *task, char why[static 160])
{
	static const char *const reasons[] = {
		[LIVE_RECOVERY_NO_FLOWS] = "no flow of the task is stated or measured",
		[LIVE_RECOVERY_HELD] = "its job waited for a minimum number of slots",
		[LIVE_RECOVERY_SLOTS] = "recovery found no slots for all lost tasks",
		[LIVE_RECOVERY_LINKS] = "in recovery, a flow would need a link without capacity",
		[LIVE_RECOVERY_LATE] = "recovery found no placement in time",
		[LIVE_RECOVERY_CUT_OFF] = "recovery's machine cannot be reached from the root",
	};

	if (task->recovery == LIVE_RECOVERY_PLACED)
		snprintf(why, 160,
			 "its machine failed; recovery placed all lost tasks together: the slowest job transfers for "
			 "%.3g s (%u flows measured, %u stated)",
			 (double)task->slowest_s, task->measured_flows, task->flows - task->measured_flows);
	else if (task->recovery != LIVE_RECOVERY_NONE)
		snprintf(why, 160, "its machine failed; placed by the policy: %s", reasons[task->recovery]);
}
