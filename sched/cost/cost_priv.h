/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this room share: vector kernels, maps of pairs, latency views, and rows of costs. */
#ifndef COST_COST_PRIV_H
#define COST_COST_PRIV_H

#include <stddef.h>
#include <stdint.h>

#include <sched/cost/kernel.h>
#include <sched/cost/latency_view.h>
#include <sched/cost/rows.h>

/* The vector kernel; contract in cost/kernel.h. Call it only if its usable() returns true. */

/* Added to 16-bit costs before taking a maximum: COST_ABSENT then wraps around to 0, below every machine's cost. */
enum { COST_MAXIMUM_BIAS = UINT16_MAX + 1 - COST_ABSENT };

#ifdef __x86_64__
bool cost_avx2_usable(void);
void cost_rack_avx2(const struct cost_table *table, const float *rtt_us, uint32_t columns, uint16_t *cost,
		    uint16_t *maximum, uint16_t *minimum);
#endif

/*
 * Stores a float for each unordered pair of numbers 0..limit-1. If `limit` is small, it uses a square matrix, whose
 * rows are contiguous; otherwise a hash table (open addressing, linear probing). Absent pairs read as a negative
 * number. Only one thread may write, and nobody may read meanwhile.
 */

enum { PAIR_MAP_SQUARE_LIMIT = 2048 }; /* 16 MiB */

struct pair_map {
	float *square; /* [limit * limit] or NULL */
	uint32_t limit;
	uint64_t *keys; /* [capacity] 0 = free slot; otherwise pair_key() of the pair */
	float *values;
	uint32_t used, capacity; /* capacity: slots, a power of two, of which at most half are used */
};

static inline uint64_t pair_key(uint32_t a, uint32_t b)
{
	return (a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a) + 1;
}

/*
 * Returns the values of the pairs that contain `a`, indexed by the other number; NULL if the map is a hash table: use
 * pair_map_get().
 */
static inline const float *pair_map_row(const struct pair_map *map, uint32_t a)
{
	return map->square ? map->square + (size_t)a * map->limit : NULL;
}

int pair_map_init(struct pair_map *map, uint32_t limit); /* 0 or -ENOMEM */
int pair_map_grow(struct pair_map *map, uint32_t limit); /* 0 or -ENOMEM; reserves a quarter more than `limit` */
float pair_map_get(const struct pair_map *map, uint32_t a, uint32_t b);
int pair_map_set(struct pair_map *map, uint32_t a, uint32_t b, float value); /* 0 or -ENOMEM */
void pair_map_free(struct pair_map *map);

/*
 * latency_view.c stores measurements, latency_maxima.c maintains the maxima and records changes, latency_read.c reads.
 * Each machine has a row of its measured pairs, sorted by the column of the other machine. So the pairs with the
 * machines of one rack are adjacent. To read a rack, latency_read.c first gives all its machines the rack's value for
 * pairs that were not measured, and then overwrites this value in one pass over the measured pairs.
 */

struct measured_pair {
	uint32_t column; /* column of the pair's other machine */
	uint32_t seen_s; /* time of the last measurement by either end */
	float out_us;    /* round trip measured by this machine; negative = none */
	float in_us;     /* round trip measured by the other machine; negative = none */
};

struct measured_row {
	struct measured_pair *pairs;
	uint32_t count, capacity;
	uint32_t next; /* index after the pair found last: for sorted samples, the next search often ends there */
};

struct latency_view {
	const struct cost_layout *layout;
	struct measured_row *rows; /* [row_count] by machine */
	uint32_t row_count;
	uint64_t pair_entries; /* sum of rows[].count: each pair of different machines counts twice */
	uint64_t moves;        /* layout->moves when the pairs' columns were last updated */
	uint32_t *rack_first;  /* [rack_count + 1] copy of layout->rack_first as of `moves` */
	uint32_t rack_count;
	/* largest round trips between two racks, two pods; unreachable pairs do not count */
	struct pair_map rack_maximum, pod_maximum;
	uint64_t *stale_racks; /* a bit per rack: its maxima may be too large */
	bool any_stale, pods_stale;
	bool measured_only; /* latency_view_require_measured() */
	float *scratch;     /* [rack_count] */
	uint64_t *moved;    /* [row_count][words] a bit for each rack to which the machine's round trips changed */
	uint32_t words;     /* 64-bit words per machine in moved[] */
	uint32_t *moved_list, moved_count; /* [row_count] machines with bits in moved[] */
	uint8_t *is_moved;                 /* [row_count] by machine: 1 = it is in moved_list */
};

static inline float pair_value(const struct measured_pair *pair)
{
	return pair->out_us > pair->in_us ? pair->out_us : pair->in_us;
}

/* Returns the round trip as maxima count it: -1 (not measured) for an unreachable pair. */
static inline float finite_rtt(float rtt_us)
{
	return rtt_us < __builtin_inff() ? rtt_us : -1;
}

static inline uint32_t rack_of(const struct latency_view *view, uint32_t machine)
{
	return view->layout->cluster->machines[machine].rack;
}

static inline uint32_t pod_of(const struct latency_view *view, uint32_t machine)
{
	return view->layout->cluster->racks[rack_of(view, machine)].pod;
}

/* Returns the index of the first pair whose column is at least `column`. */
uint32_t measured_row_find(const struct measured_row *row, uint32_t column);

/* latency_maxima.c */
/* Reports that the pair's value changed from `before` to `after` (negative: not measured). Returns 0 or -ENOMEM. */
int latency_maxima_note(struct latency_view *view, uint32_t a, uint32_t b, float before, float after);
/* Recomputes the maxima that may have fallen. Call it after each batch. Returns 0 or -ENOMEM. */
int latency_maxima_settle(struct latency_view *view);

/*
 * rows.c caches the rows and knows which racks of each row are dirty (must be computed again); row_update.c computes
 * rows; row_read.c looks up arcs in a row.
 */

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
