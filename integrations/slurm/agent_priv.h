/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent's fields. agent.c: the periodic comparison; steps.c: execution of a step; at_once.c: decisions while sbatch
 * waits; moves.c: choice of running jobs to move.
 */
#ifndef INTEGRATIONS_SLURM_AGENT_PRIV_H
#define INTEGRATIONS_SLURM_AGENT_PRIV_H

#include <base/ns.h>
#include <integrations/slurm/agent.h>

#include "answers.h"
#include "link.h"

/* A running job whose tasks schedd places a second time, under another id, to compare. */
struct review {
	uint32_t job; /* 0: none; `last` is the one reviewed last */
	uint32_t last;
	char id[SLURM_NAME_BYTES];
	double performance; /* of the job on its current machines */
	struct ns until;    /* the review is given up at this time */
};

struct at_once;

struct agent {
	struct slurm_agent_options options;
	struct at_once *at_once;
	struct answers *answers;
	struct slurm_view view;
	struct link link;
	/*
	 * settled: running jobs that schedd has as they run; refused: jobs that schedd refused. job -> low bits of its
	 * start time.
	 */
	struct hash_table settled, refused;
	struct hash_table placed; /* job -> its number of restarts when Slurm got its placement */
	struct review review;
	struct ns next_review, next_machines;
	struct ns answered;     /* when schedd last answered */
	uint64_t seen_decision; /* as of the previous turn */
	bool new_decisions;
	bool slurm_down, schedd_down; /* already logged */
	bool version_checked;         /* since slurmctld was down */
};

/* Gets the id in schedd of a job: that of the mark, else slurm-JOB. */
void agent_job_id(const struct slurm_job *job, const struct slurm_mark *mark, char id[static SLURM_NAME_BYTES]);

/* Carries a step out. 0 or -errno with err set. */
int agent_take_step(struct agent *agent, enum slurm_step step, const struct slurm_job *job,
		    const struct slurm_request *request, const struct slurm_mark *mark, const struct sched_job *sched,
		    char *const *hosts, struct error *err);
/* Leaves the job to Slurm. */
int agent_pass(const struct slurm_job *job, bool placed, const char *reason, struct error *err);

/*
 * Returns the distinct hosts as "n1,n3", in the order of the tasks. *count: their number; *most: the maximum number of
 * tasks on one of them. NULL: out of memory.
 */
char *agent_list_hosts(char *const *hosts, uint32_t tasks, uint32_t *count, uint32_t *most);

/* Decides about new jobs while slurmctld waits for the answer. Of `link`, uses only the socket. */
struct at_once *at_once_create(const struct link *link); /* NULL: out of memory */
void at_once_destroy(struct at_once *at_once);
extern const struct answers_decider at_once_decider; /* the context is a struct at_once */
/* True if the id in schedd was given to a job so recently that Slurm's list may not contain the job. */
bool at_once_is_fresh(struct at_once *at_once, const char *id);

/*
 * agent_has_noted(): true if the table has the job with its present start time. agent_note() stores a value for the
 * job.
 */
bool agent_has_noted(const struct hash_table *table, const struct slurm_job *job);
void agent_note(struct hash_table *table, const struct slurm_job *job, uint32_t value);

/* Reviews one running job, or continues the review. 0 or -errno with err set. */
int agent_review(struct agent *agent, struct error *err);

#endif
