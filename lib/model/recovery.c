/* SPDX-License-Identifier: BSD-3-Clause */
#include <model/recovery.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

struct recovery_scenario *recovery_create(void)
{
	struct recovery_scenario *scenario = calloc(1, sizeof *scenario);

	if (!scenario)
		return NULL;
	scenario->server_index = json_object();
	scenario->application_index = json_object();
	scenario->task_index = json_object();
	if (!scenario->server_index || !scenario->application_index || !scenario->task_index) {
		recovery_destroy(scenario);
		return NULL;
	}
	return scenario;
}

void recovery_destroy(struct recovery_scenario *scenario)
{
	if (!scenario)
		return;
	for (uint32_t n = 0; n < scenario->server_count; n++)
		free(scenario->servers[n].name);
	for (uint32_t k = 0; k < scenario->application_count; k++)
		free(scenario->applications[k].name);
	for (uint32_t t = 0; t < scenario->task_count; t++) {
		free(scenario->tasks[t].name);
		free(scenario->tasks[t].backups);
	}
	free(scenario->servers);
	free(scenario->applications);
	free(scenario->tasks);
	free(scenario->flows);
	json_decref(scenario->server_index);
	json_decref(scenario->application_index);
	json_decref(scenario->task_index);
	free(scenario);
}

/*
 * Adds key -> number to the index. Returns a copy of `name`; or NULL with *code set to -EEXIST (the key is taken) or
 * -ENOMEM.
 */
static char *enter(json_t *index, const char *key, const char *name, uint32_t number, int64_t *code)
{
	char *copy;

	*code = -EEXIST;
	if (json_object_get(index, key))
		return NULL;
	*code = -ENOMEM;
	copy = strdup(name);
	if (copy && json_object_set_new(index, key, json_integer(number)) == 0)
		return copy;
	free(copy);
	return NULL;
}

int64_t recovery_add_server(struct recovery_scenario *scenario, const struct recovery_server *server)
{
	struct recovery_server *servers =
		array_grow(scenario->servers, scenario->server_count, &scenario->server_capacity, sizeof *servers);
	int64_t code;
	char *name;

	if (!servers)
		return -ENOMEM;
	scenario->servers = servers;
	name = enter(scenario->server_index, server->name, server->name, scenario->server_count, &code);
	if (!name)
		return code;
	servers[scenario->server_count] = *server;
	servers[scenario->server_count].name = name;
	return scenario->server_count++;
}

int64_t recovery_add_application(struct recovery_scenario *scenario, const char *name, double weight)
{
	struct recovery_application *all = array_grow(scenario->applications, scenario->application_count,
						      &scenario->application_capacity, sizeof *all);
	int64_t code;
	char *copy;

	if (!all)
		return -ENOMEM;
	scenario->applications = all;
	copy = enter(scenario->application_index, name, name, scenario->application_count, &code);
	if (!copy)
		return code;
	all[scenario->application_count] = (struct recovery_application){
		.name = copy, .weight = weight, .first_task = scenario->task_count, .first_flow = scenario->flow_count};
	return scenario->application_count++;
}

/* The key of a task. Names may contain dots, but no control characters. */
static char *join(const char *application, const char *task)
{
	char *text;

	return asprintf(&text, "%s\x1f%s", application, task) < 0 ? NULL : text;
}

int64_t recovery_add_task(struct recovery_scenario *scenario, const struct recovery_task *task)
{
	uint32_t last = scenario->application_count - 1;
	struct recovery_task *tasks =
		array_grow(scenario->tasks, scenario->task_count, &scenario->task_capacity, sizeof *tasks);
	char *key = join(scenario->applications[last].name, task->name), *name = NULL;
	int64_t code = -ENOMEM;

	if (tasks)
		scenario->tasks = tasks;
	if (tasks && key)
		name = enter(scenario->task_index, key, task->name, scenario->task_count, &code);
	free(key);
	if (!name)
		return code;
	tasks[scenario->task_count] = *task;
	tasks[scenario->task_count].name = name;
	tasks[scenario->task_count].application = last;
	tasks[scenario->task_count].backups = NULL;
	tasks[scenario->task_count].backup_count = 0;
	scenario->applications[last].task_count++;
	return scenario->task_count++;
}

int64_t recovery_add_flow(struct recovery_scenario *scenario, const struct recovery_flow *flow)
{
	struct recovery_flow *flows =
		array_grow(scenario->flows, scenario->flow_count, &scenario->flow_capacity, sizeof *flows);

	if (!flows)
		return -ENOMEM;
	scenario->flows = flows;
	flows[scenario->flow_count] = *flow;
	scenario->applications[scenario->application_count - 1].flow_count++;
	return scenario->flow_count++;
}

int recovery_add_backup(struct recovery_scenario *scenario, uint32_t task, uint32_t server)
{
	struct recovery_task *t = &scenario->tasks[task];
	uint32_t *larger = reallocarray(t->backups, t->backup_count + 1u, sizeof *larger);

	if (!larger)
		return -ENOMEM;
	t->backups = larger;
	t->backups[t->backup_count++] = server;
	t->has_backups = true;
	return 0;
}

void recovery_fail_server(struct recovery_scenario *scenario, uint32_t server)
{
	scenario->servers[server].failed = true;
	for (uint32_t t = 0; t < scenario->task_count; t++) {
		if (scenario->tasks[t].server == server)
			scenario->tasks[t].failed = true;
	}
}

int64_t recovery_find_server(const struct recovery_scenario *scenario, const char *name)
{
	const json_t *number = json_object_get(scenario->server_index, name);

	return number ? json_integer_value(number) : -ENOENT;
}

int64_t recovery_find_task(const struct recovery_scenario *scenario, const char *application, const char *task)
{
	char *key = join(application, task);
	const json_t *number = key ? json_object_get(scenario->task_index, key) : NULL;

	free(key);
	return number ? json_integer_value(number) : -ENOENT;
}

double recovery_flow_left_MB(const struct recovery_scenario *scenario, const struct recovery_flow *flow)
{
	bool restarts = scenario->tasks[flow->from].failed || scenario->tasks[flow->to].failed;

	return restarts ? flow->MB : flow->MB - flow->sent_MB;
}
