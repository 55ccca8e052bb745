/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A journal (model/journal.h) as a workload to simulate. Machines keep their racks, pods and slots, and jobs their
 * curves; the root is the first task of its job. A task is submitted at its first submission. Its run time is the
 * `run_us` of that event. If the event has none, the run time is the sum of the times from running to ended (or to
 * waiting again); a task that still runs at the end of the journal then runs to the end of the simulation. Tasks that
 * never ran are left out, and counted in `left_out`. Decisions are not replayed. Round trips become the workload's
 * latencies. A job's id is its name if that is a decimal number, else a hash of the name. Draining machines, and those
 * without slots, take no tasks and count as removed.
 */
#ifndef MODEL_JOURNAL_WORKLOAD_H
#define MODEL_JOURNAL_WORKLOAD_H

#include <base/error.h>
#include <base/file.h>
#include <model/curve_library.h>
#include <model/workload.h>

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
