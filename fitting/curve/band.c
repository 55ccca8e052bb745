/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The 95 % band: a parametric bootstrap over the candidates. The replicates are divided among the candidates in
 * proportion to their AICc weights (the choice of the family is part of the uncertainty). Each replicate adds noise to
 * its candidate's curve at the levels, refits the candidate including the threshold, and normalises by its own
 * baseline. The band is the middle 95 % of the replicates at each x.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/quantile.h>

#include "fit_priv.h"

/* Candidates below this weight are not simulated (except the chosen one). */
static const double weight_least = 0.01;
static const double confidence = 0.95;
/* Fewer replicates do not show a tail of 2.5 %. */
enum { THRESHOLDS_MINIMUM = 20 };
/*
 * Points where the band's half-width is at most this are ignored when the band is widened (whole_factor()): the curve
 * is certain there. One such point is x = 0, where the curve is 1 by definition.
 */
static const double half_width_least = 1e-9;

/*
 * A hinge that has this share of its fall between two adjacent levels is a cliff: the data do not determine where
 * between them the fall is.
 */
static const double cliff_share = 0.95;

/* Tells whether a jump or a cliff is between two adjacent levels. */
static bool is_between(const struct candidate_curve *curve, double left_us, double right_us)
{
	const struct profile *profile = &curve->profile;
	double whole;

	if (profile->form == CURVE_FORM_JUMP)
		return left_us < profile->threshold_us && profile->threshold_us <= right_us;
	if (profile->form == CURVE_FORM_NONE || family_shapes(profile->family) == 0)
		return false;
	whole = candidate_curve_value(curve, 0) - candidate_curve_value(curve, curve->problem->end_us);
	return whole > 0 &&
	       candidate_curve_value(curve, left_us) - candidate_curve_value(curve, right_us) >= cliff_share * whole;
}

/*
 * Moves a jump or a cliff to a random place between its two levels, *low_us and *high_us. Without either, both are the
 * threshold.
 */
static void move_threshold(struct candidate_curve *curve, double *low_us, double *high_us, struct rng *rng)
{
	const struct problem *problem = curve->problem;
	struct profile *profile = &curve->profile;
	double at_us = profile->threshold_us;
	size_t i = 1;

	*low_us = *high_us = at_us;
	while (i < problem->count && !is_between(curve, problem->x[i - 1], problem->x[i]))
		i++;
	if (i == problem->count)
		return;
	*low_us = problem->x[i - 1];
	*high_us = problem->x[i];
	if (profile->form == CURVE_FORM_JUMP) {
		profile->threshold_us = *low_us + (*high_us - *low_us) * (1 - rng_uniform(rng)); /* at most high */
	} else {
		profile->threshold_us = *low_us + (*high_us - *low_us) * rng_uniform(rng); /* below high */
		/* A cliff that starts later is steeper. */
		profile->shape[0] *= (*high_us - profile->threshold_us) / (*high_us - at_us);
	}
}

/* Returns a random factor that turns normal noise into t noise: sqrt(dof / chi-square), by Wilson & Hilferty. */
static double t_factor(double dof, struct rng *rng)
{
	double part = 2 / (9 * dof), root = 1 - part + rng_normal(rng) * sqrt(part);

	return root > 0.05 ? 1 / sqrt(root * root * root) : 1 / sqrt(0.05 * 0.05 * 0.05);
}

/*
 * Simulates one replicate and writes its curve at the points x to p. Returns true if the replicate has a searched
 * threshold, which is then within *low_us..*high_us.
 */
static bool replicate(struct simulator *simulator, const struct fit_settings *settings, const double *x, size_t count,
		      double *p, double *low_us, double *high_us, struct rng *rng)
{
	const struct problem *problem = simulator->problem;
	size_t n = problem->count;
	double *noise = simulator->work + 9 * n;
	double scale = simulator->noise.scale;
	struct candidate_curve curve;
	struct solution solution;

	if (isfinite(simulator->noise.dof))
		scale *= t_factor(simulator->noise.dof, rng);
	for (size_t i = 0; i < n; i++)
		noise[i] = scale * rng_normal(rng) / problem->root_weight[i];
	simulator_curve(simulator, noise, &curve, &solution);
	if (isnan(settings->threshold_us))
		move_threshold(&curve, low_us, high_us, rng);
	candidate_curve_fill(&curve, x, count, p);
	return curve.profile.form != CURVE_FORM_NONE && isnan(settings->threshold_us);
}

/* Returns a quantile of sorted values, interpolated between order statistics. */
static double quantile(const double *sorted, size_t count, double at)
{
	double position = at * (double)(count + 1) - 1;
	size_t low;

	if (position <= 0)
		return sorted[0];
	if (position >= (double)(count - 1))
		return sorted[count - 1];
	low = (size_t)position;
	return sorted[low] + (position - (double)low) * (sorted[low + 1] - sorted[low]);
}

struct simulation {
	double *values; /* count x replicates; the replicates of one x are adjacent */
	double *p;
	double *sorted;       /* replicates */
	double *lows, *highs; /* ends of the intervals that contain the replicates' thresholds, µs */
	size_t replicates, done, threshold_count;
	const struct fit_candidate *chosen;
};

/*
 * Tells whether a candidate's threshold means the same as that of the chosen one: where a hinge starts says nothing
 * about where a jump is, and a family that can fall steeply by itself may have a jump of no height in another gap.
 * Replicates of the same jump still move to each gap that the noise allows (add_jumps() in simulator.c).
 */
static bool same_threshold(const struct fit_candidate *candidate, const struct fit_candidate *chosen)
{
	return candidate->form == chosen->form &&
	       (chosen->form != CURVE_FORM_JUMP || candidate->threshold_us == chosen->threshold_us);
}

static int run_candidate(const struct problem *problem, const struct fit_settings *settings,
			 const struct fit_candidate *candidate, struct noise noise, size_t share, const double *x,
			 size_t count, struct rng *rng, struct simulation *simulation)
{
	struct simulator simulator;
	int rc = share ? simulator_create(problem, settings, candidate, noise, &simulator) : 0;

	if (!share)
		return 0;
	for (size_t i = 0; rc == 0 && i < share; i++) {
		bool searched = replicate(&simulator, settings, x, count, simulation->p,
					  &simulation->lows[simulation->threshold_count],
					  &simulation->highs[simulation->threshold_count], rng);

		simulation->threshold_count += searched && same_threshold(candidate, simulation->chosen);
		for (size_t j = 0; j < count; j++)
			simulation->values[j * simulation->replicates + simulation->done] = simulation->p[j];
		simulation->done++;
	}
	free(simulator.storage);
	return rc == -EDOM ? 0 : rc;
}

/*
 * Returns a candidate's number of replicates, in proportion to its weight and rounded down. The caller gives all
 * replicates that remain to the chosen candidate (index 0).
 */
static size_t share_of(const struct fit *fit, size_t index, size_t replicates)
{
	double total = 0;

	for (size_t i = 0; i < fit->candidate_count; i++)
		if (i == 0 || fit->candidates[i].weight >= weight_least)
			total += fit->candidates[i].weight;
	if (index > 0 && fit->candidates[index].weight < weight_least)
		return 0;
	return (size_t)(fit->candidates[index].weight / total * (double)replicates);
}

/*
 * Returns the factor by which the half-widths of the band must grow so that the band holds 95 % of the replicates at
 * all points at once: the sup-t band of Montiel Olea and Plagborg-Moller, "Simultaneous confidence bands", J. Applied
 * Econometrics 34 (2019), from a bootstrap.
 */
static double whole_factor(const struct simulation *simulation, const double *centre, size_t count, const double *low,
			   const double *high)
{
	double *farthest = simulation->sorted;

	for (size_t i = 0; i < simulation->done; i++) {
		farthest[i] = 0;
		for (size_t j = 0; j < count; j++) {
			double half = (high[j] - low[j]) / 2;
			double away = fabs(simulation->values[j * simulation->replicates + i] - centre[j]);

			if (half > half_width_least)
				farthest[i] = fmax(farthest[i], away / half);
		}
	}
	quantile_sort(farthest, simulation->done);
	return quantile(farthest, simulation->done, confidence);
}

static void read_off(struct simulation *simulation, size_t count, struct band *band, struct curve_threshold *threshold)
{
	double tail = (1 - confidence) / 2;

	for (size_t j = 0; j < count; j++) {
		double *sorted = simulation->sorted;

		memcpy(sorted, simulation->values + j * simulation->replicates, simulation->done * sizeof *sorted);
		quantile_sort(sorted, simulation->done);
		band->low[j] = quantile(sorted, simulation->done, tail);
		band->high[j] = quantile(sorted, simulation->done, 1 - tail);
	}
	band->whole_factor = whole_factor(simulation, band->centre, count, band->low, band->high);
	if (simulation->threshold_count < THRESHOLDS_MINIMUM || threshold->form == CURVE_FORM_NONE)
		return;
	quantile_sort(simulation->lows, simulation->threshold_count);
	quantile_sort(simulation->highs, simulation->threshold_count);
	threshold->has_interval = true;
	threshold->confidence = confidence;
	threshold->low_us = fmin(quantile(simulation->lows, simulation->threshold_count, tail), threshold->at_us);
	threshold->high_us = fmax(quantile(simulation->highs, simulation->threshold_count, 1 - tail), threshold->at_us);
}

int simulate_band(const struct problem *problem, const struct fit_settings *settings, const struct fit *fit,
		  struct noise noise, const double *x, size_t count, struct band *band,
		  struct curve_threshold *threshold)
{
	struct simulation simulation = {.replicates = (size_t)settings->replicates, .chosen = &fit->candidates[0]};
	struct rng rng;
	int rc = 0;
	size_t shared = 0;

	simulation.values =
		malloc((count * (simulation.replicates + 1) + 3 * (simulation.replicates + 1)) * sizeof(double));
	if (!simulation.values)
		return -ENOMEM;
	simulation.p = simulation.values + count * simulation.replicates;
	simulation.lows = simulation.p + count;
	simulation.highs = simulation.lows + simulation.replicates + 1;
	simulation.sorted = simulation.highs + simulation.replicates + 1;
	rng_seed(&rng, settings->seed);
	for (size_t i = 1; rc == 0 && i < fit->candidate_count; i++) {
		size_t share = share_of(fit, i, simulation.replicates);

		shared += share;
		rc = run_candidate(problem, settings, &fit->candidates[i], noise, share, x, count, &rng, &simulation);
	}
	if (rc == 0)
		rc = run_candidate(problem, settings, &fit->candidates[0], noise, simulation.replicates - shared, x,
				   count, &rng, &simulation);
	if (rc == 0 && simulation.done > 0)
		read_off(&simulation, count, band, threshold);
	free(simulation.values);
	return rc == 0 && simulation.done == 0 ? -EDOM : rc;
}
