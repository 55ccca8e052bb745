/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of option tables that several commands have; `field` is the settings' field as in OPTION_DOUBLE(). */
#ifndef APPS_ROWS_H
#define APPS_ROWS_H

#include <base/options.h>

/* Costs of NoMora's network: place, simulate, schedd. */
#define ROW_GAMMA(type, field) OPTION_INTEGER(type, field, "gamma", 0, "COST", 0, 500000, "cost of waiting")
#define ROW_OMEGA(type, field)                                                                                         \
	OPTION_DOUBLE(type, field, "omega-per-s", 0, "COST", 0, 100000, "added cost of waiting, per second waited")
#define ROW_BETA(type, field)                                                                                          \
	OPTION_DOUBLE(type, field, "beta-per-s", 0, "COST", 0, 100000,                                                 \
		      "where running tasks may move: discount on staying, per second run")
#define ROW_UNSCHEDULED_CAPACITY(type, field)                                                                          \
	OPTION_INTEGER(type, field, "unscheduled-capacity", 0, "N", 0, 1000000,                                        \
		       "tasks of a job that may wait in the network; 0 = all, 1 = the paper's")

/* Which measurements count: place, schedd, mesh serve. */
#define ROW_MAX_AGE(type, field)                                                                                       \
	OPTION_DOUBLE(type, field, "max-age", 0, "S", 0, 1e9,                                                          \
		      "measurements that are older count as not measured; 0 = none is too old")

/* Capacity of a live matrix that a command creates: mesh agent, mesh collect. */
#define ROWS_LIVE_CAPACITY(type, hosts, racks, pairs)                                                                  \
	OPTION_INTEGER(type, hosts, "hosts", 0, "N", 2, 1000000, "capacity of a new live matrix"),                     \
		OPTION_INTEGER(type, racks, "racks", 0, "N", 1, 16384, "capacity of a new live matrix"),               \
		OPTION_INTEGER(type, pairs, "pairs", 0, "N", 1, 268435456,                                             \
			       "capacity of a new live matrix, 88 bytes each")

#endif
