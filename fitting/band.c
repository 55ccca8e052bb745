/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The 95 % band: a parametric bootstrap over the candidates. Each replicate takes a candidate (as often as its Akaike
 * weight says: not knowing the family is part of not knowing the curve), adds noise to its curve at the levels, fits
 * that candidate anew, threshold included, and normalises by its own baseline. The band is the middle 95 % of the
 * replicates at each x. Designs are made once, so that a replicate costs some products of Q' with a response.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fit_priv.h"

enum {
	DESIGNS_MAXIMUM = 16,
	SEARCHED_MAXIMUM = 3, /* threshold, s, h */
};

/* Thresholds whose residual lies more variances than this above the best are never the best of a replicate. */
static const double plausible = 25;
/* Candidates of less weight than this are left out. */
static const double weight_least = 0.01;
static const double confidence = 0.95;

/* One candidate, ready to be fitted to any number of responses. */
struct simulator {
	const struct problem *problem;
	const struct fit_candidate *candidate;
	struct noise noise;
	double *fitted; /* count: its curve at the levels, in the data's units */
	double *storage;
	size_t design_count;
	struct design designs[DESIGNS_MAXIMUM];
	/* Families with shapes: how threshold and shapes answer to noise, from the curve's derivatives. */
	size_t searched;
	int kinds[SEARCHED_MAXIMUM]; /* 0 threshold, 1 s, 2 h */
	double *answer;              /* searched x count */
	double *work;                /* several counts, shared */
};

static bool has_shapes(enum fit_family family)
{
	return family == FIT_LOG || family == FIT_EXPONENTIAL || family == FIT_RATIONAL || family == FIT_HILL;
}

static void add_design(struct simulator *simulator, double threshold_us)
{
	struct member member = candidate_member(simulator->candidate);
	struct design *design = &simulator->designs[simulator->design_count];

	member.threshold_us = threshold_us;
	design_make(simulator->problem, &member, design,
		    simulator->storage + simulator->design_count * design_storage(simulator->problem));
	simulator->design_count += design->usable;
}

static double free_rss(struct simulator *simulator, double threshold_us)
{
	size_t before = simulator->design_count;
	struct solution solution;

	add_design(simulator, threshold_us);
	if (simulator->design_count == before)
		return INFINITY;
	design_solve(simulator->problem, &simulator->designs[simulator->design_count - 1], simulator->fitted,
		     &solution);
	return solution.rss;
}

/* Gaps that a replicate could choose: the fitted curve itself tells how much worse each is. */
static void add_jumps(struct simulator *simulator, double limit)
{
	const struct problem *problem = simulator->problem;
	double at = simulator->candidate->threshold_us;
	size_t middle = 1;

	while (middle + 1 < problem->count && problem->x[middle] < at)
		middle++;
	add_design(simulator, at);
	for (int direction = -1; direction <= 1; direction += 2) {
		for (long i = (long)middle + direction; i >= 1 && i < (long)problem->count; i += direction) {
			size_t before = simulator->design_count;

			if (simulator->design_count == DESIGNS_MAXIMUM)
				return;
			if (free_rss(simulator, (problem->x[i - 1] + problem->x[i]) / 2) > limit) {
				simulator->design_count = before;
				break;
			}
		}
	}
}

/* A grid around a hinge, as wide as is plausible. */
static void add_hinges(struct simulator *simulator, double limit)
{
	double at = simulator->candidate->threshold_us, ends[2] = {at, at};

	for (int side = 0; side < 2; side++) {
		double step = simulator->problem->end_us / 256;

		for (int i = 0; i < 10; i++, step *= 1.7) {
			double next = side ? at + step : at - step;

			if (next < 0 || next > 0.9 * simulator->problem->end_us)
				break;
			simulator->design_count = 0;
			ends[side] = next;
			if (free_rss(simulator, next) > limit)
				break;
		}
	}
	simulator->design_count = 0;
	for (int i = 0; i < DESIGNS_MAXIMUM - 1; i++)
		add_design(simulator, ends[0] + (ends[1] - ends[0]) * i / (DESIGNS_MAXIMUM - 2));
}

/* The searched constants as one vector: threshold in ends of the domain, shapes as logarithms. */
static struct member moved_member(const struct simulator *simulator, const double *by)
{
	struct member member = candidate_member(simulator->candidate);

	for (size_t k = 0; k < simulator->searched; k++) {
		if (simulator->kinds[k] == 0)
			member.threshold_us = fmin(fmax(member.threshold_us + by[k] * simulator->problem->end_us, 0),
						   0.95 * simulator->problem->end_us);
		else
			member.shape[simulator->kinds[k] - 1] *= exp(fmin(fmax(by[k], -2), 2));
	}
	return member;
}

/*
 * Rows that give the change of the searched constants for a change of the response: the curve's derivatives by them,
 * cleared of what the coefficients can do, inverted. Small: at most three columns.
 */
static void make_answer(struct simulator *simulator)
{
	const struct problem *problem = simulator->problem;
	const struct design *design = &simulator->designs[0];
	size_t n = problem->count;
	double *answer = simulator->answer;

	for (size_t k = 0; k < simulator->searched; k++) {
		double by[SEARCHED_MAXIMUM] = {0}, *column = answer + k * n, length = 0;
		struct member up, down;

		by[k] = 1e-4;
		up = moved_member(simulator, by);
		by[k] = -1e-4;
		down = moved_member(simulator, by);
		for (size_t i = 0; i < n; i++)
			column[i] = problem->root_weight[i] *
				    (member_value(problem, &up, simulator->candidate->coefficients, problem->x[i]) -
				     member_value(problem, &down, simulator->candidate->coefficients, problem->x[i])) /
				    2e-4;
		for (size_t j = 0; j < design->columns; j++) {
			double part = 0;

			for (size_t i = 0; i < n; i++)
				part += design->q[j * n + i] * column[i];
			for (size_t i = 0; i < n; i++)
				column[i] -= part * design->q[j * n + i];
		}
		for (size_t i = 0; i < n; i++)
			length += column[i] * column[i];
		if (!(length > 1e-18)) {
			simulator->searched = k;
			return;
		}
	}
}

/* Solves the little least squares of the noise on the cleared derivatives. */
static void answer_noise(const struct simulator *simulator, const double *noise, double *by)
{
	const struct problem *problem = simulator->problem;
	size_t n = problem->count, m = simulator->searched < SEARCHED_MAXIMUM ? simulator->searched : SEARCHED_MAXIMUM;
	double a[SEARCHED_MAXIMUM][SEARCHED_MAXIMUM] = {{0}}, b[SEARCHED_MAXIMUM] = {0};

	for (size_t k = 0; k < m; k++) {
		const double *column = simulator->answer + k * n;

		b[k] = 0;
		for (size_t i = 0; i < n; i++)
			b[k] += column[i] * noise[i] * problem->root_weight[i];
		for (size_t j = 0; j <= k; j++) {
			a[k][j] = 0;
			for (size_t i = 0; i < n; i++)
				a[k][j] += column[i] * simulator->answer[j * n + i];
			a[j][k] = a[k][j];
		}
		a[k][k] *= 1 + 1e-9;
	}
	for (size_t k = 0; k < m; k++) {
		for (size_t i = k + 1; i < m; i++) {
			double factor = a[i][k] / a[k][k];

			for (size_t j = k; j < m; j++)
				a[i][j] -= factor * a[k][j];
			b[i] -= factor * b[k];
		}
	}
	for (size_t k = m; k-- > 0;) {
		by[k] = b[k];
		for (size_t j = k + 1; j < m; j++)
			by[k] -= a[k][j] * by[j];
		by[k] /= a[k][k];
	}
}

static int simulator_create(const struct problem *problem, const struct fit_settings *settings,
			    const struct fit_candidate *candidate, struct noise noise, struct simulator *simulator)
{
	size_t n = problem->count, size = design_storage(problem);
	double limit = plausible * noise.scale * noise.scale;
	struct member member = candidate_member(candidate);

	memset(simulator, 0, sizeof *simulator);
	simulator->problem = problem;
	simulator->candidate = candidate;
	simulator->noise = noise;
	simulator->storage = malloc((size * (DESIGNS_MAXIMUM + 1) + (14 + SEARCHED_MAXIMUM) * n) * sizeof(double));
	if (!simulator->storage)
		return -ENOMEM;
	simulator->fitted = simulator->storage + size * (DESIGNS_MAXIMUM + 1);
	simulator->answer = simulator->fitted + n;
	simulator->work = simulator->answer + SEARCHED_MAXIMUM * n;
	if (candidate->family == FIT_MONOTONE) {
		struct pooled pooled;

		pooled_fit(problem, problem->y, &pooled, simulator->work);
		for (size_t i = 0; i < n; i++)
			simulator->fitted[i] = pooled_value(&pooled, problem->x[i]);
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		simulator->fitted[i] = member_value(problem, &member, candidate->coefficients, problem->x[i]);
	if (has_shapes(candidate->family)) {
		add_design(simulator, candidate->threshold_us);
		if (candidate->form == CURVE_FORM_HINGE && isnan(settings->threshold_us))
			simulator->kinds[simulator->searched++] = 0;
		simulator->kinds[simulator->searched++] = 1;
		if (candidate->family == FIT_HILL)
			simulator->kinds[simulator->searched++] = 2;
		if (simulator->design_count)
			make_answer(simulator);
	} else if (candidate->form == CURVE_FORM_JUMP && isnan(settings->threshold_us)) {
		add_jumps(simulator, limit);
	} else if (candidate->form == CURVE_FORM_HINGE && isnan(settings->threshold_us)) {
		add_hinges(simulator, limit);
	} else {
		add_design(simulator, candidate->threshold_us);
	}
	return simulator->design_count ? 0 : -EDOM;
}

/* The levels around a jump: where in between it is, nobody can tell. */
static void find_gap(const struct problem *problem, double threshold_us, double *low_us, double *high_us)
{
	*low_us = *high_us = threshold_us;
	for (size_t i = 1; i < problem->count; i++)
		if (problem->x[i - 1] < threshold_us && problem->x[i] >= threshold_us) {
			*low_us = problem->x[i - 1];
			*high_us = problem->x[i];
		}
}

/* Lawful best over the designs for response y. */
static void refit(struct simulator *simulator, const double *y, struct member *member, struct solution *best)
{
	struct solution free_solutions[DESIGNS_MAXIMUM];
	bool done[DESIGNS_MAXIMUM] = {false};

	best->rss = INFINITY;
	for (size_t k = 0; k < simulator->design_count; k++)
		design_solve(simulator->problem, &simulator->designs[k], y, &free_solutions[k]);
	for (size_t round = 0; round < simulator->design_count; round++) {
		size_t next = simulator->design_count;

		for (size_t k = 0; k < simulator->design_count; k++)
			if (!done[k] &&
			    (next == simulator->design_count || free_solutions[k].rss < free_solutions[next].rss))
				next = k;
		if (free_solutions[next].rss >= best->rss)
			return;
		done[next] = true;
		design_hold_to_law(simulator->problem, &simulator->designs[next], &free_solutions[next]);
		if (free_solutions[next].rss < best->rss) {
			*best = free_solutions[next];
			*member = simulator->designs[next].member;
		}
	}
}

/* Families with shapes: these move as the derivatives say, then the coefficients are fitted exactly. */
static void refit_shapes(struct simulator *simulator, const double *noise, const double *y, struct member *member,
			 struct solution *solution)
{
	double by[SEARCHED_MAXIMUM] = {0};
	struct design design;

	answer_noise(simulator, noise, by);
	*member = moved_member(simulator, by);
	design_make(simulator->problem, member, &design,
		    simulator->storage + DESIGNS_MAXIMUM * design_storage(simulator->problem));
	design_solve(simulator->problem, &design, y, solution);
	design_hold_to_law(simulator->problem, &design, solution);
}

/* Factor that turns normal noise of an estimated scale into its t: root of dof / chi-square (Wilson & Hilferty). */
static double t_factor(double dof, struct rng *rng)
{
	double part = 2 / (9 * dof), root = 1 - part + rng_normal(rng) * sqrt(part);

	return root > 0.05 ? 1 / sqrt(root * root * root) : 1 / sqrt(0.05 * 0.05 * 0.05);
}

/* One replicate: its curve at x goes to p; true if it found a threshold, which lies within *low_us..*high_us. */
static bool replicate(struct simulator *simulator, const struct fit_settings *settings, const double *x, size_t count,
		      double *p, double *low_us, double *high_us, struct rng *rng)
{
	const struct problem *problem = simulator->problem;
	size_t n = problem->count;
	double *y = simulator->work + 8 * n, *noise = y + n;
	double scale = simulator->noise.scale;
	struct candidate_curve curve = {.problem = problem};
	struct solution solution = {0};

	if (isfinite(simulator->noise.dof))
		scale *= t_factor(simulator->noise.dof, rng);
	for (size_t i = 0; i < n; i++) {
		noise[i] = scale * rng_normal(rng) / problem->root_weight[i];
		y[i] = simulator->fitted[i] + noise[i];
	}
	curve.member = candidate_member(simulator->candidate);
	curve.coefficients = solution.coefficients;
	if (simulator->candidate->family == FIT_MONOTONE)
		pooled_fit(problem, y, &curve.pooled, simulator->work);
	else if (simulator->searched)
		refit_shapes(simulator, noise, y, &curve.member, &solution);
	else
		refit(simulator, y, &curve.member, &solution);
	if (simulator->candidate->family != FIT_MONOTONE && !isfinite(solution.rss)) {
		curve.member = candidate_member(simulator->candidate);
		curve.coefficients = simulator->candidate->coefficients;
	}
	*low_us = *high_us = curve.member.threshold_us;
	if (curve.member.form == CURVE_FORM_JUMP && isnan(settings->threshold_us)) {
		find_gap(problem, curve.member.threshold_us, low_us, high_us);
		curve.member.threshold_us = *low_us + (*high_us - *low_us) * (1 - rng_uniform(rng));
	}
	candidate_curve_fill(&curve, x, count, p);
	return curve.member.form != CURVE_FORM_NONE && isnan(settings->threshold_us);
}

static int compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

/* Quantile of sorted values, between the order statistics. */
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
	double *values; /* count x replicates: the replicates of one x lie together */
	double *p;
	double *lows, *highs; /* of the thresholds found */
	size_t replicates, done, threshold_count;
};

static int run_candidate(const struct problem *problem, const struct fit_settings *settings,
			 const struct fit_candidate *candidate, struct noise noise, size_t share, const double *x,
			 size_t count, struct rng *rng, struct simulation *simulation)
{
	struct simulator simulator;
	int rc = share ? simulator_create(problem, settings, candidate, noise, &simulator) : 0;

	if (!share)
		return 0;
	for (size_t i = 0; rc == 0 && i < share; i++) {
		simulation->threshold_count += replicate(&simulator, settings, x, count, simulation->p,
							 &simulation->lows[simulation->threshold_count],
							 &simulation->highs[simulation->threshold_count], rng);
		for (size_t j = 0; j < count; j++)
			simulation->values[j * simulation->replicates + simulation->done] = simulation->p[j];
		simulation->done++;
	}
	free(simulator.storage);
	return rc == -EDOM ? 0 : rc;
}

/* Shares of the replicates by weight; the chosen candidate, first, gets what rounding leaves over. */
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

static void read_off(struct simulation *simulation, size_t count, double *low, double *high,
		     struct curve_threshold *threshold)
{
	double tail = (1 - confidence) / 2;

	for (size_t j = 0; j < count; j++) {
		double *sorted = simulation->values + j * simulation->replicates;

		qsort(sorted, simulation->done, sizeof *sorted, compare_doubles);
		low[j] = quantile(sorted, simulation->done, tail);
		high[j] = quantile(sorted, simulation->done, 1 - tail);
	}
	if (simulation->threshold_count < simulation->done / 4 || threshold->form == CURVE_FORM_NONE)
		return;
	qsort(simulation->lows, simulation->threshold_count, sizeof(double), compare_doubles);
	qsort(simulation->highs, simulation->threshold_count, sizeof(double), compare_doubles);
	threshold->has_interval = true;
	threshold->confidence = confidence;
	threshold->low_us = fmin(quantile(simulation->lows, simulation->threshold_count, tail), threshold->at_us);
	threshold->high_us = fmax(quantile(simulation->highs, simulation->threshold_count, 1 - tail), threshold->at_us);
}

int simulate_band(const struct problem *problem, const struct fit_settings *settings, const struct fit *fit,
		  struct noise noise, const double *x, size_t count, double *low, double *high,
		  struct curve_threshold *threshold)
{
	struct simulation simulation = {.replicates = (size_t)settings->replicates};
	struct rng rng;
	int rc = 0;
	size_t shared = 0;

	simulation.values =
		malloc((count * (simulation.replicates + 1) + 2 * (simulation.replicates + 1)) * sizeof(double));
	if (!simulation.values)
		return -ENOMEM;
	simulation.p = simulation.values + count * simulation.replicates;
	simulation.lows = simulation.p + count;
	simulation.highs = simulation.lows + simulation.replicates + 1;
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
		read_off(&simulation, count, low, high, threshold);
	free(simulation.values);
	return rc == 0 && simulation.done == 0 ? -EDOM : rc;
}
