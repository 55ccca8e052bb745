/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A journal (model/journal.h) as a workload to simulate. Machines keep their racks, pods and slots, and jobs their
 * curves; the root is the first task of its job. A task is submitted at its first submission. It runs for the `run_us`
 * of that event; without it, for the sum of the times from running to ended (or to waiting again); if it still runs at
 * the end of the journal, to the end of the simulation. Tasks that never ran are left out, and counted in `left_out`.
 * Decisions are not replayed. Round trips become the workload's latencies. A job's id is its name if that is a decimal
 * number, else a hash of the name. Draining machines, and those without slots, take no tasks and count as removed.
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
 * Adds the journal to a workload before workload_finish(); the curves that the journal defines go into the library.
 * Returns 0, or -errno with err set: "file:line: ...", or nothing to simulate.
 */
int journal_read_workload(struct workload *workload, struct curve_library *library, struct file_lines *lines,
			  struct journal_counts *counts, struct error *err);

#endif
