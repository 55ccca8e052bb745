/* SPDX-License-Identifier: BSD-3-Clause */
/* A worker's process: its plan is its standard input, its reports are lines of its standard output. */
#include "run_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
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
	char path[64];
	int fd;

	snprintf(path, sizeof path, "/run/netns/%s", netns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* In a group of its own: the terminal's Ctrl-C is for the controller. */
	setpgid(0, 0);
	if (fd >= 0 && setns(fd, CLONE_NEWNET) == 0 && dup2(input, 0) == 0 && dup2(output, 1) == 1 &&
	    getppid() == parent)
		execl(run->options->program, run->options->program, "dataflow", "worker", "-", (char *)NULL);
	_exit(127);
}

/* A file without a name that holds the plan; a descriptor or -errno. */
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

int run_start_task(struct run *run, struct task_process *task, struct error *err)
{
	const char *netns = run->lab->hosts[run->fabric.node_of[task->job->job->hosts[task->task]]].netns;
	pid_t parent = getpid();
	int input = plan_file(task->plan), output[2];

	if (input < 0 || pipe2(output, O_CLOEXEC) != 0) {
		if (input >= 0)
			close(input);
		return error_set(err, EIO, "task %s: cannot start its process", task->plan->task);
	}
	task->pid = fork();
	if (task->pid == 0)
		become(run, netns, input, output[1], parent);
	close(input);
	close(output[1]);
	task->output = output[0];
	fcntl(output[0], F_SETFL, O_NONBLOCK);
	return task->pid > 0 ? 0 : error_set(err, EAGAIN, "task %s: cannot start its process", task->plan->task);
}

static int take_line(struct run *run, struct task_process *task, const char *line, size_t bytes, struct error *err)
{
	uint64_t lost = task->report.lost, duplicated = task->report.duplicated;
	int code = worker_report_parse(task->plan->task, line, bytes, &task->report, err);

	if (code != 0)
		return code;
	/* The first second has the connections' start in it. */
	if (task->reports++ == 0) {
		task->first_s = task->report.s;
		task->first_received = task->report.received;
	}
	run->second.lost += task->report.lost - lost;
	run->second.duplicated += task->report.duplicated - duplicated;
	if (run_is_sink(task) && task->report.latency_p99_us > 0 &&
	    !(run->second.latency_p99_us > task->report.latency_p99_us))
		run->second.latency_p99_us = task->report.latency_p99_us;
	return 0;
}

static int end_task(struct task_process *task, struct error *err)
{
	int status = 0;

	close(task->output);
	task->output = -1;
	while (waitpid(task->pid, &status, 0) < 0 && errno == EINTR)
		;
	task->pid = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && task->report.done)
		return 0;
	return error_set(err, EIO, "task %s: its process failed", task->plan->task);
}

int run_read_task(struct run *run, struct task_process *task, struct error *err)
{
	for (;;) {
		ssize_t count = read(task->output, task->line + task->line_bytes, sizeof task->line - task->line_bytes);
		char *end;
		int code = 0;

		if (count < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : error_set(err, errno, "%s", strerror(errno));
		if (count == 0)
			return end_task(task, err);
		task->line_bytes += (size_t)count;
		while (code == 0 && (end = memchr(task->line, '\n', task->line_bytes))) {
			size_t bytes = (size_t)(end - task->line);

			code = take_line(run, task, task->line, bytes, err);
			task->line_bytes -= bytes + 1;
			memmove(task->line, end + 1, task->line_bytes);
		}
		if (code == 0 && task->line_bytes == sizeof task->line)
			code = error_set(err, EBADMSG, "task %s: a report is too long", task->plan->task);
		if (code != 0)
			return code;
	}
}

void run_end_tasks(struct run *run)
{
	for (uint32_t t = 0; t < run->task_count; t++) {
		struct task_process *task = &run->tasks[t];

		if (task->pid > 0) {
			kill(task->pid, SIGKILL);
			while (waitpid(task->pid, NULL, 0) < 0 && errno == EINTR)
				;
		}
		if (task->output >= 0)
			close(task->output);
		worker_plan_destroy(task->plan);
	}
	free(run->tasks);
}
