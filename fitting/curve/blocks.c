/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Variance of the curve between replicate blocks. The band treats all scatter at a level as independent noise. But
 * drift of the machine between blocks shifts all levels of a block together, and averaging over levels does not reduce
 * it. So the candidate is also fitted to each block; if these curves vary more than independent noise explains, the
 * band is widened.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "fit_priv.h"

enum { REPLICATES = 200 };

/*
 * Normal quantile of 95 %. If the dispersion between blocks, as a normal deviate, exceeds it, the fit reports drift and
 * reduces the band's degrees of freedom.
 */
static const double drift_quantile = 1.645;

struct spread {
	size_t count; /* levels */
	double *mean, *squares;
	double curves;
};

static void add_curve(struct spread *spread, const double *p)
{
	spread->curves++;
	for (size_t i = 0; i < spread->count; i++) {
		double step = p[i] - spread->mean[i];

		spread->mean[i] += step / spread->curves;
		spread->squares[i] += step * (p[i] - spread->mean[i]);
	}
}

/* Returns the variance of the added curves about their mean, averaged over the levels. */
static double variance_of(const struct spread *spread)
{
	double sum = 0;

	for (size_t i = 0; i < spread->count; i++)
		sum += spread->squares[i] / (spread->curves - 1);
	return sum / (double)spread->count;
}

static void add_answer(struct simulator *simulator, const double *noise, double *p, struct spread *spread)
{
	struct candidate_curve curve;
	struct solution solution;

	simulator_curve(simulator, noise, &curve, &solution);
	candidate_curve_fill(&curve, simulator->problem->x, simulator->problem->count, p);
	add_curve(spread, p);
}

/*
 * Fills `noise` with the block's deviation from the mean of the blocks. It is divided by the root of the number of
 * blocks, so that it varies as much as this mean.
 */
static void block_noise(const struct observations *observations, size_t block, double *noise)
{
	double root = sqrt((double)observations->block_count);

	for (size_t i = 0; i < observations->count; i++) {
		double mean = 0;

		for (size_t k = 0; k < observations->block_count; k++)
			mean += observations->blocks[k * observations->count + i];
		mean /= (double)observations->block_count;
		noise[i] = (observations->blocks[block * observations->count + i] - mean) / root;
	}
}

/* Fills `values` with independent random noise; each value has the standard deviation of its level's mean. */
static void chance_noise(const struct problem *problem, struct noise noise, struct rng *rng, double *values)
{
	for (size_t i = 0; i < problem->count; i++)
		values[i] = noise.scale * rng_normal(rng) / problem->root_weight[i];
}

static double dispersion(struct simulator *simulator, const struct observations *observations, uint64_t seed,
			 double *storage)
{
	const struct problem *problem = simulator->problem;
	size_t n = problem->count;
	struct spread by_block = {n, storage, storage + n, 0}, by_chance = {n, storage + 2 * n, storage + 3 * n, 0};
	double *noise = storage + 4 * n, *p = storage + 5 * n, chance;
	struct rng rng;

	rng_seed(&rng, seed);
	for (size_t k = 0; k < observations->block_count; k++) {
		block_noise(observations, k, noise);
		add_answer(simulator, noise, p, &by_block);
	}
	for (int i = 0; i < REPLICATES; i++) {
		chance_noise(problem, simulator->noise, &rng, noise);
		add_answer(simulator, noise, p, &by_chance);
	}
	chance = variance_of(&by_chance);
	return chance > 0 ? variance_of(&by_block) / chance : NAN;
}

int blocks_widen_noise(const struct problem *problem, const struct fit_settings *settings, struct fit *fit,
		       struct noise *noise)
{
	double dof = (double)fit->observations.block_count - 1;
	struct simulator simulator;
	double *storage;
	int rc;

	fit->block_dispersion = NAN;
	if (fit->observations.block_count < 2 || settings->absolute_sigma || !(noise->scale > 0))
		return 0;
	storage = calloc(6 * problem->count, sizeof *storage);
	if (!storage)
		return -ENOMEM;
	rc = simulator_create(problem, settings, &fit->candidates[0], *noise, &simulator);
	if (rc == 0)
		fit->block_dispersion = dispersion(&simulator, &fit->observations, settings->seed, storage);
	if (rc != -ENOMEM)
		free(simulator.storage);
	free(storage);
	if (rc != 0)
		return rc == -EDOM ? 0 : rc;
	if (fit->block_dispersion > 1)
		noise->scale *= sqrt(fit->block_dispersion);
	fit->blocks_drift = fit_f_to_normal(fit->block_dispersion, dof, noise->dof) > drift_quantile;
	if (fit->blocks_drift)
		noise->dof = fmin(noise->dof, fmax(dof, 2));
	return 0;
}
