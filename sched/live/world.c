/* SPDX-License-Identifier: BSD-3-Clause */
/* Machines and curves, and the network that is built from them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

#include "live_priv.h"

void live_settings_default(struct live_settings *settings)
{
	*settings = (struct live_settings){.policy = policy_find("nomora"),
					   .default_rtt = {1, 30, 100, 250},
					   .start_timeout_s = 60,
					   .retry_s = 1,
					   .attempts_maximum = 5,
					   .max_age_s = 60,
					   .recovery_ms = 500,
					   .moves = MIGRATION_DEFAULTS,
					   .decisions_kept = 10000};
	settings->moves.hold_s = 0;
	policy_settings_default(&settings->policy_settings);
}

struct live *live_create(const struct live_settings *settings, struct error *err)
{
	struct live *live = calloc(1, sizeof *live);

	if (live) {
		live->settings = *settings;
		live->look_again_s = live->lost_s = INFINITY;
		TAILQ_INIT(&live->changed_jobs);
		TAILQ_INIT(&live->gangs);
		TAILQ_INIT(&live->reviews);
		live->cluster = cluster_create();
		if (live->cluster)
			live->cluster->default_rtt = settings->default_rtt;
		live->layout = live->cluster ? cost_layout_create(live->cluster) : NULL;
		live->view = live->layout ? latency_view_create(live->layout) : NULL;
		if (live->view && settings->require_measured)
			latency_view_require_measured(live->view);
	}
	if (!live || !live->view) {
		live_out_of_memory(err);
		live_destroy(live);
		return NULL;
	}
	if (live_build(live, 0, err) < 0) {
		live_destroy(live);
		return NULL;
	}
	live_note_begin(live);
	return live;
}

void live_destroy(struct live *live)
{
	if (!live)
		return;
	for (uint32_t j = 0; j < live->job_count; j++)
		live_job_free(live->jobs[j]);
	for (size_t c = 0; c < live->curve_count; c++) {
		free(live->curves[c].name);
		free(live->curves[c].text);
		curve_destroy(live->curves[c].curve);
	}
	for (size_t r = 0; r < live->removed_count; r++)
		live_job_free(live->removed[r]);
	free(live->removed);
	for (size_t d = 0; d < live->decision_count; d++)
		live_decision_clear(&live->decisions[d]);
	round_outcome_free(&live->outcome);
	free(live->ready);
	live_recovered_free(live->recovered);
	placer_destroy(live->placer);
	latency_view_destroy(live->view);
	cost_layout_destroy(live->layout);
	cluster_destroy(live->cluster);
	hash_table_free(&live->job_ids);
	free(live->owners);
	free(live->deadlines);
	free(live->hosts);
	free(live->machines);
	free(live->curves);
	free(live->jobs);
	free(live->decisions);
	free(live);
}

/* Updates the network with the state of a machine. */
static int enter_machine(struct live *live, uint32_t number)
{
	struct live_machine *machine = &live->machines[number];
	int32_t slots = (int32_t)live->cluster->machines[number].slots;
	int code = 0;

	if (machine->state == LIVE_DOWN) {
		if (machine->in_network)
			code = flownet_machine_removed(live->net, number);
		machine->in_network = false;
		return code;
	}
	if (!machine->in_network)
		code = flownet_machine_added(live->net, number, slots);
	else if (flownet_slots(live->net, number) != slots)
		code = flownet_slots_changed(live->net, number, slots);
	machine->in_network = code == 0;
	if (code == 0)
		code = flownet_machine_drained(live->net, number, machine->state == LIVE_DRAINING);
	return code;
}

void live_rebuild(struct live *live, double now_s)
{
	live_note_number(live, "rebuild", now_s);
	live->broken = true;
}

int live_build(struct live *live, double now_s, struct error *err)
{
	int code = 0;

	placer_destroy(live->placer);
	live->placer = placer_create(live->settings.policy, live->layout, cost_source_from_view(live->view),
				     &live->settings.policy_settings, err);
	if (!live->placer)
		return error_code(err, ENOMEM);
	live->net = placer_net(live->placer);
	live->network_s = now_s;
	live->on_the_move = 0;
	for (uint32_t j = 0; j < live->job_count; j++)
		if (live->jobs[j])
			live->jobs[j]->moving = 0;
	for (size_t c = 0; c < live->curve_count; c++)
		if (live->curves[c].name) {
			live->curves[c].number = placer_add_curve(live->placer, live->curves[c].curve);
			if (live->curves[c].number < 0)
				return live_out_of_memory(err);
		}
	for (uint32_t m = 0; m < live->cluster->machine_count && code == 0; m++) {
		live->machines[m].in_network = false;
		live->machines[m].moving = 0;
		if (live->cluster->machines[m].name)
			code = enter_machine(live, m);
	}
	for (uint32_t j = 0; j < live->job_count && code == 0; j++)
		if (live->jobs[j])
			code = live_enter_job(live, live->jobs[j], now_s);
	live->changed = true;
	return code == 0 ? 0 : error_set(err, -code, "cannot build the flow network: %s", strerror(-code));
}

static int add_machine(struct live *live, const char *name, const char *rack, const char *pod, uint32_t slots,
		       struct error *err)
{
	int64_t number = cluster_add_machine(live->cluster, name, rack, pod, slots, err);
	struct live_machine *machines;
	int code;

	if (number < 0)
		return (int)number;
	machines =
		array_reserve(live->machines, live->cluster->machine_count, &live->machine_capacity, sizeof *machines);
	if (!machines)
		return live_out_of_memory(err);
	live->machines = machines;
	live->host_count = 0;
	machines[number] = (struct live_machine){0};
	live->slots += slots;
	code = cost_layout_add(live->layout, (uint32_t)number);
	if (code == 0)
		code = latency_view_grow(live->view);
	if (code == 0)
		code = placer_grow(live->placer);
	return code == 0 ? (int)number : live_out_of_memory(err);
}

static void lose_task(struct live *live, struct live_task *task, uint32_t machine)
{
	task->lost_on = (int32_t)machine;
	task->recovery = LIVE_RECOVERY_NONE;
	live->lost = true;
}

/*
 * Cancels the moves from and to a machine that went down, and lets the tasks that ran there, or were to start there,
 * wait again.
 */
static void lose_tasks(struct live *live, uint32_t number, double now_s)
{
	for (uint32_t j = 0; j < live->job_count; j++) {
		struct live_job *job = live->jobs[j];

		for (uint32_t t = 0; job && t < job->task_count; t++) {
			struct live_task *task = &job->tasks[t];

			if (task->state == LIVE_MOVING &&
			    (task->machine == (int32_t)number || task->origin == (int32_t)number)) {
				bool origin_lost = task->origin == (int32_t)number;

				live_take_back(live, job, task, now_s);
				if (!origin_lost)
					continue;
			} else if (task->machine != (int32_t)number ||
				   (task->state != LIVE_RUNNING && task->state != LIVE_DECIDED)) {
				continue;
			} else if (task->state == LIVE_DECIDED) {
				live_take_back(live, job, task, now_s);
				lose_task(live, task, number);
				continue;
			}
			task->machine = -1;
			live_set_state(live, job, task, LIVE_WAITING, now_s);
			lose_task(live, task, number);
		}
		if (job)
			live_gang_return(live, job);
	}
}

int live_machine_set(struct live *live, const char *name, const char *rack, const char *pod, uint32_t slots,
		     enum live_machine_state state, struct error *err)
{
	int64_t number = cluster_find_machine(live->cluster, name);
	const struct cluster_rack *known;

	if (slots > CLUSTER_SLOTS_MAXIMUM)
		return error_set(err, EINVAL, "machine '%s': %u slots; expected at most %d", name, slots,
				 CLUSTER_SLOTS_MAXIMUM);
	if (number < 0) {
		number = add_machine(live, name, rack, pod, slots, err);
		if (number < 0)
			return (int)number;
	} else {
		known = &live->cluster->racks[live->cluster->machines[number].rack];
		if (strcmp(known->name, rack) != 0 || (pod && strcmp(live->cluster->pods[known->pod], pod) != 0))
			return error_set(
				err, EINVAL,
				"machine '%s' is in rack '%s', pod '%s'; to change this, remove it and add it again",
				name, known->name, live->cluster->pods[known->pod]);
	}
	if (state == LIVE_DOWN && live->machines[number].state != LIVE_DOWN)
		lose_tasks(live, (uint32_t)number, live->network_s);
	live->slots = live->slots - live->cluster->machines[number].slots + slots;
	live->cluster->machines[number].slots = slots;
	live->machines[number].state = state;
	live->changed = true;
	live_note_machine(live, (uint32_t)number);
	return enter_machine(live, (uint32_t)number) == 0 ? 0 : live_out_of_memory(err);
}

/* The machine's number may be used again: the tasks that it lost are placed as others are. */
static void forget_losses(struct live *live, uint32_t number)
{
	for (uint32_t j = 0; j < live->job_count; j++)
		for (uint32_t t = 0; live->jobs[j] && t < live->jobs[j]->task_count; t++)
			if (live->jobs[j]->tasks[t].lost_on == (int32_t)number)
				live->jobs[j]->tasks[t].lost_on = -1;
}

int live_machine_remove(struct live *live, const char *name, struct error *err)
{
	int64_t number = cluster_find_machine(live->cluster, name);
	int code = 0;

	if (number < 0)
		return error_set(err, ENOENT, "unknown machine '%s'", name);
	if (live_machine_tasks(live, (uint32_t)number) > 0)
		return error_set(err, EBUSY, "machine '%s' has tasks; drain it first", name);
	if (flownet_machine_is_reference(live->net, (uint32_t)number))
		return error_set(
			err, EBUSY,
			"machine '%s' cannot be removed: the root of a job ended there; wait until the job ends", name);
	if (live->machines[number].in_network)
		code = flownet_machine_removed(live->net, (uint32_t)number);
	live_note_name(live, "remove", name);
	live->machines[number] = (struct live_machine){0};
	forget_losses(live, (uint32_t)number);
	live->host_count = 0;
	if (code == 0)
		code = placer_forget_machine(live->placer, (uint32_t)number);
	latency_view_forget(live->view, (uint32_t)number);
	/* Unmeasured pairs get the maximum of the measured pairs of their racks, which the removal may change. */
	live_latency_settle(live);
	cost_layout_remove(live->layout, (uint32_t)number);
	live->slots -= live->cluster->machines[number].slots;
	cluster_remove_machine(live->cluster, (uint32_t)number);
	live->changed = true;
	return code;
}

static struct live_curve *spare_curve(struct live *live)
{
	struct live_curve *curves;

	for (size_t c = 0; c < live->curve_count; c++)
		if (!live->curves[c].name)
			return &live->curves[c];
	curves = array_grow(live->curves, live->curve_count, &live->curve_capacity, sizeof *curves);
	if (!curves)
		return NULL;
	live->curves = curves;
	curves[live->curve_count] = (struct live_curve){0};
	return &curves[live->curve_count++];
}

int live_curve_set(struct live *live, const char *name, const struct curve *curve, struct error *err)
{
	char *text = curve_to_text(curve, err);
	struct curve *copy = text ? curve_from_memory(name, text, strlen(text), err) : NULL;
	struct live_curve *entry = live_find_curve(live, name);
	int code = 0;

	if (!copy) {
		free(text);
		return error_code(err, ENOMEM);
	}
	if (entry) {
		code = placer_replace_curve(live->placer, entry->number, copy);
		for (uint32_t j = 0; j < live->job_count; j++)
			if (live->jobs[j] && live_moves_on(live, live->jobs[j]) &&
			    strcmp(live->jobs[j]->curve, name) == 0)
				live_review_later(live, live->jobs[j]);
	} else {
		entry = spare_curve(live);
		if (entry) {
			entry->name = strdup(name);
			entry->number = entry->name ? placer_add_curve(live->placer, copy) : -ENOMEM;
			code = entry->number < 0 ? -ENOMEM : 0;
		} else {
			code = -ENOMEM;
		}
	}
	if (code < 0) {
		free(text);
		curve_destroy(copy);
		return live_out_of_memory(err);
	}
	free(entry->text);
	curve_destroy(entry->curve);
	entry->text = text;
	entry->curve = copy;
	live->changed = true;
	live_note_curve(live, entry);
	return 0;
}

int live_curve_remove(struct live *live, const char *name, struct error *err)
{
	struct live_curve *entry = live_find_curve(live, name);

	if (!entry)
		return error_set(err, ENOENT, "unknown curve '%s'", name);
	if (placer_remove_curve(live->placer, entry->number) == -EBUSY)
		return error_set(err, EBUSY, "curve '%s' is used by a job", name);
	live_note_name(live, "forget", name);
	free(entry->name);
	free(entry->text);
	curve_destroy(entry->curve);
	*entry = (struct live_curve){0};
	return 0;
}
