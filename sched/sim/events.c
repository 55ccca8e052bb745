/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Submissions and ends of tasks change the simulation's own state at once, so that metrics are exact. The flow network
 * gets them at once, too, or, during a round, at the round's end. A machine event during a round changes both the state
 * and the network only at the end of the round.
 */
#include <errno.h>
#include <stdlib.h>

#include <base/array.h>

#include "sim_priv.h"

static struct sim_job *job_of(struct sim *sim, uint32_t task)
{
	return &sim->jobs[sim->workload->tasks[task].job];
}

/* The task's number in the flow network: its index within the job. */
static uint32_t number_of(const struct sim *sim, uint32_t task)
{
	return task - sim->workload->jobs[sim->workload->tasks[task].job].first_task;
}

static bool is_root(const struct sim *sim, uint32_t task)
{
	return number_of(sim, task) == 0;
}

static int add_cell(struct sim *sim, uint32_t task)
{
	struct sim_job *job = job_of(sim, task);

	if (job->cell_count == job->cell_capacity) {
		uint32_t capacity = job->cell_capacity ? 2 * job->cell_capacity : 8;
		uint16_t *cells = reallocarray(job->cells, capacity, sizeof *cells);
		uint32_t *owners;

		if (!cells)
			return -ENOMEM;
		job->cells = cells;
		owners = reallocarray(job->owners, capacity, sizeof *owners);
		if (!owners)
			return -ENOMEM;
		job->owners = owners;
		job->cell_capacity = capacity;
	}
	job->cells[job->cell_count] = (uint16_t)sim_latency_cell(&sim->latency, (uint32_t)job->root_machine,
								 (uint32_t)sim->tasks[task].machine);
	job->owners[job->cell_count] = task;
	sim->tasks[task].position = job->cell_count++;
	return 0;
}

static void remove_cell(struct sim *sim, uint32_t task)
{
	struct sim_job *job = job_of(sim, task);
	uint32_t position = sim->tasks[task].position, last = job->cell_count - 1;

	job->cells[position] = job->cells[last];
	job->owners[position] = job->owners[last];
	sim->tasks[job->owners[position]].position = position;
	job->cell_count--;
}

/* Sets the job's root machine and recomputes the cells of its running tasks. */
static int place_root(struct sim *sim, uint32_t number, int32_t machine)
{
	const struct workload_job *described = &sim->workload->jobs[number];
	struct sim_job *job = &sim->jobs[number];
	int code = 0;

	job->root_machine = machine;
	job->cell_count = 0;
	for (uint32_t t = 1; t < described->task_count && code == 0; t++) {
		if (sim->tasks[described->first_task + t].state == SIM_TASK_RUNNING)
			code = add_cell(sim, described->first_task + t);
	}
	return code;
}

static void activate(struct sim *sim, uint32_t number)
{
	sim->jobs[number].active = sim->active_count;
	sim->active[sim->active_count++] = number;
}

static void deactivate(struct sim *sim, uint32_t number)
{
	uint32_t place = sim->jobs[number].active, last = sim->active[--sim->active_count];

	sim->active[place] = last;
	sim->jobs[last].active = place;
}

/*
 * A job enters the network with its first task and stays until all its tasks are done, because the machine of a root
 * that has ended remains the reference for the other tasks.
 */
static int enter_net(struct sim *sim, uint32_t number)
{
	struct sim_job *job = &sim->jobs[number];
	int code;

	if (job->in_net)
		return 0;
	job->in_net = true;
	activate(sim, number);
	code = placer_job_arrived(sim->placer, number, (int32_t)job->curve, 0, sim->workload->jobs[number].task_count);
	sim_graph_to_net(sim, number);
	return code;
}

static int leave_net(struct sim *sim, uint32_t number)
{
	sim->jobs[number].in_net = false;
	sim_graph_destroy(sim, number);
	deactivate(sim, number);
	return flownet_job_ended(sim->net, number);
}

static int submit(struct sim *sim, uint32_t task)
{
	struct sim_job *job = job_of(sim, task);
	int code = sim_graph_create(sim, sim->workload->tasks[task].job);

	sim->tasks[task].state = SIM_TASK_WAITING;
	sim->tasks[task].started_us = sim->now_us;
	sim->result->submitted++;
	sim->waiting++;
	job->waiting++;
	sim->changed = true;
	sim_record_submission(sim, task);
	return code;
}

static int submit_to_net(struct sim *sim, uint32_t task)
{
	uint32_t number = sim->workload->tasks[task].job;
	int code = enter_net(sim, number);

	if (code == 0 && sim_waits_for_gang(sim, number))
		return sim_gang_arrived(sim, number);
	return code == 0 ? flownet_task_arrived(sim->net, number, number_of(sim, task), 0) : code;
}

/*
 * Adds `change` to the number of running tasks. Updates slot_us, the integral of this number over time, as the sum of
 * the end times minus the sum of the start times; the integral is right only once running tasks are counted as ended.
 */
static void count_running(struct sim *sim, int64_t now_us, int change)
{
	sim->slot_us -= change * (double)now_us;
	sim->running = (uint64_t)((int64_t)sim->running + change);
}

int sim_start_task(struct sim *sim, uint32_t task, int32_t machine, int64_t now_us)
{
	struct sim_task *state = &sim->tasks[task];
	struct sim_job *job = job_of(sim, task);

	job->started = true;
	state->state = SIM_TASK_RUNNING;
	state->machine = machine;
	state->started_us = now_us;
	sim->waiting--;
	job->waiting--;
	job->running++;
	count_running(sim, now_us, 1);
	sim_record_task(sim, task, JOURNAL_RUNNING, now_us);
	if (is_root(sim, task)) {
		int code = place_root(sim, sim->workload->tasks[task].job, machine);

		job->root_placed_us = now_us;
		if (code != 0)
			return code;
	} else if (job->root_machine != SIM_NONE && add_cell(sim, task) != 0) {
		return -ENOMEM;
	}
	if (state->left_us == WORKLOAD_TO_THE_END)
		return 0;
	return event_queue_add(&sim->events, now_us + state->left_us, SIM_FINISH, task, ++state->generation);
}

/* Takes the task off its machine: it waits again, and keeps its progress unless lose_work is set. */
void sim_stop_task(struct sim *sim, uint32_t task, int64_t now_us)
{
	struct sim_task *state = &sim->tasks[task];
	struct sim_job *job = job_of(sim, task);

	if (state->left_us != WORKLOAD_TO_THE_END && !sim->settings->lose_work && now_us > state->started_us) {
		state->left_us -= now_us - state->started_us;
		state->left_us = state->left_us < 0 ? 0 : state->left_us;
	}
	state->started_us = now_us;
	state->generation++;
	state->state = SIM_TASK_WAITING;
	state->machine = SIM_NONE;
	sim->waiting++;
	job->waiting++;
	job->running--;
	count_running(sim, now_us, -1);
	sim_record_task(sim, task, JOURNAL_WAITING, now_us);
	if (is_root(sim, task)) {
		job->root_machine = SIM_NONE;
		job->cell_count = 0;
	} else if (job->root_machine != SIM_NONE) {
		remove_cell(sim, task);
	}
}

static bool finish(struct sim *sim, uint32_t task, uint64_t generation, int64_t time_us)
{
	struct sim_task *state = &sim->tasks[task];
	struct sim_job *job = job_of(sim, task);

	if (state->state != SIM_TASK_RUNNING || state->generation != generation)
		return false; /* the event belongs to an earlier run of the task, which was stopped */
	histogram_record(sim->result->response_us, time_us - sim->workload->tasks[task].submit_us);
	state->state = SIM_TASK_DONE;
	state->machine = SIM_NONE;
	sim->result->finished++;
	job->running--;
	job->done++;
	count_running(sim, time_us, -1);
	sim_record_task(sim, task, JOURNAL_ENDED, time_us);
	if (!is_root(sim, task) && job->root_machine != SIM_NONE)
		remove_cell(sim, task);
	sim->changed |= sim->waiting > 0;
	return true;
}

static int finish_in_net(struct sim *sim, uint32_t task)
{
	uint32_t number = sim->workload->tasks[task].job;
	const struct sim_job *job = &sim->jobs[number];

	if (!job->in_net)
		return 0; /* the job left the network with another task that ended in the same round */
	if (job->done == sim->workload->jobs[number].task_count)
		return leave_net(sim, number);
	return flownet_task_ended(sim->net, number, number_of(sim, task));
}

static int32_t slots_of(const struct sim *sim, const struct workload_machine_event *event)
{
	return event->slots != WORKLOAD_SLOTS_UNKNOWN ? event->slots : (int32_t)sim->settings->slots;
}

static int change_slots(struct sim *sim, const struct workload_machine_event *event)
{
	int32_t slots = slots_of(sim, event);
	int code;

	if (slots == sim->slots[event->machine])
		return 0;
	code = flownet_slots_changed(sim->net, event->machine, slots);
	if (code != 0)
		return code;
	sim->slot_count += slots - sim->slots[event->machine];
	sim->slots[event->machine] = slots;
	sim->changed |= sim->waiting > 0;
	return 0;
}

static int add_machine(struct sim *sim, const struct workload_machine_event *event)
{
	if (sim->present[event->machine]) /* a trace may repeat the event, to no effect; a journal repeats it to
					     change the slots */
		return event->slots == WORKLOAD_SLOTS_UNKNOWN ? 0 : change_slots(sim, event);
	sim->present[event->machine] = true;
	sim_latency_set_present(&sim->latency, event->machine, true);
	sim->slots[event->machine] = slots_of(sim, event);
	sim->slot_count += sim->slots[event->machine];
	sim->result->machines_added++;
	sim->changed |= sim->waiting > 0;
	return flownet_machine_added(sim->net, event->machine, sim->slots[event->machine]);
}

/* Removes the machine. Its tasks wait again, also in the flow network. */
static int remove_machine(struct sim *sim, uint32_t machine, int64_t now_us)
{
	if (!sim->present[machine])
		return 0;
	sim->present[machine] = false;
	sim_latency_set_present(&sim->latency, machine, false);
	sim->slot_count -= sim->slots[machine];
	sim->result->machines_removed++;
	for (uint32_t a = 0; a < sim->active_count; a++) {
		const struct workload_job *job = &sim->workload->jobs[sim->active[a]];

		for (uint32_t t = 0; t < job->task_count; t++) {
			struct sim_task *task = &sim->tasks[job->first_task + t];

			if (task->state != SIM_TASK_RUNNING || task->machine != (int32_t)machine)
				continue;
			sim_stop_task(sim, job->first_task + t, now_us);
			sim->result->evictions++;
			sim->changed = true;
		}
	}
	return flownet_machine_removed(sim->net, machine);
}

static void announce_machine(struct sim *sim, const struct event *event)
{
	const struct workload_machine_event *machine = &sim->workload->machine_events[event->subject];

	sim_record_machine(sim, machine, slots_of(sim, machine));
}

static int apply_machine_event(struct sim *sim, const struct event *event)
{
	const struct workload_machine_event *machine = &sim->workload->machine_events[event->subject];

	if (machine->change == WORKLOAD_MACHINE_ADDED)
		return add_machine(sim, machine);
	return machine->change == WORKLOAD_MACHINE_REMOVED ? remove_machine(sim, machine->machine, event->time) : 0;
}

static int apply_to_net(struct sim *sim, const struct event *event)
{
	if (event->kind == SIM_SUBMIT)
		return submit_to_net(sim, event->subject);
	if (event->kind == SIM_FINISH)
		return finish_in_net(sim, event->subject);
	return apply_machine_event(sim, event);
}

static int defer(struct sim *sim, const struct event *event)
{
	struct event *larger = array_grow(sim->deferred, sim->deferred_count, &sim->deferred_capacity, sizeof *larger);

	if (!larger)
		return -ENOMEM;
	sim->deferred = larger;
	larger[sim->deferred_count++] = *event;
	return 0;
}

int sim_apply_event(struct sim *sim, const struct event *event)
{
	int code = 0;

	if (event->kind == SIM_MOVED) {
		sim_move_ended(sim, event->subject);
		return 0;
	}
	if (event->kind == SIM_SUBMIT)
		code = submit(sim, event->subject);
	if (code != 0)
		return code;
	if (event->kind == SIM_MACHINE)
		announce_machine(sim, event);
	if (event->kind == SIM_FINISH && !finish(sim, event->subject, event->detail, event->time))
		return 0;
	return sim->in_round ? defer(sim, event) : apply_to_net(sim, event);
}

int sim_apply_deferred(struct sim *sim)
{
	int code = 0;

	for (size_t i = 0; i < sim->deferred_count && code == 0; i++)
		code = apply_to_net(sim, &sim->deferred[i]);
	sim->deferred_count = 0;
	return code;
}
