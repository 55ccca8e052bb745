/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/rng.h>

#include <math.h>
#include <string.h>

void rng_seed(struct rng *rng, uint64_t seed)
{
	memset(rng, 0, sizeof *rng);
	for (int i = 0; i < 4; i++) { /* splitmix64: never leaves all four words zero */
		uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);

		z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
		z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
		rng->s[i] = z ^ (z >> 31);
	}
}

uint64_t rng_below(struct rng *rng, uint64_t bound)
{
	__extension__ typedef unsigned __int128 wide;
	wide product = (wide)rng_next(rng) * bound;

	if ((uint64_t)product < bound) {
		uint64_t threshold = -bound % bound;

		while ((uint64_t)product < threshold)
			product = (wide)rng_next(rng) * bound;
	}
	return (uint64_t)(product >> 64);
}

double rng_normal(struct rng *rng)
{
	double u, v, s;

	if (rng->has_spare) {
		rng->has_spare = 0;
		return rng->spare_normal;
	}
	do {
		u = 2 * rng_uniform(rng) - 1;
		v = 2 * rng_uniform(rng) - 1;
		s = u * u + v * v;
	} while (s >= 1 || s == 0);
	s = sqrt(-2 * log(s) / s);
	rng->spare_normal = v * s;
	rng->has_spare = 1;
	return u * s;
}

double rng_exponential(struct rng *rng)
{
	return -log1p(-rng_uniform(rng));
}

void rng_shuffle(struct rng *rng, void *items, uint64_t count, uint64_t size)
{
	unsigned char *bytes = items;

	for (uint64_t i = count; i > 1; i--) {
		unsigned char *a = bytes + (i - 1) * size, *b = bytes + rng_below(rng, i) * size;

		if (a == b)
			continue;
		for (uint64_t k = 0; k < size; k++) {
			unsigned char held = a[k];

			a[k] = b[k];
			b[k] = held;
		}
	}
}
