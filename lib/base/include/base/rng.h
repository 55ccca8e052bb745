/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Seeded random numbers: xoshiro256++ (Blackman & Vigna 2019), seeded by splitmix64. The same seed gives the same
 * stream on every machine. One state per thread.
 */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

struct rng {
	uint64_t s[4];
	double spare_normal; /* second value of the last polar pair */
	int has_spare;
};

void rng_seed(struct rng *rng, uint64_t seed);

static inline uint64_t rng_rotate_left(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

/* 64 uniform bits. Inline: the injector draws one per packet. */
static inline uint64_t rng_next(struct rng *rng)
{
	uint64_t *s = rng->s;
	uint64_t result = rng_rotate_left(s[0] + s[3], 23) + s[0];
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rng_rotate_left(s[3], 45);
	return result;
}

/* Uniform in [0, 1), 53 bits. */
static inline double rng_uniform(struct rng *rng)
{
	return (double)(rng_next(rng) >> 11) * 0x1p-53;
}

/* Uniform in 0..bound-1 without bias (Lemire 2019); bound > 0. */
uint64_t rng_below(struct rng *rng, uint64_t bound);

/* Mean 0, deviation 1 (Marsaglia's polar method). */
double rng_normal(struct rng *rng);

/* Mean 1. */
double rng_exponential(struct rng *rng);

/* Fisher–Yates over `count` elements of `size` bytes. */
void rng_shuffle(struct rng *rng, void *items, uint64_t count, uint64_t size);

#endif
