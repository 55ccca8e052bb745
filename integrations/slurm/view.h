/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs and nodes of a Slurm cluster as plain data, and the agent's orders to slurmctld. In the agent, only view.c uses
 * libslurm. Each element of a job array is a job of its own. Elements that wait have the job id of the array; the first
 * order for an element makes Slurm give it its own id.
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
	bool held;                 /* priority 0 */
	bool held_by_slurm;        /* held because its request cannot be met, not by a user */
	bool plain;                /* no constraint that schedd does not know, so that the job may move */
	bool waits_for_nodes;      /* Slurm would start the job if there were free nodes for it */
	bool simple;               /* one CPU per task, and not part of a heterogeneous job */
	char *comment, *mark;      /* NULL: none */
	struct slurm_share *share; /* nodes of a running or busy job, in Slurm's order */
	uint32_t share_count, restarts;
	time_t eligible;         /* since then, Slurm could have started the job; may be in the future */
	time_t start, submitted; /* start of the present or last run; time of the submission or of the last requeue */
};

enum slurm_node_state { SLURM_NODE_UP, SLURM_NODE_DRAINING, SLURM_NODE_DOWN };

struct slurm_node {
	char *name;
	uint32_t cpus;
	enum slurm_node_state state;
};

struct slurm_view {
	struct slurm_job *jobs;
	struct slurm_node *nodes;
	uint32_t job_count, node_count;
	/*
	 * name of Slurm's default partition if it has all nodes and is up; NULL: it does not, and schedd, which knows
	 * no partitions, cannot place jobs
	 */
	char *partition;
	uint32_t slurm_user;      /* uid of SlurmUser */
	time_t jobs_at, nodes_at; /* time of the last change that was read, of jobs and of nodes; 0: read everything */
};

/*
 * Reads SlurmUser, and checks that slurmctld is of the release series (such as 22.05) for which this program was built:
 * structures and messages differ between them. Returns 0, or with err set -EPROTO if it is not, or -EREMOTEIO if
 * slurmctld does not answer.
 */
int slurm_view_check_version(struct slurm_view *view, struct error *err);

/*
 * Updates the view; a zeroed view is empty. Returns 1 if something changed, 0 if nothing did, or -errno with err set
 * (-EREMOTEIO: slurmctld does not answer, -EPROTO: it has another version). After an error, the view may be only partly
 * updated.
 */
int slurm_view_update(struct slurm_view *view, struct error *err);
void slurm_view_free(struct slurm_view *view);

/*
 * Returns the name of the leaf switch to which the node is connected, or "" if Slurm has no topology; the caller frees.
 * NULL: out of memory.
 */
char *slurm_view_rack(const char *node);

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
