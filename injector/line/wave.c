/* SPDX-License-Identifier: BSD-3-Clause */
#include "wave_priv.h"

#include <math.h>

#include "mode_priv.h"

__extension__ typedef unsigned __int128 wide;

enum {
	/*
	 * Range of a wave's pace, in 1/65536: 2 to 4 us of time per us of jitter. At 1 us/us, all packets of a falling
	 * wave would leave together; at 1/2, they leave twice as fast as they came. Slower waves only make the jitter
	 * of successive packets more alike.
	 */
	PACE_BITS = 16,
	PACE_LEAST = 2 << PACE_BITS,
	PACE_MOST = 4 << PACE_BITS,
	/*
	 * A pause has at most about a third as many waves. Limits the time that one packet can take: 0.2 us with a law
	 * that has many equal values, against 1.1 us at 1024.
	 */
	WAVES_PER_PAUSE = 64,
};

/*
 * Returns the end of the block that begins at `cell`: a block has an eighth of the cells to the nearer end of the
 * table, so that the widths of its cells are similar. Tables from files are uneven, so a block of one cell would be too
 * short.
 */
static uint32_t block_end(uint32_t cell)
{
	uint32_t cells = MIN(cell, DISTRIBUTION_CELLS - cell) / 8;

	return cell + (cells > 0 ? cells : 1);
}

static double widest(const double *widths, uint32_t from, uint32_t to)
{
	double most = 0;

	for (uint32_t i = from; i < to; i++)
		most = fmax(most, widths[i]);
	return most;
}

/* Adds a block of cells that take `cycles` each; `least` is the time of a cell at the start. */
static void add_block(struct wave_side *side, uint32_t cells, double cycles, double least)
{
	uint32_t block = side->blocks++;
	double share = least / cycles;

	side->cells[block + 1] = side->cells[block] + cells;
	side->times_q16[block + 1] = side->times_q16[block] + (uint64_t)fmin(ldexp(cells * cycles, 16), 0x1p56);
	side->cells_per_cycle_q32[block] = (uint64_t)ldexp(1 / cycles, 32);
	side->reach[block] = share < 1 ? (uint64_t)ldexp(share, 64) : UINT64_MAX;
}

static void add_sides(struct wave *wave, const uint32_t *starts, const double *cycles, uint32_t blocks, uint32_t start)
{
	double slowest = cycles[start];

	for (uint32_t i = start; i < blocks; i++) {
		slowest = fmax(slowest, cycles[i]);
		add_block(&wave->sides[0], starts[i + 1] - starts[i], slowest, cycles[start]);
	}
	slowest = cycles[start];
	for (uint32_t i = start; i-- > 0;) {
		slowest = fmax(slowest, cycles[i]);
		add_block(&wave->sides[1], starts[i + 1] - starts[i], slowest, cycles[start]);
	}
	wave->start_cell = starts[start];
}

void wave_init(struct wave *wave, const int64_t quantiles[DISTRIBUTION_CELLS + 1],
	       const double widths[DISTRIBUTION_CELLS], double slower)
{
	double range = (double)(quantiles[DISTRIBUTION_CELLS] - quantiles[0]), cycles[WAVE_BLOCKS] = {0};
	double floor = fmax(range / DISTRIBUTION_CELLS / WAVES_PER_PAUSE, 0x1p-10), least = INFINITY;
	uint32_t starts[WAVE_BLOCKS + 1] = {0}, blocks = 0, start = 0;

	*wave = (struct wave){.quantiles = quantiles, .pause = (uint64_t)(range * slower)};
	wave->last = -wave->pause; /* the first packet comes after a pause */
	for (; starts[blocks] < DISTRIBUTION_CELLS; blocks++) {
		starts[blocks + 1] = block_end(starts[blocks]);
		cycles[blocks] = slower * fmax(widest(widths, starts[blocks], starts[blocks + 1]), floor);
		least = fmin(least, cycles[blocks]);
	}
	while (cycles[start] > least * 1.001) /* equal widths are not exactly equal */
		start++;
	add_sides(wave, starts, cycles, blocks, start);
}

double wave_mean_cycles(const struct wave *wave)
{
	/* A cell takes its time with the probability least / time: all take the same time a wave on their side. */
	double cycles = 0;
	unsigned int sides = 0;

	for (unsigned int i = 0; i < 2; i++) {
		const struct wave_side *side = &wave->sides[i];

		for (uint32_t k = 0; k < side->blocks; k++)
			cycles += ldexp((double)side->reach[k], -64) *
				  ldexp((double)(side->times_q16[k + 1] - side->times_q16[k]), -16);
		sides += side->blocks > 0;
	}
	return 2 * cycles / sides * (PACE_LEAST + PACE_MOST) / 2 / (1 << PACE_BITS);
}

/* Returns the first block that a wave with the random number `v` does not cross. */
static uint32_t turn_of(const struct wave_side *side, uint64_t v)
{
	uint32_t low = 0, high = side->blocks;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (v < side->reach[middle])
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Sets how far the wave goes and its speed. Returns half of its time, which may be 0: the next wave gets the fraction
 * of a cycle, as waves of a dense distribution may take only a few cycles.
 */
static uint64_t shape_wave(struct wave *wave, uint32_t turn, uint64_t pace)
{
	wide half_q16 = ((wide)wave->sides[wave->down].times_q16[turn] * pace >> PACE_BITS) + wave->fraction_q16;

	wave->turn = turn;
	wave->cells_per_cell_q32 = (UINT64_C(1) << (32 + PACE_BITS)) / pace;
	wave->fraction_q16 = half_q16 & 0xffff;
	return (uint64_t)(half_q16 >> 16);
}

/* Returns a uniform number of PACE_LEAST to PACE_MOST - 1. `random` has 16 random bits. */
static uint64_t pace_of(uint64_t random)
{
	return PACE_LEAST + (random & 0xffff) * (PACE_MOST - PACE_LEAST) / 0x10000;
}

/*
 * Returns the pace of a wave that is under way: slow waves take longer, so their density at the pace k is proportional
 * to k. That is 2 + (k - 2) for k from 2 to 4: a uniform number in two of three cases, the larger of two in the third.
 */
static uint64_t pace_under_way(uint64_t random)
{
	uint64_t first = random & 0xffff, second = random >> 16 & 0xffff;

	return pace_of((random >> 32) % 3 == 0 && second > first ? second : first);
}

static uint32_t block_of(const struct wave_side *side, uint32_t cell)
{
	uint32_t low = 0, high = side->blocks - 1;

	while (low < high) {
		uint32_t middle = (low + high + 1) / 2;

		if (cell >= side->cells[middle])
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* Starts at a random point of a wave: at a position that is uniform, of a wave that reaches it. */
static void start_anywhere(struct wave *wave, uint64_t now, struct rng *rng)
{
	uint32_t position = wave_random_position(rng), start = wave->start_cell << 16, way, block;
	uint64_t random = rng_next(rng), passed, half, pace = pace_under_way(random), time;
	const struct wave_side *side;

	wave->down = position < start;
	side = &wave->sides[wave->down];
	way = wave->down ? start - position : position - start;
	block = block_of(side, way >> 16);
	time = side->times_q16[block] +
	       (uint64_t)(((wide)(way - (side->cells[block] << 16)) << 32) / side->cells_per_cycle_q32[block]);
	half = shape_wave(wave, turn_of(side, (uint64_t)((wide)side->reach[block] * rng_next(rng) >> 64)), pace);
	passed = MIN((uint64_t)((wide)time * pace >> (16 + PACE_BITS)), half);
	wave->block = block;
	wave->start = random >> 63 ? now - passed : now + passed - 2 * half;
	wave->end = wave->start + 2 * half;
}

static void next_wave(struct wave *wave, struct rng *rng)
{
	if (wave->sides[!wave->down].blocks > 0)
		wave->down = !wave->down;
	wave->block = 0;
	wave->start = wave->end;
	wave->end += 2 * shape_wave(wave, turn_of(&wave->sides[wave->down], rng_next(rng)), pace_of(rng_next(rng)));
}

/* Returns the way from the start of the wave, in 1/2^16 of a cell. */
static uint32_t way_of(struct wave *wave, uint64_t now)
{
	const struct wave_side *side = &wave->sides[wave->down];
	uint64_t time = (uint64_t)((wide)MIN(now - wave->start, wave->end - now) * wave->cells_per_cell_q32 >> 16);
	uint64_t way;

	if (time >= side->times_q16[wave->turn])
		return side->cells[wave->turn] << 16;
	while (time >= side->times_q16[wave->block + 1])
		wave->block++;
	while (time < side->times_q16[wave->block])
		wave->block--;
	way = (uint64_t)((wide)(time - side->times_q16[wave->block]) * side->cells_per_cycle_q32[wave->block] >> 32);
	return (uint32_t)MIN((side->cells[wave->block] << 16) + way, side->cells[wave->block + 1] << 16);
}

int64_t wave_follow(struct wave *wave, uint64_t now, struct rng *rng)
{
	uint32_t start = wave->start_cell << 16, way;

	if ((int64_t)(now - wave->last) < 0) /* an earlier stamp after a correction of the NIC's clock */
		now = wave->last;
	if (now - wave->last >= wave->pause)
		start_anywhere(wave, now, rng);
	wave->last = now;
	while ((int64_t)(now - wave->end) >= 0)
		next_wave(wave, rng);
	way = way_of(wave, now);
	return wave_value(wave->quantiles, wave->down ? start - way : start + way);
}
