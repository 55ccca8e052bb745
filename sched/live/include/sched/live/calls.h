/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls of a live state as lines of a journal (events "call", docs/formats.md), and what follows from them again:
 * the same decisions, byte for byte. A journal has segments: each begins with the settings of a daemon that started,
 * and the calls by which it took over its state. One thread.
 */
#ifndef SCHED_LIVE_CALLS_H
#define SCHED_LIVE_CALLS_H

#include <stdint.h>
#include <stdio.h>

#include <base/error.h>
#include <base/file.h>
#include <model/journal.h>
#include <sched/live/live.h>

/* A decision as a journal has it; strings are the decision's. */
void live_decision_event(const struct live_decision *decision, int64_t time_us, struct journal_event *event);

struct live_replayed {
	uint64_t segments, calls;
	uint64_t decisions; /* made again */
	uint64_t recorded;  /* in segments that are whole */
	uint64_t unmade;    /* of these, not made again, or otherwise */
	uint64_t left_out;  /* recorded before the first segment that is whole */
	double performance; /* predicted, mean over seconds and tasks but roots; NAN: no sample */
	char first[512];    /* the first that differs, as recorded and as made; "" */
};

/*
 * Repeats a journal's calls and compares the decisions. `made`, unless NULL, gets them as the journal has them. 0, or
 * -errno with err set: a bad line.
 */
int live_replay(struct file_lines *lines, FILE *made, struct live_replayed *replayed, struct error *err);

#endif
