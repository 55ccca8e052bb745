/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event queue of a simulator: a binary heap by time. Events of equal time leave in the order in which they were
 * added, so that a simulation is the same on every machine. Times are in the caller's unit. One thread.
 *
 * A zeroed struct is an empty queue.
 */
#ifndef BASE_EVENT_QUEUE_H
#define BASE_EVENT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event {
	int64_t time;
	uint64_t order;         /* set by event_queue_add() */
	uint32_t kind, subject; /* values of the caller, which the queue does not use */
	uint64_t detail;        /* value of the caller, which the queue does not use */
};

struct event_queue {
	struct event *events; /* heap */
	size_t count, capacity;
	uint64_t added;
};

void event_queue_free(struct event_queue *queue);

/* Adds an event. Returns 0 or -ENOMEM. O(log n). */
int event_queue_add(struct event_queue *queue, int64_t time, uint32_t kind, uint32_t subject, uint64_t detail);

/* Returns the earliest event, NULL if the queue is empty. It is valid until the queue is changed. O(1). */
static inline const struct event *event_queue_first(const struct event_queue *queue)
{
	return queue->count ? &queue->events[0] : NULL;
}

/* If the earliest event's time is at most `until`, moves the event to *event and returns true. O(log n). */
bool event_queue_take(struct event_queue *queue, int64_t until, struct event *event);

#endif
