/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts the workers and reads their reports. Each worker reads its plan from standard input and writes its reports as
 * lines to standard output.
 */
#include "run_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void become(const struct run *run, const char *netns, int input, int output, pid_t parent)
	__attribute__((noreturn));

static void become(const struct run *run, const char *netns, int input, int output, pid_t parent)
{
	sigset_t terminate;
	char path[64];
	int fd;

	snprintf(path, sizeof path, "/run/netns/%s", netns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Blocks SIGTERM until the worker has installed its handler: an early SIGTERM must not kill it. */
	sigemptyset(&terminate);
	sigaddset(&terminate, SIGTERM);
	sigprocmask(SIG_BLOCK, &terminate, NULL);
	/* Leaves the controller's process group, so that the terminal's Ctrl-C goes to the controller only. */
	setpgid(0, 0);
	if (fd >= 0 && setns(fd, CLONE_NEWNET) == 0 && dup2(input, 0) == 0 && dup2(output, 1) == 1 &&
	    getppid() == parent)
		execl(run->options->program, run->options->program, "dataflow", "worker", "-", (char *)NULL);
	_exit(127);
}

/* Writes the plan to a file in memory, which becomes the worker's standard input. Returns its descriptor, or -errno. */
static int plan_file(const struct worker_plan *plan)
{
	json_t *json = worker_plan_to_json(plan);
	int fd = json ? memfd_create("plan", MFD_CLOEXEC) : -1, code = fd < 0 ? -ENOMEM : 0;

	if (fd >= 0 && (json_dumpfd(json, fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0))
		code = -EIO;
	json_decref(json);
	if (code == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return code;
}

static int start_task(struct run *run, struct run_process *process, struct error *err)
{
	const struct task_process *task = process->task;
	const char *netns = run->lab->hosts[run->fabric.node_of[task->job->job->hosts[task->task]]].netns;
	pid_t parent = getpid();
	int input = plan_file(task->plan), output[2];

	if (input < 0 || pipe2(output, O_CLOEXEC) != 0) {
		if (input >= 0)
			close(input);
		return error_set(err, EIO, "task %s: cannot start its process", task->plan->task);
	}
	process->pid = fork();
	if (process->pid == 0)
		become(run, netns, input, output[1], parent);
	close(input);
	close(output[1]);
	process->output = output[0];
	fcntl(output[0], F_SETFL, O_NONBLOCK);
	return process->pid > 0 ? 0 : error_set(err, EAGAIN, "task %s: cannot start its process", task->plan->task);
}

int run_start_tasks(struct run *run, struct error *err)
{
	bool slurm = run->options->slurm_folder != NULL;
	int code = 0;

	run->process_count = slurm ? 1 : run->task_count;
	run->processes = calloc(run->process_count + 1u, sizeof *run->processes);
	if (!run->processes)
		return error_set(err, ENOMEM, "out of memory");
	for (uint32_t p = 0; p < run->process_count; p++) {
		run->processes[p].task = slurm ? NULL : &run->tasks[p];
		run->processes[p].output = -1;
	}
	for (uint32_t p = 0; p < run->process_count && code == 0; p++)
		code = slurm ? run_start_by_slurm(run, &run->processes[p], err)
			     : start_task(run, &run->processes[p], err);
	return code;
}

static const char *name_of(const struct run_process *process)
{
	return process->task ? process->task->plan->task : "srun";
}

static struct task_process *find_task(struct run *run, const char *name)
{
	for (uint32_t t = 0; t < run->task_count; t++)
		if (strcmp(run->tasks[t].plan->task, name) == 0)
			return &run->tasks[t];
	return NULL;
}

static int take_line(struct run *run, struct run_process *process, const char *line, size_t bytes, struct error *err)
{
	static const char failed[] = "failed ";
	struct worker_report report;
	struct task_process *task = process->task;
	int code;

	if (!task && bytes > sizeof failed && memcmp(line, failed, sizeof failed - 1) == 0)
		return run_take_slurm_failure(run, line, bytes, err);
	code = worker_report_parse(name_of(process), line, bytes, &report, err);
	if (code == 0 && !task)
		task = find_task(run, report.task);
	if (code != 0 || !task)
		return code != 0 ? code
				 : error_set(err, EBADMSG, "srun: a report of an unknown task '%s'", report.task);
	/* The mean rate excludes the time until the first report, which includes the start of the connections. */
	if (task->reports++ == 0) {
		task->first_s = report.s;
		task->first_received = report.received;
	}
	run->reported = true;
	run->second.lost += report.lost - task->report.lost;
	run->second.duplicated += report.duplicated - task->report.duplicated;
	task->report = report;
	task->fresh = true;
	if (run_is_sink(task) && report.latency_p99_us > 0 && !(run->second.latency_p99_us > report.latency_p99_us))
		run->second.latency_p99_us = report.latency_p99_us;
	run->second.gap_ms = fmax(run->second.gap_ms, report.gap_ms);
	return 0;
}

static int end_process(struct run *run, struct run_process *process, struct error *err)
{
	bool done = true;
	int status = 0;

	close(process->output);
	process->output = -1;
	while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR)
		;
	process->pid = 0;
	for (uint32_t t = 0; t < run->task_count; t++)
		if (process->task ? process->task == &run->tasks[t] : !run_has_failed(run, run->tasks[t].job))
			done &= run->tasks[t].report.done;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && done)
		return 0;
	if (!process->task)
		return error_set(err, EIO, "srun failed");
	run_fail_job(run, process->task, status);
	return 0;
}

int run_read_process(struct run *run, struct run_process *process, struct error *err)
{
	for (;;) {
		ssize_t count = read(process->output, process->line + process->line_bytes,
				     sizeof process->line - process->line_bytes);
		char *end;
		int code = 0;

		if (count < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : error_set(err, errno, "%s", strerror(errno));
		if (count == 0)
			return end_process(run, process, err);
		process->line_bytes += (size_t)count;
		while (code == 0 && (end = memchr(process->line, '\n', process->line_bytes))) {
			size_t bytes = (size_t)(end - process->line);

			code = take_line(run, process, process->line, bytes, err);
			process->line_bytes -= bytes + 1;
			memmove(process->line, end + 1, process->line_bytes);
		}
		if (code == 0 && process->line_bytes == sizeof process->line)
			code = error_set(err, EBADMSG, "%s: a report is too long", name_of(process));
		if (code != 0)
			return code;
	}
}

void run_end_tasks(struct run *run)
{
	for (uint32_t p = 0; p < run->process_count; p++) {
		struct run_process *process = &run->processes[p];

		if (process->pid > 0) {
			/* SIGTERM makes srun end its job. */
			kill(process->pid, process->task ? SIGKILL : SIGTERM);
			while (waitpid(process->pid, NULL, 0) < 0 && errno == EINTR)
				;
		}
		if (process->output >= 0)
			close(process->output);
	}
	run_remove_plans(run);
	for (uint32_t t = 0; t < run->task_count; t++)
		worker_plan_destroy(run->tasks[t].plan);
	if (run->nothing)
		run_offer_again(run);
	free(run->processes);
	free(run->tasks);
	free(run->nothing);
}
