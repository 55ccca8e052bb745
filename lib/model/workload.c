/* SPDX-License-Identifier: BSD-3-Clause */
#include <model/workload.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

struct workload *workload_create(void)
{
	return calloc(1, sizeof(struct workload));
}

void workload_destroy(struct workload *workload)
{
	if (!workload)
		return;
	hash_table_free(&workload->machine_index);
	hash_table_free(&workload->note_index);
	hash_table_free(&workload->gangs);
	hash_table_free(&workload->graph_index);
	for (size_t g = 0; g < workload->graph_count; g++)
		free(workload->graphs[g].form);
	free(workload->graphs);
	for (size_t n = 0; n < workload->note_count; n++)
		free(workload->notes[n].name);
	for (size_t c = 0; c < workload->curve_count; c++)
		free(workload->curves[c]);
	cluster_destroy(workload->places);
	free(workload->notes);
	free(workload->curves);
	free(workload->latencies);
	free(workload->machine_ids);
	free(workload->machine_events);
	free(workload->tasks);
	free(workload->jobs);
	free(workload);
}

int64_t workload_find_machine(const struct workload *workload, uint64_t id)
{
	uint32_t number = hash_table_find(&workload->machine_index, id);

	return number == HASH_TABLE_NONE ? -ENOENT : (int64_t)number;
}

/* Returns the number of the machine, which is added if its id is new; or -ENOMEM. */
static int64_t machine_number(struct workload *workload, uint64_t id)
{
	int64_t number = workload_find_machine(workload, id);
	uint64_t *larger;

	if (number >= 0)
		return number;
	larger =
		array_grow(workload->machine_ids, workload->machine_count, &workload->machine_capacity, sizeof *larger);
	if (!larger)
		return -ENOMEM;
	workload->machine_ids = larger;
	if (hash_table_insert(&workload->machine_index, id, (uint32_t)workload->machine_count) != 0)
		return -ENOMEM;
	larger[workload->machine_count] = id;
	return (int64_t)workload->machine_count++;
}

int workload_add_machine_event(struct workload *workload, int64_t time_us, uint64_t id,
			       enum workload_machine_change change, float cpu)
{
	int64_t machine = machine_number(workload, id);
	struct workload_machine_event *larger;

	if (machine < 0)
		return -ENOMEM;
	larger = array_grow(workload->machine_events, workload->machine_event_count, &workload->machine_event_capacity,
			    sizeof *larger);
	if (!larger)
		return -ENOMEM;
	workload->machine_events = larger;
	larger[workload->machine_event_count] = (struct workload_machine_event){
		.time_us = time_us > 0 ? time_us : 0,
		.machine = (uint32_t)machine,
		.order = (uint32_t)workload->machine_event_count,
		.change = change,
		.cpu = cpu,
		.slots = WORKLOAD_SLOTS_UNKNOWN,
	};
	workload->machine_event_count++;
	return 0;
}

/* Returns true if the machine or job with this id is in the fraction to keep. */
static bool is_drawn(uint64_t id, double fraction)
{
	return (double)(hash_mix(id ^ UINT64_C(0x9e3779b97f4a7c15)) >> 11) * 0x1p-53 < fraction;
}

/* Counts the task's time from begin_us. Returns false if the task ends before. */
static bool shift_task(struct workload_task *task, int64_t begin_us)
{
	task->submit_us -= begin_us;
	if (task->submit_us >= 0)
		return true;
	if (task->run_us != WORKLOAD_TO_THE_END && task->run_us + task->submit_us <= 0)
		return false;
	if (task->run_us != WORKLOAD_TO_THE_END)
		task->run_us += task->submit_us;
	task->submit_us = 0;
	return true;
}

/* Sets the task's times from the beginning, or counts it as `count` tasks that are left out and returns false. */
static bool keeps_task(struct workload *workload, struct workload_task *task, uint32_t count,
		       const struct workload_filter *filter)
{
	task->submit_us = (int64_t)((double)task->submit_us / filter->speed_up);
	if (!is_drawn(task->job_id, filter->fraction)) {
		workload->left_out.not_drawn += count;
		return false;
	}
	if (!shift_task(task, filter->begin_us)) {
		workload->left_out.too_early += count;
		return false;
	}
	if (task->submit_us >= filter->end_us - filter->begin_us) {
		workload->left_out.too_late += count;
		return false;
	}
	return true;
}

int workload_add_tasks(struct workload *workload, const struct workload_task *first, uint32_t count)
{
	struct workload_task task = *first, shifted, *larger;

	task.submit_us = task.submit_us > 0 ? task.submit_us : 0;
	shifted = task;
	if (workload->early && !keeps_task(workload, &shifted, count, workload->early))
		return 0;
	for (; count > 0; count--, task.index++) {
		larger = array_grow(workload->tasks, workload->task_count, &workload->task_capacity, sizeof *larger);
		if (!larger)
			return -ENOMEM;
		workload->tasks = larger;
		larger[workload->task_count++] = task;
	}
	return 0;
}

int workload_add_task(struct workload *workload, uint64_t job_id, uint32_t index, int64_t submit_us, int64_t run_us)
{
	return workload_add_tasks(
		workload,
		&(struct workload_task){.submit_us = submit_us, .run_us = run_us, .job_id = job_id, .index = index}, 1);
}

int64_t workload_curve(struct workload *workload, const char *name)
{
	char **larger;

	for (size_t c = 0; c < workload->curve_count; c++) {
		if (strcmp(workload->curves[c], name) == 0)
			return (int64_t)c;
	}
	larger = array_grow(workload->curves, workload->curve_count, &workload->curve_capacity, sizeof *larger);
	if (!larger)
		return -ENOMEM;
	workload->curves = larger;
	larger[workload->curve_count] = strdup(name);
	return larger[workload->curve_count] ? (int64_t)workload->curve_count++ : -ENOMEM;
}

int workload_note_job(struct workload *workload, uint64_t job_id, const char *name, const char *curve)
{
	int64_t number = workload_curve(workload, curve);
	struct workload_note *larger =
		array_grow(workload->notes, workload->note_count, &workload->note_capacity, sizeof *larger);

	if (larger)
		workload->notes = larger;
	if (number < 0 || !larger)
		return -ENOMEM;
	if (workload_find_note(workload, job_id))
		return -EEXIST;
	larger[workload->note_count] =
		(struct workload_note){.id = job_id, .name = strdup(name), .curve = (uint32_t)number};
	if (!larger[workload->note_count].name)
		return -ENOMEM;
	if (hash_table_insert(&workload->note_index, job_id, (uint32_t)workload->note_count) != 0) {
		free(larger[workload->note_count].name);
		return -ENOMEM;
	}
	workload->note_count++;
	return 0;
}

int workload_set_gang(struct workload *workload, uint64_t job_id, uint32_t gang)
{
	return hash_table_insert(&workload->gangs, job_id, gang);
}

int workload_set_graph(struct workload *workload, uint64_t job_id, const char *form, uint32_t tasks)
{
	struct workload_graph *larger =
		array_grow(workload->graphs, workload->graph_count, &workload->graph_capacity, sizeof *larger);
	char *copy = strdup(form);

	if (larger)
		workload->graphs = larger;
	if (!larger || !copy ||
	    hash_table_insert(&workload->graph_index, job_id, (uint32_t)workload->graph_count) != 0) {
		free(copy);
		return -ENOMEM;
	}
	larger[workload->graph_count].form = copy;
	larger[workload->graph_count++].tasks = tasks;
	return 0;
}

static struct job_graph *pick_tasks(const struct workload *workload, const struct workload_job *job,
				    const struct job_graph *graph, struct error *err)
{
	uint32_t *index = calloc(job->task_count, sizeof *index);
	struct job_graph *picked = NULL;

	for (uint32_t t = 0; index && t < job->task_count; t++)
		index[t] = workload->tasks[job->first_task + t].index;
	if (index)
		picked = job_graph_pick(graph, index, job->task_count);
	free(index);
	if (!picked)
		error_set(err, ENOMEM, "out of memory");
	return picked;
}

struct job_graph *workload_graph_of(const struct workload *workload, const struct workload_job *job, struct error *err)
{
	struct json_reader reader = {.file = "graph", .err = err};
	struct job_graph *graph, *picked = NULL;
	json_t *form;

	if (job->graph == HASH_TABLE_NONE)
		return NULL;
	form = json_loads(workload->graphs[job->graph].form, JSON_DECODE_ANY, NULL);
	if (!form)
		json_no_memory(&reader);
	graph = job_graph_read(&reader, form, NULL, workload->graphs[job->graph].tasks);
	json_decref(form);
	if (graph)
		picked = pick_tasks(workload, job, graph, err);
	job_graph_destroy(graph);
	if (picked && picked->edge_count == 0) {
		job_graph_destroy(picked);
		return NULL;
	}
	return picked;
}

const struct workload_note *workload_find_note(const struct workload *workload, uint64_t job_id)
{
	uint32_t number = hash_table_find(&workload->note_index, job_id);

	return number == HASH_TABLE_NONE ? NULL : &workload->notes[number];
}

int workload_add_latency(struct workload *workload, int64_t time_us, uint32_t a, uint32_t b, float rtt_us)
{
	struct workload_latency *larger =
		array_grow(workload->latencies, workload->latency_count, &workload->latency_capacity, sizeof *larger);

	if (!larger)
		return -ENOMEM;
	workload->latencies = larger;
	larger[workload->latency_count++] = (struct workload_latency){time_us, a, b, rtt_us};
	return 0;
}

static int compare_machine_events(const void *left, const void *right)
{
	const struct workload_machine_event *a = left, *b = right;

	if (a->time_us != b->time_us)
		return a->time_us < b->time_us ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static int compare_tasks(const void *left, const void *right)
{
	const struct workload_task *a = left, *b = right;

	if (a->job_id != b->job_id)
		return a->job_id < b->job_id ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

/*
 * Drops the latencies of dropped machines, for which number[m] is UINT32_MAX; in the others, replaces machine m by
 * number[m].
 */
static void drop_latencies(struct workload *workload, const uint32_t *number)
{
	size_t kept = 0;

	for (size_t i = 0; i < workload->latency_count; i++) {
		struct workload_latency latency = workload->latencies[i];

		latency.a = number[latency.a];
		latency.b = number[latency.b];
		if (latency.a != UINT32_MAX && latency.b != UINT32_MAX)
			workload->latencies[kept++] = latency;
	}
	workload->latency_count = kept;
}

/* Drops the machines outside the fraction and their events; the others get new numbers, in the same order. */
static int drop_machines(struct workload *workload, double fraction)
{
	uint32_t *number = calloc(workload->machine_count + 1, sizeof *number);
	size_t kept = 0, events = 0;

	if (!number)
		return -ENOMEM;
	hash_table_clear(&workload->machine_index);
	for (size_t m = 0; m < workload->machine_count; m++) {
		number[m] = UINT32_MAX;
		if (!is_drawn(workload->machine_ids[m], fraction))
			continue;
		workload->machine_ids[kept] = workload->machine_ids[m];
		hash_table_insert(&workload->machine_index, workload->machine_ids[kept], (uint32_t)kept);
		number[m] = (uint32_t)kept++;
	}
	workload->left_out.machines_not_drawn += workload->machine_count - kept;
	workload->machine_count = kept;
	for (size_t e = 0; e < workload->machine_event_count; e++) {
		struct workload_machine_event event = workload->machine_events[e];

		event.machine = number[event.machine];
		if (event.machine != UINT32_MAX)
			workload->machine_events[events++] = event;
	}
	workload->machine_event_count = events;
	drop_latencies(workload, number);
	free(number);
	return 0;
}

/* Counts the times of machines and round trips from begin_us; what happened before has happened at the beginning. */
static void shift_events(struct workload *workload, int64_t begin_us)
{
	for (size_t i = 0; i < workload->machine_event_count; i++) {
		int64_t *time_us = &workload->machine_events[i].time_us;

		*time_us = *time_us > begin_us ? *time_us - begin_us : 0;
	}
	for (size_t i = 0; i < workload->latency_count; i++) {
		int64_t *time_us = &workload->latencies[i].time_us;

		*time_us = *time_us > begin_us ? *time_us - begin_us : 0;
	}
}

static uint32_t gang_of(const struct workload *workload, uint64_t job_id, size_t tasks)
{
	uint32_t gang = hash_table_find(&workload->gangs, job_id);

	return gang == HASH_TABLE_NONE ? 0 : gang < tasks ? gang : (uint32_t)tasks;
}

int64_t workload_first_submission(const struct workload *workload, const struct workload_job *job)
{
	int64_t first = INT64_MAX;

	for (uint32_t t = 0; t < job->task_count; t++) {
		int64_t submit_us = workload->tasks[job->first_task + t].submit_us;

		first = submit_us < first ? submit_us : first;
	}
	return first;
}

struct job_order {
	int64_t submit_us;
	struct workload_job job;
};

static int compare_jobs(const void *left, const void *right)
{
	const struct job_order *a = left, *b = right;

	if (a->submit_us != b->submit_us)
		return a->submit_us < b->submit_us ? -1 : 1;
	return a->job.id < b->job.id ? -1 : a->job.id > b->job.id;
}

/* Groups the sorted tasks into jobs, which are in the order of their first submission. */
static int group_jobs(struct workload *workload, bool keep_single)
{
	struct job_order *order = calloc(workload->task_count + 1, sizeof *order);
	size_t count = 0;

	if (!order)
		return -ENOMEM;
	for (size_t first = 0, end; first < workload->task_count; first = end) {
		uint64_t id = workload->tasks[first].job_id;

		for (end = first + 1; end < workload->task_count && workload->tasks[end].job_id == id;)
			end++;
		if (end - first == 1 && !keep_single) {
			workload->left_out.single_jobs++;
			continue;
		}
		order[count].job = (struct workload_job){
			.id = id,
			.first_task = (uint32_t)first,
			.task_count = (uint32_t)(end - first),
			.note = hash_table_find(&workload->note_index, id),
			.gang = gang_of(workload, id, end - first),
			.graph = hash_table_find(&workload->graph_index, id),
		};
		order[count].submit_us = workload_first_submission(workload, &order[count].job);
		count++;
	}
	qsort(order, count, sizeof *order, compare_jobs);
	workload->jobs = calloc(count + 1, sizeof *workload->jobs);
	for (size_t j = 0; j < count && workload->jobs; j++)
		workload->jobs[j] = order[j].job;
	free(order);
	workload->job_count = count;
	return workload->jobs ? 0 : -ENOMEM;
}

/* Puts the tasks in the order of their jobs, and drops tasks without a job. */
static int order_tasks(struct workload *workload)
{
	struct workload_task *tasks = calloc(workload->task_count + 1, sizeof *tasks);
	size_t count = 0;

	if (!tasks)
		return -ENOMEM;
	for (size_t j = 0; j < workload->job_count; j++) {
		struct workload_job *job = &workload->jobs[j];

		memcpy(tasks + count, workload->tasks + job->first_task, job->task_count * sizeof *tasks);
		job->first_task = (uint32_t)count;
		for (uint32_t t = 0; t < job->task_count; t++)
			tasks[count + t].job = (uint32_t)j;
		count += job->task_count;
	}
	free(workload->tasks);
	workload->tasks = tasks;
	workload->task_count = count;
	return 0;
}

int workload_finish(struct workload *workload, const struct workload_filter *filter)
{
	size_t kept = 0;

	if (filter->fraction < 1 && drop_machines(workload, filter->fraction) != 0)
		return -ENOMEM;
	if (workload->machine_event_count > 0)
		qsort(workload->machine_events, workload->machine_event_count, sizeof *workload->machine_events,
		      compare_machine_events);
	if (filter->begin_us > 0)
		shift_events(workload, filter->begin_us);
	for (size_t t = 0; t < workload->task_count; t++) {
		struct workload_task *task = &workload->tasks[t];

		if (keeps_task(workload, task, 1, filter))
			workload->tasks[kept++] = *task;
	}
	workload->task_count = kept;
	if (kept > 0)
		qsort(workload->tasks, kept, sizeof *workload->tasks, compare_tasks);
	if (group_jobs(workload, filter->keep_single) != 0)
		return -ENOMEM;
	return order_tasks(workload);
}
