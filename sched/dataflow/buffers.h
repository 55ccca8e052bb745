/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bounded queues between tasks, as a fluid model. When a resource becomes a bottleneck, a source slows down only after
 * the queues between them have filled.
 *
 * Every flow has a queue at the start of its route. The queue holds the data that the sender has sent and the receiver
 * has not received.
 *
 * A queue that fills or drains is called cut, because its input and its output have different rates:
 * - Input: the sender adds data at the rate that the sender's own inputs allow.
 * - Output: the queue sends like a source, at the rate that the network and the receiver accept. Its weight in the
 *   max-min fair sharing is the weight that its data would have without the queue.
 *
 * A queue that is not cut is empty or full, and its input and output have the same rate: an empty queue passes on its
 * input, a full queue limits its sender. If no queue is cut, the rates are those of network_rates(). An empty queue
 * begins to fill when a resource downstream of it limits its flow. A full queue begins to drain when no resource
 * downstream limits its flow.
 *
 * Rates are constant between events. An event is a queue that becomes full or empty, or a change by the caller. Jobs
 * must not have cycles: a cycle of full queues would deadlock. Use from one thread. Private.
 */
#ifndef SCHED_DATAFLOW_BUFFERS_H
#define SCHED_DATAFLOW_BUFFERS_H

#include "network_priv.h"

/* The queues of one job. */
struct queues;

/*
 * Creates empty queues; job and graph are borrowed. Returns NULL with err set: -EINVAL if the job has a cycle, or
 * -ENOMEM.
 */
struct queues *queues_create(const struct dataflow_job *job, const struct dataflow_graph *graph, double capacity_MB,
			     struct error *err);
void queues_destroy(struct queues *queues); /* NULL is legal */

/* Returns the seconds until a queue becomes full or empty at the present rates, or INFINITY if all stay as they are. */
double queues_next_s(const struct queues *queues);
void queues_advance(struct queues *queues, double seconds);
double queues_MB(const struct queues *queues);                    /* data in all queues of the job, MB */
double queues_rate(const struct queues *queues, uint32_t source); /* MB/s that a source sends */

/* Work space of buffers_solve(); initially all zero. */
struct buffers {
	struct loads loads;
	double *rate;
	uint32_t *bottleneck;
	size_t rate_capacity, bottleneck_capacity;
};
void buffers_free(struct buffers *buffers);

/*
 * Computes the rates of all running jobs after an event. jobs[j]: the queues of job j of network_jobs(). Afterwards
 * queues_rate() returns the rates of the job's sources. Returns 0 or -ENOMEM.
 */
int buffers_solve(struct buffers *buffers, struct network *network, struct queues *const *jobs);

#endif
