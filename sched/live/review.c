/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reviews jobs before a round: those whose costs have changed, and those of which a task has started. The work before
 * each round is bounded; the remaining jobs are reviewed before later rounds. So a window with many measurements does
 * not delay waiting tasks. Until its review, a job keeps its previous costs in the network. The review updates these
 * costs, and lets the network consider moves of the job's tasks only if one of the tasks could gain at least
 * migrate_gain. No performance exceeds 1, so every move of a task that performs better than 1 - migrate_gain would be
 * refused; leaving such jobs out saves the solver work.
 */
#include "live_priv.h"

/*
 * WORK_A_ROUND: maximum work of the reviews before one round; they take up to 5 ms with 12,500 machines. WORK_A_ROW:
 * work of recomputing a job's row of costs. The unit is one look-up of a round trip (0.2 us).
 */
enum { WORK_A_ROUND = 20000, WORK_A_ROW = 100 };

void live_review_moved(struct live *live, const struct cost_moved *moved)
{
	for (size_t i = 0; i < moved->count; i++)
		live->machines[moved->machines[i]].rtt_moved = true;
	for (uint32_t j = 0; j < live->job_count; j++) {
		int32_t root = live->jobs[j] ? flownet_root_machine(live->net, j) : FLOWNET_NONE;

		if (root == FLOWNET_NONE || !live->machines[root].rtt_moved)
			continue;
		live->jobs[j]->rtt_moved = true;
		live_review_later(live, live->jobs[j]);
	}
	for (size_t i = 0; i < moved->count; i++)
		live->machines[moved->machines[i]].rtt_moved = false;
}

static bool could_move(const struct live *live, const struct live_job *job, uint32_t *work)
{
	double gain = live_limits(live, job).migrate_gain;

	if (!live_moves_on(live, job) || flownet_root_machine(live->net, job->number) == FLOWNET_NONE)
		return false;
	for (uint32_t t = 0; t < job->task_count; t++) {
		double rtt_us, performance;
		enum latency_origin origin;

		if (job->tasks[t].state != LIVE_RUNNING || t == job->root)
			continue;
		++*work;
		live_predict(live, job, (uint32_t)job->tasks[t].machine, &rtt_us, &performance, &origin);
		if (1 - performance >= gain)
			return true;
	}
	return false;
}

/* Reviews one job and adds the work to *work. 0 or -errno. */
static int review(struct live *live, struct live_job *job, uint32_t *work)
{
	bool moves = could_move(live, job, work), moved = job->rtt_moved;

	live_review_leave(live, job);
	job->rtt_moved = false;
	if (moves || flownet_waiting_tasks(live->net, job->number) > 0)
		*work += WORK_A_ROW;
	if (moves != job->in_moves) {
		job->in_moves = moves;
		return flownet_job_moves(live->net, job->number, moves, live_limits(live, job).migrate_gain);
	}
	return moved ? flownet_costs_changed(live->net, job->number) : 0;
}

int live_review(struct live *live)
{
	uint32_t work = 0;
	int code = 0;

	while (!TAILQ_EMPTY(&live->reviews) && work < WORK_A_ROUND && code == 0) {
		work++;
		code = review(live, TAILQ_FIRST(&live->reviews), &work);
	}
	return code;
}
