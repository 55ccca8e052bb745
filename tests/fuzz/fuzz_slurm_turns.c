/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The Slurm agent's turns between a small model of slurmctld and a real schedd, by a fake clock. The input is a list of
 * events: jobs arrive, end, are cancelled, requeued, held, suspended; nodes fail; each of the three servers is stopped
 * or loses an answer. Then nothing fails any more, and these laws hold:
 *
 * - after some turns, schedd has each running job's tasks as running on the job's nodes, no job that has ended, and as
 *   many free slots as Slurm could start tasks, by the CPUs that are free, and the memory if Slurm allocates it;
 * - no job waits for the nodes of a decision while others are free;
 * - as running jobs end, each waiting job starts: none is stuck.
 */
#include <base/log.h>
#include <client/request.h>

#include "exchange.h"
#include "fuzz_slurmctld.h"

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
	if (world.allocates_memory) {
		job->memory = ours ? TASK_MEMORY : 1 + 2 * (kind / TASKS % 3);
		job->record.pn_min_memory = job->memory | MEM_PER_CPU;
	}
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
		world.until_silence = 1 + detail % 3;
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

/* True if schedd knows the job by this id, or has had it for a few seconds as the copy that a review compares. */
static bool has_id(const struct batch_job *job, const char *id, double age_s)
{
	char own[SLURM_NAME_BYTES];
	struct slurm_mark mark;
	size_t length = (size_t)snprintf(own, sizeof own, LINK_ID_PREFIX "%u", job->record.job_id);
	bool same, copy = strncmp(id, own, length) == 0 && id[length] == '.' && age_s < REVIEW_S;

	law(slurm_mark_parse(job->mark, &mark) == 0);
	same = strcmp(mark.id[0] ? mark.id : own, id) == 0;
	slurm_mark_free(&mark);
	return same || copy;
}

/* Each job of schedd is one that runs or waits in Slurm. */
static void check_known(void)
{
	json_t *answer = ask_schedd("/v1/jobs"), *known;
	size_t at;

	law(answer);
	json_array_foreach (json_object_get(answer, "jobs"), at, known) {
		const char *id = json_string_value(json_object_get(known, "id"));
		double age_s = json_number_value(json_object_get(known, "age_s"));
		bool there = false;

		for (int j = 0; j < JOBS; j++)
			there = there || ((runs(&world.jobs[j]) || waits(&world.jobs[j])) && is_ours(&world.jobs[j]) &&
					  has_id(&world.jobs[j], id, age_s));
		law(there);
	}
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

		law(node < NODES &&
		    (changing || slots - tasks == startable(node, world.allocates_memory ? TASK_MEMORY : 0)));
	}
	law(at == NODES);
	json_decref(answer);
}

/* No job waits, for much longer than --patience, for the nodes of a decision while others are free. */
static void check_waiting(const struct batch_job *job)
{
	uint32_t free = 0;

	for (uint32_t n = 0; n < NODES; n++)
		free += startable(n, job->memory);
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
	world.schedd_stopped = world.order_fails = false;
	world.until_stop = world.until_loss = world.until_restart = world.until_job = world.until_silence = 0;
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
	uint32_t mode;
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
	mode = events_below(&world.events, 4);
	options.migrate = mode & 1;
	world.allocates_memory = mode & 2;
	do {
		world.stop = 0;
		law(slurm_agent_run(&options, &world.stop, &err) == 0);
	} while (!world.done);
	remove_all();
	return 0;
}
