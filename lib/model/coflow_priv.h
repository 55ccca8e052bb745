/* SPDX-License-Identifier: BSD-3-Clause */
/* A trace of the coflow benchmark, for the code that converts it (coflow.c, dataflow_coflow.c). Private. */
#ifndef MODEL_COFLOW_PRIV_H
#define MODEL_COFLOW_PRIV_H

#include <stddef.h>
#include <stdint.h>

struct coflow_reducer {
	uint32_t port;
	double MB;
};

struct coflow {
	int64_t id;
	double arrival_s;
	size_t first_mapper, mapper_count, first_reducer, reducer_count;
};

/* Ports have the numbers of the file, which begin with first_port (0 or 1). */
struct coflow_trace {
	uint32_t port_count, first_port;
	uint64_t flow_count;
	struct coflow *coflows;
	uint32_t *mappers; /* port of each mapper */
	struct coflow_reducer *reducers;
	size_t coflow_count, mapper_count, reducer_count;
	size_t coflow_capacity, mapper_capacity, reducer_capacity;
};

#endif
