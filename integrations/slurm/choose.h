/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the agent's next step for one job from the states in Slurm and schedd. Pure: the same two states give the
 * same step, whatever happened before, so that nothing is lost when agent, schedd or slurmctld restart.
 */
#ifndef INTEGRATIONS_SLURM_CHOOSE_H
#define INTEGRATIONS_SLURM_CHOOSE_H

#include <integrations/slurm/request.h>

#include "view.h"

/* Begins the ids of Slurm's jobs in schedd. */
#define LINK_ID_PREFIX "slurm-"

/* The state of a job in schedd. */
struct sched_job {
	bool known;
	uint32_t tasks, decided,
		running; /* numbers of tasks: all; those with a decision that do not run yet; running */
	uint32_t failed;
	char **hosts; /* machine of each task; NULL: the task has none */
};

enum slurm_step {
	SLURM_STEP_NONE,
	SLURM_STEP_SUBMIT,  /* submit the job to schedd, which is to decide */
	SLURM_STEP_ADOPT,   /* report the running job to schedd */
	SLURM_STEP_MARK,    /* write into the job's mark where it runs */
	SLURM_STEP_START,   /* the job runs as schedd decided: report its start to schedd */
	SLURM_STEP_PLACE,   /* pass schedd's decision to Slurm */
	SLURM_STEP_PASS,    /* leave the job to Slurm, which decides where it runs */
	SLURM_STEP_FORGET,  /* remove the job from schedd */
	SLURM_STEP_REQUEUE, /* requeue the running job, so that it starts again where schedd decided */
};

/*
 * Chooses the next step. A job that is late, because Slurm has not started it in time on the nodes of schedd's decision
 * or because it has no decision yet, is left to Slurm. `hosts`: machines of the tasks of a running job
 * (slurm_job_hosts()); not used for other jobs.
 */
enum slurm_step slurm_choose_step(const struct slurm_job *job, const struct slurm_mark *mark,
				  const struct sched_job *sched, char *const *hosts, bool late);

/*
 * True if Slurm, not schedd, decided where the job first ran: such a job has the number of Slurm's job as its id. It
 * may have constraints that schedd does not know.
 */
bool slurm_is_adopted(const struct slurm_job *job, const struct slurm_mark *mark);

/*
 * True if slurmd will start the job if it is released now. slurmd refuses a job that starts in the same second in which
 * its earlier run was killed, because the job's new credential is then not newer than the revoked one. Slurm then ends
 * the job as failed.
 */
bool slurm_may_start(const struct slurm_job *job, time_t now);

/*
 * Returns the machines of a running job, by task. If Slurm gave the job exactly the nodes of its mark, with a CPU for
 * each task, these are the machines of the mark; otherwise the job's nodes in Slurm's order, one task per CPU. The
 * caller frees the array; the names belong to the job or its mark. NULL: out of memory.
 */
char **slurm_job_hosts(const struct slurm_job *job, const struct slurm_mark *mark);

#endif
