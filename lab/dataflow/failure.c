/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends a job one of whose processes has failed. */
#include "run_priv.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/log.h>

bool run_has_failed(const struct run *run, const struct plan_job *job)
{
	for (uint32_t f = 0; f < run->failure_count; f++)
		if (run->failures[f].job == job->job->name)
			return true;
	return false;
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

void run_fail_job(struct run *run, struct run_process *process, int status)
{
	const struct task_process *cause = process->task;
	const struct plan_job *job = cause->job;
	struct run_failure *failure = &run->failures[run->failure_count];

	for (uint32_t p = 0; p < run->process_count; p++) {
		struct task_process *task = run->processes[p].task;
		int other = 0;

		if (task->job != job)
			continue;
		if (end(&run->processes[p], &other) && !WIFSIGNALED(status)) {
			cause = task;
			status = other;
		}
		task->report.sent_MBps = task->report.received_MBps = 0;
	}
	*failure = (struct run_failure){.job = job->job->name,
					.host = run->lab->hosts[run->fabric.node_of[job->job->hosts[cause->task]]].name,
					.task = cause->task,
					.s = ns_to_s(ns_sub(ns_now_monotonic(), run->start)),
					.status = status};
	run->failure_count++;
	offer_nothing(run, job->job);
	log_warning("task %s on host %s failed; its job ends", cause->plan->task, failure->host);
}
