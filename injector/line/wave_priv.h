/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A jitter that keeps packets in order and has a given distribution. Independent jitters cannot: packets that come
 * faster than the jitter is long would wait for each other, which changes the distribution. So the jitter is a function
 * of time, the wave, which falls by at most half a microsecond per microsecond: no packet can overtake an earlier one,
 * at any packet rate.
 *
 * The wave walks over the cells of the quantile table, which all have the same probability. It starts at the cell where
 * the distribution is densest, walks up to a random cell and back, then down to a random cell and back, and so on. It
 * takes longer to cross a cell that is wider, w, by at least the order's factor; so the wave crosses it with a
 * probability proportional to 1 / w. Then it spends the same time in all cells, which makes the distribution. (That is
 * slice sampling, walked at constant speed: Neal 2003, Annals of Statistics 31(3); with cells of any width, it is a
 * zig-zag process: Bierkens, Fearnhead, Roberts 2019, Annals of Statistics 47(3).) Going outwards, the time per cell
 * never decreases, so that one random number decides how far a wave goes; where the distribution becomes denser again,
 * the wave is slower than it must be. Each wave has its own random speed, as regular waves would repeat themselves to
 * packets at regular intervals. The speed is independent of the way and cancels out.
 *
 * After a pause longer than the range of the jitter, any jitter keeps the order: the wave then starts again at a random
 * point. So slow packets have independent jitters, and no packet has to compute many waves.
 *
 * One thread. No allocation, system call or floating point after wave_init().
 */
#ifndef LINE_WAVE_PRIV_H
#define LINE_WAVE_PRIV_H

#include <stdbool.h>
#include <stdint.h>

#include <base/rng.h>

#include "mode_priv.h"

/* Maximum number of blocks; block_end() in wave.c makes 146. */
enum { WAVE_BLOCKS = 160 };

/*
 * The cells above, or below, the cell at which waves start, as blocks of cells that the wave crosses at the same speed;
 * counted outwards.
 */
struct wave_side {
	uint32_t blocks;
	uint32_t cells[WAVE_BLOCKS + 1];           /* cells before the block */
	uint64_t times_q16[WAVE_BLOCKS + 1];       /* cycles from the start to the block, at the pace 1, in 1/2^16 */
	uint64_t cells_per_cycle_q32[WAVE_BLOCKS]; /* at the pace 1 */
	uint64_t reach[WAVE_BLOCKS];               /* probability that a wave crosses the block, in 1/2^64 */
};

struct wave {
	const int64_t *quantiles;  /* [DISTRIBUTION_CELLS + 1], cycles; borrowed */
	uint32_t start_cell;       /* waves start at the lower end of this cell */
	struct wave_side sides[2]; /* cells from start_cell on upwards; below it, downwards */
	uint64_t pause;            /* cycles without packets after which the wave starts again */
	uint64_t last;             /* TSC of the last packet */
	/* the current wave */
	uint64_t start, end;         /* TSC */
	uint64_t cells_per_cell_q32; /* 1 / pace */
	uint32_t fraction_q16;       /* of a cycle, by which the waves so far were too short */
	uint32_t turn;               /* it crosses the blocks before this one */
	uint32_t block;              /* at the last packet */
	bool down;
};

/*
 * `quantiles`: ascending, cycles, borrowed; `widths`: the differences between successive ones, cycles, exact. `slower`
 * (>= 1) makes all waves, and the pause, longer by this factor.
 */
void wave_init(struct wave *wave, const int64_t quantiles[DISTRIBUTION_CELLS + 1],
	       const double widths[DISTRIBUTION_CELLS], double slower);

/* Returns the mean time of a wave from its start to its end, cycles. */
double wave_mean_cycles(const struct wave *wave);

/* Returns the jitter, cycles, of a packet that arrives at `now` (TSC). */
int64_t wave_follow(struct wave *wave, uint64_t now, struct rng *rng);

/* Returns the value at `position`, in 1/2^16 of a cell. */
static inline int64_t wave_value(const int64_t *quantiles, uint32_t position_q16)
{
	const int64_t *value = &quantiles[position_q16 >> 16];

	/* the last quantile has no successor */
	return (position_q16 & 0xffff) ? value[0] + ((value[1] - value[0]) * (int64_t)(position_q16 & 0xffff) >> 16)
				       : value[0];
}

/* Returns a random position, in 1/2^16 of a cell. */
static inline uint32_t wave_random_position(struct rng *rng)
{
	return (uint32_t)(rng_next(rng) >> (64 - DISTRIBUTION_CELL_BITS - 16));
}

#endif
