/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Profile search: tries threshold and shape constants on a grid, with the coefficients by QR, then refines the
 * continuous constants by a simplex (Nelder & Mead 1965). The data show only between which two levels a jump is,
 * so for a jump the grid has at most one point per gap between levels: the gap's middle. Without the shape constraint,
 * a profile's residual sum of squares is never larger than with it, so it is a lower bound. Profiles are therefore
 * fitted under the constraint in ascending order of this bound, until the bound of the next profile is not below the
 * best sum found (branch and bound).
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fit_priv.h"

enum {
	THRESHOLDS_MAXIMUM = 64,
	SCALES = 16,
	EXPONENTS = 6,
	PROFILES_MAXIMUM = THRESHOLDS_MAXIMUM * SCALES,
	REFINE_STEPS = 90,
	DIMENSIONS = 3,
};

static const double exponents[EXPONENTS] = {0.7, 1, 1.5, 2.2, 3.3, 5};
static const double exponent_least = 0.4, exponent_most = 12;
static const double scale_least = 1.0 / 400, scale_most = 20; /* in multiples of the last level */

struct scored {
	struct profile profile;
	double rss; /* residual sum of squares of the fit without the shape constraint */
};

struct search {
	const struct problem *problem;
	double *storage; /* scratch for one design */
	struct scored *profiles;
	size_t count;
	/*
	 * Leave-one-out; count elements each. For each level: the lowest residual sum of squares that any profile has
	 * when the level is left out, and the error of that profile at the level.
	 */
	double *rss_without, *error_without;
};

/*
 * Lists the thresholds to try for a form. After each there are enough levels to fit the family, unless the user gave
 * the threshold (forced_us). Before each jump there is at least one level.
 */
static size_t list_thresholds(const struct problem *problem, enum fit_family family, enum curve_form form,
			      double forced_us, double *thresholds)
{
	struct profile profile = {.family = family, .form = CURVE_FORM_NONE, .shape = {1, 1}};
	size_t behind = profile_columns(problem, &profile), n = problem->count, count = 0, every;
	double last;

	if (form == CURVE_FORM_NONE) {
		thresholds[0] = 0;
		return 1;
	}
	if (!isnan(forced_us)) {
		thresholds[0] = forced_us;
		return 1;
	}
	if (n < behind + 1)
		return 0;
	if (form == CURVE_FORM_JUMP) {
		every = (n - behind + THRESHOLDS_MAXIMUM - 1) / THRESHOLDS_MAXIMUM;
		for (size_t i = 1; i + behind <= n && count < THRESHOLDS_MAXIMUM; i += every)
			thresholds[count++] = (problem->x[i - 1] + problem->x[i]) / 2;
		return count;
	}
	/* A hinge may be anywhere, as long as enough levels for the family follow it. */
	last = problem->x[n - behind];
	for (size_t i = 0; i < THRESHOLDS_MAXIMUM / 2; i++)
		thresholds[count++] = last * ((double)i + 0.5) / (THRESHOLDS_MAXIMUM / 2);
	return count;
}

static size_t list_shapes(const struct problem *problem, enum fit_family family, double (*shapes)[2])
{
	double ratio = pow(250, 1.0 / (SCALES - 1)), scale = problem->end_us / 50;
	size_t count = 0;

	if (family == FIT_HILL) {
		ratio = pow(80, 1.0 / (SCALES / 2 - 1));
		for (size_t i = 0; i < SCALES / 2; i++, scale *= ratio)
			for (size_t j = 0; j < EXPONENTS; j++) {
				shapes[count][0] = scale;
				shapes[count++][1] = exponents[j];
			}
		return count;
	}
	if (family_shapes(family) > 0) {
		for (size_t i = 0; i < SCALES; i++, scale *= ratio) {
			shapes[count][0] = scale;
			shapes[count++][1] = 1;
		}
		return count;
	}
	shapes[0][0] = shapes[0][1] = 1;
	return 1;
}

/*
 * Leave-one-out in closed form. If a level with residual e, weight w and leverage h is left out, the error at the level
 * is e / (1 - h), and the residual sum of squares falls by w e^2 / (1 - h).
 */
static void note_without(struct search *search, const struct design *design, const struct solution *solution)
{
	const struct problem *problem = search->problem;
	size_t n = problem->count;

	for (size_t i = 0; i < n; i++) {
		double error = (problem->y[i] - design->target_offset[i]) * problem->root_weight[i], leverage = 0, rss;

		for (size_t k = 0; k < design->columns; k++) {
			double q = design->q[k * n + i];

			error -= q * solution->c[k];
			leverage += q * q;
		}
		if (leverage > 1 - 1e-9)
			continue;
		rss = solution->rss - error * error / (1 - leverage);
		if (rss < search->rss_without[i]) {
			search->rss_without[i] = rss;
			search->error_without[i] = error / (1 - leverage) / problem->root_weight[i];
		}
	}
}

static void score(struct search *search, const struct profile *profile)
{
	struct design design;
	struct solution solution;

	if (search->count == PROFILES_MAXIMUM)
		return;
	design_make(search->problem, profile, &design, search->storage);
	design_solve(search->problem, &design, search->problem->y, &solution);
	if (!isfinite(solution.rss))
		return;
	search->profiles[search->count++] = (struct scored){*profile, solution.rss};
	note_without(search, &design, &solution);
}

static int compare_scored(const void *left, const void *right)
{
	double a = ((const struct scored *)left)->rss, b = ((const struct scored *)right)->rss;

	return a < b ? -1 : a > b;
}

/* Fits a profile under the constraint; returns its residual sum of squares. */
static double constrained_fit(const struct search *search, const struct profile *profile, struct solution *solution)
{
	struct design design;

	design_make(search->problem, profile, &design, search->storage);
	design_solve(search->problem, &design, search->problem->y, solution);
	design_constrain(search->problem, &design, solution);
	return solution->rss;
}

static void score_grid(struct search *search, enum fit_family family, enum curve_form form, double forced_us)
{
	double thresholds[THRESHOLDS_MAXIMUM], shapes[SCALES / 2 * EXPONENTS][2];
	size_t threshold_count = list_thresholds(search->problem, family, form, forced_us, thresholds);
	size_t shape_count = list_shapes(search->problem, family, shapes);
	/*
	 * A full grid of threshold and two shapes would be thousands of profiles; a coarse one is enough to start the
	 * simplex.
	 */
	size_t every = threshold_count * shape_count > PROFILES_MAXIMUM / 2 && threshold_count > 1
			       ? 1 + threshold_count * shape_count / (PROFILES_MAXIMUM / 2)
			       : 1;

	for (size_t i = 0; i < threshold_count; i += every)
		for (size_t j = 0; j < shape_count; j++)
			score(search, &(struct profile){family, form, thresholds[i], {shapes[j][0], shapes[j][1]}});
}

/* Nelder-Mead over (threshold / end, log s, log h), without the constants that are fixed or that the family lacks. */
struct simplex {
	const struct search *search;
	struct profile profile;
	int kinds[DIMENSIONS]; /* 0 threshold, 1 s, 2 h */
	int dimensions;
	double points[DIMENSIONS + 1][DIMENSIONS], values[DIMENSIONS + 1];
};

static bool to_profile(const struct simplex *simplex, const double *point, struct profile *profile)
{
	const struct problem *problem = simplex->search->problem;

	*profile = simplex->profile;
	for (int d = 0; d < simplex->dimensions; d++) {
		if (simplex->kinds[d] == 0)
			profile->threshold_us = point[d] * problem->end_us;
		else
			profile->shape[simplex->kinds[d] - 1] = exp(point[d]);
	}
	return profile->threshold_us >= 0 && profile->threshold_us < problem->end_us &&
	       (profile->family < FIT_LOG || (profile->shape[0] >= scale_least * problem->end_us &&
					      profile->shape[0] <= scale_most * problem->end_us)) &&
	       (profile->family != FIT_HILL ||
		(profile->shape[1] >= exponent_least && profile->shape[1] <= exponent_most));
}

static double simplex_value(const struct simplex *simplex, const double *point)
{
	struct profile profile;
	struct solution solution;

	if (!to_profile(simplex, point, &profile))
		return INFINITY;
	return constrained_fit(simplex->search, &profile, &solution);
}

static void simplex_start(struct simplex *simplex, double forced_us)
{
	static const double steps[DIMENSIONS] = {0.02, 0.25, 0.2};
	const struct profile *profile = &simplex->profile;
	double origin[DIMENSIONS];

	simplex->dimensions = 0;
	if (profile->form == CURVE_FORM_HINGE && isnan(forced_us)) {
		origin[simplex->dimensions] = profile->threshold_us / simplex->search->problem->end_us;
		simplex->kinds[simplex->dimensions++] = 0;
	}
	if (family_shapes(profile->family) > 0) {
		origin[simplex->dimensions] = log(profile->shape[0]);
		simplex->kinds[simplex->dimensions++] = 1;
	}
	if (family_shapes(profile->family) > 1) {
		origin[simplex->dimensions] = log(profile->shape[1]);
		simplex->kinds[simplex->dimensions++] = 2;
	}
	for (int i = 0; i <= simplex->dimensions; i++) {
		memcpy(simplex->points[i], origin, sizeof origin);
		if (i > 0)
			simplex->points[i][i - 1] += steps[simplex->kinds[i - 1]];
		simplex->values[i] = simplex_value(simplex, simplex->points[i]);
	}
}

static void simplex_sort(struct simplex *simplex)
{
	for (int i = 1; i <= simplex->dimensions; i++)
		for (int j = i; j > 0 && simplex->values[j] < simplex->values[j - 1]; j--) {
			double value = simplex->values[j], point[DIMENSIONS];

			memcpy(point, simplex->points[j], sizeof point);
			simplex->values[j] = simplex->values[j - 1];
			memcpy(simplex->points[j], simplex->points[j - 1], sizeof point);
			simplex->values[j - 1] = value;
			memcpy(simplex->points[j - 1], point, sizeof point);
		}
}

/*
 * Sets `point` to centre + factor * (worst point - centre), where centre is the mean of the other points. Returns the
 * value at `point`.
 */
static double simplex_try(const struct simplex *simplex, double factor, double *point)
{
	int last = simplex->dimensions;

	for (int d = 0; d < simplex->dimensions; d++) {
		double centre = 0;

		for (int i = 0; i < last; i++)
			centre += simplex->points[i][d] / last;
		point[d] = centre + factor * (simplex->points[last][d] - centre);
	}
	return simplex_value(simplex, point);
}

static void simplex_replace_worst(struct simplex *simplex, const double *point, double value)
{
	memcpy(simplex->points[simplex->dimensions], point, sizeof simplex->points[0]);
	simplex->values[simplex->dimensions] = value;
}

static void simplex_step(struct simplex *simplex)
{
	double reflected[DIMENSIONS] = {0}, other[DIMENSIONS] = {0};
	int last = simplex->dimensions;
	double value = simplex_try(simplex, -1, reflected), second;

	if (value < simplex->values[0]) {
		second = simplex_try(simplex, -2, other);
		if (second < value)
			simplex_replace_worst(simplex, other, second);
		else
			simplex_replace_worst(simplex, reflected, value);
		return;
	}
	if (value < simplex->values[last - 1]) {
		simplex_replace_worst(simplex, reflected, value);
		return;
	}
	second = simplex_try(simplex, value < simplex->values[last] ? -0.5 : 0.5, other);
	if (second < simplex->values[last]) {
		simplex_replace_worst(simplex, other, second);
		return;
	}
	for (int i = 1; i <= last; i++) {
		for (int d = 0; d < last; d++)
			simplex->points[i][d] = (simplex->points[i][d] + simplex->points[0][d]) / 2;
		simplex->values[i] = simplex_value(simplex, simplex->points[i]);
	}
}

static void refine(const struct search *search, double forced_us, struct best_profile *best)
{
	struct simplex simplex = {.search = search, .profile = best->profile};
	struct profile profile;
	struct solution solution;

	simplex_start(&simplex, forced_us);
	if (simplex.dimensions == 0)
		return;
	for (int step = 0; step < REFINE_STEPS; step++) {
		simplex_sort(&simplex);
		if (simplex.values[simplex.dimensions] - simplex.values[0] <= 1e-7 * simplex.values[0])
			break;
		simplex_step(&simplex);
	}
	simplex_sort(&simplex);
	if (!to_profile(&simplex, simplex.points[0], &profile))
		return;
	if (constrained_fit(search, &profile, &solution) < best->solution.rss) {
		best->profile = profile;
		best->solution = solution;
	}
}

/* Tries every gap near the best one. With more than THRESHOLDS_MAXIMUM levels, the grid has not tried all gaps. */
static void refine_jump(const struct search *search, struct best_profile *best)
{
	const struct problem *problem = search->problem;
	size_t reach = 1 + problem->count / THRESHOLDS_MAXIMUM, middle = 0;

	while (middle + 1 < problem->count && problem->x[middle] < best->profile.threshold_us)
		middle++;
	for (size_t i = middle > reach ? middle - reach : 1; i <= middle + reach && i < problem->count; i++) {
		struct profile profile = best->profile;
		struct solution solution;

		profile.threshold_us = (problem->x[i - 1] + problem->x[i]) / 2;
		if (constrained_fit(search, &profile, &solution) < best->solution.rss) {
			best->profile = profile;
			best->solution = solution;
		}
	}
}

static double root_mean_square(const struct search *search)
{
	double sum = 0, weight = 0;

	for (size_t i = 0; i < search->problem->count; i++) {
		if (!isfinite(search->rss_without[i]))
			continue;
		sum += search->problem->weight[i] * search->error_without[i] * search->error_without[i];
		weight += search->problem->weight[i];
	}
	return weight > 0 ? sqrt(sum / weight) : NAN;
}

static bool pick_constrained(struct search *search, struct best_profile *best)
{
	qsort(search->profiles, search->count, sizeof *search->profiles, compare_scored);
	best->solution.rss = INFINITY;
	for (size_t i = 0; i < search->count && search->profiles[i].rss < best->solution.rss; i++) {
		struct solution solution;

		if (constrained_fit(search, &search->profiles[i].profile, &solution) < best->solution.rss) {
			best->profile = search->profiles[i].profile;
			best->solution = solution;
		}
	}
	return isfinite(best->solution.rss);
}

int search_candidate(const struct problem *problem, enum fit_family family, enum curve_form form,
		     double forced_threshold_us, struct best_profile *best)
{
	struct search search = {.problem = problem};
	size_t n = problem->count;
	int code;

	memset(best, 0, sizeof *best);
	search.storage = malloc((design_storage(problem) + 2 * n) * sizeof *search.storage);
	search.profiles = malloc(PROFILES_MAXIMUM * sizeof *search.profiles);
	code = search.storage && search.profiles ? 1 : -ENOMEM;
	if (code > 0) {
		search.rss_without = search.storage + design_storage(problem);
		search.error_without = search.rss_without + n;
		for (size_t i = 0; i < n; i++)
			search.rss_without[i] = INFINITY;
		score_grid(&search, family, form, forced_threshold_us);
		best->cross_validation = root_mean_square(&search);
		code = pick_constrained(&search, best);
	}
	if (code > 0 && form == CURVE_FORM_JUMP && isnan(forced_threshold_us) && n > THRESHOLDS_MAXIMUM)
		refine_jump(&search, best);
	if (code > 0) {
		refine(&search, forced_threshold_us, best);
		best->evidence = form_evidence(problem, &best->profile, !isnan(forced_threshold_us), search.storage);
	}
	free(search.storage);
	free(search.profiles);
	return code;
}
