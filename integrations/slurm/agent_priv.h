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
	struct ns until;    /* given up then */
};

struct at_once;

struct agent {
	struct slurm_agent_options options;
	struct at_once *at_once;
	struct answers *answers;
	struct slurm_view view;
	struct link link;
	/* Running jobs that schedd has as they run, and jobs that it refused: job -> low bits of its start time. */
	struct hash_table settled, refused;
	struct hash_table placed; /* job -> its restarts when Slurm got its place */
	struct review review;
	struct ns next_review, next_machines;
	struct ns answered;     /* when schedd last answered */
	uint64_t seen_decision; /* as of the previous turn */
	bool new_decisions;
	bool slurm_down, schedd_down; /* reported */
	bool version_checked;         /* since slurmctld was down */
};

/* Id in schedd of a job: the mark's, else slurm-JOB. */
void agent_job_id(const struct slurm_job *job, const struct slurm_mark *mark, char id[static SLURM_NAME_BYTES]);

/* Carries a step out. 0 or -errno with err set. */
int agent_take_step(struct agent *agent, enum slurm_step step, const struct slurm_job *job,
		    const struct slurm_request *request, const struct slurm_mark *mark, const struct sched_job *sched,
		    char *const *hosts, struct error *err);
/* Leaves the job to Slurm. */
int agent_pass(const struct slurm_job *job, bool placed, const char *reason, struct error *err);

/* Distinct hosts in the order of the tasks as "n1,n3", their number, and the most tasks on one; NULL: out of memory. */
char *agent_list_hosts(char *const *hosts, uint32_t tasks, uint32_t *count, uint32_t *most);

/* Submits new jobs while slurmctld waits for the answer; reads only the socket of `link`. */
struct at_once *at_once_create(const struct link *link); /* NULL: out of memory */
void at_once_destroy(struct at_once *at_once);
extern const struct answers_decider at_once_decider; /* the context is a struct at_once */
/* True if the id in schedd was given to a job so recently that Slurm's list may not contain the job. */
bool at_once_is_fresh(struct at_once *at_once, const char *id);

/* agent_has_noted(): is the job in the table with this start? agent_note() puts it there, with a value. */
bool agent_has_noted(const struct hash_table *table, const struct slurm_job *job);
void agent_note(struct hash_table *table, const struct slurm_job *job, uint32_t value);

/* Reviews one running job, or continues the review. 0 or -errno with err set. */
int agent_review(struct agent *agent, struct error *err);

#endif
