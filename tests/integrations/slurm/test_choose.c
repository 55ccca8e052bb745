/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The step that the agent takes for each combination of Slurm's and schedd's states. The job has three tasks; schedd's
 * decision is n1,n3,n3 unless stated otherwise.
 */
#include <stdio.h>
#include <stdlib.h>

#include <criterion/criterion.h>

#include "choose.h"

static char n1[] = "n1", n3[] = "n3", n5[] = "n5";

struct row {
	enum slurm_job_state state;
	bool held;
	enum slurm_mark_kind mark;
	bool known;
	uint32_t decided, running, failed;
	bool elsewhere; /* schedd decided for other machines */
	enum slurm_step step;
	bool by_slurm, adopted;
	bool late;
	uint32_t restarts;
	bool lacks_nodes, blocked;
};

static const struct row rows[] = {
	/* A placed job that has not started yet */
	{SLURM_PENDING, false, SLURM_MARK_PLACED, true, 3, 0, 0, false, SLURM_STEP_NONE},
	{SLURM_PENDING, false, SLURM_MARK_PLACED, true, 2, 0, 0, true, SLURM_STEP_NONE},
	{SLURM_PENDING, false, SLURM_MARK_PLACED, true, 3, 0, 0, true, SLURM_STEP_PLACE},
	{SLURM_PENDING, false, SLURM_MARK_PLACED, true, 0, 0, 1, false, SLURM_STEP_PASS},
	{SLURM_PENDING, false, SLURM_MARK_PLACED, false, 0, 0, 0, false, SLURM_STEP_PASS},
	/* others have the CPUs */
	{SLURM_PENDING, false, SLURM_MARK_PLACED, true, 3, 0, 0, false, SLURM_STEP_PASS, .lacks_nodes = true},
	{SLURM_PENDING, false, SLURM_MARK_PLACED, true, 3, 0, 0, true, SLURM_STEP_PLACE, .lacks_nodes = true},
	{SLURM_PENDING, false, SLURM_MARK_PLACED, true, 2, 0, 0, false, SLURM_STEP_NONE, .lacks_nodes = true},
	{SLURM_PENDING, false, SLURM_MARK_PLACED, true, 3, 0, 0, false, SLURM_STEP_NONE, .restarts = 1,
	 .lacks_nodes = true},
	/* a limit of its account or QOS */
	{SLURM_PENDING, false, SLURM_MARK_PLACED, true, 3, 0, 0, false, SLURM_STEP_PASS, .blocked = true},
	{SLURM_PENDING, false, SLURM_MARK_PLACED, true, 3, 0, 0, true, SLURM_STEP_PASS, .blocked = true},
	{SLURM_PENDING, false, SLURM_MARK_PLACED, true, 2, 0, 0, false, SLURM_STEP_PASS, .blocked = true},
	{SLURM_PENDING, false, SLURM_MARK_PLACED, true, 3, 0, 0, false, SLURM_STEP_NONE, .restarts = 1,
	 .blocked = true},
	/* not within the patience of 5 s */
	{SLURM_PENDING, false, SLURM_MARK_PLACED, true, 3, 0, 0, false, SLURM_STEP_PASS, .late = true},
	{SLURM_PENDING, false, SLURM_MARK_PLACED, true, 0, 0, 0, false, SLURM_STEP_PASS, .late = true},
	/* held by a user; held by Slurm, because it cannot start on the nodes of the decision */
	{SLURM_PENDING, true, SLURM_MARK_PLACED, true, 3, 0, 0, false, SLURM_STEP_PASS},
	{SLURM_PENDING, true, SLURM_MARK_PLACED, true, 3, 0, 0, false, SLURM_STEP_PASS, .by_slurm = true},
	/* requeued */
	{SLURM_PENDING, false, SLURM_MARK_PLACED, true, 0, 3, 0, false, SLURM_STEP_SUBMIT, .restarts = 1},
	{SLURM_PENDING, false, SLURM_MARK_PLACED, false, 0, 0, 0, false, SLURM_STEP_SUBMIT, .restarts = 1},
	{SLURM_PENDING, false, SLURM_MARK_PLACED, true, 0, 0, 0, false, SLURM_STEP_NONE, .restarts = 1},
	{SLURM_PENDING, true, SLURM_MARK_PLACED, true, 0, 3, 0, false, SLURM_STEP_PASS, .restarts = 1},
	/* Slurm had decided where it ran */
	{SLURM_PENDING, false, SLURM_MARK_PLACED, true, 0, 3, 0, false, SLURM_STEP_FORGET, .restarts = 1,
	 .adopted = true},
	{SLURM_PENDING, false, SLURM_MARK_PLACED, false, 0, 0, 0, false, SLURM_STEP_NONE, .restarts = 1,
	 .adopted = true},
	/* Running */
	{SLURM_RUNNING, false, SLURM_MARK_PLACED, true, 3, 0, 0, false, SLURM_STEP_START},
	{SLURM_RUNNING, false, SLURM_MARK_PLACED, true, 1, 2, 0, false, SLURM_STEP_START},
	{SLURM_RUNNING, false, SLURM_MARK_PLACED, true, 0, 3, 0, false, SLURM_STEP_NONE},
	{SLURM_RUNNING, false, SLURM_MARK_PLACED, true, 0, 3, 0, true, SLURM_STEP_ADOPT},
	{SLURM_RUNNING, false, SLURM_MARK_PLACED, true, 2, 0, 0, false, SLURM_STEP_ADOPT},
	{SLURM_RUNNING, false, SLURM_MARK_PASS, false, 0, 0, 0, false, SLURM_STEP_ADOPT},
	{SLURM_RUNNING, false, SLURM_MARK_NONE, false, 0, 0, 0, false, SLURM_STEP_ADOPT},
	{SLURM_RUNNING, false, SLURM_MARK_NONE, true, 0, 3, 0, false, SLURM_STEP_MARK}, /* the mark failed */
	{SLURM_RUNNING, false, SLURM_MARK_PASS, true, 0, 3, 0, false, SLURM_STEP_MARK},
	/* A move: requeued by the agent, then placed */
	{SLURM_RUNNING, false, SLURM_MARK_MOVING, true, 3, 0, 0, false, SLURM_STEP_REQUEUE},
	{SLURM_RUNNING, false, SLURM_MARK_MOVING, true, 2, 0, 0, false, SLURM_STEP_ADOPT},
	{SLURM_PENDING, false, SLURM_MARK_MOVING, true, 3, 0, 0, false, SLURM_STEP_PLACE, .restarts = 1},
	{SLURM_PENDING, false, SLURM_MARK_MOVING, false, 0, 0, 0, false, SLURM_STEP_SUBMIT, .restarts = 1},
	/* Left to Slurm, completing, completed */
	{SLURM_PENDING, false, SLURM_MARK_PASS, false, 0, 0, 0, false, SLURM_STEP_NONE},
	{SLURM_PENDING, false, SLURM_MARK_PASS, true, 3, 0, 0, false, SLURM_STEP_FORGET},
	{SLURM_PENDING, true, SLURM_MARK_NONE, false, 0, 0, 0, false, SLURM_STEP_NONE},
	{SLURM_BUSY, false, SLURM_MARK_PLACED, true, 0, 3, 0, false, SLURM_STEP_NONE},
	{SLURM_ENDED, false, SLURM_MARK_PLACED, true, 0, 3, 0, false, SLURM_STEP_NONE},
};

Test(slurm_choose, the_step_follows_from_both_states)
{
	char *here[] = {n1, n3, n3}, *there[] = {n1, n3, n5};

	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
		const struct row *row = &rows[r];
		struct slurm_job job = {.id = 7,
					.tasks = 3,
					.state = row->state,
					.lacks_nodes = row->lacks_nodes,
					.blocked = row->blocked,
					.held = row->held,
					.held_by_slurm = row->by_slurm,
					.restarts = row->restarts,
					.name = "7",
					.simple = true};
		struct slurm_mark mark = {.kind = row->mark, .hosts = here, .host_count = 3};
		struct sched_job sched = {.known = row->known,
					  .tasks = 3,
					  .decided = row->decided,
					  .running = row->running,
					  .failed = row->failed,
					  .hosts = row->elsewhere ? there : here};

		snprintf(mark.id, sizeof mark.id, "%s", row->adopted ? "slurm-7" : "slurm-6a-1");
		cr_assert_eq(slurm_choose_step(&job, &mark, &sched, here, row->late), row->step, "row %zu", r);
	}
}

/* slurmd rejects a job that starts in the second in which its previous run was killed. */
Test(slurm_choose, a_requeued_job_starts_in_a_later_second)
{
	struct slurm_job job = {.id = 7, .submitted = 100};

	cr_assert(slurm_may_start(&job, 100));
	job.restarts = 1;
	cr_assert(!slurm_may_start(&job, 99));
	cr_assert(!slurm_may_start(&job, 100));
	cr_assert(slurm_may_start(&job, 101));
}

/* Slurm allocated two CPUs on n1 and two on n3: on which machines are the three tasks? */
Test(slurm_choose, tasks_run_as_marked_or_in_slurms_order)
{
	struct slurm_share share[] = {{n1, 2}, {n3, 2}};
	struct slurm_job job = {.id = 7, .tasks = 3, .state = SLURM_RUNNING, .share = share, .share_count = 2};
	char *marked[] = {n3, n1, n3}, *other[] = {n3, n1, n5};
	struct slurm_mark mark = {.kind = SLURM_MARK_PLACED, .hosts = marked, .host_count = 3};
	char **hosts = slurm_job_hosts(&job, &mark);

	cr_assert(hosts[0] == n3 && hosts[1] == n1 && hosts[2] == n3);
	free(hosts);
	mark.hosts = other;
	hosts = slurm_job_hosts(&job, &mark);
	cr_assert(hosts[0] == n1 && hosts[1] == n1 && hosts[2] == n3);
	free(hosts);
	job.tasks = 5; /* overcommitted */
	hosts = slurm_job_hosts(&job, &mark);
	cr_assert(hosts[3] == n3 && hosts[4] == n3);
	free(hosts);
}
