/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rows.c caches the rows and knows which racks of each row are dirty (must be computed again); row_update.c computes
 * rows; row_read.c looks up arcs in a row.
 */
#ifndef COST_ROWS_PRIV_H
#define COST_ROWS_PRIV_H

#include <sched/cost/rows.h>

struct cached_row {
	struct cost_row row;     /* first: callers see a pointer to it */
	struct cached_row *next; /* next row with the same root */
	int32_t curve;
	uint32_t jobs; /* number of jobs that cost_rows_root_came() has reported for this row and that have not left */
	uint32_t machine_room, rack_room, span_room, changed_room; /* allocated elements of the arrays of `row` */
	uint32_t dirty_count;   /* number of dirty racks; ROW_ALL_DIRTY: all racks are dirty */
	bool cut;               /* arcs were left out, see "Long rows" in rows.h */
	uint32_t whole_count;   /* machine_count when the whole row was computed last */
	uint64_t all_moved;     /* cost_rows.all_moved when the row was last brought up to date */
	uint32_t top_count;     /* number of racks whose largest cost is `top`; not 0 after the first computation */
	uint16_t top;           /* largest cost of all machines; 0 without any */
	uint32_t partial_count; /* number of bits in `partial` */
	/*
	 * a bit per rack. dirty: the rack must be computed again. tops: its largest cost is `top`. partial: the root
	 * cannot reach one of its machines
	 */
	uint64_t *dirty, *tops, *partial;
	uint64_t bits[]; /* the memory of the three */
};

enum { ROW_BIT_SETS = 3 };

#define ROW_ALL_DIRTY UINT32_MAX

struct cost_rows {
	const struct cost_layout *layout;
	struct cost_source source;
	struct cost_rows_settings settings;
	const struct cost_kernel *kernel;
	struct cost_table **tables; /* [curve_count] by curve; NULL = the number is unused */
	int32_t curve_count;
	struct cached_row **first_of_root; /* [machine_room] by root: its first row */
	uint8_t *present;                  /* [machine_room] by machine: 1 = it is up */
	uint32_t *rack_absences;           /* [rack_room] number of the rack's machines that are absent */
	uint32_t machine_room, rack_room, column_room;
	uint32_t words; /* 64-bit words in a bit set of racks */
	uint64_t kept;  /* number of cached rows */
	float *rtt_us;  /* [column_room] scratch */
	uint16_t *cost; /* [column_room] scratch */
	/* [rack_room + COST_LANES] scratch: largest cost in each rack; the next three have the same size */
	uint16_t *rack_cost;
	uint16_t *least_cost; /* scratch: least cost in each rack */
	float *least_us, *most_us;
	struct arc *chosen;      /* [column_room + 1] scratch */
	struct arc *rack_arcs;   /* [rack_room] scratch */
	struct cost_span *spans; /* [rack_room + 1] scratch */
	uint64_t versions;       /* number of versions assigned so far */
	uint64_t all_moved;      /* number of calls of cost_rows_all_moved() */
	struct cost_rows_work work;
};

/* Reads round trips to the racks rack..end-1 into the scratch space; those to absent machines are negative. */
void rows_fetch(struct cost_rows *rows, uint32_t root, uint32_t rack, uint32_t end);
/* Computes the row's dirty racks. Returns 0 or -ENOMEM. */
int row_update(struct cost_rows *rows, struct cached_row *cached);

/* row_read.c: return the index of the first span, or of the first rack arc, at or after the rack. */
uint32_t row_find_span(const struct cost_row *row, uint32_t rack);
uint32_t row_find_rack(const struct cost_row *row, uint32_t rack);

#endif
