/* SPDX-License-Identifier: BSD-3-Clause */
/* What the policy would do instead of a recovery. */
#include <math.h>
#include <stdlib.h>

#include <sched/live/change.h>

#include "recover_priv.h"

/*
 * Reports where the lost tasks are after the policy has placed them. Their transfer times are not known if one of them
 * waits, or is on a machine that is not in the network.
 */
static json_t *by_policy(const struct live *live, const struct live_loss *loss)
{
	const struct recovery_scenario *s = loss->scenario;
	uint32_t *server = calloc(s->task_count + (size_t)1, sizeof *server), waiting = 0, unlisted = 0;
	json_t *list = server ? json_array() : NULL;

	for (uint32_t t = 0; list && t < s->task_count; t++) {
		int32_t machine = loss->origins[t].task->machine;

		server[t] = s->tasks[t].server;
		if (!s->tasks[t].failed)
			continue;
		waiting += machine < 0;
		if (machine >= 0) {
			server[t] = (uint32_t)loss->server_of[machine];
			unlisted += s->servers[server[t]].egress_MBps >= UNLISTED_MBPS;
		}
		json_array_append_new(list, json_pack("{s:s, s:s, s:s?}", "job", loss->origins[t].job->id, "task",
						      s->tasks[t].name, "to",
						      machine >= 0 ? live->cluster->machines[machine].name : NULL));
	}
	if (!list) {
		free(server);
		return NULL;
	}
	list = json_pack("{s:o, s:I, s:o, s:o}", "performance", json_number_or_null(live_performance(live)), "waiting",
			 (json_int_t)waiting, "slowest_s",
			 json_number_or_null(
				 waiting + unlisted > 0 ? NAN : live_slowest_s(s, recovery_evaluate(s, server, NULL))),
			 "tasks", list);
	free(server);
	return list;
}

json_t *live_recovery_by_policy(struct live *live, double now_s, double within_s, struct error *err)
{
	json_t *answer = NULL;
	struct live_loss loss;
	double end_s;
	int code = live_loses(live) ? live_loss_create(live, &loss) : 1;

	if (code == 1)
		return json_null();
	live->settings.network = NULL;
	if (code < 0)
		live_out_of_memory(err);
	else if (loss.count == 0)
		answer = json_null();
	else if (live_settle(live, now_s, within_s, &end_s, err) == 0)
		answer = by_policy(live, &loss);
	if (!answer && code == 0 && !err->code)
		live_out_of_memory(err);
	live_loss_free(&loss);
	return answer;
}
