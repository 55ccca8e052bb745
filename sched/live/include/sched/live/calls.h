/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls of a live state as lines of a journal (events "call", docs/formats.md), and their replay, which makes the
 * same decisions, byte for byte. A journal has segments: each begins with the settings of a starting daemon, and the
 * calls by which it restored its state. If the oldest lines of a journal were removed, the beginning of its first
 * segment is missing; that segment is incomplete and cannot be replayed. One thread.
 */
#ifndef SCHED_LIVE_CALLS_H
#define SCHED_LIVE_CALLS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <base/error.h>
#include <base/file.h>
#include <model/journal.h>
#include <sched/live/live.h>

/* Sets *event to the journal event of a decision. Its strings belong to the decision. */
void live_decision_event(const struct live_decision *decision, int64_t time_us, struct journal_event *event);

struct live_replayed {
	uint64_t segments, calls;
	uint64_t decisions; /* number of decisions that the replay made */
	uint64_t recorded;  /* number of decisions recorded in complete segments */
	uint64_t unmade;    /* number of recorded decisions that are missing or different in the replay */
	uint64_t left_out;  /* number of decisions recorded before the first complete segment, which are not compared */
	/*
	 * jobs: number of jobs with a sample of performance. Performance, computed as in the simulator
	 * (<sched/explain/performance.h>); NAN: no sample.
	 * - area: mean over jobs of the job's average performance
	 * - area_worst: mean over jobs of the average performance of the job's worst task
	 * - task_mean: mean over all samples of all tasks
	 */
	uint64_t jobs;
	double area, area_worst, task_mean;
	char first[512]; /* the first decision that differs, as recorded and as replayed; "": none differs */
};

/*
 * Repeats a journal's calls and compares the decisions. Writes the replay's decisions to `made`, if it is not NULL, in
 * the journal's format. Returns 0, or -errno with err set, for example if a line is invalid.
 */
int live_replay(struct file_lines *lines, FILE *made, struct live_replayed *replayed, struct error *err);

/* Like live_replay(), for the file `journal`. Writes the replay's decisions to the file `record` if it is not NULL. */
int live_replay_file(const char *journal, const char *record, struct live_replayed *replayed, struct error *err);
bool live_replayed_differs(const struct live_replayed *replayed);
/* Returns the result as nomora.replay/1; NULL: out of memory. */
json_t *live_replayed_to_json(const struct live_replayed *replayed);
void live_replayed_print(const struct live_replayed *replayed, FILE *out);

#endif
