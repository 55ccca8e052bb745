/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the jobs that can be compared, and makes the world of them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>
#include <base/text_stream.h>
#include <model/curve_library.h>
#include <sched/cost/latency_view.h>

#include <sched/gain/gain.h>

enum { REASON_BYTES = 256 };

struct choice {
	const struct gain_settings *settings;
	struct gain *gain;
	json_t *running;
	const struct latency_matrix *matrix;
	struct curve_library *library;
	struct error *err;
};

static int no_memory(const struct choice *choice)
{
	return error_set(choice->err, ENOMEM, "out of memory");
}

static int leave_out(const struct choice *choice, const char *job, const char *reason)
{
	return json_object_set_new(choice->gain->left_out, job, json_string(reason)) == 0 ? 0 : no_memory(choice);
}

static bool is_left_out(const struct choice *choice, const char *job)
{
	return json_object_get(choice->gain->left_out, job) != NULL;
}

/* Makes the cluster: the file, or the hosts of the mesh in one rack, without slots. */
static struct cluster *make_cluster(const struct choice *choice)
{
	struct cluster *cluster;

	if (choice->settings->place.cluster)
		return cluster_read(choice->settings->place.cluster, choice->err);
	cluster = cluster_create();
	for (uint32_t h = 0; cluster && h < latency_matrix_hosts(choice->matrix); h++) {
		if (cluster_add_machine(cluster, latency_matrix_host(choice->matrix, h), "mesh", NULL, 0, choice->err) <
		    0) {
			cluster_destroy(cluster);
			return NULL;
		}
	}
	if (!cluster)
		no_memory(choice);
	return cluster;
}

/*
 * Finds the job's curve: its own, or that of the settings. Writes why it has none to `reason`. Returns 0, or -errno
 * with err set.
 */
static int find_curve(const struct choice *choice, json_t *job, char reason[static REASON_BYTES])
{
	const char *own = json_string_value(json_object_get(job, "curve")), *name = own ? own : choice->settings->curve;
	struct error cause = {0};
	int64_t number;

	if (!name) {
		snprintf(reason, REASON_BYTES, "it names no curve");
		return 0;
	}
	number = curve_library_find(choice->library, name, &cause);
	if (number == -ENOMEM)
		return no_memory(choice);
	if (number < 0 && !own)
		return error_set(choice->err, EINVAL, "--curve %s: %s", name, cause.text);
	if (number < 0)
		snprintf(reason, REASON_BYTES, "its curve '%.60s': %.180s", name, cause.text);
	else if (!own && json_object_set_new(job, "curve", json_string(name)) != 0)
		return no_memory(choice);
	return 0;
}

/* Counts the tasks on hosts outside. Leaves out the jobs that cannot be compared. */
static int choose_jobs(struct choice *choice, const struct cluster *cluster)
{
	const char *id, *task;
	json_t *job, *host;

	json_object_foreach (choice->running, id, job) {
		char reason[REASON_BYTES] = "";
		json_t *tasks = json_object_get(job, "tasks");
		int code = find_curve(choice, job, reason);

		if (code != 0)
			return code;
		if (!reason[0] && json_object_size(tasks) < 2)
			snprintf(reason, sizeof reason, "it has one task");
		json_object_foreach (tasks, task, host) {
			const char *name = json_string_value(host);
			json_t *count = json_object_get(choice->gain->foreign, name);

			if (cluster_find_machine(cluster, name) >= 0 &&
			    latency_matrix_find_host(choice->matrix, name) >= 0)
				continue;
			snprintf(reason, sizeof reason, "its host %.100s is not in the mesh", name);
			if (json_object_set_new(choice->gain->foreign, name,
						json_integer(json_integer_value(count) + 1)) != 0)
				return no_memory(choice);
		}
		if (reason[0] && leave_out(choice, id, reason) != 0)
			return -ENOMEM;
	}
	return 0;
}

/*
 * Sets the slots: those of the settings or the cluster file without those that jobs that are left out use, but at least
 * those that the compared jobs use.
 */
static int set_slots(const struct choice *choice, struct cluster *cluster)
{
	uint32_t *used = calloc(2 * (size_t)cluster->machine_count + 1, sizeof *used);
	uint32_t *others;
	const char *id, *task;
	const json_t *job, *host;

	if (!used)
		return no_memory(choice);
	others = used + cluster->machine_count;
	json_object_foreach (choice->running, id, job) {
		json_object_foreach (json_object_get(job, "tasks"), task, host) {
			int64_t machine = cluster_find_machine(cluster, json_string_value(host));

			if (machine >= 0)
				(is_left_out(choice, id) ? others : used)[machine]++;
		}
	}
	for (uint32_t m = 0; m < cluster->machine_count; m++) {
		int64_t slots = choice->settings->place.cluster ? cluster->machines[m].slots : choice->settings->slots;

		slots -= others[m];
		cluster->machines[m].slots = slots > used[m] ? (uint32_t)slots : used[m];
	}
	free(used);
	return 0;
}

/* Writes the compared jobs in the form of model/jobs.h. Returns NULL with err set if out of memory. */
static struct jobs *make_jobs(const struct choice *choice)
{
	struct jobs *jobs = NULL;
	struct file_lines *lines = NULL;
	const char *id, *task;
	json_t *job, *host;
	char *text = NULL;
	size_t bytes = 0;
	FILE *stream = text_stream_open(&text, &bytes);
	bool made = stream != NULL;

	json_object_foreach (choice->running, id, job) {
		json_t *tasks = json_array(), *line;

		json_object_foreach (json_object_get(job, "tasks"), task, host)
			json_array_append_new(tasks, json_pack("{s:s, s:O}", "name", task, "machine", host));
		made = made && json_array_size(tasks) == json_object_size(json_object_get(job, "tasks"));
		line = json_pack("{s:s, s:O, s:O, s:o}", "id", id, "curve", json_object_get(job, "curve"), "root",
				 json_object_get(job, "root"), "tasks", tasks);
		if (made && !is_left_out(choice, id))
			made = line && json_dumpf(line, stream, JSON_COMPACT) == 0 && fputc('\n', stream) == '\n';
		json_decref(line);
	}
	if (stream && fclose(stream) != 0)
		made = false;
	lines = made ? file_lines_from_memory("running jobs", text, bytes, choice->err) : NULL;
	if (!lines)
		no_memory(choice);
	else
		file_lines_limit(lines, 64 * FILE_LINE_BYTES);
	if (lines)
		jobs = jobs_parse(lines, choice->err);
	file_lines_close(lines);
	free(text);
	return jobs;
}

/* Leaves out the jobs with a pair of root and task that was not measured. Returns their number, or -ENOMEM. */
static int leave_out_unmeasured(const struct choice *choice)
{
	const struct place_world *world = &choice->gain->world;
	int count = 0;

	for (size_t j = 0; j < world->jobs->count; j++) {
		const struct job *job = &world->jobs->items[j];
		uint32_t root = (uint32_t)job->tasks[job->root].machine;
		char reason[REASON_BYTES] = "";

		for (uint32_t t = 0; t < job->task_count && !reason[0]; t++) {
			uint32_t machine = (uint32_t)job->tasks[t].machine;
			enum latency_origin origin;
			float rtt_us = latency_view_get(world->view, root, machine, &origin);

			if (machine != root && (origin != LATENCY_ORIGIN_MEASURED || isinf(rtt_us)))
				snprintf(reason, sizeof reason, "the pair of its hosts %.60s and %.60s %s",
					 world->cluster->machines[root].name, world->cluster->machines[machine].name,
					 isinf(rtt_us) ? "never answered" : "was not measured");
		}
		if (reason[0] && leave_out(choice, job->id, reason) != 0)
			return -ENOMEM;
		count += reason[0] != '\0';
	}
	return count;
}

/* Makes the world of the jobs that are not left out. */
static int make_world(const struct choice *choice, struct cluster *cluster)
{
	struct jobs *jobs = NULL;
	int code = set_slots(choice, cluster);

	if (code == 0) {
		jobs = make_jobs(choice);
		code = jobs ? 0 : error_code(choice->err, EINVAL);
	}
	if (code != 0) {
		cluster_destroy(cluster);
		return code;
	}
	return place_world_build(&choice->gain->world, &choice->settings->place, cluster, jobs, choice->matrix,
				 choice->err);
}

static int choose_and_make(struct choice *choice)
{
	struct cluster *cluster = make_cluster(choice);
	int code = cluster ? choose_jobs(choice, cluster) : error_code(choice->err, EINVAL);

	if (code != 0) {
		cluster_destroy(cluster);
		return code;
	}
	choice->gain->hosts = cluster->machine_count;
	code = make_world(choice, cluster);
	if (code == 0)
		code = leave_out_unmeasured(choice);
	if (code <= 0)
		return code;
	/* Once more without these jobs, whose slots are not free. */
	place_world_free(&choice->gain->world);
	cluster = make_cluster(choice);
	return cluster ? make_world(choice, cluster) : error_code(choice->err, EINVAL);
}

static double end_of(const struct latency_matrix *matrix)
{
	struct latency_entry entry;
	int64_t end_ns = 0;

	for (size_t i = 0; i < latency_matrix_count(matrix); i++)
		if (latency_matrix_load(matrix, i, &entry) && entry.updated_at.v > end_ns)
			end_ns = entry.updated_at.v;
	return end_ns > 0 ? (double)end_ns / 1e9 : NAN;
}

int gain_run(const struct gain_settings *settings, json_t *running, struct gain *gain, struct error *err)
{
	struct choice choice = {.settings = settings, .gain = gain, .running = running, .err = err};
	struct latency_matrix *matrix = latency_matrix_read(settings->place.latency, NULL, err);
	int code;

	*gain = (struct gain){.left_out = json_object(), .foreign = json_object()};
	if (!matrix)
		return error_code(err, EINVAL);
	choice.matrix = matrix;
	choice.library = curve_library_create(settings->place.curves);
	gain->matrix_end = end_of(matrix);
	code = choice.library && gain->left_out && gain->foreign ? choose_and_make(&choice) : no_memory(&choice);
	curve_library_destroy(choice.library);
	latency_matrix_destroy(matrix);
	return code == 0 && gain->world.jobs->count > 0 ? gain_compare(settings, gain, err) : code;
}
