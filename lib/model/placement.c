/* SPDX-License-Identifier: BSD-3-Clause */
#include <model/placement.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/json.h>

static const char *const state_names[PLACEMENT_STATES] = {"root", "placed", "orphan", "waiting"};
static const double rtt_limit_us = 1e12;

static json_t *string_or_null(const char *text)
{
	return text ? json_string(text) : json_null();
}

static json_t *option_json(const struct placement_option *option)
{
	if (!option->machine)
		return json_null();
	return json_pack("{s:s,s:s,s:i,s:f,s:s,s:f}", "machine", option->machine, "rack", option->rack, "cost",
			 option->cost, "rtt_us", option->rtt_us, "rtt_origin", option->rtt_origin, "performance",
			 option->performance);
}

static json_t *task_json(const struct placement_task *task)
{
	const struct placement_option *taken = &task->taken;
	json_t *object =
		json_pack("{s:s,s:s,s:s,s:b,s:s,s:i}", "job", task->job, "task", task->task, "state",
			  state_names[task->state], "root", task->root, "arc", task->arc, "arc_cost", task->arc_cost);

	json_object_set_new(object, "machine", string_or_null(taken->machine));
	json_object_set_new(object, "rack", string_or_null(taken->rack));
	json_object_set_new(object, "was_on", string_or_null(task->was_on));
	json_object_set_new(object, "rtt_us", json_number_or_null(taken->rtt_us));
	json_object_set_new(object, "rtt_origin", string_or_null(taken->rtt_origin));
	json_object_set_new(object, "performance", json_number_or_null(taken->performance));
	json_object_set_new(object, "next_best", option_json(&task->next_best));
	json_object_set_new(object, "random_performance", json_number_or_null(task->random_performance));
	json_object_set_new(object, "why_waiting", string_or_null(task->why_waiting));
	return object;
}

static json_t *settings_json(const struct placement_settings *settings)
{
	return json_pack("{s:I,s:I,s:I,s:f,s:f,s:b,s:I,s:s,s:s,s:I}", "p_m", (json_int_t)settings->p_m, "p_r",
			 (json_int_t)settings->p_r, "gamma", (json_int_t)settings->gamma, "omega_per_s",
			 settings->omega_per_s, "beta_per_s", settings->beta_per_s, "preemption", settings->preemption,
			 "unscheduled_capacity", (json_int_t)settings->unscheduled_capacity, "latency_reference",
			 settings->latency_reference, "latency_stat", settings->latency_stat, "rounds",
			 (json_int_t)settings->rounds);
}

static json_t *totals_json(const struct placement_totals *totals)
{
	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:o,s:o,s:o,s:o,s:I,s:I,s:I,s:I,s:I}", "tasks",
			 (json_int_t)totals->tasks, "roots", (json_int_t)totals->roots, "placed",
			 (json_int_t)totals->placed, "stay", (json_int_t)totals->stay, "moved",
			 (json_int_t)totals->moved, "waiting", (json_int_t)totals->waiting, "predicted",
			 (json_int_t)totals->predicted, "compared", (json_int_t)totals->compared, "mean_performance",
			 json_number_or_null(totals->mean_performance), "random_mean_performance",
			 json_number_or_null(totals->random_mean_performance), "worst_performance",
			 json_number_or_null(totals->worst_performance), "application_performance",
			 json_number_or_null(totals->application_performance), "performance_cost",
			 (json_int_t)totals->performance_cost, "in_root_rack", (json_int_t)totals->in_root_rack,
			 "slots", (json_int_t)totals->slots, "slots_free_before", (json_int_t)totals->slots_free_before,
			 "slots_free_after", (json_int_t)totals->slots_free_after);
}

static json_t *solver_json(const struct placement_solver *solver)
{
	return json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:f,s:b}", "algorithm", solver->algorithm, "solves",
			 (json_int_t)solver->solves, "cost", (json_int_t)solver->cost, "unscheduled",
			 (json_int_t)solver->unscheduled, "unrouted", (json_int_t)solver->unrouted, "refused",
			 (json_int_t)solver->refused, "seconds", solver->seconds, "verified", solver->verified);
}

bool placement_print_begin(FILE *out, const char *policy, const struct placement_settings *settings)
{
	return json_print_member(out, "{\n  \"schema\": ", json_string(PLACEMENT_SCHEMA)) &&
	       json_print_member(out, ",\n  \"policy\": ", json_string(policy)) &&
	       json_print_member(out, ",\n  \"settings\": ", settings_json(settings)) &&
	       fputs(",\n  \"tasks\": [", out) != EOF;
}

bool placement_print_task(FILE *out, const struct placement_task *task, bool first)
{
	return json_print_member(out, first ? "\n    " : ",\n    ", task_json(task));
}

bool placement_print_end(FILE *out, const struct placement_totals *totals, const struct placement_solver *solver,
			 json_t *graphs, json_t *round)
{
	bool written = fputs("\n  ]", out) != EOF;

	if (graphs)
		written = json_print_member(out, ",\n  \"graphs\": ", graphs) && written;
	if (round)
		written = json_print_member(out, ",\n  \"round\": ", round) && written;
	return written && json_print_member(out, ",\n  \"totals\": ", totals_json(totals)) &&
	       json_print_member(out, ",\n  \"solver\": ", solver_json(solver)) && fputs("\n}\n", out) != EOF;
}

static void read_option(struct json_reader *reader, const json_t *task, const char *where,
			struct placement_option *option)
{
	const json_t *object = json_object_get(task, "next_best");
	char inside[64];

	*option = (struct placement_option){.rtt_us = NAN, .performance = NAN};
	if (!object || json_is_null(object))
		return;
	object = json_need_object(reader, task, where, "next_best");
	snprintf(inside, sizeof inside, "%s.next_best", where);
	if (reader->failed)
		return;
	option->machine = json_need_string(reader, object, inside, "machine");
	option->rack = json_need_string(reader, object, inside, "rack");
	option->cost = (int32_t)json_need_integer(reader, object, inside, "cost", 0, INT32_MAX);
	option->rtt_us = json_need_number(reader, object, inside, "rtt_us", 0, rtt_limit_us);
	option->rtt_origin = json_need_string(reader, object, inside, "rtt_origin");
	option->performance = json_need_number(reader, object, inside, "performance", 0, 1);
}

static enum placement_state read_state(struct json_reader *reader, const json_t *object, const char *where)
{
	const char *name = json_need_string(reader, object, where, "state");

	for (int state = 0; state < PLACEMENT_STATES && !reader->failed; state++) {
		if (strcmp(state_names[state], name) == 0)
			return (enum placement_state)state;
	}
	if (!reader->failed)
		json_fail(reader, where, "state", "'%s': expected root, placed, orphan or waiting", name);
	return PLACEMENT_WAITING;
}

static void read_task(struct json_reader *reader, const json_t *object, const char *where, struct placement_task *task)
{
	struct placement_option *taken = &task->taken;

	task->job = json_need_string(reader, object, where, "job");
	task->task = json_need_string(reader, object, where, "task");
	task->root = json_may_boolean(reader, object, where, "root", false);
	task->state = read_state(reader, object, where);
	task->arc = json_may_string(reader, object, where, "arc", "none");
	task->arc_cost = (int32_t)json_may_integer(reader, object, where, "arc_cost", INT32_MIN, INT32_MAX, 0);
	taken->machine = json_may_string(reader, object, where, "machine", NULL);
	taken->rack = json_may_string(reader, object, where, "rack", NULL);
	taken->rtt_us = json_may_number(reader, object, where, "rtt_us", 0, rtt_limit_us, NAN);
	taken->rtt_origin = json_may_string(reader, object, where, "rtt_origin", NULL);
	taken->performance = json_may_number(reader, object, where, "performance", 0, 1, NAN);
	task->was_on = json_may_string(reader, object, where, "was_on", NULL);
	task->random_performance = json_may_number(reader, object, where, "random_performance", 0, 1, NAN);
	task->why_waiting = json_may_string(reader, object, where, "why_waiting", NULL);
	read_option(reader, object, where, &task->next_best);
	if (!reader->failed && (task->state == PLACEMENT_WAITING) != !taken->machine)
		json_fail(reader, where, "machine",
			  "expected a machine if the state is not waiting, and none if it is");
}

static void read_tasks(struct json_reader *reader, const json_t *root, struct placement *placement)
{
	const json_t *tasks = json_need_array(reader, root, "", "tasks");

	if (reader->failed)
		return;
	placement->tasks = calloc(json_array_size(tasks) + 1, sizeof *placement->tasks);
	if (!placement->tasks) {
		json_no_memory(reader);
		return;
	}
	for (size_t i = 0; i < json_array_size(tasks) && !reader->failed; i++) {
		char where[32];

		snprintf(where, sizeof where, "tasks[%zu]", i);
		read_task(reader, json_array_get(tasks, i), where, &placement->tasks[placement->task_count++]);
	}
}

static void read_settings(struct json_reader *reader, const json_t *root, struct placement_settings *settings)
{
	const json_t *object = json_need_object(reader, root, "", "settings");
	const char *where = "settings";

	if (reader->failed)
		return;
	settings->p_m = json_need_integer(reader, object, where, "p_m", 0, INT64_MAX);
	settings->p_r = json_need_integer(reader, object, where, "p_r", 0, INT64_MAX);
	settings->gamma = json_need_integer(reader, object, where, "gamma", 0, INT64_MAX);
	settings->omega_per_s = json_need_number(reader, object, where, "omega_per_s", 0, 1e12);
	settings->beta_per_s = json_need_number(reader, object, where, "beta_per_s", 0, 1e12);
	settings->preemption = json_may_boolean(reader, object, where, "preemption", false);
	settings->unscheduled_capacity = json_need_integer(reader, object, where, "unscheduled_capacity", 0, INT64_MAX);
	settings->latency_reference = json_need_string(reader, object, where, "latency_reference");
	settings->latency_stat = json_need_string(reader, object, where, "latency_stat");
	settings->rounds = json_need_integer(reader, object, where, "rounds", 0, INT64_MAX);
}

static void read_totals(struct json_reader *reader, const json_t *root, struct placement_totals *totals)
{
	const json_t *object = json_need_object(reader, root, "", "totals");
	const struct {
		const char *key;
		int64_t *value;
	} counts[] = {{"tasks", &totals->tasks},
		      {"roots", &totals->roots},
		      {"placed", &totals->placed},
		      {"stay", &totals->stay},
		      {"moved", &totals->moved},
		      {"waiting", &totals->waiting},
		      {"predicted", &totals->predicted},
		      {"compared", &totals->compared},
		      {"in_root_rack", &totals->in_root_rack},
		      {"slots", &totals->slots},
		      {"slots_free_before", &totals->slots_free_before},
		      {"slots_free_after", &totals->slots_free_after}};
	const char *where = "totals";

	if (reader->failed)
		return;
	for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
		*counts[i].value = json_need_integer(reader, object, where, counts[i].key, 0, INT64_MAX);
	totals->mean_performance = json_may_number(reader, object, where, "mean_performance", 0, 1, NAN);
	totals->random_mean_performance = json_may_number(reader, object, where, "random_mean_performance", 0, 1, NAN);
	totals->worst_performance = json_may_number(reader, object, where, "worst_performance", 0, 1, NAN);
	totals->application_performance = json_may_number(reader, object, where, "application_performance", 0, 1, NAN);
	totals->performance_cost = json_may_integer(reader, object, where, "performance_cost", 0, INT64_MAX, 0);
}

static void read_solver(struct json_reader *reader, const json_t *root, struct placement_solver *solver)
{
	const json_t *object = json_need_object(reader, root, "", "solver");
	const char *where = "solver";

	if (reader->failed)
		return;
	solver->algorithm = json_need_string(reader, object, where, "algorithm");
	solver->solves = json_need_integer(reader, object, where, "solves", 0, INT64_MAX);
	solver->cost = json_need_integer(reader, object, where, "cost", INT64_MIN, INT64_MAX);
	solver->unscheduled = json_need_integer(reader, object, where, "unscheduled", 0, INT64_MAX);
	solver->unrouted = json_need_integer(reader, object, where, "unrouted", 0, INT64_MAX);
	solver->refused = json_may_integer(reader, object, where, "refused", 0, INT64_MAX, 0);
	solver->seconds = json_need_number(reader, object, where, "seconds", 0, 1e12);
	solver->verified = json_may_boolean(reader, object, where, "verified", false);
}

struct placement *placement_from_json(const char *name, json_t *document, struct error *err)
{
	struct error scratch = {0};
	struct json_reader reader = {.file = name, .err = err ? err : &scratch};
	struct placement *placement = document ? calloc(1, sizeof *placement) : NULL;

	if (!placement) {
		if (document)
			error_set(err, ENOMEM, "out of memory");
		json_decref(document);
		return NULL;
	}
	placement->document = document;
	json_need_schema(&reader, document, PLACEMENT_SCHEMA);
	if (!reader.failed)
		placement->policy = json_need_string(&reader, document, "", "policy");
	if (!reader.failed)
		read_settings(&reader, document, &placement->settings);
	if (!reader.failed)
		read_tasks(&reader, document, placement);
	if (!reader.failed)
		read_totals(&reader, document, &placement->totals);
	if (!reader.failed)
		read_solver(&reader, document, &placement->solver);
	if (!reader.failed)
		return placement;
	placement_destroy(placement);
	return NULL;
}

void placement_destroy(struct placement *placement)
{
	if (!placement)
		return;
	free(placement->tasks);
	json_decref(placement->document);
	free(placement);
}
