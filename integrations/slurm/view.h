/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs and nodes of a Slurm cluster as plain data, and the orders that the agent gives. Alone includes libslurm. */
#ifndef INTEGRATIONS_SLURM_VIEW_H
#define INTEGRATIONS_SLURM_VIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <base/error.h>

enum slurm_job_state { SLURM_PENDING, SLURM_RUNNING, SLURM_BUSY /* completing, suspended */, SLURM_ENDED };

struct slurm_share {
	char *host;
	uint32_t cpus;
};

struct slurm_job {
	uint32_t id, tasks;
	enum slurm_job_state state;
	bool held;                 /* priority 0 */
	bool simple;               /* one CPU a task; no array, no part of a heterogeneous job */
	char *comment, *mark;      /* NULL: none */
	struct slurm_share *share; /* of a job that has nodes, in Slurm's order */
	uint32_t share_count, restarts;
	time_t start;
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
	time_t jobs_at, nodes_at; /* slurmctld's last change that was read */
};

/*
 * Brings the view up to date; one that is zeroed is empty. 1: something changed, 0: nothing did, -errno with err
 * set (-EREMOTEIO: slurmctld does not answer), and the view is what it was.
 */
int slurm_view_update(struct slurm_view *view, struct error *err);
void slurm_view_free(struct slurm_view *view);

/* The leaf switch that the node is connected to, "" without a topology; the caller frees. NULL: out of memory. */
char *slurm_view_rack(const char *node);

/* Orders; 0 or -EREMOTEIO with err set. hosts: "n1,n3", count of them, at least cpus on each. */
int slurm_order_place(uint32_t job, char *hosts, uint32_t count, uint32_t cpus, char *mark, struct error *err);
/* Releases; with clear, without the nodes of an earlier placement. */
int slurm_order_pass(uint32_t job, bool clear, uint32_t tasks, char *mark, struct error *err);
int slurm_order_hold(uint32_t job, char *mark, struct error *err);
int slurm_order_mark(uint32_t job, char *mark, struct error *err);
int slurm_order_requeue(uint32_t job, struct error *err);

/* The mark of one job; the caller frees. NULL with err set. */
char *slurm_job_mark(uint32_t job, struct error *err);

void slurm_view_init(void);

#endif
