/* SPDX-License-Identifier: BSD-3-Clause */
/* Gaps between two clock readings of a loop: hiccups and stalls. */
#include "line_priv.h"

void worker_note_gap(struct worker *worker, uint64_t gap)
{
	bool stall = gap > worker->stall_gap_cycles;

	worker->hiccups += !stall;
	worker->stalls += stall;
	worker->stall_cycles += stall ? gap : 0;
	if (stall && gap > worker->stall_longest_cycles)
		worker->stall_longest_cycles = gap;
	/* worker->last_look is the end of the gap, so last_look - gap is its start. */
	if (stall && worker->transmit_since == worker->last_look - gap)
		worker->stall_transmit_cycles += worker->transmit_cycles;
	for (unsigned int i = 0; i < worker->line_count; i++) {
		struct line *line = worker->lines[i];

		line->unsettled = line->gap = true;
		if (!stall)
			continue;
		line->disturbed_head = line->head;
		line->disturbed_sequence = line->sequence;
	}
}
