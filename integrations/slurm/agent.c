/* SPDX-License-Identifier: BSD-3-Clause */
/* The agent's turns: each compares Slurm with schedd and takes the necessary steps. */
#include <integrations/slurm/agent.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <base/log.h>

#include "agent_priv.h"
#include "rules.h"

/*
 * Interval, in seconds, at which the slots and states of all machines are compared with schedd's, besides each turn in
 * which Slurm's jobs or nodes have changed.
 */
#define MACHINES_S 1

static const char *const node_states[] = {
	[SLURM_NODE_UP] = "up", [SLURM_NODE_DRAINING] = "draining", [SLURM_NODE_DOWN] = "down"};

/*
 * Returns 1 if the job requests a placement by nomora and has not ended, 0 if not, or -ENOMEM: then nobody knows. Reads
 * the job's request and mark; the caller frees the mark.
 */
static int is_ours(const struct slurm_job *job, struct slurm_request *request, struct slurm_mark *mark)
{
	int code;

	*mark = (struct slurm_mark){0};
	if (!job->simple || job->tasks == 0 || job->tasks > SLURM_TASKS_MAXIMUM || job->state == SLURM_ENDED)
		return 0;
	code = slurm_request_parse(job->comment, job->tasks, request, NULL);
	if (code == 1 && slurm_mark_parse(job->mark, mark) < 0)
		code = -ENOMEM;
	return code == -EINVAL ? 0 : code;
}

/*
 * True if the choice of the step needs the machines of the tasks in schedd. Reading them takes a request per job, and
 * most steps follow from the numbers of tasks by state.
 */
static bool needs_hosts(const struct agent *agent, const struct slurm_job *job, const struct slurm_mark *mark,
			const struct sched_job *counts)
{
	if (!counts->known || counts->tasks != job->tasks || counts->decided + counts->running != job->tasks)
		return false;
	return mark->kind != SLURM_MARK_PLACED || job->state == SLURM_RUNNING || agent->new_decisions;
}

/*
 * True if the job was requeued before the agent saw it run. The agent must then pass the placement to Slurm again:
 * otherwise Slurm would start the job only after its old credential has expired.
 */
static bool missed_its_run(const struct agent *agent, const struct slurm_job *job, const struct slurm_mark *mark,
			   const struct sched_job *counts)
{
	return job->state == SLURM_PENDING && !job->held && job->restarts > 0 && mark->kind == SLURM_MARK_PLACED &&
	       counts->known && counts->decided == job->tasks &&
	       hash_table_find(&agent->placed, job->id) != job->restarts;
}

/* True for a running job that needs no step: it is settled, or schedd refused it. */
static bool needs_nothing(const struct agent *agent, const struct slurm_job *job, const struct slurm_mark *mark,
			  const struct sched_job *counts, const char *id)
{
	if (job->state != SLURM_RUNNING || mark->kind == SLURM_MARK_MOVING)
		return false;
	return counts->known ? counts->running == job->tasks && agent_is_settled(agent, job)
			     : executor_has_refused(&agent->schedd, id, json_integer(job->start));
}

static int look_at_job(struct agent *agent, const struct slurm_job *job, const struct slurm_request *request,
		       const struct slurm_mark *mark, struct error *err)
{
	struct sched_job sched;
	char id[SLURM_NAME_BYTES], **hosts = NULL;
	enum slurm_step step;
	int code = 0;

	agent_job_id(job, mark, id);
	sched = link_counts(&agent->schedd, id);
	if (job->state == SLURM_BUSY || needs_nothing(agent, job, mark, &sched, id))
		return 0;
	if (missed_its_run(agent, job, mark, &sched) || needs_hosts(agent, job, mark, &sched))
		code = link_read_job(&agent->schedd, id, &sched, err);
	if (code == 0 && job->state == SLURM_RUNNING) {
		hosts = slurm_job_hosts(job, mark);
		code = hosts && hosts[0] ? 0 : error_set(err, EAGAIN, "job %s has no nodes yet", job->name);
	}
	if (code == 0) {
		step = slurm_choose_step(job, mark, &sched, hosts,
					 difftime(time(NULL), job->eligible) > agent->options.patience_s);
		/* Compared again, because schedd may have withdrawn the decision before the job was read. */
		if (step == SLURM_STEP_NONE && missed_its_run(agent, job, mark, &sched))
			step = SLURM_STEP_PLACE;
		if ((step == SLURM_STEP_PLACE || step == SLURM_STEP_PASS) && !slurm_may_start(job, time(NULL)))
			step = SLURM_STEP_NONE; /* the next turn tries again */
		code = agent_take_step(agent, step, job, request, mark, &sched, hosts, err);
		if (code == 0 && step == SLURM_STEP_NONE && job->state == SLURM_RUNNING)
			agent_note(&agent->settled, job, (uint32_t)job->start);
	}
	free(hosts);
	link_job_free(&sched);
	return code;
}

static int look_at_jobs(struct agent *agent, struct error *err)
{
	for (uint32_t j = 0; j < agent->view.job_count; j++) {
		const struct slurm_job *job = &agent->view.jobs[j];
		struct slurm_request request;
		struct slurm_mark mark;
		struct error reason = {0};
		int code;

		if (is_ours(job, &request, &mark) <= 0)
			continue;
		code = look_at_job(agent, job, &request, &mark, &reason);
		slurm_mark_free(&mark);
		if (executor_is_lost(code))
			return error_set(err, -code, "%s", reason.text);
		if (code < 0)
			log_warning("job %s: %s", job->name, reason.text);
	}
	return 0;
}

/* True if Slurm lists the job whose mark has this id as ended. */
static bool has_ended(const struct slurm_view *view, const char *id)
{
	const size_t prefix = strlen(SLURM_REQUEST_PREFIX), length = strlen(id);

	for (uint32_t j = 0; j < view->job_count; j++) {
		const char *mark = view->jobs[j].mark;

		if (view->jobs[j].state == SLURM_ENDED && mark && strlen(mark) > prefix + length &&
		    strncmp(mark, SLURM_REQUEST_PREFIX, prefix) == 0 && strncmp(mark + prefix, id, length) == 0 &&
		    mark[prefix + length] == ' ')
			return true;
	}
	return false;
}

/* Notes the ids of the jobs that schedd should have. */
static int list_wanted(struct agent *agent)
{
	int code = 0;

	hash_table_clear(&agent->wanted);
	for (uint32_t j = 0; j < agent->view.job_count && code == 0; j++) {
		struct slurm_request request;
		struct slurm_mark mark;
		char id[SLURM_NAME_BYTES];

		code = is_ours(&agent->view.jobs[j], &request, &mark);
		if (code > 0) {
			agent_job_id(&agent->view.jobs[j], &mark, id);
			code = hash_table_insert(&agent->wanted, hash_text(id), 0);
		}
		slurm_mark_free(&mark);
	}
	return code;
}

/*
 * True for the jobs to which a job of Slurm refers, for the copy under review (moves.c), and for the jobs that were
 * submitted to schedd while sbatch waited and that Slurm may not list yet.
 */
static bool wants(void *context, const char *id)
{
	struct agent *agent = context;

	return hash_table_first(&agent->wanted, hash_text(id)) != HASH_TABLE_NONE ||
	       (agent->review.job && strcmp(agent->review.id, id) == 0) ||
	       (at_once_is_fresh(agent->at_once, id) && !has_ended(&agent->view, id));
}

/*
 * CPUs of a node that jobs have. `ours`: those that schedd counts as used slots, one per task of the jobs that it has.
 * If they contained those of a job that schedd does not have yet, schedd would place other tasks on them.
 */
struct node_use {
	uint32_t all, ours;
};

/* True if schedd counts a slot for each task of the job: it has decided about all of them, or adopted them. */
static bool schedd_counts(const struct agent *agent, const struct slurm_job *job, const struct slurm_mark *mark)
{
	struct sched_job counts;
	char id[SLURM_NAME_BYTES];

	agent_job_id(job, mark, id);
	counts = link_counts(&agent->schedd, id);
	return counts.known && counts.decided + counts.running == job->tasks;
}

/* Adds the CPUs that a job has on its nodes. `index`: hashes of the names of the view's nodes. Returns 0 or -ENOMEM. */
static int add_use(const struct agent *agent, struct node_use *uses, const struct hash_table *index,
		   const struct slurm_job *job)
{
	struct slurm_request request;
	struct slurm_mark mark = {0};
	int asks = job->share_count > 0 && job->state == SLURM_RUNNING ? is_ours(job, &request, &mark) : 0;
	bool ours = asks > 0 && schedd_counts(agent, job, &mark);
	char **hosts = ours ? slurm_job_hosts(job, &mark) : NULL;
	int code = asks < 0 || (ours && !hosts) ? -ENOMEM : 0;

	for (uint32_t s = 0; code == 0 && s < job->share_count; s++) {
		const struct slurm_share *share = &job->share[s];
		uint32_t node = hash_table_find(index, hash_text(share->host)), tasks = 0;

		for (uint32_t t = 0; hosts && t < job->tasks; t++)
			tasks += strcmp(hosts[t], share->host) == 0;
		if (node == HASH_TABLE_NONE)
			continue;
		uses[node].all += share->cpus;
		uses[node].ours += tasks < share->cpus ? tasks : share->cpus;
	}
	free(hosts);
	slurm_mark_free(&mark);
	return code;
}

/* Returns the use of each node of the view; the caller frees. NULL: out of memory. */
static struct node_use *count_use(const struct agent *agent)
{
	const struct slurm_view *view = &agent->view;
	struct node_use *uses = calloc((size_t)view->node_count + 1, sizeof *uses);
	struct hash_table index = {0};
	int code = uses ? 0 : -ENOMEM;

	for (uint32_t n = 0; code == 0 && n < view->node_count; n++)
		code = hash_table_insert(&index, hash_text(view->nodes[n].name), n);
	for (uint32_t j = 0; code == 0 && j < view->job_count; j++)
		code = add_use(agent, uses, &index, &view->jobs[j]);
	hash_table_free(&index);
	if (code == 0)
		return uses;
	free(uses);
	return NULL;
}

/* The number of tasks that Slurm could still start on a node. */
static uint32_t count_startable(const struct slurm_view *view, const struct slurm_node *node,
				const struct node_use *use)
{
	return slurm_rules_startable(&view->rules, node, node->cpus > use->all ? node->cpus - use->all : 0);
}

static json_t *machines(void *context)
{
	struct agent *agent = context;
	struct ns now = ns_now_monotonic();
	struct node_use *uses = now.v >= agent->next_machines.v ? count_use(agent) : NULL;
	json_t *list = uses ? json_object() : NULL;

	if (list)
		agent->largest = 0;
	for (uint32_t n = 0; list && n < agent->view.node_count; n++) {
		const struct slurm_node *node = &agent->view.nodes[n];
		uint32_t left = count_startable(&agent->view, node, &uses[n]);

		/* schedd counts the slots of its own jobs as used. */
		executor_add_machine(&list, node->name, uses[n].ours + left, node_states[node->state]);
		if (node->state == SLURM_NODE_UP && left > agent->largest)
			agent->largest = left;
	}
	free(uses);
	if (list)
		agent->next_machines = ns_add(now, ns_from_us(MACHINES_S * 1e6));
	return list;
}

static char *rack(void *context, const char *machine)
{
	struct agent *agent = context;

	return slurm_view_rack(&agent->view, machine);
}

/* Removes the nodes of jobs that wait to start, because schedd does not answer: Slurm decides where they run. */
static void pass_waiting(struct agent *agent)
{
	for (uint32_t j = 0; j < agent->view.job_count; j++) {
		const struct slurm_job *job = &agent->view.jobs[j];
		struct slurm_request request;
		struct slurm_mark mark;
		struct error err = {0};

		if (is_ours(job, &request, &mark) <= 0)
			continue;
		if (job->state == SLURM_PENDING && slurm_may_start(job, time(NULL)) && mark.kind != SLURM_MARK_NONE &&
		    mark.kind != SLURM_MARK_PASS && !slurm_is_adopted(job, &mark) &&
		    agent_pass(job, "schedd does not answer", &err) < 0)
			log_warning("job %s: %s", job->name, err.text);
		slurm_mark_free(&mark);
	}
}

/* True if jobs wait for nodes. A further job then has its turn by Slurm's order, which schedd does not know. */
static bool has_queue(const struct slurm_view *view)
{
	uint32_t j = 0;

	while (j < view->job_count && !(view->jobs[j].state == SLURM_PENDING && view->jobs[j].waits_for_nodes))
		j++;
	return j < view->job_count;
}

/* Begins or continues the review of a running job. If schedd refuses a request, only this review fails. */
static int review(struct agent *agent, struct error *err)
{
	struct error reason = {0};
	int code = agent_review(agent, &reason);

	if (executor_is_lost(code))
		return error_set(err, -code, "%s", reason.text);
	if (code < 0)
		log_warning("%s", reason.text);
	return 0;
}

static void offer(struct agent *agent, bool queue)
{
	at_once_follow(agent->at_once, &agent->view.rules, agent->largest);
	answers_offer(agent->answers, link_curves(&agent->schedd, NULL), agent->view.partition, queue);
}

static int begin(void *context, struct error *err)
{
	struct agent *agent = context;
	uint64_t last;
	int code = link_last_decision(&agent->schedd, &last, err);

	if (code < 0)
		return code;
	agent->new_decisions = last != agent->seen_decision;
	agent->seen_decision = last;
	if (has_queue(&agent->view))
		offer(agent, true);
	return 0;
}

/* Without a queue, schedd decides about new jobs, but only once it has this view's jobs and slots. */
static int sync_jobs(void *context, struct error *err)
{
	struct agent *agent = context;
	int code = look_at_jobs(agent, err);

	if (code == 0 && !has_queue(&agent->view))
		offer(agent, false);
	return code == 0 ? review(agent, err) : code;
}

static const struct executor_calls calls = {.id_prefix = LINK_ID_PREFIX,
					    .begin = begin,
					    .machines = machines,
					    .rack = rack,
					    .wants = wants,
					    .jobs = sync_jobs};

/* Logs why schedd cannot place jobs, if that has changed. */
static void say_unsupported(struct agent *agent)
{
	const char *reason = agent->view.unsupported;

	if (strcmp(agent->said, reason) == 0)
		return;
	if (reason[0])
		log_warning("Slurm decides about all new jobs: slurm.conf: %s", reason);
	else
		log_info("schedd decides about new jobs");
	snprintf(agent->said, sizeof agent->said, "%s", reason);
}

/*
 * Compares Slurm with schedd once and takes the necessary steps. Returns 0, also if a server does not answer, or
 * -EPROTO with err set if slurmctld has an unsupported version.
 */
static int take_turn(struct agent *agent, struct error *err)
{
	struct error reason = {0};
	int code = slurm_view_update(&agent->view, &reason);

	if (code == -EPROTO)
		return error_set(err, EPROTO, "%s", reason.text);
	executor_note(&agent->slurm_down, code < 0, "slurmctld", reason.text);
	if (code < 0 || list_wanted(agent) < 0) /* out of memory: the next turn tries again */
		return 0;
	if (code > 0)
		agent->next_machines = (struct ns){0};
	answers_allow(agent->answers, agent->view.slurm_user);
	code = executor_turn(&agent->schedd);
	/* If schedd is on standby, the agent beside the other schedd decides. */
	if (code < 0 && code != -EREMOTE &&
	    ns_to_s(ns_sub(ns_now_monotonic(), agent->schedd.answered)) >= agent->options.patience_s)
		pass_waiting(agent);
	say_unsupported(agent);
	return 0;
}

int slurm_agent_run(const struct slurm_agent_options *options, const volatile sig_atomic_t *stop, struct error *err)
{
	struct agent agent = {
		.options = *options,
		.schedd = {.calls = &calls, .context = &agent, .socket = options->schedd, .limit_ms = LINK_LIMIT_MS},
		.seen_decision = UINT64_MAX};
	struct timespec pause = {.tv_sec = (time_t)options->poll_s, .tv_nsec = (long)(fmod(options->poll_s, 1) * 1e9)};
	int code = executor_init(&agent.schedd, err);

	if (code == 0 && !(agent.at_once = at_once_create(&agent.schedd)))
		code = error_set(err, ENOMEM, "out of memory");
	if (code == 0 && !(agent.answers = answers_create(options->socket, at_once_decide, agent.at_once, err)))
		code = error_code(err, ENOMEM);
	if (code == 0)
		slurm_view_init();
	while (code == 0 && !*stop && (code = take_turn(&agent, err)) == 0)
		nanosleep(&pause, NULL);
	answers_destroy(agent.answers);
	at_once_destroy(agent.at_once);
	slurm_view_free(&agent.view);
	executor_free(&agent.schedd);
	hash_table_free(&agent.wanted);
	hash_table_free(&agent.settled);
	hash_table_free(&agent.placed);
	return code;
}

bool slurm_job_name_parse(const char *text, struct slurm_job_name *name)
{
	char *end;
	unsigned long job = strtoul(text, &end, 10), element = 0;

	name->is_element = *end == '_';
	if (text[0] < '0' || text[0] > '9' || (name->is_element && (end[1] < '0' || end[1] > '9')))
		return false;
	if (name->is_element)
		element = strtoul(end + 1, &end, 10);
	name->job = (uint32_t)job;
	name->element = (uint32_t)element;
	return *end == '\0' && job > 0 && job <= UINT32_MAX && element <= UINT32_MAX;
}

/* Copies the machines of a job's tasks. A job that does not run yet has those of its mark. */
static int copy_layout(const struct slurm_job *job, const struct slurm_mark *mark, char ***hosts, uint32_t *count)
{
	char **from = job->share_count > 0 ? slurm_job_hosts(job, mark) : mark->hosts;
	bool complete = true;

	*count = job->share_count > 0 ? job->tasks : mark->host_count;
	*hosts = calloc((size_t)*count + 1, sizeof **hosts);
	for (uint32_t h = 0; from && *hosts && h < *count; h++) {
		(*hosts)[h] = strdup(from[h]);
		complete = complete && (*hosts)[h];
	}
	if (!from || !*hosts || !complete) {
		for (uint32_t h = 0; *hosts && h < *count; h++)
			free((*hosts)[h]);
		free(*hosts);
		complete = false;
	}
	if (job->share_count > 0)
		free(from);
	return complete ? 0 : -ENOMEM;
}

int slurm_job_layout(const struct slurm_job_name *name, char ***hosts, uint32_t *count, struct error *err)
{
	struct slurm_view view;
	struct slurm_mark mark = {0};
	int code;

	slurm_view_init();
	code = slurm_view_read_job(&view, name, err);
	if (code == 0)
		code = slurm_mark_parse(view.jobs[0].mark ? view.jobs[0].mark : "", &mark);
	if (code == 0 && mark.kind != SLURM_MARK_PLACED && view.jobs[0].share_count == 0)
		code = error_set(err, ENOENT, "the job has no nodes yet");
	if (code == 0)
		code = copy_layout(&view.jobs[0], &mark, hosts, count);
	slurm_mark_free(&mark);
	slurm_view_free(&view);
	return code;
}

json_t *slurm_job_layout_to_json(const struct slurm_job_name *name, char *const *hosts, uint32_t count)
{
	json_t *list = json_array(), *element = name->is_element ? json_integer(name->element) : NULL;

	for (uint32_t h = 0; h < count; h++)
		json_array_append_new(list, json_string(hosts[h]));
	return json_pack("{s:s, s:I, s:o*, s:o}", "schema", "nomora.hostfile/1", "job", (json_int_t)name->job,
			 "element", element, "hosts", list);
}
