/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/event_queue.h>

#include <errno.h>
#include <stdlib.h>

#include <base/array.h>

static bool is_before(const struct event *a, const struct event *b)
{
	return a->time != b->time ? a->time < b->time : a->order < b->order;
}

void event_queue_free(struct event_queue *queue)
{
	free(queue->events);
	*queue = (struct event_queue){0};
}

int event_queue_add(struct event_queue *queue, int64_t time, uint32_t kind, uint32_t subject, uint64_t detail)
{
	struct event event = {time, queue->added, kind, subject, detail};
	struct event *larger = array_grow(queue->events, queue->count, &queue->capacity, sizeof *queue->events);
	size_t at = queue->count;

	if (!larger)
		return -ENOMEM;
	queue->events = larger;
	queue->count++;
	queue->added++;
	for (; at > 0 && is_before(&event, &larger[(at - 1) / 2]); at = (at - 1) / 2)
		larger[at] = larger[(at - 1) / 2];
	larger[at] = event;
	return 0;
}

bool event_queue_take(struct event_queue *queue, int64_t until, struct event *event)
{
	struct event *events = queue->events;
	struct event last;
	size_t at = 0, child;

	if (queue->count == 0 || events[0].time > until)
		return false;
	*event = events[0];
	last = events[--queue->count];
	for (; (child = 2 * at + 1) < queue->count; at = child) {
		if (child + 1 < queue->count && is_before(&events[child + 1], &events[child]))
			child++;
		if (!is_before(&events[child], &last))
			break;
		events[at] = events[child];
	}
	events[at] = last;
	return true;
}
