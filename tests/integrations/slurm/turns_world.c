/* SPDX-License-Identifier: BSD-3-Clause */
#include "turns_world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <slurm/slurm_errno.h>

#include <base/process.h>
#include <client/request.h>

enum { ANSWERS = 32 };

char told[16384]; /* the log */

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
	size_t used = strlen(told);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(told + used, sizeof told - used, format, arguments);
	va_end(arguments);
}

void expect_told(const char *expected, int line)
{
	cr_assert_str_eq(told, expected, "line %d: told\n%s", line, told);
	told[0] = '\0';
}

/* The clocks, which a test may advance. */

time_t passed_s;

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

job_info_t records[JOBS];
job_info_msg_t jobs = {.last_update = 1000, .job_array = records};
node_info_t node_records[NODES];
node_info_msg_t nodes = {.last_update = 2000, .node_array = node_records};
topo_info_t leaves[3];
topo_info_response_msg_t topology = {.topo_array = leaves};
int settings_errno, jobs_errno, nodes_errno, order_errno, requeue_errno;
time_t settings_since, jobs_since, nodes_since;
int turn;
static volatile sig_atomic_t stop;
static int turns = 1;
void (*before_turn)(int turn);
const char *slurm_version;
static char version[32], select_type[] = "select/cons_tres", whole_name[] = "main";
slurm_conf_t settings = {
	.select_type = select_type, .select_type_param = CR_CPU, .version = version, .last_update = 3000};
partition_info_t whole = {.name = whole_name,
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
	settings_since = since;
	if (before_turn)
		before_turn(turn);
	snprintf(version, sizeof version, "%u.%02u.1", SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER),
		 SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER));
	if (slurm_version)
		snprintf(version, sizeof version, "%s", slurm_version);
	*conf = &settings;
	errno = settings_errno;
	return settings_errno ? SLURM_ERROR : SLURM_SUCCESS;
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

/* The same, as libslurm 24.11 gives it. */
int slurm_allocation_lookup(uint32_t id, resource_allocation_response_msg_t **answer)
{
	static uint16_t cpus[NODES];
	static uint32_t counts[NODES];
	static resource_allocation_response_msg_t allocation = {.cpus_per_node = cpus, .cpu_count_reps = counts};

	allocation.num_cpu_groups = 0;
	for (uint32_t j = 0; j < jobs.record_count; j++)
		for (const char *at = records[j].job_id == id ? records[j].nodes : NULL; at && *at;
		     at += strcspn(at, ","), at += *at == ',') {
			char node[8] = "";
			const char *found;

			snprintf(node, sizeof node, "%.*s", (int)strcspn(at, ","), at);
			found = strstr((const char *)records[j].job_resrcs, node);
			cpus[allocation.num_cpu_groups] = (uint16_t)(found ? atoi(found + strlen(node)) : 0);
			counts[allocation.num_cpu_groups++] = 1;
		}
	*answer = &allocation;
	return allocation.num_cpu_groups > 0 ? SLURM_SUCCESS : SLURM_ERROR;
}

void slurm_free_resource_allocation_response_msg(resource_allocation_response_msg_t *answer)
{
	(void)answer;
}

/* scontrol show topology */
int __wrap_process_run(const struct process_options *run, struct ns timeout, struct process_result *result,
		       struct error *err);
int __wrap_process_run(const struct process_options *run, struct ns timeout, struct process_result *result,
		       struct error *err)
{
	FILE *out = open_memstream(&result->output, &result->output_bytes);

	(void)timeout;
	(void)err;
	cr_assert_str_eq(run->argv[0], "scontrol");
	for (uint32_t l = 0; l < topology.record_count; l++)
		fprintf(out, "SwitchName=%s Level=%u LinkSpeed=1%s%s\n", leaves[l].name, leaves[l].level,
			leaves[l].nodes ? " Nodes=" : "", leaves[l].nodes ? leaves[l].nodes : "");
	fclose(out);
	result->exit_code = topology.record_count == 0;
	return 0;
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

static struct {
	char request[96];
	const char *text;
	int code; /* errno of the answer */
} answers_of_schedd[ANSWERS];
int schedd_errno; /* of every request */

void schedd_answers(const char *request, const char *text, int code)
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

answers_decide *decide;
void *decide_context;
char curves[64], offered[16];
bool has_queue;
size_t told_before_offer;

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
	if (told_before_offer == SIZE_MAX)
		told_before_offer = strlen(told);
	snprintf(offered, sizeof offered, "%s", partition ? partition : "");
	snprintf(curves, sizeof curves, "%s", text ? text : "");
	free(text);
	json_decref(list);
}

/* The tests */

char comment[] = "nomora:curve=spark,root=1", placed[] = "nomora:slurm-x n1*2,n3";
struct slurm_agent_options options = {
	.schedd = "/schedd", .socket = "/slurm", .patience_s = 1000, .migrate_gain = 0.1, .no_return_s = 1000};

int run_agent(int count, struct error *err)
{
	turn = 0;
	turns = count;
	told_before_offer = SIZE_MAX;
	stop = 0;
	return slurm_agent_run(&options, &stop, err);
}

void run_turns(int count)
{
	struct error err = {0};

	cr_assert_eq(run_agent(count, &err), 0, "%s", err.text);
}

job_info_t *make_job(uint32_t state, const char *mark, uint32_t priority)
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

job_info_t *make_requeued(const char *mark)
{
	job_info_t *job = make_job(JOB_PENDING, mark, 100);

	job->restart_cnt = 1;
	job->submit_time -= 2;
	return job;
}

job_info_t *make_running(const char *mark)
{
	static char hosts[] = "n1,n3", cpus[] = "n1 2 n3 1";
	job_info_t *job = make_job(JOB_RUNNING, mark, 100);

	job->nodes = hosts;
	job->job_resrcs = (job_resources_t *)cpus;
	job->start_time = time(NULL) + 1000; /* so that it has run for 0 seconds */
	return job;
}

void schedd_has(const char *id, int waiting, int decided, int running, int failed)
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
