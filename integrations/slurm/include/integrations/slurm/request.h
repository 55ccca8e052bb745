/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two texts that Slurm stores with a job for nomora. Pure functions.
 *
 * The user's comment requests a placement:
 *
 *   sbatch --comment=nomora:curve=memcached[,root=0][,move=yes|no]
 *
 * The agent or the plug-in sets the mark in the job's AdminComment: the job's state, its id in schedd, and the machine
 * of each task in the order of the tasks. NAME*COUNT: consecutive tasks on one machine.
 *
 *   nomora:slurm-12 n3,n1*2            decided: task 0 on n3, tasks 1 and 2 on n1
 *   nomora:slurm-12.1 moving           being requeued; schedd has decided under the new id
 *   nomora:pass REASON                 Slurm decides
 */
#ifndef INTEGRATIONS_SLURM_REQUEST_H
#define INTEGRATIONS_SLURM_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include <base/error.h>

#define SLURM_REQUEST_PREFIX "nomora:"

enum { SLURM_NAME_BYTES = 64, SLURM_TASKS_MAXIMUM = 100000 };

struct slurm_request {
	char curve[SLURM_NAME_BYTES];
	uint32_t root; /* number of the root task */
	bool move;     /* the job may be requeued to run elsewhere; true unless the comment has move=no */
};

/*
 * Reads the comment of a job of `tasks` tasks. Returns 1 if it requests a placement; 0 if it is NULL or does not begin
 * with "nomora:"; or -errno with err set (-EINVAL: a bad request).
 */
int slurm_request_parse(const char *comment, uint32_t tasks, struct slurm_request *request, struct error *err);

enum slurm_mark_kind { SLURM_MARK_NONE, SLURM_MARK_PLACED, SLURM_MARK_MOVING, SLURM_MARK_PASS };

struct slurm_mark {
	enum slurm_mark_kind kind;
	char id[SLURM_NAME_BYTES]; /* id of the job in schedd; "" for NONE and PASS */
	char **hosts;              /* only of PLACED: the machine of each task */
	uint32_t host_count;
};

/*
 * Reads a mark. NULL, or a text that is not a mark, gives SLURM_MARK_NONE. Returns 0 or -ENOMEM. The caller calls
 * slurm_mark_free().
 */
int slurm_mark_parse(const char *text, struct slurm_mark *mark);
void slurm_mark_free(struct slurm_mark *mark);

/* The mark of a placed job, in memory that the caller frees; NULL if out of memory. */
char *slurm_mark_placed(const char *id, char *const *hosts, uint32_t count);

#endif
