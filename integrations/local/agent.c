/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A turn compares the tasks in schedd with the runs on the machines. A record of each run that the agent has ordered is
 * in STATE/runs.json, from before the order until the run is gone: so a task never starts a second time while an
 * earlier run of it may live, even on a machine that does not answer at present.
 */
#include <integrations/local/agent.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <base/json.h>
#include <base/log.h>
#include <integrations/executor/executor.h>

#include "machine.h"

enum { NAME_BYTES = 200, PATH_BYTES = 1024, ANSWER_MS = 10000 };

struct agent {
	struct local_agent_options options;
	struct executor executor;
	struct machines machines;
	struct run_flows flows;
	json_t *names;   /* RUN -> [job, task], of the runs seen in this turn */
	json_t *records; /* KEY, "JOB.TASK" -> {"run": RUN, "machine", "seen": of this turn} */
	char path[PATH_BYTES];
};

/* A task of a job in schedd. */
struct task {
	const char *job, *name, *state, *machine;
	const json_t *details; /* GET /v1/jobs/ID */
	char key[NAME_BYTES];
};

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* Appends the text with all bytes but letters, digits, - and _ as %XX. Returns false if it does not fit. */
static bool append_name(char name[static NAME_BYTES], const char *text)
{
	size_t at = strlen(name);

	for (; *text && at + 4 < NAME_BYTES; text++)
		at += (size_t)snprintf(name + at, 4,
				       (*text >= '0' && *text <= '9') || ((*text | 32) >= 'a' && (*text | 32) <= 'z') ||
						       *text == '-' || *text == '_'
					       ? "%c"
					       : "%%%02X",
				       (unsigned char)*text);
	return *text == '\0';
}

/* What is known about a run: "" if it does not exist, NULL if its machine has not answered. */
static const char *state_of(const struct agent *agent, const json_t *record)
{
	const struct machine *machine = machines_find(&agent->machines, text_of(record, "machine"));

	if (!machine || strcmp(machine->state, "down") == 0)
		return "";
	return machine->runs ? text_of(machine->runs, text_of(record, "run")) : NULL;
}

static bool is_over(const char *state)
{
	return strncmp(state, "exit", 4) == 0 || strcmp(state, "killed") == 0 || strcmp(state, "lost") == 0;
}

/* Takes the next step to remove a run that schedd does not want, or no longer. */
static void remove_run(struct agent *agent, const char *key, const json_t *record)
{
	struct machine *machine = machines_find(&agent->machines, text_of(record, "machine"));
	const char *state = state_of(agent, record), *run = text_of(record, "run");

	if (!state)
		return;
	if (!state[0])
		json_object_del(agent->records, key);
	else if (is_over(state))
		machine_order(machine, NULL, "clean %s", run);
	else
		machine_order(machine, NULL, "stop %s %.0f", run, agent->options.grace_s);
}

/* True if a slot of the machine is free of processes; schedd may count a slot as free whose task is still ending. */
static bool has_slot(const struct agent *agent, const struct machine *machine)
{
	uint32_t used = 0;
	const char *key;
	const json_t *record;

	json_object_foreach (agent->records, key, record) {
		const char *state = state_of(agent, record);

		used += strcmp(text_of(record, "machine"), machine->name) == 0 && !(state && is_over(state));
	}
	return used < machine->slots;
}

/* Gets the name of the run that schedd's last decision about the task demands. */
static int name_run(const struct agent *agent, const struct task *task, char run[static NAME_BYTES], struct error *err)
{
	char path[PATH_BYTES], job[NAME_BYTES] = "", name[NAME_BYTES] = "";
	json_t *answer = NULL, *decision;
	size_t at;
	int code;

	append_name(job, task->job);
	append_name(name, task->name);
	snprintf(path, sizeof path, "explain/%s/%s", job, name);
	code = executor_get(&agent->executor, path, &answer, err);
	run[0] = '\0';
	json_array_foreach (json_object_get(answer, "decisions"), at, decision)
		if (!run[0] && strcmp(text_of(decision, "kind"), "advice") != 0)
			snprintf(run, NAME_BYTES, "%s.%lld", task->key,
				 (long long)json_integer_value(json_object_get(decision, "sequence")));
	json_decref(answer);
	return code < 0 || run[0] ? code : error_set(err, EIO, "schedd has no decision about the task");
}

/* The job's command, in the environment that it gets. NULL: out of memory. */
static json_t *words_of(const struct task *task)
{
	json_t *words = json_array();
	const json_t *other;
	size_t at;
	int code = json_array_append_new(words, json_string("env"));

	code |= json_array_append_new(words, json_sprintf("NOMORA_JOB=%s", task->job));
	code |= json_array_append_new(words, json_sprintf("NOMORA_TASK=%s", task->name));
	code |= json_array_append_new(words, json_sprintf("NOMORA_MACHINE=%s", task->machine));
	json_array_foreach (json_object_get(task->details, "tasks"), at, other)
		if (strcmp(text_of(other, "name"), text_of(task->details, "root")) == 0)
			code |= json_array_append_new(words, json_sprintf("NOMORA_ROOT=%s", text_of(other, "machine")));
	code |= json_array_extend(words, json_object_get(task->details, "command"));
	if (code == 0)
		return words;
	json_decref(words);
	return NULL;
}

/* Adds a record, on the disk before anything else happens. */
static int add_record(struct agent *agent, const struct task *task, const char *run, const char *machine,
		      struct error *err)
{
	json_t *record = json_pack("{s:s, s:s, s:b}", "run", run, "machine", machine, "seen", true);
	int code = json_object_set_new(agent->records, task->key, record) < 0
			   ? error_set(err, ENOMEM, "out of memory")
			   : json_write_file(agent->path, agent->records, err);

	if (code < 0)
		json_object_del(agent->records, task->key);
	return code;
}

/* Starts a run, or repeats the order. */
static int start(struct agent *agent, const struct task *task, const char *run, struct error *err)
{
	struct machine *machine = machines_find(&agent->machines, task->machine);
	json_t *words;
	int code = 0;

	if (!machine || !machine->runs)
		return 0;
	if (!json_object_get(agent->records, task->key)) {
		if (!has_slot(agent, machine))
			return 0;
		code = add_record(agent, task, run, task->machine, err);
	}
	words = code == 0 ? words_of(task) : NULL;
	if (words)
		machine_order(machine, words, "start %s", run);
	else if (code == 0)
		code = error_set(err, ENOMEM, "out of memory");
	json_decref(words);
	return code;
}

static int report(struct agent *agent, const struct task *task, const char *event, bool started, struct error *err)
{
	json_t *events = json_array();

	if (started)
		executor_add_event(&events, "started", task->job, task->name, task->machine);
	if (event)
		executor_add_event(&events, event, task->job, task->name, task->machine);
	return executor_report(&agent->executor, events, err);
}

/* Looks at a task whose run has ended by itself, is lost, or was killed. */
static int take_end(struct agent *agent, const struct task *task, json_t *record, bool due, bool runs,
		    struct error *err)
{
	const char *state = state_of(agent, record);
	bool ended = strncmp(state, "exit", 4) == 0;
	int code;

	if (json_object_get(record, "reported") || !(ended || due)) {
		remove_run(agent, task->key, record);
		return 0;
	}
	code = report(agent, task, ended ? "ended" : "failed", ended && due && !runs, err);
	if (code < 0)
		return code;
	log_info("job %s: task %s on %s: %s", task->job, task->name, text_of(record, "machine"), state);
	json_object_set_new(record, "reported", json_true());
	return 0;
}

/* Chooses and takes the next step for a task with a record. `run`: as name_run(), "" if the task is not to start. */
static int look_at_run(struct agent *agent, const struct task *task, json_t *record, const char *run, struct error *err)
{
	const char *state = state_of(agent, record);
	bool runs = strcmp(task->state, "running") == 0,
	     due = runs ? strcmp(text_of(record, "machine"), task->machine) == 0
			: strcmp(text_of(record, "run"), run) == 0;

	json_object_set_new(record, "seen", json_true());
	json_object_set_new(agent->names, text_of(record, "run"), json_pack("[s, s]", task->job, task->name));
	if (!state)
		return 0;
	if (is_over(state) && (run[0] || runs))
		return take_end(agent, task, record, due, runs, err);
	if (strncmp(state, "exit", 4) == 0 && strcmp(task->state, "waiting") == 0)
		return 0; /* schedd takes the report once the task has a decision again */
	if (!due || is_over(state))
		remove_run(agent, task->key, record);
	else if (state[0] && !runs)
		return report(agent, task, NULL, true, err);
	else if (!state[0] && !runs)
		return start(agent, task, run, err);
	else if (!state[0]) {
		json_object_del(agent->records, task->key);
		return report(agent, task, "failed", false, err);
	}
	return 0;
}

/* Looks at a task without a record. If the records were lost, the run is adopted when its machine answers. */
static int look_at_new(struct agent *agent, const struct task *task, const char *run, struct error *err)
{
	const struct machine *machine = machines_find(&agent->machines, task->machine);
	size_t length = strlen(task->key);
	const char *found;
	const json_t *state;

	if (run[0])
		return start(agent, task, run, err);
	if (strcmp(task->state, "running") != 0 || (machine && !machine->runs && strcmp(machine->state, "down") != 0))
		return 0;
	json_object_foreach (machine ? machine->runs : NULL, found, state)
		if (strncmp(found, task->key, length) == 0 && found[length] == '.')
			return add_record(agent, task, found, machine->name, err);
	log_warning("job %s: task %s on %s: lost", task->job, task->name, task->machine);
	return report(agent, task, "failed", false, err);
}

static int look_at_task(struct agent *agent, const struct task *task, struct error *err)
{
	bool starts = strcmp(task->state, "decided") == 0 || strcmp(task->state, "moving") == 0;
	json_t *record = json_object_get(agent->records, task->key);
	char run[NAME_BYTES] = "";
	int code = starts ? name_run(agent, task, run, err) : 0;

	if (code < 0)
		return code;
	return record ? look_at_run(agent, task, record, run, err) : look_at_new(agent, task, run, err);
}

static bool may_run(struct agent *agent, const char *id, const json_t *details)
{
	json_int_t owner = json_integer_value(json_object_get(details, "owner"));

	if (!json_object_get(details, "command"))
		return false;
	if (agent->options.all_users || owner == 0 || owner == (json_int_t)geteuid())
		return true;
	executor_refuse(&agent->executor, id, json_true(), "not started: another user's; see --all-users");
	return false;
}

static int look_at_job(struct agent *agent, const char *id, struct error *err)
{
	struct task task = {.job = id};
	char path[PATH_BYTES], name[NAME_BYTES] = "";
	json_t *details = NULL, *entry;
	bool may;
	size_t at;
	int code;

	append_name(name, id);
	snprintf(path, sizeof path, "jobs/%s", name);
	code = executor_get(&agent->executor, path, &details, err);
	task.details = details;
	may = code == 0 && may_run(agent, id, details);
	json_array_foreach (code == 0 ? json_object_get(details, "tasks") : NULL, at, entry) {
		task.name = text_of(entry, "name");
		task.state = text_of(entry, "state");
		task.machine = text_of(entry, "machine");
		snprintf(task.key, sizeof task.key, "%s.", name);
		if (!append_name(task.key, task.name) || strlen(task.key) + 21 > sizeof task.key)
			code = error_set(err, ENAMETOOLONG, "the names of job and task are too long");
		if (code == 0 && may)
			code = look_at_task(agent, &task, err);
		else if (code == 0 && json_object_get(agent->records, task.key)) /* runs since --all-users was given */
			json_object_set_new(json_object_get(agent->records, task.key), "seen", json_true());
		if (executor_is_lost(code))
			break;
		if (code < 0)
			log_warning("job %s: task %s: %s", id, task.name, err->text);
		code = 0;
	}
	json_decref(details);
	return code;
}

/* Ends the runs of tasks that schedd no longer has, and those without a record. */
static void remove_others(struct agent *agent)
{
	json_t *record, *known = json_object(), *state;
	const char *key, *run;
	void *next;

	json_object_foreach_safe(agent->records, next, key, record)
	{
		json_object_set(known, text_of(record, "run"), record);
		if (!json_object_get(record, "seen"))
			remove_run(agent, key, record);
		else
			json_object_del(record, "seen");
	}
	for (size_t m = 0; m < agent->machines.count; m++)
		json_object_foreach (agent->machines.items[m].runs, run, state)
			if (!json_object_get(known, run)) {
				record = json_pack("{s:s, s:s}", "run", run, "machine", agent->machines.items[m].name);
				remove_run(agent, "", record);
				json_decref(record);
			}
	json_decref(known);
}

static int report_flows(struct agent *agent, struct error *err)
{
	struct error reason = {0};
	int code;

	run_flows_begin(&agent->flows);
	for (size_t m = 0; m < agent->machines.count; m++) {
		const struct machine *machine = &agent->machines.items[m];
		const char *host = machine->ssh ? machine->name : "";
		const json_t *line;
		size_t at;

		json_array_foreach (machine->flows, at, line)
			run_flows_add(&agent->flows, host, json_string_value(line));
		if (!machine->runs)
			run_flows_keep(&agent->flows, host);
	}
	code = executor_report_flows(&agent->executor, run_flows_end(&agent->flows, agent->names), &reason);
	if (executor_is_lost(code))
		return error_set(err, -code, "%s", reason.text);
	if (code < 0)
		log_warning("flows: %s", reason.text);
	return 0;
}

static int sync_jobs(void *context, struct error *err)
{
	struct agent *agent = context;
	const char *id;
	json_t *job;
	int code = 0;

	json_object_clear(agent->names);
	json_object_foreach (agent->executor.jobs, id, job) {
		struct error reason = {0};

		if (code < 0 || strncmp(id, "slurm-", 6) == 0 || strncmp(id, "k8s-", 4) == 0)
			continue;
		code = look_at_job(agent, id, &reason);
		if (code == -ENOENT) /* it has just ended */
			code = 0;
		if (code < 0)
			error_set(err, -code, "%s", reason.text);
	}
	if (code == 0)
		remove_others(agent);
	if (code == 0 && agent->options.flows)
		code = report_flows(agent, err);
	machines_begin(&agent->machines, &agent->options);
	return code;
}

/* A machine that does not answer gets no new tasks, and keeps those that it has. */
static json_t *machines(void *context)
{
	struct agent *agent = context;
	json_t *list = json_object();

	for (size_t m = 0; list && m < agent->machines.count; m++) {
		const struct machine *machine = &agent->machines.items[m];
		bool up = strcmp(machine->state, "up") == 0 && !machine->silent;

		executor_add_machine(&list, machine->name, (uint32_t)machine->slots,
				     up || strcmp(machine->state, "down") == 0 ? machine->state : "draining");
	}
	return list;
}

static char *rack(void *context, const char *machine)
{
	const char *name = machines_find(&((struct agent *)context)->machines, machine)->rack;

	return strdup(name ? name : "");
}

static bool wants(void *context, const char *id)
{
	(void)context;
	(void)id;
	return true; /* the jobs are the users' */
}

static const struct executor_calls calls = {
	.id_prefix = "", .machines = machines, .rack = rack, .wants = wants, .jobs = sync_jobs};

/* Locks the state for as long as the agent runs, and reads the records. */
static int open_state(struct agent *agent, struct error *err)
{
	int fd;

	snprintf(agent->path, sizeof agent->path, "%s/lock", agent->options.state);
	mkdir(agent->options.state, 0700);
	fd = open(agent->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_set(err, errno, "%s: %s", agent->path, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return error_set(err, EADDRINUSE, "%s: another agent uses this state", agent->options.state);
	snprintf(agent->path, sizeof agent->path, "%s/runs.json", agent->options.state);
	agent->records = access(agent->path, F_OK) == 0 ? json_read_file(agent->path, err) : json_object();
	return agent->records ? 0 : error_code(err, ENOMEM);
}

int local_agent_run(const struct local_agent_options *options, const volatile sig_atomic_t *stop, struct error *err)
{
	struct agent agent = {
		.options = *options,
		.executor = {.calls = &calls, .context = &agent, .socket = options->schedd, .limit_ms = ANSWER_MS}};
	int code = machines_read(&agent.machines, options->machines, err);

	agent.names = json_object();
	if (code == 0)
		code = open_state(&agent, err);
	if (code == 0)
		code = executor_init(&agent.executor, err);
	if (code == 0)
		machines_begin(&agent.machines, options);
	while (code == 0 && !*stop) {
		struct ns until = ns_add(ns_now_monotonic(), ns_from_us(options->poll_s * 1e6)), now;

		machines_wait(&agent.machines, until);
		executor_turn(&agent.executor);
		now = ns_now_monotonic();
		if (now.v < until.v)
			nanosleep(&(struct timespec){(until.v - now.v) / NS_PER_S, (until.v - now.v) % NS_PER_S}, NULL);
	}
	machines_free(&agent.machines);
	executor_free(&agent.executor);
	run_flows_free(&agent.flows);
	json_decref(agent.names);
	json_decref(agent.records);
	return code;
}
