/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs and nodes of a Slurm cluster as plain data, and the agent's orders to slurmctld. In the agent, only view.c and
 * rules.c use libslurm. Each element of a job array is a job of its own. Elements that wait have the job id of the
 * array; the first order for an element makes Slurm give it its own id.
 */
#ifndef INTEGRATIONS_SLURM_VIEW_H
#define INTEGRATIONS_SLURM_VIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <base/error.h>
#include <integrations/slurm/agent.h>

enum { SLURM_JOB_NAME_BYTES = 24 };

enum slurm_job_state { SLURM_PENDING, SLURM_RUNNING, SLURM_BUSY /* completing, suspended */, SLURM_ENDED };

/* A node of a job, and the number of CPUs that the job has there. */
struct slurm_share {
	char *host;
	uint32_t cpus;
};

struct slurm_job {
	uint32_t id, tasks;
	char name[SLURM_JOB_NAME_BYTES]; /* name of the job in orders: "12", or "12_3" for an array's element */
	enum slurm_job_state state;
	bool held;            /* priority 0 */
	bool held_by_slurm;   /* held because its request cannot be met, not by a user */
	bool unconstrained;   /* no constraint that schedd does not know, other than memory and partition */
	bool plain;           /* nor these: the job may move */
	bool waits_for_nodes; /* Slurm would start the job if there were free nodes for it */
	bool lacks_nodes;     /* so it would, and it is this job's turn */
	bool blocked;         /* Slurm would not start it on free nodes: a limit of its account or QOS, ... */
	bool simple;          /* one CPU per task, and not part of a heterogeneous job */
	char *comment, *mark, *partition; /* NULL: none */
	uint64_t memory;                  /* MB, with the flag MEM_PER_CPU if it is for each CPU */
	struct slurm_share *share;        /* nodes of a running or busy job, in Slurm's order */
	uint32_t share_count, restarts;
	time_t eligible;         /* since then, Slurm could have started the job; may be in the future */
	time_t start, submitted; /* start of the present or last run; time of the submission or of the last requeue */
};

/* How Slurm gives CPUs and memory to jobs (rules.h). */
struct slurm_rules {
	bool by_cpu;       /* SelectType is select/cons_tres or select/cons_res: jobs share nodes */
	uint16_t consumes; /* SelectTypeParameters: CR_CPU, CR_MEMORY, ... */
	/*
	 * DefMemPerCPU or DefMemPerNode, and MaxMemPerCPU or MaxMemPerNode, in MB, with Slurm's flag MEM_PER_CPU if it
	 * is for each CPU; 0: not set
	 */
	uint64_t default_memory, most_memory;
};

enum slurm_node_state { SLURM_NODE_UP, SLURM_NODE_DRAINING, SLURM_NODE_DOWN };

struct slurm_node {
	char *name;
	uint32_t cpus;
	uint64_t memory, free_memory, job_memory; /* MB; job_memory: allocated to jobs; free_memory: to nobody */
	enum slurm_node_state state;
};

struct slurm_view {
	struct slurm_job *jobs;
	struct slurm_node *nodes;
	uint32_t job_count, node_count;
	char *partition; /* Slurm's default partition; NULL: schedd cannot place jobs there, as `unsupported` says */
	char unsupported[ERROR_TEXT_BYTES];
	char *topology; /* what scontrol says about the switches; NULL: not read since the last update */
	struct slurm_rules conf, rules; /* of slurm.conf, and of the default partition */
	uint32_t slurm_user;            /* uid of SlurmUser */
	/* time of the last change that was read, of slurm.conf, jobs and nodes; 0: read everything */
	time_t conf_at, jobs_at, nodes_at;
};

/*
 * Updates the view; a zeroed view is empty. Returns 1 if something changed, 0 if nothing did, or -errno with err set
 * (-EREMOTEIO: slurmctld does not answer, -EPROTO: it is of another release series, such as 22.05, than the one for
 * which this program was built: structures and messages differ between them). After an error, the view may be only
 * partly updated.
 */
int slurm_view_update(struct slurm_view *view, struct error *err);
void slurm_view_free(struct slurm_view *view);

/*
 * Returns the name of the leaf switch to which the node is connected, or "" if Slurm has no topology; the caller frees.
 * NULL: out of memory, or scontrol did not end; a later call may succeed.
 */
char *slurm_view_rack(struct slurm_view *view, const char *node);

/*
 * Orders to slurmctld. They return 0, or -errno with err set. slurm_order_place() has a job run on exactly the `count`
 * hosts of a list such as "n1,n3", with a CPU for each task.
 */
int slurm_order_place(const struct slurm_job *job, char *hosts, uint32_t count, char *mark, struct error *err);
/* Removes the nodes that slurm_order_place() required: Slurm decides where the job runs. */
int slurm_order_pass(const struct slurm_job *job, char *mark, struct error *err);
int slurm_order_mark(const struct slurm_job *job, char *mark, struct error *err);
int slurm_order_requeue(const struct slurm_job *job, struct error *err);

/*
 * Reads one job into a view that has no other; the caller frees the view, also after an error. Returns 0, or -errno
 * with err set.
 */
int slurm_view_read_job(struct slurm_view *view, const struct slurm_job_name *name, struct error *err);

/* Loads slurm.conf. Call it before the other functions. */
void slurm_view_init(void);

#endif
