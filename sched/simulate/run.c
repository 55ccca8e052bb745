/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the policies. With --processes above 1, each policy runs in a child process, which returns its result through an
 * unnamed file.
 */
#include <sched/simulate/simulate.h>

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/file.h>
#include <base/stop.h>

#include "simulate_priv.h"

static void write_round(void *context, const struct sim_round *round)
{
	fprintf(context,
		"%" PRIu64 ",%.6f,%.6f,%.6f,%.6f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
		",%" PRId64 ",%" PRId64 "\n",
		round->number, (double)round->begin_us / 1e6, (double)round->took_us / 1e6, round->wall_s, round->cpu_s,
		round->placed, round->migrated, round->preempted, round->waiting, round->running, round->scans,
		round->cost, round->cost_bound);
}

static void write_event(void *context, const struct journal_event *event)
{
	journal_print(context, event); /* a write error is reported when the file is committed */
}

static struct file_writer *open_rounds(const struct simulate_policy *policy, size_t number, const char *folder,
				       struct error *err)
{
	struct file_writer *writer;
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/rounds-%zu.csv", folder, number + 1);
	writer = file_writer_open(path, err);
	if (writer)
		fprintf(file_writer_stream(writer),
			"# "
			"%s\nround,begin_s,took_s,wall_s,cpu_s,placed,migrated,preempted,waiting,running,scans,cost,"
			"cost_bound\n",
			policy->name);
	return writer;
}

static int close_output(struct file_writer *writer, int code, struct error *err)
{
	if (writer && code == 0)
		return file_writer_commit(writer, err);
	file_writer_discard(writer);
	return code;
}

/* Runs one policy in this process. */
static int run_policy(struct simulate *simulate, size_t number, const char *folder, struct progress *bar,
		      struct error *err)
{
	struct simulate_policy *policy = &simulate->policies[number];
	const char *record = simulate->options->record;
	struct sim_watch watch = {.progress = bar, .stop = stop_flag()};
	struct file_writer *rounds = folder ? open_rounds(policy, number, folder, err) : NULL;
	struct file_writer *journal = record ? file_writer_open(record, err) : NULL;
	int code = (folder && !rounds) || (record && !journal) ? error_code(err, EIO) : 0;

	if (rounds) {
		watch.context = file_writer_stream(rounds);
		watch.round = write_round;
	}
	if (journal) {
		watch.journal_context = file_writer_stream(journal);
		watch.journal = write_event;
		journal_print_header(watch.journal_context, 0, NULL);
	}
	if (code == 0)
		code = sim_run(simulate->workload, &policy->settings, &watch, &policy->result, err);
	policy->done = code == 0;
	code = close_output(rounds, code, err);
	return close_output(journal, code, err);
}

static struct histogram **histogram_at(struct sim_result *result, int number)
{
	struct histogram **all[] = {&result->runtime_us,     &result->cpu_us,       &result->took_us,
				    &result->placement_us,   &result->wait_root_us, &result->wait_slot_us,
				    &result->wait_solver_us, &result->response_us,  &result->migrated_ppm};

	return number < (int)(sizeof all / sizeof all[0]) ? all[number] : NULL;
}

/* Writes the error or the result, for receive_result(). */
static void send_result(FILE *file, int code, const struct error *err, struct sim_result *result)
{
	fwrite(&code, sizeof code, 1, file);
	fwrite(err, sizeof *err, 1, file);
	if (code == 0) {
		fwrite(result, sizeof *result, 1, file);
		fwrite(result->jobs, sizeof *result->jobs, result->job_count, file);
		for (int i = 0; histogram_at(result, i); i++)
			histogram_print(*histogram_at(result, i), file);
	}
	fflush(file);
}

static int receive_histograms(FILE *file, struct sim_result *result, struct error *err)
{
	size_t capacity = 0;
	char *line = NULL;
	int code = 0;

	for (int i = 0; histogram_at(result, i) && code == 0; i++) {
		if (getline(&line, &capacity, file) < 0)
			code = error_set(err, EIO, "the process of a policy ended before it sent its result");
		else if (!(*histogram_at(result, i) = histogram_read(line, err)))
			code = error_code(err, EIO);
	}
	free(line);
	return code;
}

static int receive_result(FILE *file, struct simulate_policy *policy, struct error *err)
{
	struct sim_result *result = &policy->result;
	struct error theirs;
	int code;

	rewind(file);
	if (fread(&code, sizeof code, 1, file) != 1 || fread(&theirs, sizeof theirs, 1, file) != 1)
		return error_set(err, EIO, "the process of policy %s ended early", policy->name);
	if (code != 0) {
		*err = theirs;
		return code;
	}
	if (fread(result, sizeof *result, 1, file) != 1)
		return error_set(err, EIO, "the process of policy %s ended early", policy->name);
	result->jobs = calloc(result->job_count + 1, sizeof *result->jobs);
	for (int i = 0; histogram_at(result, i); i++)
		*histogram_at(result, i) = NULL;
	if (!result->jobs)
		return error_set(err, ENOMEM, "out of memory");
	if (fread(result->jobs, sizeof *result->jobs, result->job_count, file) != result->job_count)
		return error_set(err, EIO, "the process of policy %s ended early", policy->name);
	policy->done = true;
	return receive_histograms(file, result, err);
}

struct worker {
	pid_t pid;
	FILE *file;
};

static int start_worker(struct simulate *simulate, size_t number, const char *folder, struct worker *worker,
			struct error *err)
{
	struct error theirs = {0};
	int code;

	worker->file = tmpfile();
	if (!worker->file)
		return error_set(err, errno, "cannot create a temporary file: %s", strerror(errno));
	fflush(NULL);
	worker->pid = fork();
	if (worker->pid < 0)
		return error_set(err, errno, "cannot start a process: %s", strerror(errno));
	if (worker->pid > 0)
		return 0;
	code = run_policy(simulate, number, folder, NULL, &theirs);
	send_result(worker->file, code, &theirs, &simulate->policies[number].result);
	_exit(0);
}

static int end_worker(struct simulate *simulate, size_t number, struct worker *worker, struct error *err)
{
	int code = 0;

	if (worker->pid > 0) {
		while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR)
			;
		code = receive_result(worker->file, &simulate->policies[number], err);
	}
	if (worker->file)
		fclose(worker->file);
	*worker = (struct worker){0};
	return code;
}

/* Runs up to `processes` policies at a time: waits for policy i before it starts policy i + processes. */
static int run_in_processes(struct simulate *simulate, const char *folder, struct error *err)
{
	size_t processes = (size_t)simulate->options->processes;
	struct worker workers[SIMULATE_POLICIES_MAXIMUM] = {0};
	int code = 0;

	for (size_t i = 0; i < simulate->policy_count && code == 0 && !*stop_flag(); i++) {
		if (i >= processes)
			code = end_worker(simulate, i - processes, &workers[i - processes], err);
		if (code == 0)
			code = start_worker(simulate, i, folder, &workers[i], err);
	}
	for (size_t i = 0; i < simulate->policy_count; i++) {
		struct error later = {0};
		int ended = end_worker(simulate, i, &workers[i], code == 0 ? err : &later);

		code = code == 0 ? ended : code;
	}
	return code;
}

/* Writes a table of the rounds of each policy to `folder` (may be NULL), and a single policy's journal to --record. */
static int run_policies(struct simulate *simulate, const char *folder, struct error *err)
{
	int code = 0;

	if (simulate->options->processes > 1)
		return run_in_processes(simulate, folder, err);
	for (size_t i = 0; i < simulate->policy_count && code == 0 && !*stop_flag(); i++) {
		struct simulate_policy *policy = &simulate->policies[i];
		struct progress *bar =
			progress_create(stderr, policy->name, (uint64_t)(policy->settings.end_us / 1000000));

		code = run_policy(simulate, i, folder, bar, err);
		progress_destroy(bar);
	}
	return code;
}

int simulate_whole(struct simulate *simulate, const struct simulate_options *options, struct error *err)
{
	int code = simulate_setup(simulate, options, err);

	if (code == 0)
		code = run_policies(simulate, NULL, err);
	if (code == 0 && !simulate_complete(simulate))
		code = error_set(err, EINTR, "stopped by a signal");
	return code;
}

int simulate_make_folder(const char *folder, bool *made, struct error *err)
{
	*made = folder && mkdir(folder, 0777) == 0;
	if (folder && !*made && errno != EEXIST)
		return error_set(err, errno, "cannot create %s: %s", folder, strerror(errno));
	return 0;
}

void simulate_drop_folder(const char *folder, bool made)
{
	if (made)
		(void)rmdir(folder); /* does not remove a folder with files */
}

static int write_output(const struct simulate *simulate, const char *folder, struct error *err)
{
	int code = simulate_write_jobs(simulate, folder, err);

	if (code == 0)
		code = simulate_write_report(simulate, folder, err);
	return code == 0 ? simulate_write_summary(simulate, folder, err) : code;
}

int simulate_day(const struct simulate_options *options, FILE *out, struct error *err)
{
	struct simulate simulate = {0};
	bool made;
	int code = simulate_make_folder(options->output, &made, err);

	if (code == 0)
		code = simulate_setup(&simulate, options, err);
	if (code == 0 && options->write_trace)
		code = google_trace_write(simulate.workload, options->write_trace, err);
	if (code == 0)
		code = run_policies(&simulate, options->output, err);
	if (code == 0 && options->output)
		code = write_output(&simulate, options->output, err);
	if (code == 0 && options->json)
		code = simulate_print_summary(&simulate, out);
	else if (code == 0)
		simulate_print_table(&simulate, out);
	simulate_free(&simulate);
	if (code != 0)
		simulate_drop_folder(options->output, made);
	return code;
}
