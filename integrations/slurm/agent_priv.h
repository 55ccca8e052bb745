/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state that the parts of the agent share. agent.c compares Slurm with schedd periodically; one comparison is a
 * turn. steps.c executes a step (choose.h); at_once.c gets decisions while sbatch waits; moves.c selects running jobs
 * to move. A job's mark is its AdminComment (request.h).
 */
#ifndef INTEGRATIONS_SLURM_AGENT_PRIV_H
#define INTEGRATIONS_SLURM_AGENT_PRIV_H

#include <base/hash_table.h>
#include <base/ns.h>
#include <integrations/slurm/agent.h>

#include "answers.h"
#include "link.h"

/*
 * The review of a running job: schedd places the job's tasks a second time, under another id, and the agent compares
 * the two placements (moves.c).
 */
struct review {
	uint32_t job;  /* number of the job under review, 0: none */
	uint32_t last; /* number of the job that was reviewed last */
	char id[SLURM_NAME_BYTES];
	double performance; /* mean predicted performance of the job's tasks on their current machines */
	struct ns until;    /* time limit of the review, on the monotonic clock */
};

struct at_once;

struct agent {
	struct slurm_agent_options options;
	struct at_once *at_once;
	struct answers *answers;
	struct slurm_view view;
	struct executor schedd;
	struct hash_table wanted; /* hashes of the ids of the jobs that schedd should have, during a turn */
	/*
	 * Running jobs whose tasks schedd has as running on the right machines: number of the job -> low bits of its
	 * start time, so that an entry is valid only for this run of the job.
	 */
	struct hash_table settled;
	struct hash_table
		placed; /* number of a job -> number of restarts that it had when its placement was passed to Slurm */
	struct review review;
	struct ns next_review, next_machines;
	uint32_t largest;       /* the greatest number of tasks of one job that Slurm could start on one node */
	uint64_t seen_decision; /* number of schedd's last decision at the previous turn */
	bool new_decisions;
	bool slurm_down;             /* slurmctld does not answer, and this was logged */
	char said[ERROR_TEXT_BYTES]; /* the reason why schedd cannot place jobs that was logged last; "": it can */
};

/* Gets a job's id in schedd: the id in its mark, or slurm-JOB if the mark has none. */
void agent_job_id(const struct slurm_job *job, const struct slurm_mark *mark, char id[static SLURM_NAME_BYTES]);

/*
 * Carries out a step for a job. `hosts`: where a running job runs, by task; `sched`: the job's state in schedd. Returns
 * 0 or -errno with err set.
 */
int agent_take_step(struct agent *agent, enum slurm_step step, const struct slurm_job *job,
		    const struct slurm_request *request, const struct slurm_mark *mark, const struct sched_job *sched,
		    char *const *hosts, struct error *err);
/* Leaves a waiting job to Slurm, which then decides where it runs. */
int agent_pass(const struct slurm_job *job, const char *reason, struct error *err);

/*
 * Returns the distinct hosts as "n1,n3", in the order of the tasks. *count: number of these hosts. NULL: out of memory.
 */
char *agent_list_hosts(char *const *hosts, uint32_t tasks, uint32_t *count);

/* Decides about new jobs while slurmctld waits for the answer. Uses only the socket of `schedd`. */
struct at_once *at_once_create(const struct executor *schedd); /* NULL: out of memory */
void at_once_destroy(struct at_once *at_once);                 /* NULL is legal */
/* Has jobs decided about by these rules from now on; `largest`: as of slurm_rules_allow(). */
void at_once_follow(struct at_once *at_once, const struct slurm_rules *rules, uint32_t largest);
answers_decide at_once_decide; /* the context is a struct at_once */
/*
 * True if at_once_decide() gave this id to a new job so recently that Slurm's list of jobs may not contain the job yet.
 */
bool at_once_is_fresh(struct at_once *at_once, const char *id);

/* agent_is_settled(): `settled` has the job's present run. agent_note() stores a value in `settled` or `placed`. */
bool agent_is_settled(const struct agent *agent, const struct slurm_job *job);
void agent_note(struct hash_table *table, const struct slurm_job *job, uint32_t value);

/*
 * Begins the review of a running job if it is time, or continues the current review. Returns 0 or -errno with err set.
 */
int agent_review(struct agent *agent, struct error *err);

#endif
