/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An executor without Slurm or Kubernetes: runs the commands of the jobs that users submit to schedd as plain
 * processes, here or over ssh, where schedd decides. Jobs without a command are left to others. The contract with
 * schedd is in <integrations/executor/executor.h>; machine.sh says how a task is started only once. Tasks outlive the
 * agent.
 */
#ifndef INTEGRATIONS_LOCAL_AGENT_H
#define INTEGRATIONS_LOCAL_AGENT_H

#include <signal.h>
#include <stdbool.h>

#include <base/error.h>

struct local_agent_options {
	const char *schedd;     /* unix socket; NULL: the client's default */
	const char *machines;   /* file of machines, docs/formats.md */
	const char *state;      /* folder, on this host and on each machine */
	const char *ssh_config; /* NULL: ssh's own */
	double poll_s;          /* seconds between turns */
	double grace_s;         /* seconds between SIGTERM and SIGKILL for a task that has to end */
	bool flows;             /* report what tasks send to each other */
	bool all_users; /* also run the jobs of users other than root and the agent's own, as the agent's user */
};

/* Runs until *stop is set. Returns 0 or -errno with err set. */
int local_agent_run(const struct local_agent_options *options, const volatile sig_atomic_t *stop, struct error *err);

#endif
