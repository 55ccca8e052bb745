/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns of the agent: moves of running jobs. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "turns_world.h"

Test(slurm_turns, the_performance_of_a_job_is_the_mean_without_the_root)
{
	struct executor link = {.socket = "/schedd", .limit_ms = LINK_LIMIT_MS};
	struct error err = {0};
	double performance;

	schedd_answers("GET /v1/explain/slurm-7/t0",
		       "{\"candidates\": [{\"here\": false, \"performance\": 0.9}, {\"here\": true, \"performance\": "
		       "0.5}, {\"performance\": 0.8}]}",
		       0);
	schedd_answers("GET /v1/explain/slurm-7/t2", "{\"candidates\": [{\"here\": true, \"performance\": 1}]}", 0);
	cr_assert_eq(link_performance(&link, "slurm-7", 3, 1, &performance, &err), 0);
	cr_assert_float_eq(performance, 0.75, 1e-12);
	cr_assert_eq(link_performance(&link, "slurm-7", 1, 0, &performance, &err), 0);
	cr_assert_eq(performance, 1);
	schedd_answers("GET /v1/explain/slurm-7/t2", "{\"candidates\": [{\"here\": true}]}", 0);
	cr_assert_eq(link_performance(&link, "slurm-7", 3, 1, &performance, &err), 0);
	cr_assert(isnan(performance));
	cr_assert_eq(link_performance(&link, "slurm-7", 3, 2, &performance, &err), -ENOENT);
}

/*
 * Moves. The copy is submitted only if the gain is possible, and the job moves only if the gain is reached.
 */
static char now_0[96], now_2[96], copy_0[96], copy_2[96];

static void set_performance(char text[static 96], const char *request, double performance)
{
	snprintf(text, 96, "{\"candidates\": [{\"here\": true, \"performance\": %.6f}]}", performance);
	schedd_answers(request, text, 0);
}

static void set_performances(double now, double copy)
{
	set_performance(now_0, "GET /v1/explain/slurm-7/t0", now);
	set_performance(now_2, "GET /v1/explain/slurm-7/t2", now);
	set_performance(copy_0, "GET /v1/explain/slurm-7.1/t0", copy);
	set_performance(copy_2, "GET /v1/explain/slurm-7.1/t2", copy);
}

static char both[512];

static void both_in_schedd(int decided)
{
	snprintf(both, sizeof both,
		 "{\"jobs\": [{\"id\": \"slurm-7\", \"running\": 3}, {\"id\": \"slurm-7.1\", \"decided\": %d, "
		 "\"waiting\": %d}]}",
		 decided, 3 - decided);
	schedd_answers("GET /v1/jobs", both, 0);
}

static void decide_about_copy(int before)
{
	if (before == 1)
		both_in_schedd(2);
	if (before == 3)
		both_in_schedd(3);
}

static void make_movable(void)
{
	schedd_has("slurm-7", 0, 0, 3, 0);
	make_running("nomora:slurm-7 n1*2,n3");
	options.migrate = true;
}

#define COPIED                                                                                                         \
	"DELETE /v1/jobs/slurm-7.1 \n"                                                                                 \
	"POST /v1/jobs {\"id\": \"slurm-7.1\", \"curve\": \"spark\", \"root\": 1, \"minimum_tasks\": 3, \"tasks\": "   \
	"[\"t0\", \"t1\", "                                                                                            \
	"\"t2\"]}\n"

Test(slurm_turns, a_job_moves_for_a_gain)
{
	make_movable();
	set_performances(0.5, 0.75);
	options.review_s = 1000;
	before_turn = decide_about_copy;
	run_turns(3); /* schedd has decided about two tasks of the copy */
	TOLD(COPIED);
	make_movable();
	run_turns(4);
	TOLD(COPIED "order 7 mark nomora:slurm-7.1 moving\n");
	make_movable();
	options.migrate_gain = 0.25; /* exactly the gain */
	run_turns(4);
	TOLD(COPIED "order 7 mark nomora:slurm-7.1 moving\n");
	make_movable();
	options.migrate_gain = 0.26;
	run_turns(4);
	TOLD(COPIED "DELETE /v1/jobs/slurm-7.1 \n");
}

Test(slurm_turns, no_review_begins_without_a_possible_gain)
{
	make_movable();
	set_performances(0.75, 1);
	options.migrate_gain = 0.25;
	run_turns(1);
	TOLD(COPIED);
	options.migrate_gain = 0.26;
	run_turns(4);
	TOLD("");
	options.migrate_gain = 0.1;
	schedd_answers("GET /v1/explain/slurm-7/t2", "{\"candidates\": []}", 0); /* unknown */
	run_turns(1);
	TOLD("");
	options.migrate = false;
	set_performances(0.1, 1);
	run_turns(1);
	TOLD("");
}

/* Which jobs may move: those that want it, with other tasks than the root, that run long enough after a move. */
Test(slurm_turns, some_jobs_never_move)
{
	static char stay[] = "nomora:curve=spark,root=1,move=no";

	make_movable();
	set_performances(0.1, 1);
	records[0].comment = stay;
	run_turns(2);
	TOLD("");
	make_movable();
	records[0].restart_cnt = 1;
	records[0].start_time = time(NULL) - 500;
	run_turns(1);
	TOLD("");
	options.no_return_s = 400;
	run_turns(1);
	TOLD("DELETE /v1/jobs/slurm-7.2 \n"
	     "POST /v1/jobs {\"id\": \"slurm-7.2\", \"curve\": \"spark\", \"root\": 1, \"minimum_tasks\": 3, "
	     "\"tasks\": [\"t0\", \"t1\", "
	     "\"t2\"]}\n");
}

/* A job that Slurm started may have memory or a partition that schedd does not know. */
Test(slurm_turns, a_job_with_another_memory_or_partition_never_moves)
{
	static char other[] = "other";

	make_movable();
	set_performances(0.1, 1);
	records[0].pn_min_memory = 100 | MEM_PER_CPU;
	run_turns(2);
	TOLD("");
	settings.def_mem_per_cpu = 100 | MEM_PER_CPU;
	run_turns(2);
	TOLD(COPIED);
	records[0].partition = other;
	run_turns(2);
	TOLD("");
}

/* Slurm may be set up so that slots are not what it allocates. */
Test(slurm_turns, slurm_decides_alone_where_slots_are_not_what_it_allocates)
{
	make_movable();
	set_performances(0.1, 1);
	run_turns(1);
	TOLD(COPIED);
	cr_assert_str_eq(offered, "main");
	settings.select_type_param = CR_CPU | CR_MEMORY; /* a copy with more nodes would have more memory */
	run_turns(1);
	TOLD("");
	cr_assert_str_eq(offered, "main");
	settings.select_type_param = CR_SOCKET;
	run_turns(1);
	TOLD("");
	cr_assert_str_eq(offered, "");
}

/* The id of the copy differs from the job's present id. */
Test(slurm_turns, the_copy_has_another_id_than_the_job)
{
	make_movable();
	schedd_has("slurm-7.1", 0, 0, 3, 0);
	make_running("nomora:slurm-7.1 n1*2,n3");
	set_performances(1, 0.1);
	run_turns(1);
	TOLD("DELETE /v1/jobs/slurm-7.2 \n"
	     "POST /v1/jobs {\"id\": \"slurm-7.2\", \"curve\": \"spark\", \"root\": 1, \"minimum_tasks\": 3, "
	     "\"tasks\": [\"t0\", \"t1\", "
	     "\"t2\"]}\n");
}

static void end_job(int before)
{
	if (before == 1) {
		both_in_schedd(2);
		records[0].job_state = JOB_SUSPENDED;
	}
}

Test(slurm_turns, a_review_ends_with_the_run)
{
	make_movable();
	set_performances(0.5, 1);
	options.review_s = 1000;
	before_turn = end_job;
	run_turns(2);
	TOLD(COPIED "DELETE /v1/jobs/slurm-7.1 \n");
}

/* Jobs 7, 8 and 9 are reviewed in turn, and then job 7 again. */
Test(slurm_turns, jobs_are_reviewed_in_turn)
{
	static const uint32_t ids[] = {9, 7, 8};
	struct agent agent = {.options = {.migrate = true, .migrate_gain = 0.1},
			      .schedd = {.socket = "/schedd", .limit_ms = LINK_LIMIT_MS}};
	struct slurm_job list[3];
	struct error err = {0};

	agent.view = (struct slurm_view){.jobs = list, .job_count = 3};
	for (uint32_t j = 0; j < 3; j++) {
		list[j] = (struct slurm_job){.id = ids[j],
					     .tasks = 2,
					     .state = SLURM_RUNNING,
					     .simple = true,
					     .plain = true,
					     .comment = comment};
		snprintf(list[j].name, sizeof list[j].name, "%u", ids[j]);
		agent_note(&agent.settled, &list[j], 0);
	}
	for (uint32_t r = 0; r < 4; r++) {
		agent_review(&agent, &err); /* schedd knows no performance, and the review ends */
		cr_assert_eq(agent.review.last, r < 3 ? 7 + r : 7);
	}
	list[1].tasks = 1; /* job 7 has only a root */
	agent.review.last = 9;
	agent_review(&agent, &err);
	cr_assert_eq(agent.review.last, 8);
	list[2].start = 5; /* job 8 has started again, and is not settled */
	agent_review(&agent, &err);
	agent_review(&agent, &err);
	cr_assert_eq(agent.review.last, 9);
	hash_table_free(&agent.settled);
}

/* The job to review comes first in the list: the request that is reviewed must not be the one that was read last. */
Test(slurm_turns, a_review_asks_for_the_root_of_its_own_job)
{
	static char first[] = "nomora:curve=spark,root=2", second[] = "nomora:curve=spark,root=0";
	struct agent agent = {.options = {.migrate = true, .migrate_gain = 0.1},
			      .schedd = {.socket = "/schedd", .limit_ms = LINK_LIMIT_MS}};
	struct slurm_job list[2];
	struct error err = {0};

	agent.view = (struct slurm_view){.jobs = list, .job_count = 2};
	for (uint32_t j = 0; j < 2; j++) {
		list[j] = (struct slurm_job){.id = 7 + j,
					     .tasks = 3,
					     .state = SLURM_RUNNING,
					     .simple = true,
					     .plain = true,
					     .comment = j == 0 ? first : second};
		snprintf(list[j].name, sizeof list[j].name, "%u", 7 + j);
		agent_note(&agent.settled, &list[j], 0);
	}
	set_performance(now_0, "GET /v1/explain/slurm-7/t0", 0.5);
	set_performance(now_2, "GET /v1/explain/slurm-7/t1", 0.5);
	agent_review(&agent, &err);
	cr_assert(strstr(told, "\"root\": 2"), "told\n%s", told);
	hash_table_free(&agent.settled);
}
