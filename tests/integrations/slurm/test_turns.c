/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent between a simulated slurmctld and a simulated schedd. The functions of libslurm, of lib/client and of
 * answers.c that the agent calls are replaced by the test's. Each test runs some turns of the agent, and compares what
 * the agent told the two servers: its orders to Slurm, and its requests to schedd other than GET.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include <client/request.h>

#include "agent_priv.h"

enum { JOBS = 4, NODES = 4, ANSWERS = 32 };

static char told[16384]; /* the log */

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
	size_t used = strlen(told);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(told + used, sizeof told - used, format, arguments);
	va_end(arguments);
}

/* Asserts the requests and orders since the last call. */
static void expect_told(const char *expected, int line)
{
	cr_assert_str_eq(told, expected, "line %d: told\n%s", line, told);
	told[0] = '\0';
}

#define TOLD(expected) expect_told(expected, __LINE__)

/* The clocks, which a test may advance. */

static time_t passed_s;

static struct ns read_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (struct ns){(now.tv_sec + passed_s) * NS_PER_S + now.tv_nsec};
}

struct ns ns_now_monotonic(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

time_t time(time_t *out)
{
	time_t now = (time_t)(read_clock(CLOCK_REALTIME).v / NS_PER_S);

	if (out)
		*out = now;
	return now;
}

struct ns ns_now_cpu(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

struct ns ns_now_wall(void)
{
	return read_clock(CLOCK_REALTIME);
}

/* slurmctld */

static job_info_t records[JOBS];
static job_info_msg_t jobs = {.last_update = 1000, .job_array = records};
static node_info_t node_records[NODES];
static node_info_msg_t nodes = {.last_update = 2000, .node_array = node_records};
static topo_info_t leaves[3];
static topo_info_response_msg_t topology = {.topo_array = leaves};
static int jobs_errno, nodes_errno, order_errno, requeue_errno;
static time_t jobs_since, nodes_since;
static volatile sig_atomic_t stop;
static int turn, turns = 1;
static void (*before_turn)(int turn);
static char version[32], select_type[] = "select/cons_tres", whole_name[] = "main";
static slurm_conf_t settings = {.select_type = select_type, .select_type_param = CR_CPU, .version = version};
static partition_info_t whole = {.name = whole_name,
				 .flags = PART_FLAG_DEFAULT,
				 .state_up = PARTITION_UP,
				 .max_nodes = INFINITE,
				 .max_cpus_per_node = INFINITE,
				 .max_share = 1};

void slurm_init(const char *conf)
{
	(void)conf;
}

/* The first call of a turn. */
int slurm_load_ctl_conf(time_t since, slurm_conf_t **conf)
{
	(void)since;
	if (before_turn)
		before_turn(turn);
	snprintf(version, sizeof version, "%u.%02u.1", SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER),
		 SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER));
	*conf = &settings;
	return SLURM_SUCCESS;
}

void slurm_free_ctl_conf(slurm_conf_t *conf)
{
	(void)conf;
}

int slurm_load_node(time_t since, node_info_msg_t **message, uint16_t flags)
{
	(void)flags;
	stop = ++turn >= turns;
	nodes_since = since;
	errno = nodes_errno;
	*message = &nodes;
	return nodes_errno ? SLURM_ERROR : SLURM_SUCCESS;
}

void slurm_free_node_info_msg(node_info_msg_t *message)
{
	(void)message;
}

/* The default partition has all nodes. */
int slurm_load_partitions(time_t since, partition_info_msg_t **message, uint16_t flags)
{
	static partition_info_msg_t list = {.record_count = 1, .partition_array = &whole};

	(void)since;
	(void)flags;
	whole.total_nodes = nodes.record_count;
	*message = &list;
	return SLURM_SUCCESS;
}

void slurm_free_partition_info_msg(partition_info_msg_t *message)
{
	(void)message;
}

int slurm_load_jobs(time_t since, job_info_msg_t **message, uint16_t flags)
{
	(void)flags;
	jobs_since = since;
	errno = jobs_errno;
	*message = &jobs;
	return jobs_errno ? SLURM_ERROR : SLURM_SUCCESS;
}

void slurm_free_job_info_msg(job_info_msg_t *message)
{
	(void)message;
}

/* A node's information is its allocated memory, in MB, in this test. */
int slurm_get_select_nodeinfo(dynamic_plugin_data_t *of, enum select_nodedata_type kind, enum node_states state,
			      void *data)
{
	cr_assert(kind == SELECT_NODEDATA_MEM_ALLOC && state == NODE_STATE_ALLOCATED);
	*(uint64_t *)data = of ? *(uint64_t *)of : 0;
	return SLURM_SUCCESS;
}

/* The job's resources are a list of "HOST CPUS" in this test. */
int slurm_job_cpus_allocated_on_node(job_resources_t *resources, const char *node)
{
	const char *found = strstr((const char *)resources, node);

	return found ? atoi(found + strlen(node)) : -1;
}

int slurm_load_topo(topo_info_response_msg_t **message)
{
	*message = &topology;
	return topology.record_count > 0 ? SLURM_SUCCESS : SLURM_ERROR;
}

void slurm_free_topo_info_msg(topo_info_response_msg_t *message)
{
	(void)message;
}

int slurm_update_job2(job_desc_msg_t *order, job_array_resp_msg_t **answer)
{
	*answer = NULL;
	tell("order %s", order->job_id_str);
	if (order->priority != NO_VAL)
		tell(order->priority == INFINITE ? " release" : " priority %u", order->priority);
	if (order->begin_time)
		tell(" begin");
	if (order->req_nodes)
		tell(" nodes '%s' %u-%u cpus %u", order->req_nodes, order->min_nodes, order->max_nodes,
		     order->min_cpus);
	tell(" mark %s\n", order->admin_comment);
	errno = order_errno;
	return order_errno ? SLURM_ERROR : SLURM_SUCCESS;
}

int slurm_requeue2(char *job, uint32_t flags, job_array_resp_msg_t **answer)
{
	*answer = NULL;
	tell("requeue %s%s\n", job, flags != 0 ? " and hold" : "");
	errno = requeue_errno;
	return requeue_errno ? SLURM_ERROR : SLURM_SUCCESS;
}

/* schedd: answers by method and path. Without one, a GET finds nothing, and everything else succeeds. */

static struct {
	char request[96];
	const char *text;
	int code; /* errno of the answer */
} answers_of_schedd[ANSWERS];
static int schedd_errno; /* of every request */

static void schedd_answers(const char *request, const char *text, int code)
{
	int a = 0;

	while (answers_of_schedd[a].request[0] && strcmp(answers_of_schedd[a].request, request) != 0)
		a++;
	cr_assert_lt(a, ANSWERS);
	snprintf(answers_of_schedd[a].request, sizeof answers_of_schedd[a].request, "%s", request);
	answers_of_schedd[a].text = text;
	answers_of_schedd[a].code = code;
}

int client_ask(const char *socket, const char *method, const char *path, const char *body, json_t **answer,
	       struct error *err)
{
	const char *text = NULL;
	int code = schedd_errno;
	char request[128];

	cr_assert_str_eq(socket, "/schedd");
	snprintf(request, sizeof request, "%s %s", method, path);
	if (strcmp(method, "GET") != 0 && code == 0)
		tell("%s %s%s", request, body ? body : "", body && body[strlen(body) - 1] == '\n' ? "" : "\n");
	for (int a = 0; a < ANSWERS && code == 0; a++)
		if (strcmp(answers_of_schedd[a].request, request) == 0) {
			text = answers_of_schedd[a].text;
			code = answers_of_schedd[a].code;
		}
	if (code == 0 && !text && strcmp(method, "GET") == 0)
		code = ENOENT;
	*answer = code == 0 ? json_loads(text ? text : "{}", 0, NULL) : NULL;
	return code == 0 ? 0 : error_set(err, code, "%s: refused", request);
}

int client_ask_within(const char *socket, const char *method, const char *path, const char *body, long limit_ms,
		      json_t **answer, struct error *err)
{
	cr_assert_eq(limit_ms, 1000, "so that --patience holds if schedd hangs");
	return client_ask(socket, method, path, body, answer, err);
}

int client_submit(const char *socket, const char *line, long limit_ms, struct error *err)
{
	json_t *answer;
	int code = client_ask_within(socket, "POST", "/v1/jobs", line, limit_ms, &answer, err);

	json_decref(answer);
	return code;
}

int client_request_within(const char *socket, const char *method, const char *path, const char *body, long limit_ms,
			  json_t **answer, struct error *err)
{
	int code = client_ask(socket, method, path, body, answer, err);

	cr_assert(limit_ms > 0 && limit_ms <= 18);
	return code < 0 ? code : strcmp(method, "POST") == 0 ? 201 : 200;
}

/* answers.c: the test keeps the agent's decider, and the curves. */

static answers_decide *decide;
static void *decide_context;
static char curves[64];
static char offered[16]; /* the partition */
static bool has_queue;

struct answers *answers_create(const char *path, answers_decide *given, void *context, struct error *err)
{
	(void)err;
	cr_assert_str_eq(path, "/slurm");
	decide = given;
	decide_context = context;
	return (struct answers *)curves;
}

void answers_destroy(struct answers *answers)
{
	(void)answers;
}

void answers_allow(struct answers *answers, uint32_t uid)
{
	(void)answers;
	(void)uid;
}

void answers_offer(struct answers *answers, json_t *list, const char *partition, bool queue)
{
	char *text = json_dumps(list, 0);

	(void)answers;
	has_queue = queue;
	snprintf(offered, sizeof offered, "%s", partition ? partition : "");
	snprintf(curves, sizeof curves, "%s", text ? text : "");
	free(text);
	json_decref(list);
}

/* The tests */

static char comment[] = "nomora:curve=spark,root=1", placed[] = "nomora:slurm-x n1*2,n3";
static struct slurm_agent_options options = {
	.schedd = "/schedd", .socket = "/slurm", .patience_s = 1000, .migrate_gain = 0.1, .no_return_s = 1000};

static void run_turns(int count)
{
	struct error err = {0};

	turn = 0;
	turns = count;
	stop = 0;
	cr_assert_eq(slurm_agent_run(&options, &stop, &err), 0, "%s", err.text);
}

/* Job 7 of three tasks, with a mark; "" for none. */
static job_info_t *make_job(uint32_t state, const char *mark, uint32_t priority)
{
	static char text[2 * SLURM_NAME_BYTES];

	snprintf(text, sizeof text, "%s", mark);
	records[0] = (job_info_t){.job_id = 7,
				  .shared = NO_VAL16,
				  .array_task_id = NO_VAL,
				  .num_tasks = 3,
				  .comment = comment,
				  .admin_comment = text,
				  .partition = whole_name,
				  .job_state = state,
				  .submit_time = time(NULL),
				  .priority = priority};
	jobs.record_count = 1;
	return &records[0];
}

/* Job 7 was placed, has run, and was requeued in an earlier second. */
static job_info_t *make_requeued(const char *mark)
{
	job_info_t *job = make_job(JOB_PENDING, mark, 100);

	job->restart_cnt = 1;
	job->submit_time -= 2;
	return job;
}

/* Makes job 7 run on two CPUs of n1 and one of n3. */
static job_info_t *make_running(const char *mark)
{
	static char hosts[] = "n1,n3", cpus[] = "n1 2 n3 1";
	job_info_t *job = make_job(JOB_RUNNING, mark, 100);

	job->nodes = hosts;
	job->job_resrcs = (job_resources_t *)cpus;
	job->start_time = time(NULL) + 1000; /* so that it has run for 0 seconds */
	return job;
}

/* schedd has the job with these numbers of tasks, placed on n1, n1 and n3. */
static void schedd_has(const char *id, int waiting, int decided, int running, int failed)
{
	static char list[512], one[768];
	char request[96];

	snprintf(list, sizeof list,
		 "{\"jobs\": [{\"id\": \"other\", \"waiting\": 1}, {\"id\": \"%s\", \"waiting\": %d, \"decided\": %d, "
		 "\"running\": %d, \"failed\": %d}]}",
		 id, waiting, decided, running, failed);
	snprintf(one, sizeof one,
		 "{\"id\": \"%s\", \"waiting\": %d, \"decided\": %d, \"running\": %d, \"failed\": %d, \"tasks\": "
		 "[{\"machine\": \"n1\"}, {\"machine\": \"n1\"}, {\"machine\": \"n3\"}]}",
		 id, waiting, decided, running, failed);
	schedd_answers("GET /v1/jobs", list, 0);
	snprintf(request, sizeof request, "GET /v1/jobs/%s", id);
	schedd_answers(request, one, 0);
}

static void make_servers(void)
{
	schedd_answers("GET /v1/decisions?after=9223372036854775807", "{\"last\": 5}", 0);
	schedd_answers("GET /v1/jobs", "{\"jobs\": []}", 0);
	schedd_answers("GET /v1/machines", "{\"machines\": []}", 0);
	schedd_answers("GET /v1/curves", "{\"curves\": [\"spark\"]}", 0);
}

TestSuite(slurm_turns, .init = make_servers);

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

#define PASSED(reason) "order 7 begin nodes '' 1-3 cpus 3 mark nomora:pass " reason "\n"

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

#define ADOPTED                                                                                                        \
	"DELETE /v1/jobs/slurm-7 \n"                                                                                   \
	"POST /v1/jobs {\"id\": \"slurm-7\", \"curve\": \"spark\", \"root\": 1, \"minimum_tasks\": 3, \"tasks\": "     \
	"[{\"name\": \"t0\", "                                                                                         \
	"\"machine\": \"n1\", \"running_s\": 0.0}, {\"name\": \"t1\", \"machine\": \"n1\", \"running_s\": 0.0}, "      \
	"{\"name\": \"t2\", \"machine\": \"n3\", \"running_s\": 0.0}]}\n"

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

Test(slurm_turns, a_fresh_job_is_removed_only_when_slurm_lists_its_end)
{
	before_turn = list_fresh;
	schedd_has_next(0, 3);
	run_turns(3);
	TOLD("");
	run_turns(4);
	cr_assert(strncmp(told, "DELETE /v1/jobs/slurm-", 22) == 0 && strstr(told, "-1 \n"), "%s", told);
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
	TOLD(ADOPTED "PUT /v1/machines/n1 {\"slots\": 8, \"state\": \"up\"}\n" ADOPTED);
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
	run_turns(2); /* the second turn follows at once, and sets nothing */
	TOLD("PUT /v1/machines/n2 {\"slots\": 8, \"state\": \"down\", \"rack\": \"r1\"}\n"
	     "PUT /v1/machines/n3 {\"slots\": 6, \"state\": \"draining\"}\n"
	     "PUT /v1/machines/n4 {\"slots\": 0, \"state\": \"up\"}\n");
	schedd_answers("PUT /v1/machines/n2", NULL, EPERM); /* the others are set all the same */
	run_turns(1);
	cr_assert(strstr(told, "PUT /v1/machines/n4"), "%s", told);
	told[0] = '\0';
	schedd_answers("PUT /v1/machines/n2", NULL, EIO); /* schedd is gone */
	run_turns(1);
	TOLD("PUT /v1/machines/n2 {\"slots\": 8, \"state\": \"down\", \"rack\": \"r1\"}\n");
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
	settings.select_type_param = CR_CPU; /* n3 is too small for a job, but has a task of ours */
	node_records[1].real_memory = 99;
	run_turns(1);
	TOLD("PUT /v1/machines/n1 {\"slots\": 8, \"state\": \"up\"}\n"
	     "PUT /v1/machines/n3 {\"slots\": 1, \"state\": \"up\"}\n");
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
	cr_assert_eq(nodes_since, 0);
	cr_assert_eq(jobs_since, 0);
	cr_assert_eq(slurm_view_update(&view, &err), 1);
	cr_assert_eq(nodes_since, 1999);
	cr_assert_eq(jobs_since, 999);
	jobs_errno = nodes_errno = SLURM_NO_CHANGE_IN_DATA;
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

/* Without schedd, the jobs that wait lose their nodes after the time of patience; those that Slurm placed, and running
 * ones, stay. */
Test(slurm_turns, jobs_lose_their_nodes_without_schedd)
{
	schedd_errno = ENOTCONN;
	make_job(JOB_PENDING, placed, 100);
	run_turns(1);
	TOLD("");
	options.patience_s = 0;
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

/* The mean of the tasks other than the root; unknown if that of one task is. */
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
	settings.select_type_param = CR_CPU | CR_MEMORY;
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
