/* SPDX-License-Identifier: BSD-3-Clause */
#include "view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include <base/array.h>
#include <base/hash_table.h>

#include "rules.h"

/* Exported by libslurm, but declared in none of its headers. */
extern int64_t slurm_bit_size(bitstr_t *bits);
extern int slurm_bit_test(bitstr_t *bits, int64_t bit);

void slurm_view_init(void)
{
	slurm_init(NULL);
}

static int slurm_failed(struct error *err, const char *what)
{
	return error_set(err, errno == SLURM_PROTOCOL_VERSION_ERROR ? EPROTO : EREMOTEIO, "%s: %s", what,
			 slurm_strerror(errno));
}

static int check_version(const char *version, struct error *err)
{
	unsigned major = SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER), minor = SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER);
	unsigned its_major = 0, its_minor = 0;

	if (version)
		sscanf(version, "%u.%u", &its_major, &its_minor);
	if (its_major == major && its_minor == minor)
		return 0;
	return error_set(err, EPROTO, "slurmctld has version %s; this agent was built for %u.%02u",
			 version ? version : "unknown", major, minor);
}

/* slurmctld has read slurm.conf since its start, so a slurmctld of another version counts as a change. */
static int load_conf(struct slurm_view *view, struct error *err)
{
	slurm_conf_t *conf = NULL;
	int code;

	if (slurm_load_ctl_conf(view->conf_at, &conf) != SLURM_SUCCESS)
		return errno == SLURM_NO_CHANGE_IN_DATA ? 0 : slurm_failed(err, "cannot read Slurm's configuration");
	view->slurm_user = conf->slurm_user_id;
	view->conf = slurm_rules_of(conf);
	code = check_version(conf->version, err);
	view->conf_at = code == 0 ? conf->last_update - 1 : 0;
	slurm_free_ctl_conf(conf);
	return code;
}

static bool is_given(const char *text)
{
	return text && text[0];
}

/* A text that is not given is NULL. */
static char *copy_text(const char *text)
{
	return is_given(text) ? strdup(text) : NULL;
}

static void free_jobs(struct slurm_job *jobs, uint32_t count)
{
	for (uint32_t j = 0; j < count; j++) {
		struct slurm_job *job = &jobs[j];

		for (uint32_t s = 0; s < job->share_count; s++)
			free(job->share[s].host);
		free(job->share);
		free(job->comment);
		free(job->mark);
		free(job->partition);
	}
	free(jobs);
}

static void free_nodes(struct slurm_view *view)
{
	for (uint32_t n = 0; n < view->node_count; n++)
		free(view->nodes[n].name);
	free(view->nodes);
	view->nodes = NULL;
	view->node_count = 0;
}

void slurm_view_free(struct slurm_view *view)
{
	free_jobs(view->jobs, view->job_count);
	view->jobs = NULL;
	view->job_count = 0;
	free_nodes(view);
	free(view->partition);
	free(view->topology);
	view->partition = view->topology = NULL;
}

static enum slurm_job_state state_of(uint32_t state)
{
	uint32_t base = state & JOB_STATE_BASE;

	if ((state & JOB_COMPLETING) || base == JOB_SUSPENDED)
		return SLURM_BUSY;
	if (base == JOB_PENDING)
		return SLURM_PENDING;
	return base == JOB_RUNNING ? SLURM_RUNNING : SLURM_ENDED;
}

static bool is_unconstrained(const job_info_t *from)
{
	return !is_given(from->features) && !is_given(from->exc_nodes) && !is_given(from->resv_name) &&
	       !is_given(from->tres_per_job) && !is_given(from->tres_per_node) && !is_given(from->tres_per_socket) &&
	       !is_given(from->tres_per_task) && !is_given(from->licenses) && from->contiguous == 0 &&
	       from->shared != 0;
}

/*
 * True if a waiting job waits for something other than its turn, nodes or time: a limit of its account, QOS or
 * partition, or one that a later version of Slurm adds.
 */
static bool is_blocked(uint32_t reason)
{
	static const uint32_t others[] = {WAIT_NO_REASON, WAIT_PRIORITY, WAIT_RESOURCES, WAIT_TIME,  WAIT_HELD,
					  WAIT_HELD_USER, WAIT_CLEANING, WAIT_PROLOG,    FAIL_DEFER, WAIT_FRONT_END};

	for (size_t o = 0; o < sizeof others / sizeof *others; o++)
		if (reason == others[o])
			return false;
	return true;
}

/* A requeued job becomes eligible later than it is submitted again. */
static time_t eligible_of(const job_info_t *from)
{
	return from->eligible_time > from->submit_time ? from->eligible_time : from->submit_time;
}

/* The jobs of the last view, by id. */
struct earlier {
	struct slurm_job *jobs;
	uint32_t count;
	struct hash_table by_id;
};

static const struct slurm_job *find_earlier(const struct earlier *earlier, uint32_t id)
{
	uint32_t at = hash_table_find(&earlier->by_id, id);

	return at == HASH_TABLE_NONE ? NULL : &earlier->jobs[at];
}

/*
 * Fills a job from Slurm's record. element: number of the array's element; NO_VAL if the job is not part of an array.
 */
static int take_job(struct slurm_job *job, const job_info_t *from, uint32_t element, const struct earlier *earlier)
{
	*job = (struct slurm_job){
		.id = from->job_id,
		.tasks = from->num_tasks > 0 && from->num_tasks < NO_VAL ? from->num_tasks : from->num_cpus,
		.state = state_of(from->job_state),
		.held = from->priority == 0,
		.held_by_slurm = from->state_reason != WAIT_HELD && from->state_reason != WAIT_HELD_USER &&
				 from->state_reason != WAIT_NO_REASON,
		.unconstrained = is_unconstrained(from),
		.waits_for_nodes = from->state_reason == WAIT_RESOURCES || from->state_reason == WAIT_PRIORITY,
		.lacks_nodes = from->state_reason == WAIT_RESOURCES,
		.blocked = is_blocked(from->state_reason),
		.simple = from->het_job_id == 0 && from->cpus_per_task <= 1,
		.comment = copy_text(from->comment),
		.mark = copy_text(from->admin_comment),
		.partition = copy_text(from->partition),
		.memory = from->pn_min_memory,
		.restarts = from->restart_cnt,
		.eligible = eligible_of(from),
		.start = from->start_time,
		.submitted = from->submit_time};
	if (element == NO_VAL)
		snprintf(job->name, sizeof job->name, "%u", from->job_id);
	else
		snprintf(job->name, sizeof job->name, "%u_%u", from->array_job_id, element);
	if ((is_given(from->comment) && !job->comment) || (is_given(from->admin_comment) && !job->mark) ||
	    (is_given(from->partition) && !job->partition))
		return -ENOMEM;
	if ((job->state == SLURM_RUNNING || job->state == SLURM_BUSY) && from->nodes && from->nodes[0] &&
	    from->job_resrcs)
		return shares_take(job, from, find_earlier(earlier, job->id));
	return 0;
}

/*
 * True if the record is that of an array. Such a record stands for all pending elements that have no record of their
 * own.
 */
static bool is_array(const job_info_t *from)
{
	return from->array_job_id != 0 && from->array_task_id == NO_VAL && from->array_bitmap;
}

static int take_record(struct slurm_view *view, size_t *capacity, const job_info_t *from, const struct earlier *earlier)
{
	int64_t count = is_array(from) ? slurm_bit_size(from->array_bitmap) : 1;

	for (int64_t n = 0; n < count; n++) {
		uint32_t element = is_array(from)            ? (uint32_t)n
				   : from->array_job_id != 0 ? from->array_task_id
							     : NO_VAL;
		struct slurm_job *jobs;

		if (is_array(from) && !slurm_bit_test(from->array_bitmap, n))
			continue;
		jobs = array_grow(view->jobs, view->job_count, capacity, sizeof *jobs);
		if (!jobs)
			return -ENOMEM;
		view->jobs = jobs;
		if (take_job(&jobs[view->job_count++], from, element, earlier) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Returns 1 if the jobs may have changed, 0 if not, or -errno with err set. */
static int load_jobs(struct slurm_view *view, struct error *err)
{
	job_info_msg_t *message = NULL;
	struct earlier earlier = {.jobs = view->jobs, .count = view->job_count};
	size_t capacity = 0;
	int code = 0;

	if (slurm_load_jobs(view->jobs_at, &message, SHOW_ALL | SHOW_DETAIL) != SLURM_SUCCESS)
		return errno == SLURM_NO_CHANGE_IN_DATA ? 0 : slurm_failed(err, "cannot read Slurm's jobs");
	for (uint32_t j = 0; code == 0 && j < earlier.count; j++)
		if (earlier.jobs[j].share_count > 0)
			code = hash_table_insert(&earlier.by_id, earlier.jobs[j].id, j);
	view->jobs = NULL;
	view->job_count = 0;
	for (uint32_t j = 0; code == 0 && j < message->record_count; j++)
		code = take_record(view, &capacity, &message->job_array[j], &earlier);
	free_jobs(earlier.jobs, earlier.count);
	hash_table_free(&earlier.by_id);
	/*
	 * Slurm returns the jobs if something has changed since the given time. The time has whole seconds: without the
	 * -1, another change within the same second would be missed.
	 */
	view->jobs_at = code == 0 ? message->last_update - 1 : 0;
	slurm_free_job_info_msg(message);
	return code == 0 ? 1 : error_set(err, ENOMEM, "out of memory");
}

static enum slurm_node_state node_state_of(uint32_t state)
{
	uint32_t base = state & NODE_STATE_BASE;

	if (base == NODE_STATE_DOWN || base == NODE_STATE_FUTURE)
		return SLURM_NODE_DOWN;
	if (state & NODE_STATE_POWERED_DOWN) /* Slurm starts it for the job */
		return state & NODE_STATE_DRAIN ? SLURM_NODE_DRAINING : SLURM_NODE_UP;
	/* NODE_STATE_RES: in a reservation, which the jobs that schedd places do not have. */
	/* NODE_STATE_UNKNOWN: slurmctld has restarted, and the node's jobs may still run. */
	if (base == NODE_STATE_UNKNOWN ||
	    (state & (NODE_STATE_RES | NODE_STATE_DRAIN | NODE_STATE_FAIL | NODE_STATE_MAINT | NODE_STATE_NO_RESPOND)))
		return SLURM_NODE_DRAINING;
	return SLURM_NODE_UP;
}

static struct slurm_node node_of(const node_info_t *from)
{
	uint64_t jobs = 0, used;

	slurm_get_select_nodeinfo(from->select_nodeinfo, SELECT_NODEDATA_MEM_ALLOC, NODE_STATE_ALLOCATED, &jobs);
	used = jobs + from->mem_spec_limit;
	return (struct slurm_node){.name = copy_text(from->name),
				   .cpus = from->cpus_efctv > 0 ? from->cpus_efctv : from->cpus,
				   .memory = from->real_memory,
				   .free_memory = from->real_memory > used ? from->real_memory - used : 0,
				   .job_memory = jobs,
				   .state = node_state_of(from->node_state)};
}

static int load_nodes(struct slurm_view *view, struct error *err)
{
	node_info_msg_t *message = NULL;
	int code;

	if (slurm_load_node(view->nodes_at, &message, SHOW_ALL) != SLURM_SUCCESS)
		return errno == SLURM_NO_CHANGE_IN_DATA ? 0 : slurm_failed(err, "cannot read Slurm's nodes");
	free_nodes(view);
	view->nodes = calloc((size_t)message->record_count + 1, sizeof *view->nodes);
	code = view->nodes ? 0 : -ENOMEM;
	for (uint32_t n = 0; code == 0 && n < message->record_count; n++) {
		if (!is_given(message->node_array[n].name)) /* unused node numbers have no name */
			continue;
		view->nodes[view->node_count] = node_of(&message->node_array[n]);
		code = view->nodes[view->node_count].name ? 0 : -ENOMEM;
		view->node_count += code == 0;
	}
	view->nodes_at = code == 0 ? message->last_update - 1 : 0;
	slurm_free_node_info_msg(message);
	return code == 0 ? 1 : error_set(err, ENOMEM, "out of memory");
}

static int load_partition(struct slurm_view *view, struct error *err)
{
	struct error reason = {.text = "Slurm has no default partition"};
	partition_info_msg_t *message = NULL;
	int code = 0;

	if (slurm_load_partitions(0, &message, SHOW_ALL) != SLURM_SUCCESS)
		return slurm_failed(err, "cannot read Slurm's partitions");
	free(view->partition);
	view->partition = NULL;
	for (uint32_t p = 0; p < message->record_count; p++) {
		const partition_info_t *from = &message->partition_array[p];

		if (!(from->flags & PART_FLAG_DEFAULT))
			continue;
		view->rules = slurm_rules_in(view->conf, from);
		if (slurm_rules_check(&view->rules, from, view->node_count, &reason) != 0)
			continue;
		view->partition = copy_text(from->name);
		code = view->partition ? 0 : error_set(err, ENOMEM, "out of memory");
	}
	slurm_free_partition_info_msg(message);
	snprintf(view->unsupported, sizeof view->unsupported, "%s", view->partition ? "" : reason.text);
	return code;
}

static bool is_plain(const struct slurm_view *view, const struct slurm_job *job)
{
	return job->unconstrained && job->memory == view->rules.default_memory && view->partition && job->partition &&
	       strcmp(job->partition, view->partition) == 0 && !slurm_rules_count_nodes(&view->rules);
}

/*
 * The nodes are read after the jobs: the memory of a job that starts in between counts as used, and the agent offers
 * too few slots for a moment, rather than too many.
 */
int slurm_view_update(struct slurm_view *view, struct error *err)
{
	int code = load_conf(view, err), jobs = code < 0 ? code : load_jobs(view, err);
	int nodes = jobs < 0 ? jobs : load_nodes(view, err);

	free(view->topology);
	view->topology = NULL;
	code = nodes < 0 ? nodes : load_partition(view, err);
	for (uint32_t j = 0; code == 0 && j < view->job_count; j++)
		view->jobs[j].plain = is_plain(view, &view->jobs[j]);
	return code < 0 ? code : nodes | jobs;
}

/*
 * Evaluates and frees slurmctld's answer to an order. For an element of an array, an error may be in the answer
 * although `code` reports success.
 */
static int take_answer(int code, job_array_resp_msg_t *answer, const char *what, struct error *err)
{
	for (uint32_t n = 0; answer && code == SLURM_SUCCESS && n < answer->job_array_count; n++)
		if (answer->error_code[n] != SLURM_SUCCESS) {
			code = SLURM_ERROR;
			errno = (int)answer->error_code[n];
		}
	code = code == SLURM_SUCCESS ? 0 : slurm_failed(err, what);
	if (answer)
		slurm_free_job_array_resp(answer);
	return code;
}

static int update_job(job_desc_msg_t *order, const char *what, struct error *err)
{
	job_array_resp_msg_t *answer = NULL;
	int code = slurm_update_job2(order, &answer);

	return take_answer(code, answer, what, err);
}

static job_desc_msg_t order_for(const struct slurm_job *job, char *mark)
{
	job_desc_msg_t order;

	slurm_init_job_desc_msg(&order);
	order.job_id_str = (char *)job->name;
	order.admin_comment = mark;
	return order;
}

/*
 * Sets begin_time: otherwise a requeued job would wait until its old credential has expired. The job's priority stays
 * as Slurm computed it, but Slurm sets it to 0 if it cannot start a job on the requested nodes.
 */
static void let_start(job_desc_msg_t *order, const struct slurm_job *job)
{
	if (job->held && job->held_by_slurm)
		order->priority = INFINITE;
	if (job->restarts > 0)
		order->begin_time = time(NULL);
}

/*
 * Sets the numbers of nodes. With them, Slurm would also change the number of CPUs: a job of three tasks would get as
 * many CPUs as nodes.
 */
static void set_nodes(job_desc_msg_t *order, const struct slurm_job *job, char *nodes, uint32_t least, uint32_t most)
{
	order->req_nodes = nodes;
	order->min_nodes = least;
	order->max_nodes = most;
	order->min_cpus = job->tasks;
}

int slurm_order_place(const struct slurm_job *job, char *hosts, uint32_t count, char *mark, struct error *err)
{
	job_desc_msg_t order = order_for(job, mark);

	set_nodes(&order, job, hosts, count, count);
	let_start(&order, job);
	return update_job(&order, "cannot place the job", err);
}

int slurm_order_pass(const struct slurm_job *job, char *mark, struct error *err)
{
	static char none[] = "";
	job_desc_msg_t order = order_for(job, mark);

	set_nodes(&order, job, none, 1, job->tasks);
	let_start(&order, job);
	return update_job(&order, "cannot leave the job to Slurm", err);
}

int slurm_order_mark(const struct slurm_job *job, char *mark, struct error *err)
{
	job_desc_msg_t order = order_for(job, mark);

	return update_job(&order, "cannot mark the job", err);
}

int slurm_order_requeue(const struct slurm_job *job, struct error *err)
{
	job_array_resp_msg_t *answer = NULL;
	int code = slurm_requeue2((char *)job->name, 0, &answer);

	return take_answer(code, answer, "cannot requeue the job", err);
}

/*
 * True if the record is that of this job. The record of a whole array does not count, although its job id is also the
 * id of one of the elements.
 */
static bool has_name(const job_info_t *from, const struct slurm_job_name *name)
{
	if (name->is_element)
		return from->array_job_id == name->job && from->array_task_id == name->element;
	return from->job_id == name->job && !is_array(from);
}

int slurm_view_read_job(struct slurm_view *view, const struct slurm_job_name *name, struct error *err)
{
	job_info_msg_t *message = NULL;
	int code = 0;
	const struct earlier none = {0};

	*view = (struct slurm_view){.jobs = calloc(1, sizeof *view->jobs)};
	if (!view->jobs)
		return error_set(err, ENOMEM, "out of memory");
	if (slurm_load_job(&message, name->job, SHOW_ALL) != SLURM_SUCCESS)
		return slurm_failed(err, "cannot read the job");
	for (uint32_t j = 0; j < message->record_count && view->job_count == 0; j++)
		if (has_name(&message->job_array[j], name))
			code = take_job(&view->jobs[view->job_count++], &message->job_array[j],
					name->is_element ? name->element : NO_VAL, &none);
	slurm_free_job_info_msg(message);
	if (code < 0)
		return error_set(err, -code, "out of memory");
	return view->job_count > 0 ? 0 : error_set(err, ENOENT, "Slurm has no such job, or has not numbered it yet");
}
