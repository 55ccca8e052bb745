/* SPDX-License-Identifier: BSD-3-Clause */
/* Random jobs and networks for the tests of dataflow. */
#ifndef TESTS_DATAFLOW_WORLD_H
#define TESTS_DATAFLOW_WORLD_H

#include <base/rng.h>
#include <sched/dataflow/engine.h>

/* A random acyclic job of 2 to `components` components with 1 or 2 tasks each. The last component is a sink. */
struct dataflow_job world_job(struct rng *rng, uint32_t components);

/* A network of `topology` with `slots` on every host, without CPU limits. */
struct network *world_network(const struct topology *topology, uint32_t slots);

/* Places and starts a job; asserts that this succeeds. Returns what engine_place() predicted. */
struct engine_answer world_start(struct network *network, struct dataflow_job *job, struct dataflow_graph *graph,
				 const char *engine, uint64_t seed);

#endif
