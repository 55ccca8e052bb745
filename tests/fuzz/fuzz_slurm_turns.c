/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The Slurm agent's turns between a small model of slurmctld and a real schedd, by a fake clock. The input is a list of
 * events: jobs arrive, end, are cancelled, requeued, held, suspended; nodes fail; each of the three servers is stopped
 * or loses an answer. Then nothing fails any more, and these laws hold:
 *
 * - after some turns, schedd has each running job's tasks as running on the job's nodes, no job that has ended, and as
 *   many free slots as Slurm has free CPUs;
 * - no job waits for the nodes of a decision while others are free;
 * - as running jobs end, each waiting job starts: none is stuck.
 */
#include <errno.h>
#include <time.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include <base/log.h>
#include <client/request.h>

#include "agent_priv.h"
#include "exchange.h"
#include "fuzz_schedd.h"

enum {
	JOBS = 8,
	NODES = 4,
	CPUS = 3, /* of a node */
	TASKS = 4,
	MARK = 512,
	TURNS = 60,        /* at most, with events */
	SETTLE_TURNS = 20, /* of 2 s; an id of a new job is fresh for 20 s */
	END_TURNS = 80,
	PATIENCE_S = 5,
	REQUEUE_S = 120, /* a requeued job waits until its credential has expired */
};

#define EPOCH INT64_C(1795188663)

struct batch_job {
	job_info_t record; /* job_id 0: unused */
	char comment[96], mark[MARK], wanted[64], nodes[64];
	uint32_t cpus[NODES]; /* of a running or completing job */
	time_t begin;
	int turns; /* for which it has run */
};

static struct world {
	struct events events;
	struct schedd *schedd;
	int64_t now_ns;
	struct batch_job jobs[JOBS];
	uint32_t last_id, node_states[NODES];
	time_t jobs_changed, nodes_changed;
	/* requests to schedd until it is stopped, loses an answer, restarts, or until a job arrives; 0: not planned */
	uint32_t until_stop, until_loss, until_restart, until_job;
	bool schedd_stopped, slurm_stopped, order_fails, queue, curves, done;
	volatile sig_atomic_t stop;
	int turn, settled, ending;
	answers_decide *decide;
	void *decide_context;
} world;

static const char *const node_names[NODES] = {"n1", "n2", "n3", "n4"};

/* Clocks */

struct ns __wrap_ns_now_monotonic(void);
struct ns __wrap_ns_now_wall(void);
time_t __wrap_time(time_t *out);
int __wrap_nanosleep(const struct timespec *wanted, struct timespec *left);

struct ns __wrap_ns_now_monotonic(void)
{
	return (struct ns){world.now_ns += 1000};
}

struct ns __wrap_ns_now_wall(void)
{
	return (struct ns){EPOCH * NS_PER_S + world.now_ns};
}

time_t __wrap_time(time_t *out)
{
	time_t now = (time_t)(EPOCH + world.now_ns / NS_PER_S);

	if (out)
		*out = now;
	return now;
}

int __wrap_nanosleep(const struct timespec *wanted, struct timespec *left)
{
	(void)left;
	world.now_ns += wanted->tv_sec * NS_PER_S + wanted->tv_nsec;
	return 0;
}

/* slurmctld */

static uint32_t free_cpus(uint32_t node)
{
	uint32_t used = 0;

	for (int j = 0; j < JOBS; j++)
		used += world.jobs[j].cpus[node];
	law(used <= CPUS);
	return CPUS - used;
}

static bool is_up(uint32_t node)
{
	return world.node_states[node] == NODE_STATE_IDLE;
}

static bool runs(const struct batch_job *job)
{
	return job->record.job_id && (job->record.job_state & JOB_STATE_BASE) == JOB_RUNNING;
}

static bool waits(const struct batch_job *job)
{
	return job->record.job_id && job->record.job_state == JOB_PENDING;
}

static bool is_ours(const struct batch_job *job)
{
	return job->comment[0] != '\0';
}

static bool names_node(const char *list, uint32_t node)
{
	const char *found = strstr(list, node_names[node]);

	return found && (found[2] == ',' || found[2] == '\0');
}

/* As Slurm without task layout: a CPU on each required node, then as many as fit, in their order. */
static void start(struct batch_job *job)
{
	uint32_t cpus[NODES] = {0}, left = job->record.num_tasks;
	bool blocked = false;

	for (uint32_t n = 0; n < NODES; n++)
		if (job->wanted[0] && names_node(job->wanted, n)) {
			blocked = blocked || !is_up(n) || free_cpus(n) == 0 || left == 0;
			cpus[n] = 1;
			left -= left > 0;
		}
	for (uint32_t n = 0; n < NODES && !blocked; n++)
		while (left > 0 && is_up(n) && cpus[n] < free_cpus(n) && (!job->wanted[0] || cpus[n] > 0)) {
			cpus[n]++;
			left--;
		}
	job->record.state_reason = WAIT_RESOURCES;
	if (blocked || left > 0)
		return;
	job->nodes[0] = '\0';
	for (uint32_t n = 0; n < NODES; n++)
		if (cpus[n] > 0)
			snprintf(job->nodes + strlen(job->nodes), sizeof job->nodes - strlen(job->nodes), "%s%s",
				 job->nodes[0] ? "," : "", node_names[n]);
	memcpy(job->cpus, cpus, sizeof cpus);
	job->record.job_state = JOB_RUNNING;
	job->record.start_time = time(NULL);
	job->record.state_reason = WAIT_NO_REASON;
	job->turns = 0;
	world.jobs_changed = time(NULL);
}

static void schedule(void)
{
	for (int j = 0; j < JOBS; j++)
		if (waits(&world.jobs[j]) && world.jobs[j].record.priority > 0 && world.jobs[j].begin <= time(NULL))
			start(&world.jobs[j]);
}

static void leave_nodes(struct batch_job *job)
{
	memset(job->cpus, 0, sizeof job->cpus);
	job->nodes[0] = '\0';
	world.jobs_changed = time(NULL);
}

static void end(struct batch_job *job, uint32_t state)
{
	leave_nodes(job);
	job->record.job_state = state;
}

static void requeue(struct batch_job *job)
{
	leave_nodes(job);
	job->record.job_state = JOB_PENDING;
	job->record.restart_cnt++;
	job->record.submit_time = time(NULL);
	job->begin = time(NULL) + REQUEUE_S;
}

void slurm_init(const char *conf)
{
	(void)conf;
}

int slurm_load_ctl_conf(time_t since, slurm_conf_t **conf)
{
	static char version[32];

	(void)since;
	errno = ESLURM_PROTOCOL_INCOMPLETE_PACKET;
	if (world.slurm_stopped) {
		world.stop = ++world.turn >= TURNS;
		world.slurm_stopped = false;
		return SLURM_ERROR;
	}
	snprintf(version, sizeof version, "%u.%02u.1", SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER),
		 SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER));
	*conf = calloc(1, sizeof **conf);
	(*conf)->version = version;
	return SLURM_SUCCESS;
}

void slurm_free_ctl_conf(slurm_conf_t *conf)
{
	free(conf);
}

static void begin_turn(void);

int slurm_load_node(time_t since, node_info_msg_t **message, uint16_t flags)
{
	static node_info_t records[NODES];
	static node_info_msg_t nodes = {.record_count = NODES, .node_array = records};

	(void)flags;
	begin_turn();
	errno = world.slurm_stopped ? ESLURM_PROTOCOL_INCOMPLETE_PACKET : SLURM_NO_CHANGE_IN_DATA;
	if (world.slurm_stopped || since - 1 >= world.nodes_changed)
		return SLURM_ERROR;
	for (uint32_t n = 0; n < NODES; n++)
		records[n] =
			(node_info_t){.name = (char *)node_names[n], .cpus = CPUS, .node_state = world.node_states[n]};
	nodes.last_update = time(NULL);
	*message = &nodes;
	return SLURM_SUCCESS;
}

void slurm_free_node_info_msg(node_info_msg_t *message)
{
	(void)message;
}

int slurm_load_partitions(time_t since, partition_info_msg_t **message, uint16_t flags)
{
	static partition_info_t whole = {
		.name = (char *)"main", .flags = PART_FLAG_DEFAULT, .state_up = PARTITION_UP, .total_nodes = NODES};
	static partition_info_msg_t list = {.record_count = 1, .partition_array = &whole};

	(void)since;
	(void)flags;
	*message = &list;
	return SLURM_SUCCESS;
}

void slurm_free_partition_info_msg(partition_info_msg_t *message)
{
	(void)message;
}

int slurm_load_jobs(time_t since, job_info_msg_t **message, uint16_t flags)
{
	static job_info_t records[JOBS];
	static job_info_msg_t jobs = {.job_array = records};

	(void)flags;
	errno = SLURM_NO_CHANGE_IN_DATA;
	if (since - 1 >= world.jobs_changed)
		return SLURM_ERROR;
	jobs.record_count = 0;
	for (int j = 0; j < JOBS; j++) {
		struct batch_job *job = &world.jobs[j];

		if (!job->record.job_id)
			continue;
		job->record.comment = job->comment;
		job->record.admin_comment = job->mark;
		job->record.nodes = job->nodes[0] ? job->nodes : NULL;
		job->record.job_resrcs = job->nodes[0] ? (job_resources_t *)job : NULL;
		job->record.eligible_time = job->begin;
		records[jobs.record_count++] = job->record;
	}
	jobs.last_update = time(NULL);
	*message = &jobs;
	return SLURM_SUCCESS;
}

void slurm_free_job_info_msg(job_info_msg_t *message)
{
	(void)message;
}

int slurm_job_cpus_allocated_on_node(job_resources_t *resources, const char *node)
{
	const struct batch_job *job = (const struct batch_job *)resources;

	return (int)job->cpus[node[1] - '1'];
}

int slurm_load_topo(topo_info_response_msg_t **message)
{
	static topo_info_t leaves[] = {{.name = (char *)"leaf1", .nodes = (char *)"n1,n2"},
				       {.name = (char *)"leaf2", .nodes = (char *)"n[3-4]"}};
	static topo_info_response_msg_t topology = {.record_count = 2, .topo_array = leaves};

	*message = &topology;
	return SLURM_SUCCESS;
}

void slurm_free_topo_info_msg(topo_info_response_msg_t *message)
{
	(void)message;
}

static struct batch_job *find(const char *name)
{
	for (int j = 0; j < JOBS; j++)
		if (world.jobs[j].record.job_id && world.jobs[j].record.job_id == strtoul(name, NULL, 10))
			return &world.jobs[j];
	return NULL;
}

static int refuse(int code)
{
	errno = code;
	return SLURM_ERROR;
}

int slurm_update_job2(job_desc_msg_t *order, job_array_resp_msg_t **answer)
{
	struct batch_job *job = find(order->job_id_str);

	*answer = NULL;
	law(job && is_ours(job) && order->admin_comment && strlen(order->admin_comment) < MARK);
	if (world.order_fails) {
		world.order_fails = false;
		return refuse(ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE);
	}
	if (!waits(job) && !runs(job))
		return refuse(ESLURM_ALREADY_DONE);
	if (order->req_nodes && !waits(job))
		return refuse(ESLURM_JOB_NOT_PENDING);
	if (order->req_nodes) {
		law(order->min_cpus == job->record.num_tasks);
		snprintf(job->wanted, sizeof job->wanted, "%s", order->req_nodes);
	}
	if (order->begin_time)
		job->begin = order->begin_time;
	if (order->priority != NO_VAL)
		job->record.priority = 100;
	snprintf(job->mark, MARK, "%s", order->admin_comment);
	world.jobs_changed = time(NULL);
	return SLURM_SUCCESS;
}

int slurm_requeue2(char *name, uint32_t flags, job_array_resp_msg_t **answer)
{
	struct batch_job *job = find(name);

	(void)flags;
	*answer = NULL;
	law(job && is_ours(job) && strstr(job->mark, " moving"));
	if (!runs(job))
		return refuse(ESLURM_ALREADY_DONE);
	requeue(job);
	return SLURM_SUCCESS;
}

/* The plug-in's part of the agent: answers.c judges a request before it asks for a decision. */

struct answers *answers_create(const char *path, answers_decide *decide, void *context, struct error *err)
{
	(void)path;
	(void)err;
	world.decide = decide;
	world.decide_context = context;
	return (struct answers *)&world;
}

void answers_destroy(struct answers *answers)
{
	(void)answers;
	world.decide = NULL;
}

void answers_allow(struct answers *answers, uint32_t uid)
{
	(void)answers;
	(void)uid;
}

void answers_offer(struct answers *answers, json_t *list, const char *partition, bool queue)
{
	(void)answers;
	world.curves = list && partition;
	world.queue = queue;
	json_decref(list);
}

/* "PLACE HOSTS COUNT MARK", which the plug-in may not get in time. */
static void ask_agent(struct batch_job *job)
{
	char answer[ANSWER_BYTES], hosts[64], mark[MARK];
	struct slurm_request request;
	unsigned count;

	if (!world.decide || !world.curves || world.queue)
		return;
	law(slurm_request_parse(job->comment, job->record.num_tasks, &request, NULL) == 1);
	if (!world.decide(world.decide_context, &request, job->record.num_tasks, answer) ||
	    events_below(&world.events, 8) == 7)
		return;
	law(sscanf(answer, "PLACE %63s %u %511[^\n]", hosts, &count, mark) == 3 && count > 0 && count <= NODES);
	snprintf(job->wanted, sizeof job->wanted, "%s", hosts);
	snprintf(job->mark, sizeof job->mark, "%s", mark);
}

static void submit(bool ours)
{
	static const char *const curves[] = {"memcached", "strads", "spark", "tensorflow"};
	struct batch_job *job = NULL;
	uint32_t kind = events_byte(&world.events);

	for (int j = 0; j < JOBS && !job; j++)
		if (!world.jobs[j].record.job_id)
			job = &world.jobs[j];
	if (!job)
		return;
	*job = (struct batch_job){.record = {.job_id = ++world.last_id,
					     .shared = NO_VAL16,
					     .array_task_id = NO_VAL,
					     .num_tasks = 1 + kind % TASKS,
					     .num_cpus = 1 + kind % TASKS,
					     .job_state = JOB_PENDING,
					     .submit_time = time(NULL),
					     .priority = 100},
				  .begin = time(NULL)};
	if (ours) {
		snprintf(job->comment, sizeof job->comment, "nomora:curve=%s,root=%u,move=%s", curves[kind / TASKS % 4],
			 kind / 16 % job->record.num_tasks, kind & 128 ? "no" : "yes");
		job->record.job_id = 0; /* Slurm lists it only after the plug-in's answer */
		ask_agent(job);
		job->record.job_id = world.last_id;
	}
	world.jobs_changed = time(NULL);
}

/* schedd */

int __wrap_exchange(const char *socket, const char *method, const char *path, const char *body, struct ns limit,
		    struct exchange_answer *answer);

static void restart_schedd(void)
{
	schedd_destroy(world.schedd);
	world.schedd = schedd_start();
}

/* True if the planned number of requests has passed. */
static bool is_due(uint32_t *until)
{
	return *until > 0 && --*until == 0;
}

int __wrap_exchange(const char *socket, const char *method, const char *path, const char *body, struct ns limit,
		    struct exchange_answer *answer)
{
	char *target = strdup(path);
	bool lost;

	(void)socket;
	(void)limit;
	if (is_due(&world.until_job))
		submit(true);
	if (is_due(&world.until_stop))
		world.schedd_stopped = true;
	if (is_due(&world.until_restart))
		restart_schedd();
	lost = is_due(&world.until_loss);
	world.now_ns += 100000;
	if (!world.schedd_stopped) {
		keep_answer = !lost;
		schedd_ask(world.schedd, 0, method, target, body);
	}
	free(target);
	if (world.schedd_stopped || lost)
		return world.schedd_stopped ? -ENOTCONN : -ETIMEDOUT;
	answer->bytes = answer_text ? answer_text : strdup("");
	answer_text = NULL;
	answer->count = answer->end = strlen(answer->bytes);
	answer->status = (int)answer_status;
	return 0;
}

static json_t *ask_schedd(const char *path)
{
	struct exchange_answer answer = {0};
	json_t *json;

	law(__wrap_exchange(NULL, "GET", path, NULL, (struct ns){0}, &answer) == 0);
	json = answer.status == 200 ? json_loads(answer.bytes, 0, NULL) : NULL;
	free(answer.bytes);
	return json;
}

/* Events */

static void change_job(uint32_t kind, struct batch_job *job)
{
	if (kind == 0 && runs(job))
		end(job, JOB_COMPLETE);
	else if (kind == 1 && (runs(job) || waits(job)))
		end(job, JOB_CANCELLED);
	else if (kind == 2 && runs(job))
		requeue(job);
	else if (kind == 3 && waits(job)) {
		job->record.priority = job->record.priority ? 0 : 100;
		job->record.state_reason = WAIT_HELD_USER;
	} else if (kind == 4 && runs(job))
		job->record.job_state ^= JOB_COMPLETING;
	else if (kind == 5 && !runs(job) && !waits(job)) /* MinJobAge has passed */
		job->record.job_id = 0;
	world.jobs_changed = time(NULL);
}

static void change_node(uint32_t node, uint32_t kind)
{
	static const uint32_t states[] = {NODE_STATE_IDLE, NODE_STATE_IDLE | NODE_STATE_DRAIN, NODE_STATE_DOWN};

	world.node_states[node] = states[kind % 3];
	for (int j = 0; j < JOBS && world.node_states[node] == NODE_STATE_DOWN; j++)
		if (world.jobs[j].cpus[node] > 0)
			requeue(&world.jobs[j]);
	world.nodes_changed = time(NULL);
}

static void take_event(void)
{
	uint32_t kind = events_below(&world.events, 16), detail = events_byte(&world.events);

	switch (kind) {
	case 0:
	case 1:
	case 2:
		submit(kind < 2);
		break;
	case 3:
	case 4:
	case 5:
	case 6:
		change_job(detail / JOBS % 6, &world.jobs[detail % JOBS]);
		break;
	case 7:
		change_node(detail % NODES, detail / NODES);
		break;
	case 8:
		world.until_stop = 1 + detail % 16;
		break;
	case 9:
		world.until_loss = 1 + detail % 16;
		break;
	case 10:
		world.until_restart = 1 + detail % 16;
		break;
	case 11:
		world.until_job = 1 + detail % 16;
		break;
	case 12:
		world.slurm_stopped = true;
		break;
	case 13:
		world.order_fails = true;
		break;
	case 14:
		world.now_ns += detail * INT64_C(500) * NS_PER_MS;
		break;
	default:
		world.schedd_stopped = false;
	}
}

/* Laws */

/* True if the agent has had no time yet: the job started less than three turns ago. */
static bool has_changed(const struct batch_job *job)
{
	return job->record.start_time > time(NULL) - 6;
}

/* Each task of a running job runs in schedd on a node of the job, with at most a task per CPU. */
static void check_job(const struct batch_job *job)
{
	struct slurm_mark mark;
	uint32_t tasks[NODES] = {0};
	char path[128];
	json_t *known, *task;
	size_t at;

	if (!runs(job) || !is_ours(job) || has_changed(job))
		return;
	law(slurm_mark_parse(job->mark, &mark) == 0);
	if (mark.kind == SLURM_MARK_PLACED || mark.kind == SLURM_MARK_NONE || mark.kind == SLURM_MARK_PASS) {
		if (mark.id[0])
			snprintf(path, sizeof path, "/v1/jobs/%s", mark.id);
		else
			snprintf(path, sizeof path, "/v1/jobs/%s%u", LINK_ID_PREFIX, job->record.job_id);
		known = ask_schedd(path);
		law(known);
		json_array_foreach (json_object_get(known, "tasks"), at, task) {
			const char *machine = json_string_value(json_object_get(task, "machine"));

			law(strcmp(json_string_value(json_object_get(task, "state")), "running") == 0);
			tasks[machine[1] - '1']++;
		}
		law(at == job->record.num_tasks);
		for (uint32_t n = 0; n < NODES; n++)
			law(tasks[n] == job->cpus[n]);
		json_decref(known);
	}
	slurm_mark_free(&mark);
}

/* schedd has no job that Slurm does not have as running. */
static void check_known(void)
{
	json_t *answer = ask_schedd("/v1/jobs"), *job;
	size_t at, ours = 0;

	for (int j = 0; j < JOBS; j++)
		ours += is_ours(&world.jobs[j]) && (runs(&world.jobs[j]) || waits(&world.jobs[j]));
	law(answer);
	json_array_foreach (json_object_get(answer, "jobs"), at, job)
		law(strncmp(json_string_value(json_object_get(job, "id")), LINK_ID_PREFIX, strlen(LINK_ID_PREFIX)) ==
		    0);
	law(at <= ours);
	json_decref(answer);
}

static void check_slots(void)
{
	json_t *answer = ask_schedd("/v1/machines"), *machine;
	size_t at;
	bool changing = false;

	for (int j = 0; j < JOBS; j++)
		changing = changing || waits(&world.jobs[j]) || (runs(&world.jobs[j]) && has_changed(&world.jobs[j]));
	law(answer);
	json_array_foreach (json_object_get(answer, "machines"), at, machine) {
		uint32_t node = (uint32_t)(json_string_value(json_object_get(machine, "name"))[1] - '1');
		json_int_t slots = json_integer_value(json_object_get(machine, "slots")),
			   tasks = json_integer_value(json_object_get(machine, "tasks"));

		law(node < NODES && (changing || slots - tasks == free_cpus(node)));
	}
	law(at == NODES);
	json_decref(answer);
}

/* No job waits, for much longer than --patience, for the nodes of a decision while others are free. */
static void check_waiting(const struct batch_job *job)
{
	uint32_t free = 0;

	for (uint32_t n = 0; n < NODES; n++)
		free += free_cpus(n);
	law(!waits(job) || job->begin > time(NULL) - 3 * PATIENCE_S || free < job->record.num_tasks);
}

static void show(void)
{
	json_t *answer = ask_schedd("/v1/jobs");

	for (int j = 0; j < JOBS; j++)
		if (runs(&world.jobs[j]) || waits(&world.jobs[j]))
			fprintf(stderr,
				"job %u, state %x, restart %u, %u tasks, '%s', mark '%s', wants '%s', runs on '%s', "
				"begins in %ld s\n",
				world.jobs[j].record.job_id, world.jobs[j].record.job_state,
				world.jobs[j].record.restart_cnt, world.jobs[j].record.num_tasks, world.jobs[j].comment,
				world.jobs[j].mark, world.jobs[j].wanted, world.jobs[j].nodes,
				(long)(world.jobs[j].begin - time(NULL)));
	json_dumpf(answer, stderr, JSON_INDENT(1));
	fputc('\n', stderr);
	json_decref(answer);
}

/* Ends the oldest running job that has run for some turns. */
static void end_one(void)
{
	for (int j = 0; j < JOBS; j++)
		if (runs(&world.jobs[j]) && ++world.jobs[j].turns > 6) {
			end(&world.jobs[j], JOB_COMPLETE);
			return;
		}
}

static void heal(void)
{
	world.schedd_stopped = world.slurm_stopped = world.order_fails = false;
	world.until_stop = world.until_loss = world.until_restart = world.until_job = 0;
	for (uint32_t n = 0; n < NODES; n++)
		world.node_states[n] = NODE_STATE_IDLE;
	for (int j = 0; j < JOBS; j++) {
		world.jobs[j].record.job_state &= ~(uint32_t)JOB_COMPLETING;
		world.jobs[j].record.priority = 100;
	}
	world.nodes_changed = world.jobs_changed = time(NULL);
}

/* Without faults: first, nothing changes and the laws are checked; then, running jobs end until none is left. */
static void go_on_well(void)
{
	bool left = false;

	world.now_ns += 2 * NS_PER_S;
	schedule();
	if (world.settled++ == 0)
		heal();
	if (world.settled < SETTLE_TURNS)
		return;
	if (world.settled == SETTLE_TURNS) {
		if (getenv("NOMORA_FUZZ_LOG"))
			show();
		for (int j = 0; j < JOBS; j++) {
			check_job(&world.jobs[j]);
			check_waiting(&world.jobs[j]);
		}
		check_known();
		check_slots();
	}
	end_one();
	for (int j = 0; j < JOBS; j++)
		left = left || runs(&world.jobs[j]) || waits(&world.jobs[j]);
	law(!left || world.settled < SETTLE_TURNS + END_TURNS + 2 * REQUEUE_S);
	world.stop = world.done = !left;
}

static void begin_turn(void)
{
	if (!events_left(&world.events) || world.turn >= TURNS) {
		go_on_well();
		return;
	}
	world.turn++;
	for (uint32_t n = 1 + events_below(&world.events, 4); n > 0 && events_left(&world.events); n--)
		take_event();
	world.now_ns += NS_PER_S;
	schedule();
	world.stop = events_below(&world.events, 16) == 15; /* the agent restarts */
}

static void remove_all(void)
{
	static const char *const kinds[] = {"jobs", "machines"}, *const keys[] = {"id", "name"};

	world.schedd_stopped = false;
	for (int k = 0; k < 2; k++) {
		char path[128];
		json_t *answer, *entry;
		size_t at;

		snprintf(path, sizeof path, "/v1/%s", kinds[k]);
		answer = ask_schedd(path);
		json_array_foreach (json_object_get(answer, kinds[k]), at, entry) {
			snprintf(path, sizeof path, "/v1/%s/%s", kinds[k],
				 json_string_value(json_object_get(entry, keys[k])));
			keep_answer = false;
			schedd_ask(world.schedd, 0, "DELETE", path, NULL);
		}
		json_decref(answer);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slurm_agent_options options = {.schedd = "/schedd",
					      .socket = "/slurm",
					      .poll_s = 0.25,
					      .patience_s = PATIENCE_S,
					      .migrate_gain = 0.1,
					      .no_return_s = 100,
					      .review_s = 1};
	struct schedd *schedd = world.schedd;
	int64_t now_ns = world.now_ns;
	struct error err = {0};

	world = (struct world){.events = {.data = data, .left = size}, .schedd = schedd, .now_ns = now_ns + NS_PER_S};
	if (!schedd) {
		if (!getenv("NOMORA_FUZZ_LOG"))
			log_set_sink(NULL);
		world.schedd = schedd_start();
	}
	world.now_ns -= world.now_ns % NS_PER_S;
	world.jobs_changed = world.nodes_changed = time(NULL);
	for (uint32_t n = 0; n < NODES; n++)
		world.node_states[n] = NODE_STATE_IDLE;
	options.migrate = events_below(&world.events, 2);
	do {
		world.stop = 0;
		law(slurm_agent_run(&options, &world.stop, &err) == 0);
	} while (!world.done);
	remove_all();
	return 0;
}
