/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Synthetic workloads similar to Google's first day (generate.c has the figures used, and those of the data): a cluster
 * filled at time 0, bursts of submissions, heavy-tailed job sizes and run times, machines that leave and come back.
 * Pure: the same settings give the same workload on every machine.
 */
#ifndef SIM_GENERATE_H
#define SIM_GENERATE_H

#include <stdint.h>

#include <model/workload.h>

struct sim_generate_settings {
	uint32_t machines;
	uint32_t slots; /* of one machine */
	double hours;
	double load;          /* target for the mean share of slots in use, 0..1 */
	uint64_t tasks;       /* submitted after time 0; 0 = as many as the load requires */
	double churn_per_day; /* share of the machines that leave for a while each day */
	uint64_t seed;
};
/* 12,500 machines of 12 slots, 24 h, load 0.9, churn 0.025, seed 1. */
void sim_generate_settings_default(struct sim_generate_settings *settings);

/* Returns a workload on which the caller must still call workload_finish(), or NULL if out of memory. */
struct workload *sim_generate(const struct sim_generate_settings *settings);

#endif
