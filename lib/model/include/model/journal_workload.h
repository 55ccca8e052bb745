/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A journal (model/journal.h) as a workload to simulate. Machines keep their racks, pods and slots; jobs their curves;
 * the root is the first task. A task counts from its first submission; it runs for the `run_us` that its submission
 * says, else for the sum of the times between running and ended (or waiting again), else, still running, to the end.
 * Tasks that never ran are left out and counted by workload_finish(). Decisions are not replayed. Round trips become
 * the workload's latencies; a job's id is its name if that is a decimal number, else a hash of it. Draining machines,
 * and those without slots, take no tasks and count as removed.
 */
#ifndef MODEL_JOURNAL_WORKLOAD_H
#define MODEL_JOURNAL_WORKLOAD_H

#include <base/error.h>
#include <base/file.h>
#include <model/curve_library.h>
#include <model/workload.h>

struct journal_counts {
	uint64_t events, decisions;
	bool is_cut; /* the last line was incomplete */
};

/*
 * Adds the journal to a workload that is not finished; curves that it defines go into the library. 0 or -errno with err
 * set: "file:line: ...", or nothing to simulate.
 */
int journal_read_workload(struct workload *workload, struct curve_library *library, struct file_lines *lines,
			  struct journal_counts *counts, struct error *err);

#endif
