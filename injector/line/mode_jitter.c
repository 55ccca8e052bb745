/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jitter on top of the delay. The quantile function of the distribution is tabulated once (16384 cells, linear in
 * between), so that a packet costs one random number and one multiplication. The tail ends at the middle of the last
 * cell, the 99.997th percentile; no jitter exceeds 10 ms.
 *
 * With --reorder, each packet has a jitter of its own. Without it, order must be kept, and independent jitters cannot
 * be: packets that come faster than the jitter is long would wait for each other, which changes the distribution. So
 * the jitter is then a function of time, the wave (struct wave), which falls by at most half a microsecond per
 * microsecond; then no packet can overtake an earlier one, at any packet rate. The wave goes from 0, the mode of the
 * density f, at constant speed to a peak h and back. The density of its values is the share of waves that reach x,
 * P(h > x), because a wave of any height spends the same time at x. So peaks with P(h > x) = f(x) / f(0) make the
 * density f. (Walking at constant speed over slices of a density is slice sampling: Neal 2003, Annals of Statistics
 * 31(3).) A density on both sides of 0 gets alternating waves. Each wave has its own random speed, as regular waves
 * would repeat themselves to packets at regular intervals. The speed is independent of the height and cancels out.
 *
 * After a pause longer than the range of the jitter, any jitter keeps the order: the wave then starts again at a
 * random point. So slow packets have independent jitters, and no packet has to compute many waves.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>
#include <base/number.h>
#include <base/quantile.h>
#include <base/rng.h>
#include <injector/line/line.h>

#include "mode_priv.h"

__extension__ typedef unsigned __int128 wide;

enum { CELL_BITS = 14, CELLS = 1 << CELL_BITS };

enum {
	/* Peaks are tabulated over v = f(h) / f(0), by octaves of v, because distributions with heavy tails have high
	   peaks at tiny v. */
	OCTAVES = 64,
	STEP_BITS = 8,
	STEPS = 1 << STEP_BITS,
	/*
	 * Range of a wave's inverse speed, in 1/65536: 2 to 4 us of time per us of jitter. At 1 us/us, all packets of a
	 * falling wave would leave together; at 1/2, they leave twice as fast as they came. Slower waves would only
	 * make the jitter of successive packets more alike.
	 */
	PACE_BITS = 16,
	PACE_LEAST = 2 << PACE_BITS,
	PACE_MOST = 4 << PACE_BITS,
};

struct wave {
	uint64_t last;       /* TSC of the last packet */
	uint64_t start, end; /* TSC */
	uint64_t slope;      /* cycles of jitter per cycle of time, in 1/2^32 */
	uint64_t peak_cycles;
	bool below;                  /* the jitter is negative */
	bool both;                   /* the distribution has negative values */
	uint64_t pause;              /* pause after which the wave starts again, cycles */
	uint64_t most_cycles;        /* waves do not go higher */
	uint64_t density[CELLS + 1]; /* at the quantiles, in 1/2^63 of f(0) */
	uint64_t peaks_cycles[OCTAVES][STEPS + 1];
};

struct jitter {
	struct rng rng;
	bool reorder;
	int64_t longest_cycles;
	int64_t quantile_cycles[CELLS + 1];
	struct wave wave;
};

enum distribution { UNIFORM, NORMAL, PARETO, DISTRIBUTIONS };

/* Returns the p-quantile of the added delay, us. Pareto is shifted to start at 0 (Lomax), with scale S and shape A. */
static double quantile_us(enum distribution distribution, double scale_us, double shape, double p)
{
	switch (distribution) {
	case UNIFORM:
		return scale_us * p;
	case NORMAL:
		return scale_us * quantile_normal(p);
	case PARETO:
		return scale_us * (pow(1 - p, -1 / shape) - 1);
	case DISTRIBUTIONS:
		break;
	}
	return 0;
}

/* Returns the density at the p-quantile as a share of the density at 0, where it is highest. */
static double density_at(enum distribution distribution, double shape, double p)
{
	double z;

	switch (distribution) {
	case NORMAL:
		z = quantile_normal(p);
		return exp(-z * z / 2);
	case PARETO:
		return pow(1 - p, (shape + 1) / shape);
	case UNIFORM:
	case DISTRIBUTIONS:
		break;
	}
	return 1;
}

/* Inverse of the density: returns the largest x with f(x) / f(0) >= v, us. */
static double peak_us(enum distribution distribution, double scale_us, double shape, double v)
{
	switch (distribution) {
	case UNIFORM:
		return scale_us;
	case NORMAL:
		return scale_us * sqrt(-2 * log(v));
	case PARETO:
		return scale_us * (pow(v, -1 / (shape + 1)) - 1);
	case DISTRIBUTIONS:
		break;
	}
	return 0;
}

static int parse(const char *specification, enum distribution *distribution, double *scale_us, double *shape,
		 struct error *err)
{
	static const char *const names[] = {"uniform:", "normal:", "pareto:"};
	char text[128], *fields[3];
	size_t count = 0, kind = 0;

	while (kind < DISTRIBUTIONS && strncmp(specification, names[kind], strlen(names[kind])) != 0)
		kind++;
	if (kind < DISTRIBUTIONS && strlen(specification) < sizeof text) {
		strcpy(text, specification + strlen(names[kind]));
		count = file_split(text, ',', fields, 3);
	}
	*distribution = (enum distribution)kind;
	*shape = 0;
	if (kind == DISTRIBUTIONS || count != (kind == PARETO ? 2U : 1U) ||
	    number_parse_double(fields[0], scale_us) != 0 ||
	    !(*scale_us >= 0 && *scale_us <= INJECTOR_DELAY_MAXIMUM_US) ||
	    (kind == PARETO && (number_parse_double(fields[1], shape) != 0 || !(*shape > 1 && *shape <= 100))))
		return error_set(err, EINVAL,
				 "--jitter: \"%s\": expected uniform:W, normal:S or pareto:S,A with 0 to %g us and "
				 "shape 1 < A <= 100",
				 specification, INJECTOR_DELAY_MAXIMUM_US);
	return 0;
}

static double probability(int cell)
{
	return fmin(fmax((double)cell / CELLS, 0.5 / CELLS), 1 - 0.5 / CELLS);
}

static void fill_wave(struct jitter *jitter, enum distribution distribution, double scale_us, double shape,
		      double cycles_per_us)
{
	struct wave *wave = &jitter->wave;

	wave->most_cycles = (uint64_t)jitter->quantile_cycles[CELLS];
	wave->both = jitter->quantile_cycles[0] < 0;
	wave->pause = (uint64_t)(jitter->longest_cycles - jitter->quantile_cycles[0]);
	wave->last = -wave->pause; /* the first packet comes after a pause */
	for (int i = 0; i <= CELLS; i++)
		wave->density[i] = (uint64_t)ldexp(density_at(distribution, shape, probability(i)), 63);
	for (int octave = 0; octave < OCTAVES; octave++) {
		for (int step = 0; step <= STEPS; step++) {
			double v = ldexp(1 + (double)step / STEPS, -octave - 1);
			double cycles = peak_us(distribution, scale_us, shape, v) * cycles_per_us;

			wave->peaks_cycles[octave][step] = (uint64_t)fmin(cycles, (double)wave->most_cycles);
		}
	}
}

static int jitter_create(const struct mode_context *context, const char *specification, void **state, struct error *err)
{
	double cycles_per_us = 1e3 / context->clock->ns_per_cycle, scale_us, shape;
	enum distribution distribution;
	struct jitter *jitter;
	int status = parse(specification, &distribution, &scale_us, &shape, err);

	if (status)
		return status;
	jitter = calloc(1, sizeof *jitter);
	if (!jitter)
		return error_set(err, ENOMEM, "no memory for --jitter");
	rng_seed(&jitter->rng, context->seed);
	jitter->reorder = context->settings->reorder;
	for (int i = 0; i <= CELLS; i++)
		jitter->quantile_cycles[i] =
			llround(quantile_us(distribution, scale_us, shape, probability(i)) * cycles_per_us);
	jitter->longest_cycles =
		MIN(jitter->quantile_cycles[CELLS], llround(INJECTOR_DELAY_MAXIMUM_US * cycles_per_us));
	fill_wave(jitter, distribution, scale_us, shape, cycles_per_us);
	*state = jitter;
	return 0;
}

static int64_t draw(struct jitter *jitter, uint32_t *cell)
{
	uint64_t random = rng_next(&jitter->rng);
	int64_t fraction = (int64_t)(random & 0xffff), low;

	*cell = (uint32_t)(random >> (64 - CELL_BITS));
	low = jitter->quantile_cycles[*cell];
	return low + (((jitter->quantile_cycles[*cell + 1] - low) * fraction) >> 16);
}

/* Returns the peak with the density v / 2^64 * f(0). */
static uint64_t peak_of(const struct wave *wave, uint64_t v)
{
	unsigned int octave = (unsigned int)__builtin_clzll(v | 1);
	uint64_t mantissa = v << octave << 1; /* without the leading 1 */
	const uint64_t *peaks = &wave->peaks_cycles[octave][mantissa >> (64 - STEP_BITS)];

	return peaks[0] - (((peaks[0] - peaks[1]) * (mantissa << STEP_BITS >> 48)) >> 16);
}

/* Sets the peak and the speed of the wave. Returns the time from 0 to the peak. */
static uint64_t shape_wave(struct wave *wave, uint64_t peak_cycles, uint64_t pace)
{
	wave->peak_cycles = peak_cycles;
	wave->slope = (UINT64_C(1) << (32 + PACE_BITS)) / pace;
	return (peak_cycles * pace >> PACE_BITS) + 1;
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

/* Starts at a random point of a wave: at a jitter that has the distribution, of a wave that reaches it. */
static void start_anywhere(struct jitter *jitter, uint64_t now)
{
	struct wave *wave = &jitter->wave;
	uint32_t cell;
	int64_t jitter_cycles = draw(jitter, &cell);
	uint64_t height = (uint64_t)llabs(jitter_cycles), random = rng_next(&jitter->rng), peak, half, passed;

	peak = peak_of(wave, (uint64_t)((wide)wave->density[cell] * rng_next(&jitter->rng) >> 63));
	if (peak < height) /* the tables are not exact */
		peak = height;
	half = shape_wave(wave, peak, pace_under_way(random));
	passed = MIN(height * (UINT64_C(1) << 32) / wave->slope, half);
	wave->below = jitter_cycles < 0;
	wave->start = random >> 63 ? now - passed : now + passed - 2 * half;
	wave->end = wave->start + 2 * half;
}

static void next_wave(struct jitter *jitter)
{
	struct wave *wave = &jitter->wave;
	uint64_t peak = peak_of(wave, rng_next(&jitter->rng));

	wave->start = wave->end;
	wave->end += 2 * shape_wave(wave, peak, pace_of(rng_next(&jitter->rng)));
	wave->below = wave->both && !wave->below;
}

/* Returns the jitter in order of a packet that arrives at `now`. */
static int64_t follow(struct jitter *jitter, uint64_t now)
{
	struct wave *wave = &jitter->wave;
	uint64_t time, height;

	if ((int64_t)(now - wave->last) < 0) /* an earlier stamp after a correction of the NIC's clock */
		now = wave->last;
	if (now - wave->last >= wave->pause)
		start_anywhere(jitter, now);
	wave->last = now;
	while ((int64_t)(now - wave->end) >= 0)
		next_wave(jitter);
	/* Heights over longest_cycles are cut; so are times, against an overflow. */
	time = MIN(MIN(now - wave->start, wave->end - now), (uint64_t)jitter->longest_cycles * 4 + 4);
	height = MIN(time * wave->slope >> 32, wave->peak_cycles);
	return wave->below ? -(int64_t)height : (int64_t)height;
}

static void jitter_apply(void *state, const struct dp_packet *packet, uint64_t now, struct verdict *verdict)
{
	struct jitter *jitter = state;
	uint32_t cell;
	int64_t extra = jitter->reorder ? draw(jitter, &cell) : follow(jitter, now);
	int64_t delay = (int64_t)verdict->delay_cycles + MIN(extra, jitter->longest_cycles);

	(void)packet;
	verdict->delay_cycles = delay > 0 ? (uint64_t)delay : 0;
	verdict->overtake = jitter->reorder;
}

static uint64_t jitter_longest(const void *state, uint64_t cycles)
{
	const struct jitter *jitter = state;

	return cycles + (uint64_t)jitter->longest_cycles;
}

const struct injector_mode mode_jitter = {
	.name = "jitter",
	.reorders = true,
	.group = "delay",
	.create = jitter_create,
	.apply = jitter_apply,
	.destroy = free,
	.longest = jitter_longest,
};
