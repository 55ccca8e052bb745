/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of option tables for the costs of NoMora's flow network. type, field: the settings' type and field, as in
 * OPTION_DOUBLE().
 */
#ifndef SCHED_POLICY_OPTION_ROWS_H
#define SCHED_POLICY_OPTION_ROWS_H

#include <base/options.h>

#define ROW_WEIGHTS(type, field)                                                                                       \
	OPTION_CHOICE(type, field, "weights", 0, "HOW", policy_weights_names,                                          \
		      "what counts alike in the sum of costs: task, or job (a task of a small job weighs more)")
#define ROW_GAMMA(type, field) OPTION_INTEGER(type, field, "gamma", 0, "COST", 0, 500000, "cost of waiting")
#define ROW_OMEGA(type, field)                                                                                         \
	OPTION_DOUBLE(type, field, "omega-per-s", 0, "COST", 0, 100000, "added cost of waiting, per second waited")
#define ROW_BETA(type, field)                                                                                          \
	OPTION_DOUBLE(type, field, "beta-per-s", 0, "COST", 0, 100000,                                                 \
		      "reduction of the cost of staying, per second that a task has run, for tasks that may move")
#define ROW_UNSCHEDULED_CAPACITY(type, field)                                                                          \
	OPTION_INTEGER(type, field, "unscheduled-capacity", 0, "N", 0, 1000000,                                        \
		       "number of tasks of a job that can wait in the flow network; 0 = all, 1 = as in the paper")

#endif
