/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bounded queues between tasks, as a fluid model: rates react to a change only after the queues in between have filled
 * or drained.
 *
 * Every flow has a queue at the start of its route. The queue holds the data that the sender has sent and the receiver
 * has not received. A queue that is filling or draining is called cut: its two sides have different rates. The sender
 * fills it at the rate that the sender's own inputs allow. It drains at the rate that the network and the receiver
 * accept, as if it were a source; in the max-min fair sharing it has the weight that its data would have without the
 * queue. A queue that is not cut is empty or full, and both sides have the same rate: an empty queue passes on its
 * input, a full queue limits its sender. If no queue is cut, the rates are those of network_rates(). An empty queue
 * begins to fill when a resource behind it limits its senders; a full queue begins to drain when no resource behind it
 * does.
 *
 * Rates are constant between events. An event is a queue that becomes full or empty, or a change from outside. Jobs
 * must not have cycles: a cycle of full queues would deadlock. One thread. Private.
 */
#ifndef SCHED_DATAFLOW_BUFFERS_H
#define SCHED_DATAFLOW_BUFFERS_H

#include "loads.h"
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

/* Returns the seconds until the next queue is full or empty at the present rates; INFINITY: none will be. */
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
 * Computes the rates of all running jobs of the network at this event. jobs[j]: the queues of the network's job j;
 * queues_rate() then returns the rates of its sources. A source sends at most local_MBps. Returns 0 or -ENOMEM.
 */
int buffers_solve(struct buffers *buffers, struct network *network, struct queues *const *jobs, double local_MBps);

#endif
