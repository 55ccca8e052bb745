/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends a job one of whose processes has failed. */
#include "run_priv.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/log.h>

static struct run_failure *failure_of(const struct run *run, const struct plan_job *job)
{
	for (uint32_t f = 0; f < run->failure_count; f++)
		if (run->failures[f].job == job->job->name)
			return &run->failures[f];
	return NULL;
}

bool run_has_failed(const struct run *run, const struct plan_job *job)
{
	return failure_of(run, job) != NULL;
}

/* Ends a process. Returns true if it had already been killed by a signal; its status is then in *status. */
static bool end(struct run_process *process, int *status)
{
	pid_t ended = process->pid > 0 ? waitpid(process->pid, status, WNOHANG) : -1;

	if (ended == 0) {
		kill(process->pid, SIGKILL);
		while (waitpid(process->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	process->pid = 0;
	if (process->output >= 0)
		close(process->output);
	process->output = -1;
	return ended > 0 && WIFSIGNALED(*status);
}

/* Lets the sources of a job offer nothing, so that predictions give the links to the other jobs. */
static void offer_nothing(const struct run *run, const struct dataflow_job *job)
{
	uint32_t count;
	const struct network_job *jobs = network_jobs(run->plan->network, &count);

	for (uint32_t j = 0; j < count; j++)
		if (jobs[j].job == job)
			network_offer(run->plan->network, j, run->nothing);
}

void run_offer_again(const struct run *run)
{
	uint32_t count = 0;
	const struct network_job *jobs = network_jobs(run->plan->network, &count);

	for (uint32_t j = 0; j < count; j++)
		if (jobs[j].offered == run->nothing)
			network_offer(run->plan->network, j, NULL);
}

/*
 * Kills the job's processes. If one of them had been killed by a signal before, sets *cause to its task and *status to
 * its status, unless *status is already that of a killed process.
 */
static void end_job(struct run *run, const struct plan_job *job, const struct task_process **cause, int *status)
{
	for (uint32_t p = 0; p < run->process_count; p++) {
		const struct task_process *task = run->processes[p].task;
		int other = 0;

		if (!task || task->job != job)
			continue;
		if (end(&run->processes[p], &other) && !WIFSIGNALED(*status)) {
			*cause = task;
			*status = other;
		}
	}
	for (uint32_t t = 0; t < run->task_count; t++)
		if (run->tasks[t].job == job)
			run->tasks[t].report.sent_MBps = run->tasks[t].report.received_MBps = 0;
}

void run_fail_job(struct run *run, const struct task_process *cause, int status)
{
	const struct plan_job *job = cause->job;
	struct run_failure *failure = failure_of(run, job);
	bool known = failure != NULL;

	if (known && (WIFSIGNALED(failure->status) || !WIFSIGNALED(status)))
		return;
	if (!known) {
		end_job(run, job, &cause, &status);
		failure = &run->failures[run->failure_count++];
		failure->s = ns_to_s(ns_sub(ns_now_monotonic(), run->start));
		offer_nothing(run, job->job);
	}
	failure->job = job->job->name;
	failure->host = run->lab->hosts[run->fabric.node_of[job->job->hosts[cause->task]]].name;
	failure->task = cause->task;
	failure->status = status;
	log_warning("task %s on host %s failed; its job ends", cause->plan->task, failure->host);
}
