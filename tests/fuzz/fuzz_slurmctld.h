/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small model of slurmctld by a fake clock, in place of the functions of libslurm that the agent calls: jobs with
 * required nodes start if these have free CPUs, and memory if Slurm allocates it, a requeued job waits for its
 * credential, orders are refused as Slurm refuses them.
 */
#ifndef FUZZ_SLURMCTLD_H
#define FUZZ_SLURMCTLD_H

#include <errno.h>
#include <time.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include <base/process.h>

#include "agent_priv.h"
#include "fuzz_schedd.h"

enum {
	JOBS = 8,
	NODES = 4,
	CPUS = 3,        /* of a node */
	MEMORY = 6,      /* of a node */
	TASK_MEMORY = 2, /* of a task of a job without --mem */
	TASKS = 4,
	MARK = 512,
	TURNS = 60,        /* at most, with events */
	SETTLE_TURNS = 20, /* of 2 s; an id of a new job is fresh for 20 s */
	END_TURNS = 80,
	PATIENCE_S = 5,
	REVIEW_S = 15,   /* longest review of a job, in some turns more than its limit */
	REQUEUE_S = 120, /* a requeued job waits until its credential has expired */
};

#define EPOCH INT64_C(1795188663)

struct batch_job {
	job_info_t record; /* job_id 0: unused */
	char comment[96], mark[MARK], wanted[64], nodes[64];
	uint32_t cpus[NODES]; /* of a running or completing job */
	uint32_t memory;      /* of a CPU; 0: Slurm allocates none */
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
	uint32_t until_silence; /* the same of Slurm's lists until one is not answered */
	bool schedd_stopped, order_fails, queue, curves, done;
	bool allocates_memory;
	volatile sig_atomic_t stop;
	int turn, settled, ending;
	answers_decide *decide;
	void *decide_context;
} world;

/* True if the planned number of requests has passed. */
static bool is_due(uint32_t *until)
{
	return *until > 0 && --*until == 0;
}

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

static uint32_t used_memory(uint32_t node)
{
	uint32_t used = 0;

	for (int j = 0; j < JOBS; j++)
		used += world.jobs[j].cpus[node] * world.jobs[j].memory;
	law(used <= MEMORY);
	return used;
}

/* The number of CPUs, each with this memory, that a job could get on a node. */
static uint32_t startable(uint32_t node, uint32_t memory)
{
	uint32_t cpus = free_cpus(node), by_memory = memory > 0 ? (MEMORY - used_memory(node)) / memory : cpus;

	return cpus < by_memory ? cpus : by_memory;
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
			blocked = blocked || !is_up(n) || startable(n, job->memory) == 0 || left == 0;
			cpus[n] = 1;
			left -= left > 0;
		}
	for (uint32_t n = 0; n < NODES && !blocked; n++)
		while (left > 0 && is_up(n) && cpus[n] < startable(n, job->memory) &&
		       (!job->wanted[0] || cpus[n] > 0)) {
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

static void begin_turn(void);

/* Sets errno to why a list is not sent: something fails, or nothing has changed since then. */
static bool sends(time_t since, time_t changed)
{
	if (is_due(&world.until_silence)) {
		errno = ESLURM_PROTOCOL_INCOMPLETE_PACKET;
		return false;
	}
	errno = SLURM_NO_CHANGE_IN_DATA;
	return since - 1 < changed;
}

/* The first call of a turn. */
int slurm_load_ctl_conf(time_t since, slurm_conf_t **conf)
{
	static char version[32];
	static slurm_conf_t settings = {.version = version, .select_type = (char *)"select/cons_tres"};

	begin_turn();
	if (!sends(since, EPOCH))
		return SLURM_ERROR;
	snprintf(version, sizeof version, "%u.%02u.1", SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER),
		 SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER));
	settings.select_type_param = world.allocates_memory ? CR_CORE | CR_MEMORY : CR_CPU;
	settings.def_mem_per_cpu = world.allocates_memory ? TASK_MEMORY | MEM_PER_CPU : 0;
	settings.last_update = time(NULL);
	*conf = &settings;
	return SLURM_SUCCESS;
}

void slurm_free_ctl_conf(slurm_conf_t *conf)
{
	(void)conf;
}

int slurm_load_node(time_t since, node_info_msg_t **message, uint16_t flags)
{
	static node_info_t records[NODES];
	static uint64_t used[NODES];
	static node_info_msg_t nodes = {.record_count = NODES, .node_array = records};

	(void)flags;
	if (!sends(since, world.nodes_changed > world.jobs_changed ? world.nodes_changed : world.jobs_changed))
		return SLURM_ERROR;
	for (uint32_t n = 0; n < NODES; n++) {
		used[n] = used_memory(n);
		records[n] = (node_info_t){.name = (char *)node_names[n],
					   .cpus = CPUS,
					   .sockets = 1,
					   .cores = CPUS,
					   .real_memory = MEMORY,
					   .select_nodeinfo = (dynamic_plugin_data_t *)&used[n],
					   .node_state = world.node_states[n]};
	}
	nodes.last_update = time(NULL);
	*message = &nodes;
	return SLURM_SUCCESS;
}

int slurm_get_select_nodeinfo(dynamic_plugin_data_t *of, enum select_nodedata_type kind, enum node_states state,
			      void *data)
{
	law(kind == SELECT_NODEDATA_MEM_ALLOC && state == NODE_STATE_ALLOCATED);
	*(uint64_t *)data = *(uint64_t *)of;
	return SLURM_SUCCESS;
}

void slurm_free_node_info_msg(node_info_msg_t *message)
{
	(void)message;
}

int slurm_load_partitions(time_t since, partition_info_msg_t **message, uint16_t flags)
{
	static partition_info_t whole = {.name = (char *)"main",
					 .flags = PART_FLAG_DEFAULT,
					 .state_up = PARTITION_UP,
					 .total_nodes = NODES,
					 .max_nodes = INFINITE,
					 .max_share = 1};
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
	if (!sends(since, world.jobs_changed))
		return SLURM_ERROR;
	jobs.record_count = 0;
	for (int j = 0; j < JOBS; j++) {
		struct batch_job *job = &world.jobs[j];

		if (!job->record.job_id)
			continue;
		job->record.comment = job->comment;
		job->record.admin_comment = job->mark;
		job->record.partition = (char *)"main";
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

/* scontrol show topology */
int __wrap_process_run(const struct process_options *run, struct ns timeout, struct process_result *result,
		       struct error *err);
int __wrap_process_run(const struct process_options *run, struct ns timeout, struct process_result *result,
		       struct error *err)
{
	(void)run;
	(void)timeout;
	(void)err;
	*result = (struct process_result){.output = strdup("SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n1,n2\n"
							   "SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=n[3-4]\n")};
	return 0;
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

#endif
