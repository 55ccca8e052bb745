/* SPDX-License-Identifier: BSD-3-Clause */
/* Option rows for latency matrices; `field` is the settings' field as in OPTION_DOUBLE(). */
#ifndef MODEL_OPTION_ROWS_H
#define MODEL_OPTION_ROWS_H

#include <base/options.h>

/* Age above which measurements do not count. Used by the commands place, schedd and mesh serve. */
#define ROW_MAX_AGE(type, field)                                                                                       \
	OPTION_DOUBLE(type, field, "max-age", 0, "S", 0, 1e9,                                                          \
		      "treat measurements older than S seconds as not measured; 0 = no limit")

/* Capacity of the live matrix that a command creates. Used by mesh agent and mesh collect. */
#define ROWS_LIVE_CAPACITY(type, hosts, racks, pairs)                                                                  \
	OPTION_INTEGER(type, hosts, "hosts", 0, "N", 2, 1000000, "capacity of a new live matrix"),                     \
		OPTION_INTEGER(type, racks, "racks", 0, "N", 1, 16384, "capacity of a new live matrix"),               \
		OPTION_INTEGER(type, pairs, "pairs", 0, "N", 1, 268435456,                                             \
			       "capacity of a new live matrix, 88 bytes per pair")

#endif
