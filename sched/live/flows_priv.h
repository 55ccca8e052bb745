/* SPDX-License-Identifier: BSD-3-Clause */
/* The flows between the tasks of a job, for recovery. */
#ifndef SCHED_LIVE_FLOWS_PRIV_H
#define SCHED_LIVE_FLOWS_PRIV_H

#include "live_priv.h"

struct live_traffic {
	uint32_t from, to;  /* numbers of tasks */
	double MB, sent_MB; /* as in struct recovery_flow */
	bool measured;      /* the volume, or what is sent of it, is measured; otherwise both are stated */
};

/* Makes a list of the job's flows with a volume; the caller frees. 0 or -ENOMEM. */
int live_flows_of(const struct live_job *job, struct live_traffic **list, size_t *count);

#endif
