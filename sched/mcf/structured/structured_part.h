/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Of a row's arcs, those that a change makes leave or gives another cost are parted from the others. A row has a
 * hundred arcs and more of which a change names a few, strewn among them: that is one look at each, sixteen at a time
 * where the processor can.
 */
#ifndef STRUCTURED_PART_H
#define STRUCTURED_PART_H

#include "structured_priv.h"

/* An arc that is parted from its row, and its place in its target's list of references. */
struct parted_arc {
	int32_t target, back;
};

/* A row that is being parted. */
struct parting {
	struct arc *arcs; /* those that stay close up, in their order */
	struct tie *ties; /* none is limited */
	int32_t *wanted;  /* [columns] as in struct structured; of an arc that stays, its cost is no longer wanted */
	struct block *blocks;
	struct parted_arc *left; /* [as many as there are arcs, and PART_SLACK] */
	int32_t kept, left_count;
};

enum { PART_SLACK = 16 };

/* Arcs 0..count-1; `kept` and `left_count` begin as 0. */
void part_arcs(struct parting *parting, int32_t count);

/* Its two ways; of the first, arcs first..end-1. */
void part_portable(struct parting *parting, int32_t first, int32_t end);
#if defined(__x86_64__)
void part_avx512(struct parting *parting, int32_t count);
#endif

#endif
