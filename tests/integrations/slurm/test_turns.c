/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns of the agent: jobs that wait, are decided about, run and end. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>
#include <slurm/slurm_errno.h>

#include "turns_world.h"

#define SUBMITTED                                                                                                      \
	"DELETE /v1/jobs/slurm-x \n"                                                                                   \
	"POST /v1/jobs {\"id\": \"slurm-x\", \"curve\": \"spark\", \"root\": 1, \"minimum_tasks\": 3, \"tasks\": "     \
	"[\"t0\", \"t1\", "                                                                                            \
	"\"t2\"]}\n"

Test(slurm_turns, a_requeued_job_is_submitted)
{
	make_requeued(placed);
	run_turns(1);
	TOLD(SUBMITTED);
	cr_assert_str_eq(curves, "[\"spark\"]");
}

/* Slurm decided where it first ran, and may know constraints that schedd does not. */
Test(slurm_turns, a_requeued_job_that_slurm_placed_is_left_to_slurm)
{
	make_requeued("nomora:slurm-7 n1*2,n3");
	run_turns(1);
	TOLD("");
	schedd_has("slurm-7", 0, 0, 3, 0);
	run_turns(1);
	TOLD("DELETE /v1/jobs/slurm-7 \n");
}

Test(slurm_turns, only_jobs_that_ask_for_it_are_handled)
{
	static char other[] = "curve=spark";

	make_requeued(placed)->comment = other;
	run_turns(1);
	make_requeued(placed)->cpus_per_task = 2;
	run_turns(1);
	make_job(JOB_FAILED, placed, 0);
	run_turns(1);
	make_requeued(placed)->num_tasks = SLURM_TASKS_MAXIMUM + 1;
	run_turns(1);
	make_requeued(placed)->num_tasks = 0; /* it has no CPU either */
	run_turns(1);
	TOLD("");
}

/* 400 or 404 say that schedd will never take this job; the others may be about the agent. */
Test(slurm_turns, a_job_that_schedd_refuses_is_left_to_slurm)
{
	make_requeued(placed);
	schedd_answers("POST /v1/jobs", NULL, EINVAL);
	run_turns(1);
	TOLD(SUBMITTED PASSED("POST /v1/jobs: refused"));
	schedd_answers("POST /v1/jobs", NULL, ENOENT);
	run_turns(1);
	TOLD(SUBMITTED PASSED("POST /v1/jobs: refused"));
	schedd_answers("POST /v1/jobs", NULL, EPERM);
	run_turns(1);
	TOLD(SUBMITTED);
	schedd_answers("POST /v1/jobs", NULL, 0);
	schedd_answers("DELETE /v1/jobs/slurm-x", NULL, ENOENT); /* schedd does not have the job: not an error */
	run_turns(1);
	TOLD(SUBMITTED);
	schedd_answers("DELETE /v1/jobs/slurm-x", NULL, EPERM);
	run_turns(1);
	TOLD("DELETE /v1/jobs/slurm-x \n");
}

static void decide_hosts(const char *tasks)
{
	static char text[128];

	snprintf(text, sizeof text, "{\"decided\": 3, \"tasks\": [%s]}", tasks);
	schedd_answers("GET /v1/jobs/slurm-x", text, 0);
}

Test(slurm_turns, a_decision_is_passed_to_slurm)
{
	make_requeued("nomora:slurm-x moving");
	schedd_has("slurm-x", 0, 3, 0, 0);
	run_turns(1);
	TOLD("order 7 begin nodes 'n1,n3' 2-2 cpus 3 mark nomora:slurm-x n1*2,n3\n");
	schedd_has("slurm-x", 1, 2, 0, 0);
	run_turns(1);
	TOLD("");
	schedd_has("slurm-x", 0, 3, 0, 0);
	decide_hosts("{\"machine\": \"b\"}, {\"machine\": \"a\"}, {\"machine\": \"c\"}");
	run_turns(1);
	TOLD("order 7 begin nodes 'b,a,c' 3-3 cpus 3 mark nomora:slurm-x b,a,c\n");
	decide_hosts("{\"machine\": \"b\"}, {\"machine\": \"a\"}, {\"machine\": \"a\"}");
	run_turns(1);
	TOLD("order 7 begin nodes 'b,a' 2-2 cpus 3 mark nomora:slurm-x b,a*2\n");
	decide_hosts("{\"machine\": \"a\"}, {\"machine\": \"a\"}, {\"machine\": \"a\"}");
	run_turns(1);
	TOLD("order 7 begin nodes 'a' 1-1 cpus 3 mark nomora:slurm-x a*3\n");
}

/* A requeued job must not start in the second in which it was submitted again. */
Test(slurm_turns, a_requeued_job_waits_a_second)
{
	job_info_t *job = make_requeued("nomora:slurm-x moving");

	job->submit_time = time(NULL) + 1000;
	schedd_has("slurm-x", 0, 3, 0, 0);
	run_turns(1);
	schedd_has("slurm-x", 0, 0, 0, 3);
	run_turns(1);
	TOLD("");
	job->submit_time = 1;
	run_turns(1);
	TOLD(PASSED("schedd gave up after failed starts") "DELETE /v1/jobs/slurm-x \n");
}

Test(slurm_turns, a_placement_that_slurm_refuses_fails_in_schedd)
{
	make_requeued("nomora:slurm-x moving");
	schedd_has("slurm-x", 0, 3, 0, 0);
	order_errno = ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE;
	run_turns(1);
	TOLD("order 7 begin nodes 'n1,n3' 2-2 cpus 3 mark nomora:slurm-x n1*2,n3\n"
	     "POST /v1/events "
	     "{\"event\": \"failed\", \"job\": \"slurm-x\", \"task\": \"t0\", \"machine\": \"n1\"}\n"
	     "{\"event\": \"failed\", \"job\": \"slurm-x\", \"task\": \"t1\", \"machine\": \"n1\"}\n"
	     "{\"event\": \"failed\", \"job\": \"slurm-x\", \"task\": \"t2\", \"machine\": \"n3\"}\n");
}

/* The nodes of the decision are removed. A job that Slurm does not change stays in schedd. */
Test(slurm_turns, a_job_that_does_not_start_is_left_to_slurm)
{
	job_info_t *job = make_job(JOB_PENDING, placed, 100);

	options.patience_s = 10;
	schedd_has("slurm-x", 0, 3, 0, 0);
	run_turns(1);
	TOLD("");
	job->submit_time -= 11;
	job->eligible_time = time(NULL) - 5;
	run_turns(1);
	TOLD("");
	job->eligible_time -= 6;
	run_turns(1);
	TOLD("order 7 nodes '' 1-3 cpus 3 mark nomora:pass Slurm did not start it in time on the nodes of schedd's "
	     "decision\nDELETE /v1/jobs/slurm-x \n");
	order_errno = ESLURM_JOB_FINISHED;
	run_turns(1);
	TOLD("order 7 nodes '' 1-3 cpus 3 mark nomora:pass Slurm did not start it in time on the nodes of schedd's "
	     "decision\n");
}

/* On a cluster where nothing happens, Slurm does not send its jobs again. */
static void pass_time(int at)
{
	jobs_errno = at > 0 ? SLURM_NO_CHANGE_IN_DATA : 0;
	passed_s += at > 0 ? 6 : 0;
}

Test(slurm_turns, a_job_is_late_although_slurm_reports_no_change)
{
	make_job(JOB_PENDING, placed, 100);
	options.patience_s = 10;
	schedd_has("slurm-x", 0, 3, 0, 0);
	before_turn = pass_time;
	run_turns(2);
	TOLD("");
	passed_s = 0;
	run_turns(3);
	TOLD("order 7 nodes '' 1-3 cpus 3 mark nomora:pass Slurm did not start it in time on the nodes of schedd's "
	     "decision\nDELETE /v1/jobs/slurm-x \n");
}

/* The list said that all is decided, then schedd withdrew a decision. */
Test(slurm_turns, a_withdrawn_decision_is_not_passed)
{
	make_requeued(placed);
	schedd_has("slurm-x", 0, 3, 0, 0);
	schedd_answers(
		"GET /v1/jobs/slurm-x",
		"{\"waiting\": 1, \"decided\": 2, \"tasks\": [{\"machine\": \"n1\"}, {}, {\"machine\": \"n3\"}]}", 0);
	run_turns(1);
	TOLD("");
}

/* A user's hold stays. Slurm's own, because the job cannot run on the nodes of the decision, does not. */
Test(slurm_turns, a_held_job_loses_its_nodes)
{
	job_info_t *job = make_job(JOB_PENDING, placed, 0);

	schedd_has("slurm-x", 0, 3, 0, 0);
	job->state_reason = WAIT_HELD_USER;
	run_turns(1);
	TOLD("order 7 nodes '' 1-3 cpus 3 mark nomora:pass a user holds the job\nDELETE /v1/jobs/slurm-x \n");
	job->state_reason = FAIL_BAD_CONSTRAINTS;
	run_turns(1);
	TOLD("order 7 release nodes '' 1-3 cpus 3 mark nomora:pass Slurm cannot start it on the nodes of schedd's "
	     "decision\nDELETE /v1/jobs/slurm-x \n");
}

/* schedd places no further job while some wait for nodes: their order is Slurm's. */
Test(slurm_turns, the_queue_is_slurms)
{
	static const struct {
		uint32_t state, reason;
		bool queue;
	} rows[] = {{JOB_PENDING, WAIT_RESOURCES, true},   {JOB_PENDING, WAIT_PRIORITY, true},
		    {JOB_PENDING, WAIT_NO_REASON, false},  {JOB_PENDING, WAIT_DEPENDENCY, false},
		    {JOB_PENDING, WAIT_HELD_USER, false},  {JOB_PENDING, WAIT_TIME, false},
		    {JOB_CANCELLED, WAIT_PRIORITY, false}, {JOB_PENDING, WAIT_PART_DOWN, false}};

	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
		make_job(rows[r].state, "", 100)->state_reason = rows[r].reason;
		run_turns(1);
		cr_assert_eq(has_queue, rows[r].queue, "row %zu", r);
	}
}

/* Slurm holds a job back by a limit: its slots are for others at once. */
Test(slurm_turns, a_job_at_a_limit_reserves_no_slots)
{
	static const struct {
		uint32_t reason;
		bool blocked;
	} rows[] = {{WAIT_NO_REASON, false},
		    {WAIT_PRIORITY, false},
		    {WAIT_TIME, false},
		    {WAIT_PROLOG, false},
		    {WAIT_QOS_MAX_JOB_PER_USER, true},
		    {WAIT_ASSOC_GRP_CPU, true},
		    {WAIT_ASSOC_MAX_LIC_PER_JOB, true},
		    {WAIT_PN_MEM_LIMIT, true},
		    {WAIT_NODE_NOT_AVAIL, true}};

	schedd_has("slurm-x", 0, 3, 0, 0);
	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
		make_job(JOB_PENDING, placed, 100)->state_reason = rows[r].reason;
		run_turns(1);
		cr_assert_eq(told[0] != '\0', rows[r].blocked, "row %zu: %s", r, told);
		if (rows[r].blocked)
			TOLD("order 7 nodes '' 1-3 cpus 3 mark nomora:pass Slurm cannot start it, whatever nodes are "
			     "free\nDELETE /v1/jobs/slurm-x \n");
	}
}

/*
 * The job that waited has started: schedd decides about new jobs again once it has the job. If one waits, schedd
 * decides about no other from the beginning of the turn.
 */
Test(slurm_turns, schedd_decides_again_once_it_has_what_runs)
{
	make_running("");
	run_turns(1);
	TOLD(ADOPTED "order 7 mark nomora:slurm-7 n1*2,n3\n");
	cr_expect_not(has_queue);
	cr_expect_gt(told_before_offer, 0);
	records[1] = records[0];
	records[1].job_id = 8;
	records[1].job_state = JOB_PENDING;
	records[1].state_reason = WAIT_RESOURCES;
	jobs.record_count = 2;
	run_turns(1);
	cr_expect(has_queue);
	cr_expect_eq(told_before_offer, 0);
}

Test(slurm_turns, the_start_of_a_placed_job_is_reported)
{
	make_running("nomora:slurm-7 n1*2,n3");
	schedd_has("slurm-7", 0, 3, 0, 0);
	run_turns(1);
	TOLD("POST /v1/events "
	     "{\"event\": \"started\", \"job\": \"slurm-7\", \"task\": \"t0\", \"machine\": \"n1\"}\n"
	     "{\"event\": \"started\", \"job\": \"slurm-7\", \"task\": \"t1\", \"machine\": \"n1\"}\n"
	     "{\"event\": \"started\", \"job\": \"slurm-7\", \"task\": \"t2\", \"machine\": \"n3\"}\n");
	make_running("nomora:slurm-7 n1*2,n3")->job_state = JOB_RUNNING | JOB_COMPLETING;
	run_turns(1);
	TOLD("");
}

Test(slurm_turns, a_running_job_that_schedd_does_not_have_is_reported)
{
	make_running("nomora:pass x");
	run_turns(1);
	TOLD(ADOPTED "order 7 mark nomora:slurm-7 n1*2,n3\n");
	make_running("nomora:slurm-7 n1*2,n3"); /* the mark is right */
	run_turns(1);
	TOLD(ADOPTED);
	make_running("nomora:slurm-7 n1,n3,n1"); /* runs there, too: the mark has the order of the tasks */
	run_turns(1);
	cr_assert(strstr(told, "{\"name\": \"t1\", \"machine\": \"n3\""), "%s", told);
	told[0] = '\0';
	make_running("nomora:slurm-7 n3*3");
	run_turns(1);
	TOLD(ADOPTED "order 7 mark nomora:slurm-7 n1*2,n3\n");
	make_running("nomora:pass x"); /* schedd has it, but the order for the mark failed */
	schedd_has("slurm-7", 0, 0, 3, 0);
	run_turns(1);
	TOLD("order 7 mark nomora:slurm-7 n1*2,n3\n");
	make_running("")->nodes = NULL; /* Slurm has not said yet where it runs */
	run_turns(1);
	TOLD("");
}

Test(slurm_turns, the_time_that_an_adopted_job_has_run_is_reported)
{
	const char *seconds;

	make_running("nomora:pass x")->start_time = time(NULL) - 500;
	run_turns(1);
	seconds = strstr(told, "\"running_s\": ");
	cr_assert(seconds && atof(seconds + 13) >= 500 && atof(seconds + 13) < 560, "%s", told);
}

static void start_again(int before)
{
	if (before == 2)
		records[0].start_time += 1;
}

/* A job that schedd refuses is reported once per run of the job. */
Test(slurm_turns, a_refused_adoption_is_tried_once)
{
	make_running("nomora:pass x");
	schedd_answers("POST /v1/jobs", NULL, EINVAL);
	run_turns(2);
	TOLD(ADOPTED);
	before_turn = start_again;
	run_turns(4);
	TOLD(ADOPTED ADOPTED);
	schedd_answers("POST /v1/jobs", NULL, EPERM);
	before_turn = NULL;
	run_turns(2);
	TOLD(ADOPTED ADOPTED);
}

static int hosts_read;

static void take_hosts_away(int before)
{
	/* Turn 0 settles the job. From then on schedd is not asked for the job any more. */
	if (before == 1)
		schedd_answers("GET /v1/jobs/slurm-7", NULL, EPERM);
	if (before == 3) {
		records[0].start_time += 1;
		hosts_read = 1;
	}
}

Test(slurm_turns, a_settled_job_is_not_looked_at_again)
{
	make_running("nomora:slurm-7 n1*2,n3");
	schedd_has("slurm-7", 0, 0, 3, 0);
	before_turn = take_hosts_away;
	run_turns(4);
	TOLD("");
	cr_assert_eq(hosts_read, 1);
}

/*
 * The job was requeued before the agent saw it run: the placement is passed again, once. Not if it was never restarted.
 */
Test(slurm_turns, a_missed_run_is_placed_again)
{
	job_info_t *job = make_job(JOB_PENDING, placed, 100);

	schedd_has("slurm-x", 0, 3, 0, 0);
	run_turns(2);
	TOLD("");
	job->restart_cnt = 1;
	job->submit_time -= 2;
	run_turns(2);
	TOLD("order 7 begin nodes 'n1,n3' 2-2 cpus 3 mark nomora:slurm-x n1*2,n3\n");
}

static void decide_again(int before)
{
	if (before != 1)
		return;
	schedd_answers("GET /v1/decisions?after=9223372036854775807", "{\"last\": 6}", 0);
}

/* While a placed job waits for its nodes, schedd is asked for its machines only after a new decision. */
Test(slurm_turns, a_new_decision_about_a_placed_job_is_passed)
{
	make_job(JOB_PENDING, "nomora:slurm-x n1*2,n4", 100);
	schedd_has("slurm-x", 0, 3, 0, 0);
	run_turns(1);
	TOLD("order 7 nodes 'n1,n3' 2-2 cpus 3 mark nomora:slurm-x n1*2,n3\n");
	run_turns(2);
	TOLD("order 7 nodes 'n1,n3' 2-2 cpus 3 mark nomora:slurm-x n1*2,n3\n");
	before_turn = decide_again;
	run_turns(3);
	TOLD("order 7 nodes 'n1,n3' 2-2 cpus 3 mark nomora:slurm-x n1*2,n3\n"
	     "order 7 nodes 'n1,n3' 2-2 cpus 3 mark nomora:slurm-x n1*2,n3\n");
}

Test(slurm_turns, a_moving_job_is_requeued)
{
	make_running("nomora:slurm-7.1 moving");
	schedd_has("slurm-7.1", 0, 3, 0, 0);
	run_turns(1);
	TOLD("requeue 7\n");
	requeue_errno = ESLURM_DISABLED;
	run_turns(1);
	cr_assert(strstr(told, "requeue 7\nDELETE /v1/jobs/slurm-7.1 \nPOST /v1/jobs {\"id\": \"slurm-7.1\""), "%s",
		  told);
	cr_assert(strstr(told, "order 7 mark nomora:slurm-7.1 n1*2,n3\n"), "%s", told);
}

/* Jobs that ended are removed; those of others, of Slurm's present jobs, and those just decided about, are not. */
Test(slurm_turns, ended_jobs_are_removed_from_schedd)
{
	schedd_answers("GET /v1/jobs",
		       "{\"jobs\": [{\"id\": \"slurm-6\", \"running\": 1}, {\"id\": \"6\", \"running\": 1}, {\"id\": "
		       "\"slurm-7\", \"waiting\": 3}]}",
		       0);
	make_job(JOB_PENDING, "", 0);
	schedd_answers("GET /v1/jobs/slurm-7", "{}", 0);
	run_turns(1);
	TOLD("DELETE /v1/jobs/slurm-6 \nDELETE /v1/jobs/slurm-7 \n");
	make_job(JOB_PENDING, "nomora:pass x", 100);
	run_turns(1);
	TOLD("DELETE /v1/jobs/slurm-6 \nDELETE /v1/jobs/slurm-7 \n");
}

static char reply[ANSWER_BYTES], given_id[SLURM_NAME_BYTES];
static bool was_placed;

/* The id that the agent gave to the last job, from its log of requests. */
static void read_id(void)
{
	const char *found = strstr(told, "POST /v1/jobs {\"id\": \"");

	cr_assert(found && sscanf(found + 22, "%63[^\"]", given_id) == 1, "%s", told);
}

static void decide_at_once(int before)
{
	const struct slurm_request request = {.curve = "spark", .root = 2};
	const char *dash;

	if (before != 0)
		return;
	was_placed = decide(decide_context, &request, 3, reply);
	read_id();
	dash = strrchr(given_id, '-');
	cr_assert(dash);
}

/* schedd has the job under the id that the agent will give it next. */
static void schedd_has_next(int waiting, int decided)
{
	char id[SLURM_NAME_BYTES];

	for (time_t s = time(NULL) - 1; s < time(NULL) + 3; s++) {
		snprintf(id, sizeof id, "slurm-%llx-1", (unsigned long long)s);
		schedd_has(id, waiting, decided, 0, 0);
	}
}

Test(slurm_turns, schedd_decides_while_sbatch_waits)
{
	char expected[128];

	before_turn = decide_at_once;
	schedd_has_next(0, 3);
	run_turns(1);
	cr_assert(was_placed);
	snprintf(expected, sizeof expected, "PLACE n1,n3 2 nomora:%s n1*2,n3", given_id);
	cr_assert_str_eq(reply, expected);
	cr_assert(strstr(told, "\"curve\": \"spark\", \"root\": 2, \"minimum_tasks\": 3, \"tasks\": [\"t0\", \"t1\", "
			       "\"t2\"]}\n"),
		  "%s", told);
	schedd_answers("POST /v1/jobs", NULL, EINVAL);
	run_turns(1);
	cr_assert_not(was_placed);
}

/* Lists the job that was decided about at once; before turn 2, Slurm lists another job as ended, before turn 3 this
 * one. */
static void list_fresh(int before)
{
	static char list[160], mark[2 * SLURM_NAME_BYTES];

	decide_at_once(before);
	if (before == 0) {
		told[0] = '\0';
		snprintf(list, sizeof list, "{\"jobs\": [{\"id\": \"%s\", \"decided\": 3}]}", given_id);
		schedd_answers("GET /v1/jobs", list, 0);
		snprintf(mark, sizeof mark, "nomora:%s n1*2,n3", given_id);
	}
	if (before == 2)
		make_job(JOB_COMPLETE, "nomora:slurm-00000000-1 n1", 100);
	if (before == 3)
		make_job(JOB_COMPLETE, mark, 100);
}

/* A job that schedd decided about at once is kept in the first `kept` turns, and removed in the next one. */
static void expect_removed_after(int kept, void (*before)(int turn))
{
	before_turn = before;
	schedd_has_next(0, 3);
	run_turns(kept);
	TOLD("");
	run_turns(kept + 1);
	cr_assert(strncmp(told, "DELETE /v1/jobs/slurm-", 22) == 0 && strstr(told, "-1 \n"), "%s", told);
}

Test(slurm_turns, a_fresh_job_is_removed_only_when_slurm_lists_its_end)
{
	expect_removed_after(3, list_fresh);
}

static void refuse_fresh(int before)
{
	list_fresh(before == 0 ? 0 : 1);
	if (before == 2)
		passed_s += 6;
}

/* Slurm refuses the job after schedd has decided, by a limit of its QOS for example. */
Test(slurm_turns, a_refused_job_is_removed_after_some_seconds)
{
	expect_removed_after(2, refuse_fresh);
}

/* schedd did not decide in time, and Slurm places the job: schedd reserves no slots for it. */
Test(slurm_turns, a_late_decision_is_removed)
{
	before_turn = list_fresh;
	schedd_has_next(1, 2);
	run_turns(1);
	cr_assert_not(was_placed);
	cr_assert(strncmp(told, "DELETE /v1/jobs/slurm-", 22) == 0, "%s", told);
}
