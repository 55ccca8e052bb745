/* SPDX-License-Identifier: BSD-3-Clause */
/* For the readers of Spark's and Storm's jobs: a dataflow without jobs, and what an edge should be. */
#ifndef TESTS_MODEL_DATAFLOW_EDGES_H
#define TESTS_MODEL_DATAFLOW_EDGES_H

#include <criterion/criterion.h>
#include <model/dataflow.h>

static inline struct dataflow *empty(void)
{
	return dataflow_create(topology_fat_tree(4, 0, 100, NULL), 2);
}

static inline void expect_edge(const struct dataflow_job *job, uint32_t e, const char *from, const char *to,
			       double selectivity)
{
	cr_assert_lt(e, job->edge_count);
	cr_expect_str_eq(job->components[job->edges[e].from].name, from);
	cr_expect_str_eq(job->components[job->edges[e].to].name, to);
	cr_expect_eq(job->edges[e].grouping, DATAFLOW_SHUFFLE);
	cr_expect_float_eq(job->edges[e].selectivity, selectivity, 1e-12);
}

#endif
