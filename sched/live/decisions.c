/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the decisions of rounds, numbers them, and stores the latest for readers. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

#include "live_priv.h"

void live_decision_clear(struct live_decision *decision)
{
	free(decision->job);
	free(decision->task);
	free(decision->from);
	free(decision->to);
}

/*
 * Makes space for a decision. Drops the oldest decisions only when twice decisions_kept are stored, so that dropping
 * takes constant time per decision.
 */
static int make_space(struct live *live)
{
	struct live_decision *decisions;

	if (live->decision_count >= 2 * (size_t)live->settings.decisions_kept) {
		size_t drop = live->decision_count - live->settings.decisions_kept;

		for (size_t d = 0; d < drop; d++)
			live_decision_clear(&live->decisions[d]);
		memmove(live->decisions, live->decisions + drop,
			(live->decision_count - drop) * sizeof *live->decisions);
		live->decision_count -= drop;
	}
	decisions = array_grow(live->decisions, live->decision_count, &live->decision_capacity, sizeof *decisions);
	if (!decisions)
		return -ENOMEM;
	live->decisions = decisions;
	return 0;
}

int live_decide(struct live *live, const struct live_decision *what, const struct live_job *job, struct live_task *task,
		int32_t from, int32_t to)
{
	struct live_decision *decision;

	if (make_space(live) < 0)
		return -ENOMEM;
	decision = &live->decisions[live->decision_count];
	*decision = *what;
	decision->sequence = live->last_decision + 1;
	decision->job = strdup(job->id);
	decision->task = strdup(task->name);
	decision->is_root = live_task_number(job, task) == job->root;
	decision->rtt_us = decision->performance = decision->measured = NAN;
	decision->from = from >= 0 ? strdup(live->cluster->machines[from].name) : NULL;
	decision->to = strdup(live->cluster->machines[to].name);
	if (!decision->job || !decision->task || !decision->to || (from >= 0 && !decision->from)) {
		live_decision_clear(decision);
		return -ENOMEM;
	}
	if (!decision->is_root) {
		live_predict(live, job, (uint32_t)to, &decision->rtt_us, &decision->performance, &decision->origin);
		if (what->kind != LIVE_ADVICE)
			task->move.was_measured = migration_is_measured(decision->origin);
		decision->measured = live_measured_share(live, (uint32_t)flownet_root_machine(live->net, job->number));
	}
	live->decision_count++;
	live->last_decision++;
	live->totals.decisions++;
	task->decision = live->last_decision;
	return 0;
}

int live_place(struct live *live, struct live_job *job, struct live_task *task, double now_s)
{
	const struct live_decision what = {.kind = LIVE_PLACE,
					   .at_s = now_s,
					   .waited_s = fmax(0, now_s - task->since_s),
					   .recovers = task->recovery == LIVE_RECOVERY_PLACED && task->lost_on >= 0};
	int code;

	if (task->lost_on < 0)
		task->recovery = LIVE_RECOVERY_NONE;
	live_set_state(live, job, task, LIVE_DECIDED, now_s);
	code = live_decide(live, &what, job, task, -1, task->machine);
	if (code == 0 && live->settings.confirm_at_once)
		code = live_started(live, job->id, task->name, live->cluster->machines[task->machine].name, now_s,
				    NULL);
	return code;
}

const struct live_decision *live_decisions(const struct live *live, uint64_t after, size_t *count)
{
	uint64_t first =
		live->last_decision - live->decision_count; /* number of the decision before the oldest stored one */
	size_t skip = after > first ? (size_t)(after - first) : 0;

	*count = skip < live->decision_count ? live->decision_count - skip : 0;
	return *count > 0 ? live->decisions + skip : NULL;
}

uint64_t live_last_decision(const struct live *live)
{
	return live->last_decision;
}

void live_number_decisions(struct live *live, uint64_t last)
{
	live->last_decision = last;
	live_note_number(live, "number", (double)last);
}
