/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves whole jobs. Slurm restarts a requeued job from its beginning, including the root, so the gain of a move is
 * computed for the whole job.
 *
 * For one running job at a time, the agent submits a copy with waiting tasks to schedd, under another id. schedd's
 * decision about the copy reserves slots. If the mean predicted performance on the copy's machines is better by the
 * required gain, the agent requeues the job to run there; otherwise it removes the copy.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <base/log.h>

#include "agent_priv.h"

/*
 * Limit, in seconds, for schedd's decision about the copy. If slots are free, schedd decides within a round; a job that
 * would have to wait for slots is not moved.
 */
#define REVIEW_LIMIT_S 10

static const struct slurm_job *find_job(const struct agent *agent, uint32_t id)
{
	for (uint32_t j = 0; j < agent->view.job_count; j++)
		if (agent->view.jobs[j].id == id)
			return &agent->view.jobs[j];
	return NULL;
}

/*
 * True if the job may move now: it runs, is settled, has more than one task, permits moves, and, if it was requeued
 * before, has run for no_return_s.
 */
static bool may_move(const struct agent *agent, const struct slurm_job *job, struct slurm_request *request)
{
	double running_s = difftime(time(NULL), job->start);

	return job->state == SLURM_RUNNING && job->simple && job->plain && job->tasks > 1 &&
	       agent_is_settled(agent, job) && slurm_request_parse(job->comment, job->tasks, request, NULL) == 1 &&
	       request->move && (job->restarts == 0 || running_s >= agent->options.no_return_s);
}

/*
 * Returns the next job to review: jobs are reviewed in the order of their numbers, again and again. NULL: no job may
 * move.
 */
static const struct slurm_job *next_job(const struct agent *agent, struct slurm_request *request)
{
	const struct slurm_job *first = NULL, *next = NULL;

	for (uint32_t j = 0; j < agent->view.job_count; j++) {
		const struct slurm_job *job = &agent->view.jobs[j];

		if (!may_move(agent, job, request))
			continue;
		if (!first || job->id < first->id)
			first = job;
		if (job->id > agent->review.last && (!next || job->id < next->id))
			next = job;
	}
	next = next ? next : first;
	if (next)
		slurm_request_parse(next->comment, next->tasks, request, NULL);
	return next;
}

/* Begins the review of a job. Does nothing if even the best performance, 1, would not reach the required gain. */
static int begin_review(struct agent *agent, const struct slurm_job *job, const struct slurm_request *request,
			struct error *err)
{
	struct review *review = &agent->review;
	struct slurm_mark mark;
	char id[SLURM_NAME_BYTES];
	int code;

	review->last = job->id;
	code = slurm_mark_parse(job->mark, &mark);
	agent_job_id(job, &mark, id);
	slurm_mark_free(&mark);
	if (code == 0)
		code = link_performance(&agent->schedd, id, job->tasks, request->root, &review->performance, err);
	if (code < 0 || isnan(review->performance) || 1 - review->performance < agent->options.migrate_gain)
		return code;
	snprintf(review->id, sizeof review->id, "%s%s.%u", LINK_ID_PREFIX, job->name, job->restarts + 1);
	if (strcmp(review->id, id) == 0) /* the job got this id by an earlier move */
		snprintf(review->id, sizeof review->id, "%s%s.%u", LINK_ID_PREFIX, job->name, job->restarts + 2);
	code = link_submit(&agent->schedd, review->id, request, job->tasks, NULL, 0, err);
	if (code == 0) {
		review->job = job->id;
		review->until = ns_add(ns_now_monotonic(), ns_from_us(REVIEW_LIMIT_S * 1e6));
	}
	return code;
}

static int end_review(struct agent *agent, struct error *err)
{
	agent->review.job = 0;
	return executor_forget(&agent->schedd, agent->review.id, err);
}

/*
 * Continues a review. Once schedd has decided about the copy, compares the two placements and ends the review. Also
 * ends it at its time limit.
 */
static int go_on(struct agent *agent, const struct slurm_job *job, const struct slurm_request *request,
		 struct error *err)
{
	struct review *review = &agent->review;
	struct sched_job counts = link_counts(&agent->schedd, review->id);
	char mark[sizeof review->id + 32];
	double performance;
	int code;

	if (counts.decided < job->tasks && ns_now_monotonic().v < review->until.v)
		return 0;
	code = link_performance(&agent->schedd, review->id, job->tasks, request->root, &performance, err);
	if (code < 0)
		return code;
	if (counts.decided < job->tasks || !(performance - review->performance >= agent->options.migrate_gain))
		return end_review(agent, err);
	log_info("job %s: moves for a predicted performance of %.3f instead of %.3f", job->name, performance,
		 review->performance);
	snprintf(mark, sizeof mark, "%s%s moving", SLURM_REQUEST_PREFIX, review->id);
	code = slurm_order_mark(job, mark, err);
	review->job = 0;
	return code;
}

int agent_review(struct agent *agent, struct error *err)
{
	struct ns now = ns_now_monotonic();
	struct slurm_request request;
	const struct slurm_job *job;

	if (agent->review.job != 0) {
		job = find_job(agent, agent->review.job);
		return job && may_move(agent, job, &request) ? go_on(agent, job, &request, err)
							     : end_review(agent, err);
	}
	if (!agent->options.migrate || now.v < agent->next_review.v)
		return 0;
	agent->next_review = ns_add(now, ns_from_us(agent->options.review_s * 1e6));
	job = next_job(agent, &request);
	return job ? begin_review(agent, job, &request, err) : 0;
}
