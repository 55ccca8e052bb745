/* SPDX-License-Identifier: BSD-3-Clause */
#include <model/google_trace.h>

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <base/file.h>

enum { ROW_SUBMIT = 0, ROW_SCHEDULE = 1, ROW_FINISH = 4 };

struct row {
	int64_t time_us;
	uint32_t task;
	uint32_t event;
};

static int64_t trace_time(int64_t workload_us)
{
	return workload_us > 0 ? workload_us + GOOGLE_TRACE_START_US : 0;
}

static int make_folder(const char *folder, const char *inside, struct error *err)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s%s", folder, inside);
	if (mkdir(path, 0777) != 0 && errno != EEXIST)
		return error_set(err, errno, "cannot create %s: %s", path, strerror(errno));
	return 0;
}

static int compare_rows(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	if (a->time_us != b->time_us)
		return a->time_us < b->time_us ? -1 : 1;
	if (a->task != b->task)
		return a->task < b->task ? -1 : 1;
	return a->event < b->event ? -1 : a->event > b->event;
}

static void write_machines(const struct workload *workload, FILE *out)
{
	for (size_t i = 0; i < workload->machine_event_count; i++) {
		const struct workload_machine_event *event = &workload->machine_events[i];

		fprintf(out, "%" PRId64 ",%" PRIu64 ",%d,,", trace_time(event->time_us),
			workload->machine_ids[event->machine], (int)event->change);
		if (event->cpu >= 0)
			fprintf(out, "%g", (double)event->cpu);
		fputs(",\n", out);
	}
}

static int write_tasks(const struct workload *workload, FILE *out)
{
	struct row *rows = calloc(3 * workload->task_count + 1, sizeof *rows);
	size_t count = 0;

	if (!rows)
		return -ENOMEM;
	for (uint32_t t = 0; t < workload->task_count; t++) {
		const struct workload_task *task = &workload->tasks[t];

		rows[count++] = (struct row){task->submit_us, t, ROW_SUBMIT};
		rows[count++] = (struct row){task->submit_us, t, ROW_SCHEDULE};
		if (task->run_us != WORKLOAD_TO_THE_END)
			rows[count++] = (struct row){task->submit_us + task->run_us, t, ROW_FINISH};
	}
	qsort(rows, count, sizeof *rows, compare_rows);
	for (size_t i = 0; i < count; i++) {
		const struct workload_task *task = &workload->tasks[rows[i].task];

		fprintf(out, "%" PRId64 ",,%" PRIu64 ",%" PRIu32 ",,%" PRIu32 ",,,0,,,,\n", trace_time(rows[i].time_us),
			task->job_id, task->index, rows[i].event);
	}
	free(rows);
	return 0;
}

static int write_table(const struct workload *workload, const char *folder, bool tasks, struct error *err)
{
	struct file_writer *writer;
	char path[PATH_MAX];
	int code = 0;

	snprintf(path, sizeof path, "%s/%s_events/part-00000-of-00001.csv", folder, tasks ? "task" : "machine");
	writer = file_writer_open(path, err);
	if (!writer)
		return error_code(err, EIO);
	if (tasks)
		code = write_tasks(workload, file_writer_stream(writer));
	else
		write_machines(workload, file_writer_stream(writer));
	if (code == 0)
		return file_writer_commit(writer, err);
	file_writer_discard(writer);
	return error_set(err, -code, "out of memory");
}

int google_trace_write(const struct workload *workload, const char *folder, struct error *err)
{
	int code = make_folder(folder, "", err);

	if (code == 0)
		code = make_folder(folder, "/machine_events", err);
	if (code == 0)
		code = make_folder(folder, "/task_events", err);
	if (code == 0)
		code = write_table(workload, folder, false, err);
	return code == 0 ? write_table(workload, folder, true, err) : code;
}

json_t *google_trace_counts_to_json(const struct workload *workload)
{
	return json_pack("{s:s, s:I, s:I, s:I}", "schema", "nomora.tracegen/1", "machines",
			 (json_int_t)workload->machine_count, "jobs", (json_int_t)workload->job_count, "tasks",
			 (json_int_t)workload->task_count);
}
