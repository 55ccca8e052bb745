/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The journal of a scheduler, `nomora.journal/1` (docs/formats.md): JSON lines of machines, curves, jobs, tasks, round
 * trips and decisions in the order in which they happened. The live scheduler and the simulator write it; the simulator
 * replays it. The first line names the schema; each other line is one event:
 *
 *   {"schema": "nomora.journal/1", "origin_s": 1795188663.25, "default_rtt_us": {"same_machine": 1, ...}}
 *   {"t_us": 0, "event": "machine", "machine": "h1", "rack": "r1", "pod": "p1", "slots": 4, "state": "up"}
 *   {"t_us": 0, "event": "job", "job": "web", "curve": "memcached", "root": "server"}
 *   {"t_us": 0, "event": "task", "job": "web", "task": "server", "state": "waiting"}
 *   {"t_us": 7, "event": "decision", "decision": "place", "sequence": 1, "job": "web", "task": "server", "to": "h1"}
 *
 * Times are microseconds since origin_s (seconds since the epoch, 0 = virtual time) and never go back. A writer that
 * dies leaves at most one incomplete line, the last, which readers leave out. One thread.
 */
#ifndef MODEL_JOURNAL_H
#define MODEL_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <base/error.h>
#include <base/file.h>
#include <base/json.h>
#include <model/cluster.h>
#include <model/curve_library.h>
#include <model/workload.h>

#define JOURNAL_SCHEMA "nomora.journal/1"

/* Kinds of events. Each comment begins with the fields of struct journal_event that the kind uses. */
enum journal_kind {
	JOURNAL_MACHINE,  /* machine, rack, pod, slots, machine_state: a machine is new, changes or is removed */
	JOURNAL_CURVE,    /* curve, definition: the definition of a curve, valid from now on */
	JOURNAL_JOB,      /* job, curve, task (the job's root), gang, graph; comes before the job's tasks */
	JOURNAL_TASK,     /* job, task, task_state, machine, run_us */
	JOURNAL_LATENCY,  /* machine (source), pairs */
	JOURNAL_DECISION, /* decision, sequence, job, task, from, to, rtt_us, performance, gain */
	JOURNAL_CALL,     /* definition: a call of the live scheduler, see <sched/live/calls.h> */
	JOURNAL_KINDS,
};

enum journal_machine_state { JOURNAL_UP, JOURNAL_DRAINING, JOURNAL_DOWN, JOURNAL_REMOVED };
enum journal_task_state {
	JOURNAL_WAITING, /* submitted, or waiting again */
	JOURNAL_RUNNING, /* on `machine` */
	JOURNAL_ENDED,   /* finished or cancelled */
	JOURNAL_FAILED,  /* the task failed and is not started again */
};
enum journal_decision { JOURNAL_PLACE, JOURNAL_MOVE, JOURNAL_PREEMPT, JOURNAL_ADVICE };

enum {
	JOURNAL_RUN_UNKNOWN = -2, /* run_us: not known; readers compute it from the task's running and ended events */
	JOURNAL_RUN_TO_THE_END = -1, /* run_us: the task runs to the end of the journal */
};

/* A measured round trip between two machines, the larger of its values in the two directions. */
struct journal_pair {
	const char *to;
	double rtt_us; /* NAN = the measurement is withdrawn; INFINITY = unreachable */
};

/* Fields that this kind does not use are NULL, 0 or NAN. */
struct journal_event {
	enum journal_kind kind;
	int64_t time_us;
	const char *machine, *rack, *pod;
	uint32_t slots;
	enum journal_machine_state machine_state;
	const char *curve, *definition; /* definition: JSON text of nomora.curve/1, or of a call */
	const char *job, *task;
	uint32_t gang; /* of a job: number of its tasks that start together with the root; 0: each starts when it can */
	json_t *graph; /* of a job: its edges, [name, name, weight], borrowed; NULL: all tasks talk to the root */
	enum journal_task_state task_state;
	int64_t run_us; /* total run time of a submitted task; known only in simulations */
	const struct journal_pair *pairs;
	size_t pair_count;
	enum journal_decision decision;
	uint64_t sequence;
	const char *from, *to;            /* names of machines; NULL = the task waits */
	double rtt_us, performance, gain; /* NAN = none */
};

/* These append to a stream. They return false if out of memory or if the stream has an error. */
/*
 * default_rtt: round trips of pairs of machines without a measurement; NULL for a simulation that drew its round trips
 * at random.
 */
bool journal_print_header(FILE *out, double origin_s, const struct cluster_default_rtt *default_rtt);
bool journal_print(FILE *out, const struct journal_event *event);

struct journal_reader;
/* Reads the header; the caller closes `lines` after journal_reader_destroy(). Returns NULL with err set on failure. */
struct journal_reader *journal_reader_create(struct file_lines *lines, struct error *err);
void journal_reader_destroy(struct journal_reader *reader); /* NULL is legal */
/* Returns NULL if the header has no default round trips. */
const struct cluster_default_rtt *journal_default_rtt(const struct journal_reader *reader);
/*
 * Returns 1 and the next event, whose strings are valid until the next call; 0 at the end; or -errno with err set
 * ("file:line: ...").
 */
int journal_next(struct journal_reader *reader, struct journal_event *event, struct error *err);
/* Returns the header's origin_s, 0 = virtual time. */
double journal_origin_s(const struct journal_reader *reader);
/* To be called at the end: returns true if the last line was incomplete and was left out. */
bool journal_is_cut(const struct journal_reader *reader);

/*
 * A journal (model/journal.h) as a workload to simulate. Machines keep their racks, pods and slots, and jobs their
 * curves; the root is the first task of its job. A task is submitted at its first submission. Its run time is the
 * `run_us` of that event. If the event has none, the run time is the sum of the times from running to ended (or to
 * waiting again); a task that still runs at the end of the journal then runs to the end of the simulation. Tasks that
 * never ran are left out, and counted in `left_out`. Decisions are not replayed. Round trips become the workload's
 * latencies. A job's id is its name if that is a decimal number, else a hash of the name. Draining machines, and those
 * without slots, take no tasks and count as removed.
 */

struct journal_counts {
	uint64_t events, decisions;
	double origin_s; /* time 0, seconds since 1970; 0 = virtual time */
	int64_t last_us; /* time of the last event */
	bool is_cut;     /* the last line was incomplete */
};

/*
 * Adds the journal to the workload, and the curves that it defines to the library; to be called before
 * workload_finish(). Returns 0, or -errno with err set: "file:line: ...", or the journal has nothing to simulate.
 */
int journal_read_workload(struct workload *workload, struct curve_library *library, struct file_lines *lines,
			  struct journal_counts *counts, struct error *err);

#endif
