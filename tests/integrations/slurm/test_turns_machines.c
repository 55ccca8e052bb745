/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns of the agent: machines and their slots, the view of Slurm, and hostfiles. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <slurm/slurm_errno.h>

#include "turns_world.h"

static void make_node(uint32_t n, char *name, uint16_t cpus, uint32_t state)
{
	node_records[n] = (node_info_t){.name = name, .cpus = cpus, .node_state = state};
	nodes.record_count = n + 1;
}

static char n1[] = "n1", n2[] = "n2", n3[] = "n3", n4[] = "n4";

static void add_node(int before)
{
	if (before != 2)
		return;
	make_node(0, n1, 8, NODE_STATE_IDLE);
	passed_s = 60; /* machines are set from time to time */
}

Test(slurm_turns, a_refused_adoption_is_tried_again_with_a_new_machine)
{
	make_running("nomora:pass x");
	schedd_answers("POST /v1/jobs", NULL, EINVAL);
	before_turn = add_node;
	run_turns(3);
	TOLD(ADOPTED "PUT /v1/machines/n1 {\"slots\": 6, \"state\": \"up\"}\n" ADOPTED);
}

#define SET_ALL                                                                                                        \
	"PUT /v1/machines/n2 {\"slots\": 8, \"state\": \"down\", \"rack\": \"r1\"}\n"                                  \
	"PUT /v1/machines/n3 {\"slots\": 6, \"state\": \"draining\"}\n"                                                \
	"PUT /v1/machines/n4 {\"slots\": 0, \"state\": \"up\"}\n"

static void change_no_more(int before)
{
	if (before == 2)
		settings_errno = jobs_errno = nodes_errno = SLURM_NO_CHANGE_IN_DATA;
}

/* n1 has a foreign job on one CPU, and our job on two CPUs with one more than tasks. */
Test(slurm_turns, machines_have_the_cpus_that_others_do_not_use)
{
	static char cpus[] = "n1 3 n3 1", hosts[] = "n1,n3", foreign_cpus[] = "n1 1 n4 9", foreign_hosts[] = "n1,n4";
	static char rack[] = "r1", others[] = "n2,n3", all[] = "n[1-4]", tree[] = "tree";

	make_node(0, n1, 8, NODE_STATE_ALLOCATED);
	make_node(1, n2, 8, NODE_STATE_DOWN);
	make_node(2, n3, 8, NODE_STATE_IDLE | NODE_STATE_DRAIN);
	make_node(3, n4, 4, NODE_STATE_IDLE);
	node_records[2].cpus_efctv = 6;
	make_running("nomora:slurm-7 n1*2,n3")->job_resrcs = (job_resources_t *)cpus;
	records[0].nodes = hosts;
	records[1] = (job_info_t){.job_id = 8,
				  .shared = NO_VAL16,
				  .array_task_id = NO_VAL,
				  .num_tasks = 1,
				  .job_state = JOB_RUNNING,
				  .nodes = foreign_hosts,
				  .job_resrcs = (job_resources_t *)foreign_cpus};
	jobs.record_count = 2;
	schedd_has("slurm-7", 0, 0, 3, 0);
	schedd_answers(
		"GET /v1/machines",
		"{\"machines\": [{\"name\": \"n1\", \"slots\": 6, \"state\": \"up\"}, {\"name\": \"n3\", \"slots\": "
		"6, \"state\": \"up\"}]}",
		0);
	topology.record_count = 3;
	leaves[0] = (topo_info_t){.level = 1, .name = tree, .nodes = all};
	leaves[1] = (topo_info_t){.name = tree};
	leaves[2] = (topo_info_t){.name = rack, .nodes = others};
	before_turn = change_no_more;
	run_turns(3); /* Slurm has changed before the second turn, which follows at once, but not before the third */
	TOLD(SET_ALL SET_ALL);
	before_turn = NULL;
	settings_errno = jobs_errno = nodes_errno = 0;
	schedd_answers("PUT /v1/machines/n2", NULL, EPERM); /* the others are set all the same */
	run_turns(1);
	cr_assert(strstr(told, "PUT /v1/machines/n4"), "%s", told);
	told[0] = '\0';
	schedd_answers("PUT /v1/machines/n2", NULL, EIO); /* schedd is gone */
	run_turns(1);
	TOLD("PUT /v1/machines/n2 {\"slots\": 8, \"state\": \"down\", \"rack\": \"r1\"}\n");
}

static void schedd_changes(int before)
{
	passed_s = before; /* machines are compared in each turn */
	if (before == 2)
		schedd_answers("GET /v1/machines?since=5",
			       "{\"version\": 6, \"whole\": false, \"machines\": [{\"name\": \"n2\", \"slots\": 1, "
			       "\"state\": \"up\"}]}",
			       0);
	if (before == 3)
		schedd_answers("GET /v1/machines?since=6", "{\"version\": 7, \"whole\": true, \"machines\": []}", 0);
}

/* An operator changes n2 before the third turn; schedd restarts without machines before the fourth. */
Test(slurm_turns, only_changes_of_machines_are_read)
{
	make_node(0, n1, 8, NODE_STATE_IDLE);
	make_node(1, n2, 8, NODE_STATE_IDLE);
	schedd_answers("GET /v1/machines",
		       "{\"version\": 5, \"whole\": true, \"machines\": [{\"name\": \"n1\", \"slots\": 8, \"state\": "
		       "\"up\"}, {\"name\": \"n2\", \"slots\": 8, \"state\": \"up\"}]}",
		       0);
	schedd_answers("GET /v1/machines?since=5", "{\"version\": 5, \"whole\": false, \"machines\": []}", 0);
	before_turn = schedd_changes;
	run_turns(2);
	TOLD("");
	run_turns(3);
	TOLD("PUT /v1/machines/n2 {\"slots\": 8, \"state\": \"up\"}\n");
	schedd_answers("GET /v1/machines?since=5", "{\"version\": 5, \"whole\": false, \"machines\": []}", 0);
	run_turns(4);
	TOLD("PUT /v1/machines/n2 {\"slots\": 8, \"state\": \"up\"}\n"
	     "PUT /v1/machines/n1 {\"slots\": 8, \"state\": \"up\"}\n"
	     "PUT /v1/machines/n2 {\"slots\": 8, \"state\": \"up\"}\n");
}

/* n1 has CPUs for six more tasks and memory for two, n3 for three and four. */
Test(slurm_turns, machines_have_slots_for_the_tasks_for_which_memory_is_free)
{
	static uint64_t used[] = {700, 0};

	settings.select_type_param = CR_CORE | CR_MEMORY;
	settings.def_mem_per_cpu = 90 | MEM_PER_CPU;
	whole.def_mem_per_cpu = 100 | MEM_PER_CPU;
	make_node(0, n1, 8, NODE_STATE_ALLOCATED);
	make_node(1, n3, 4, NODE_STATE_IDLE);
	node_records[0].select_nodeinfo = (dynamic_plugin_data_t *)&used[0];
	node_records[0].real_memory = 1000;
	node_records[0].mem_spec_limit = 50;
	node_records[1].select_nodeinfo = (dynamic_plugin_data_t *)&used[1];
	node_records[1].real_memory = 400;
	make_running("nomora:slurm-7 n1*2,n3");
	schedd_has("slurm-7", 0, 0, 3, 0);
	run_turns(1);
	TOLD("PUT /v1/machines/n1 {\"slots\": 4, \"state\": \"up\"}\n"
	     "PUT /v1/machines/n3 {\"slots\": 4, \"state\": \"up\"}\n");
	whole.def_mem_per_cpu = 200; /* by node: a job may take the free CPUs of n1 */
	run_turns(1);
	TOLD("PUT /v1/machines/n1 {\"slots\": 8, \"state\": \"up\"}\n"
	     "PUT /v1/machines/n3 {\"slots\": 4, \"state\": \"up\"}\n");
	whole.def_mem_per_cpu = 100 | MEM_PER_CPU;
	settings.select_type_param = CR_CPU; /* n3 is too small for a job, but has a task of ours */
	node_records[1].real_memory = 99;
	run_turns(1);
	TOLD("PUT /v1/machines/n1 {\"slots\": 8, \"state\": \"up\"}\n"
	     "PUT /v1/machines/n3 {\"slots\": 1, \"state\": \"up\"}\n");
}

static bool was_placed;

static void decide_in_second_turn(int before)
{
	const struct slurm_request request = {.curve = "spark", .root = 1};
	char answer[ANSWER_BYTES];

	if (before == 1)
		was_placed = decide(decide_context, &request, 3, answer);
}

/* schedd decides for n1, n1 and n3; with DefMemPerNode, a second node costs other jobs as much memory as the first. */
Test(slurm_turns, a_decision_has_no_more_nodes_than_the_job_needs)
{
	char id[SLURM_NAME_BYTES];

	for (time_t s = time(NULL) - 1; s < time(NULL) + 3; s++) {
		snprintf(id, sizeof id, "slurm-%llx-1", (unsigned long long)s);
		schedd_has(id, 0, 3, 0, 0);
	}
	settings.select_type_param = CR_CPU | CR_MEMORY;
	settings.def_mem_per_cpu = 100;
	make_node(0, n1, 2, NODE_STATE_IDLE);
	node_records[0].real_memory = 100;
	make_node(1, n3, 4, NODE_STATE_IDLE);
	node_records[1].real_memory = 99; /* takes no job */
	make_requeued("nomora:slurm-x moving");
	schedd_has("slurm-x", 0, 3, 0, 0);
	before_turn = decide_in_second_turn;
	run_turns(2);
	cr_assert(was_placed);
	cr_assert(strstr(told, "order 7 begin nodes 'n1,n3' 2-2 cpus 3 mark nomora:slurm-x n1*2,n3\n"), "%s", told);
	node_records[1].real_memory = 100;
	told[0] = '\0';
	run_turns(2);
	cr_assert_not(was_placed);
	cr_assert(
		strstr(told,
		       PASSED("schedd's decision has too many or too few nodes for Slurm's memory settings") "DELETE "
													     "/v1/jobs/"
													     "slurm-x "
													     "\n"),
		"%s", told);
}

static void adopt(int before)
{
	if (before == 1)
		schedd_has("slurm-7", 0, 0, 3, 0);
}

/* Otherwise schedd would have free slots until it adopts the job, and would place other tasks there. */
Test(slurm_turns, the_cpus_of_a_job_are_slots_only_once_schedd_has_it)
{
	make_node(0, n1, 8, NODE_STATE_MIXED);
	make_node(1, n3, 4, NODE_STATE_MIXED);
	make_running("nomora:slurm-7 n1*2,n3");
	before_turn = adopt;
	run_turns(2);
	TOLD("PUT /v1/machines/n1 {\"slots\": 6, \"state\": \"up\"}\n"
	     "PUT /v1/machines/n3 {\"slots\": 3, \"state\": \"up\"}\n" ADOPTED
	     "PUT /v1/machines/n1 {\"slots\": 8, \"state\": \"up\"}\n"
	     "PUT /v1/machines/n3 {\"slots\": 4, \"state\": \"up\"}\n");
}

Test(slurm_turns, the_state_of_a_node_says_whether_it_takes_tasks)
{
	static const struct {
		uint32_t state;
		enum slurm_node_state expected;
	} rows[] = {
		{NODE_STATE_IDLE, SLURM_NODE_UP},
		{NODE_STATE_MIXED, SLURM_NODE_UP},
		{NODE_STATE_DOWN, SLURM_NODE_DOWN},
		{NODE_STATE_FUTURE, SLURM_NODE_DOWN},
		{NODE_STATE_IDLE | NODE_STATE_POWERED_DOWN, SLURM_NODE_UP},
		{NODE_STATE_IDLE | NODE_STATE_RES, SLURM_NODE_DRAINING},
		{NODE_STATE_UNKNOWN, SLURM_NODE_DRAINING},
		{NODE_STATE_IDLE | NODE_STATE_DRAIN, SLURM_NODE_DRAINING},
		{NODE_STATE_IDLE | NODE_STATE_FAIL, SLURM_NODE_DRAINING},
		{NODE_STATE_IDLE | NODE_STATE_MAINT, SLURM_NODE_DRAINING},
		{NODE_STATE_IDLE | NODE_STATE_NO_RESPOND, SLURM_NODE_DRAINING},
	};

	make_node(1, n2, 4, NODE_STATE_IDLE); /* record 0 has no name */
	make_node(2, n3, 4, NODE_STATE_IDLE);
	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
		struct slurm_view view = {0};
		struct error err = {0};

		node_records[2].node_state = rows[r].state;
		cr_assert_eq(slurm_view_update(&view, &err), 1);
		cr_assert_eq(view.node_count, 2);
		cr_assert_str_eq(view.nodes[1].name, "n3");
		cr_assert_eq(view.nodes[1].state, rows[r].expected, "row %zu", r);
		slurm_view_free(&view);
	}
}

Test(slurm_turns, the_view_has_slurms_fields)
{
	static const struct {
		uint32_t state;
		enum slurm_job_state expected;
	} rows[] = {{JOB_PENDING, SLURM_PENDING}, {JOB_RUNNING, SLURM_RUNNING},
		    {JOB_SUSPENDED, SLURM_BUSY},  {JOB_RUNNING | JOB_COMPLETING, SLURM_BUSY},
		    {JOB_COMPLETE, SLURM_ENDED},  {JOB_COMPLETE | JOB_COMPLETING, SLURM_BUSY},
		    {JOB_CANCELLED, SLURM_ENDED}};
	struct error err = {0};
	struct slurm_view view = {0};

	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
		make_running("")->job_state = rows[r].state;
		cr_assert_eq(slurm_view_update(&view, &err), 1);
		cr_assert_eq(view.jobs[0].state, rows[r].expected, "row %zu", r);
		cr_assert_eq(view.jobs[0].share_count,
			     rows[r].expected == SLURM_RUNNING || rows[r].expected == SLURM_BUSY ? 2 : 0, "row %zu", r);
		cr_assert_null(view.jobs[0].mark); /* "" is none */
	}
	slurm_view_free(&view);
	make_running("m")->restart_cnt = 4;
	records[0].num_tasks = NO_VAL;
	records[0].num_cpus = 5;
	records[0].submit_time = 77;
	cr_assert_eq(slurm_view_update(&view, &err), 1);
	cr_assert_eq(view.jobs[0].tasks, 5);
	records[0].num_tasks = 0;
	cr_assert_eq(slurm_view_update(&view, &err), 1);
	cr_assert_eq(view.jobs[0].tasks, 5);
	records[0].num_tasks = 1;
	cr_assert_eq(slurm_view_update(&view, &err), 1);
	cr_assert_eq(view.jobs[0].tasks, 1);
	cr_assert_eq(view.jobs[0].restarts, 4);
	cr_assert_eq(view.jobs[0].submitted, 77);
	cr_assert_eq(view.jobs[0].start, records[0].start_time);
	cr_assert_str_eq(view.jobs[0].mark, "m");
	cr_assert_str_eq(view.jobs[0].comment, comment);
	cr_assert_not(view.jobs[0].held);
	cr_assert_eq(view.jobs[0].share[0].cpus, 2);
	cr_assert_eq(view.jobs[0].share[1].cpus, 1);
	slurm_view_free(&view);
}

/* Slurm is asked for what changed since the second before the last answer. */
Test(slurm_turns, the_view_asks_for_changes)
{
	struct slurm_view view = {0};
	struct error err = {0};

	make_job(JOB_PENDING, placed, 0);
	cr_assert_eq(slurm_view_update(&view, &err), 1);
	cr_assert_eq(settings_since, 0);
	cr_assert_eq(nodes_since, 0);
	cr_assert_eq(jobs_since, 0);
	cr_assert_eq(slurm_view_update(&view, &err), 1);
	cr_assert_eq(settings_since, 2999);
	cr_assert_eq(nodes_since, 1999);
	cr_assert_eq(jobs_since, 999);
	settings_errno = jobs_errno = nodes_errno = SLURM_NO_CHANGE_IN_DATA;
	cr_assert_eq(slurm_view_update(&view, &err), 0);
	cr_assert_eq(view.job_count, 1);
	jobs_errno = SLURM_COMMUNICATIONS_CONNECTION_ERROR;
	cr_assert_eq(slurm_view_update(&view, &err), -EREMOTEIO);
	cr_assert(strstr(err.text, "cannot read Slurm's jobs: "), "%s", err.text);
	jobs_errno = 0;
	nodes_errno = SLURM_COMMUNICATIONS_CONNECTION_ERROR;
	cr_assert_eq(slurm_view_update(&view, &err), -EREMOTEIO);
	cr_assert(strstr(err.text, "cannot read Slurm's nodes: "), "%s", err.text);
	slurm_view_free(&view);
}

/* What has not changed stays as it was: schedd still places jobs. */
Test(slurm_turns, settings_that_have_not_changed_hold)
{
	struct slurm_view view = {0};
	struct error err = {0};

	make_node(0, n1, 8, NODE_STATE_IDLE);
	cr_assert_eq(slurm_view_update(&view, &err), 1);
	cr_assert_str_eq(view.partition, "main");
	settings_errno = SLURM_NO_CHANGE_IN_DATA;
	settings.select_type_param = CR_SOCKET; /* not told */
	cr_assert_eq(slurm_view_update(&view, &err), 1);
	cr_assert_str_eq(view.partition, "main");
	settings_errno = 0;
	cr_assert_eq(slurm_view_update(&view, &err), 1);
	cr_assert_null(view.partition);
	cr_assert(strstr(view.unsupported, "does not allocate single CPUs"), "%s", view.unsupported);
	settings_errno = SLURM_COMMUNICATIONS_CONNECTION_ERROR;
	cr_assert_eq(slurm_view_update(&view, &err), -EREMOTEIO);
	cr_assert(strstr(err.text, "cannot read Slurm's configuration: "), "%s", err.text);
	slurm_view_free(&view);
}

static void replace_slurmctld(int before)
{
	if (before == 2)
		slurm_version = "99.11.3";
}

Test(slurm_turns, a_slurmctld_of_another_version_ends_the_agent)
{
	struct error err = {0};

	slurm_version = "21.08.8";
	cr_assert_eq(run_agent(3, &err), -EPROTO);
	cr_assert(strstr(err.text, "slurmctld has version 21.08.8; this agent was built for "), "%s", err.text);
	slurm_version = NULL;
	before_turn = replace_slurmctld; /* while the agent runs */
	cr_assert_eq(run_agent(5, &err), -EPROTO);
	cr_assert_eq(turn, 2);
	cr_assert(strstr(err.text, "slurmctld has version 99.11.3"), "%s", err.text);
}

/* Without schedd, the jobs that wait lose their nodes after the time of patience; those that Slurm placed, and running
 * ones, stay. */
Test(slurm_turns, jobs_lose_their_nodes_without_schedd)
{
	schedd_errno = ENOTCONN;
	make_job(JOB_PENDING, placed, 100);
	run_turns(1);
	TOLD("");
	options.patience_s = 0;
	schedd_errno = EREMOTE; /* schedd is on standby: another one decides */
	run_turns(1);
	TOLD("");
	schedd_errno = ENOTCONN;
	run_turns(1);
	TOLD("order 7 nodes '' 1-3 cpus 3 mark nomora:pass schedd does not answer\n");
	make_requeued("nomora:slurm-7.1 moving");
	run_turns(1);
	TOLD(PASSED("schedd does not answer"));
	make_requeued(placed)->submit_time = time(NULL) + 1000;
	run_turns(1);
	make_requeued("nomora:slurm-7 n1*2,n3");
	run_turns(1);
	make_job(JOB_PENDING, "nomora:pass x", 100);
	run_turns(1);
	make_running(placed);
	run_turns(1);
	TOLD("");
}

Test(slurm_turns, a_hostfile_in_json)
{
	char *hosts[] = {n1, n1, n4};
	struct slurm_job_name name = {.job = 12};
	char *text;
	json_t *json = slurm_job_layout_to_json(&name, hosts, 3);

	text = json_dumps(json, 0);
	cr_assert_str_eq(text, "{\"schema\": \"nomora.hostfile/1\", \"job\": 12, \"hosts\": [\"n1\", \"n1\", \"n4\"]}");
	free(text);
	json_decref(json);
	name.is_element = true;
	name.element = 3;
	json = slurm_job_layout_to_json(&name, hosts, 1);
	text = json_dumps(json, 0);
	cr_assert_str_eq(text, "{\"schema\": \"nomora.hostfile/1\", \"job\": 12, \"element\": 3, \"hosts\": [\"n1\"]}");
	free(text);
	json_decref(json);
}
