/* SPDX-License-Identifier: BSD-3-Clause */
/* The problem of a failure, and a solved one. recover.c makes and solves it, with recover_near.c; recover_report.c
 * reports. */
#ifndef SCHED_LIVE_RECOVER_PRIV_H
#define SCHED_LIVE_RECOVER_PRIV_H

#include <sched/recovery/recovery.h>

#include "live_priv.h"

/* MB/s of the links of machines that are not in the network. They are no candidates. */
#define UNLISTED_MBPS 1e12

struct live_origin {
	struct live_job *job;
	struct live_task *task;
};

struct live_loss {
	struct live *live;
	struct recovery_scenario *scenario;
	uint32_t *machine_of;        /* by server */
	int64_t *server_of;          /* by machine; -1: the number is unused */
	struct live_origin *origins; /* by task of the scenario */
	size_t origin_capacity;
	uint32_t count;    /* lost tasks */
	uint32_t measured; /* flows, of those of the scenario */
};

/* 0 or -errno. Free it by live_loss_free() in either case. */
int live_loss_create(struct live *live, struct live_loss *loss);
void live_loss_free(struct live_loss *loss);

/*
 * recover_near.c: changes the servers of an answer's tasks, whose roots run. The transfer times do not become longer. 0
 * or -ENOMEM.
 */
int live_recovery_prefer_near(const struct live_loss *loss, struct recovery_answer *answer);

/* The last recovery. It has names of its own, so that it remains valid when jobs and machines are removed. */
struct live_recovered {
	struct recovery_scenario *scenario;
	uint32_t *server; /* by task of the scenario: of all tasks, after the recovery */
	bool placed;      /* there is a placement */
	enum recovery_status status;
	double p, gap, solve_s;
	uint32_t lost, measured; /* lost tasks, measured flows */
};

/* Transfer time of the slowest job at p; NAN: some flow never ends. */
double live_slowest_s(const struct recovery_scenario *scenario, double p);

/* The flows between the tasks of a job, for recovery. */

struct live_traffic {
	uint32_t from, to;  /* numbers of tasks */
	double MB, sent_MB; /* as in struct recovery_flow */
	bool measured;      /* the volume, or what is sent of it, is measured; otherwise both are stated */
};

/* Makes a list of the job's flows with a volume; the caller frees. 0 or -ENOMEM. */
int live_flows_of(const struct live_job *job, struct live_traffic **list, size_t *count);

#endif
