/* SPDX-License-Identifier: BSD-3-Clause */
/* rows.c keeps the rows and knows which racks of them are out of date; row_mend.c computes. */
#ifndef COST_ROWS_PRIV_H
#define COST_ROWS_PRIV_H

#include <sched/cost/rows.h>

struct cached_row {
	struct cost_row row; /* first: what callers see */
	uint32_t machine_room, rack_room, span_room, changed_room;
	uint32_t dirty_count; /* racks to be computed again; the layout's rack_count: all */
	uint32_t top_count;   /* racks whose largest cost is `top`; at least one once the row was computed */
	uint16_t top;         /* largest cost of all machines; 0 without any */
	uint64_t *dirty;      /* bits by rack */
	uint64_t *tops;       /* bits by rack: its largest cost is `top` */
	uint64_t bits[];
};

struct curve_rows {
	struct cost_table *table;
	struct cached_row **by_root; /* [machines] NULL = not cached */
	uint32_t *jobs;              /* [machines] with this curve and their root there */
};

struct cost_rows {
	const struct cost_layout *layout;
	struct cost_source source;
	struct cost_rows_settings settings;
	const struct cost_kernel *kernel;
	struct curve_rows *curves;
	int32_t curve_count;
	uint32_t *rows_at;       /* [machines] rows by this root, of all curves: most machines have none */
	uint64_t kept;           /* rows in all */
	uint8_t *absent;         /* [machines] */
	uint32_t absences;       /* how many are */
	float *rtt_us;           /* [columns] scratch */
	uint16_t *cost;          /* [columns] scratch */
	uint16_t *rack_cost;     /* [racks] scratch */
	struct arc *chosen;      /* [machines + 1] scratch */
	struct cost_span *spans; /* [racks + 1] scratch */
	uint64_t versions;       /* given out so far */
	struct cost_rows_work work;
};

static inline uint32_t bit_words(uint32_t racks)
{
	return (racks + 63) / 64;
}

/* Round trips of the columns into the scratch; those of absent machines are negative. */
void rows_fetch(struct cost_rows *rows, uint32_t root, uint32_t first, uint32_t count);
/* Computes what is dirty. 0 or -ENOMEM. */
int rows_refresh(struct cost_rows *rows, const struct cost_table *table, struct cached_row *cached);

#endif
