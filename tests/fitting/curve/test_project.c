/* SPDX-License-Identifier: BSD-3-Clause */
/* The projection onto the shape constraint, compared with brute force over the active sets. */
#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fit_priv.h"

enum { ROWS_MOST = 9, COLUMNS_MOST = 4, INSTANCES = 4000 };

struct instance {
	size_t rows, columns;
	double row[ROWS_MOST * COLUMNS_MOST], bound[ROWS_MOST], start[COLUMNS_MOST];
};

static double excess(const struct instance *instance, size_t i, const double *c)
{
	double sum = -instance->bound[i];

	for (size_t k = 0; k < instance->columns; k++)
		sum += instance->row[i * instance->columns + k] * c[k];
	return sum;
}

static double distance(const struct instance *instance, const double *c)
{
	double sum = 0;

	for (size_t k = 0; k < instance->columns; k++)
		sum += (c[k] - instance->start[k]) * (c[k] - instance->start[k]);
	return sqrt(sum);
}

/* Gaussian elimination with partial pivoting, in place; false if singular. */
static bool solve(double *matrix, double *right, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		size_t best = k;

		for (size_t i = k + 1; i < n; i++)
			if (fabs(matrix[i * n + k]) > fabs(matrix[best * n + k]))
				best = i;
		if (fabs(matrix[best * n + k]) < 1e-9)
			return false;
		for (size_t j = 0; j < n; j++) {
			double swap = matrix[k * n + j];

			matrix[k * n + j] = matrix[best * n + j];
			matrix[best * n + j] = swap;
		}
		double swap = right[k];

		right[k] = right[best];
		right[best] = swap;
		for (size_t i = 0; i < n; i++) {
			double factor = i == k ? 0 : matrix[i * n + k] / matrix[k * n + k];

			for (size_t j = 0; j < n; j++)
				matrix[i * n + j] -= factor * matrix[k * n + j];
			right[i] -= factor * right[k];
		}
	}
	for (size_t k = 0; k < n; k++)
		right[k] /= matrix[k * n + k];
	return true;
}

/* The point nearest to the start with these rows equal to their bounds: start - G' (G G')^-1 (G start - bound). */
static bool project_onto_set(const struct instance *instance, unsigned set, double *c)
{
	size_t active[ROWS_MOST], count = 0;
	double gram[COLUMNS_MOST * COLUMNS_MOST], multiplier[COLUMNS_MOST];

	for (size_t i = 0; i < instance->rows; i++)
		if (set >> i & 1)
			active[count++] = i;
	for (size_t i = 0; i < count; i++) {
		multiplier[i] = excess(instance, active[i], instance->start);
		for (size_t j = 0; j < count; j++) {
			gram[i * count + j] = 0;
			for (size_t k = 0; k < instance->columns; k++)
				gram[i * count + j] += instance->row[active[i] * instance->columns + k] *
						       instance->row[active[j] * instance->columns + k];
		}
	}
	if (!solve(gram, multiplier, count))
		return false;
	memcpy(c, instance->start, instance->columns * sizeof *c);
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < instance->columns; k++)
			c[k] -= multiplier[i] * instance->row[active[i] * instance->columns + k];
	return true;
}

static bool feasible(const struct instance *instance, const double *c)
{
	for (size_t i = 0; i < instance->rows; i++)
		if (excess(instance, i, c) > 1e-7)
			return false;
	return true;
}

/* The nearest feasible projection onto a set of at most `columns` active rows; INFINITY if there is none. */
static double brute_force(const struct instance *instance, unsigned *active)
{
	double best = INFINITY, c[COLUMNS_MOST];

	for (unsigned set = 0; set < 1u << instance->rows; set++) {
		if ((size_t)__builtin_popcount(set) > instance->columns || !project_onto_set(instance, set, c))
			continue;
		if (feasible(instance, c) && distance(instance, c) < best) {
			best = distance(instance, c);
			*active = set;
		}
	}
	return best;
}

static void make_instance(struct rng *rng, struct instance *instance)
{
	instance->columns = 1 + rng_below(rng, COLUMNS_MOST);
	instance->rows = 1 + rng_below(rng, ROWS_MOST);
	for (size_t k = 0; k < instance->columns; k++)
		instance->start[k] = 2 * rng_normal(rng);
	for (size_t i = 0; i < instance->rows; i++) {
		double length = 0, *row = instance->row + i * instance->columns;

		for (size_t k = 0; k < instance->columns; k++) {
			row[k] = rng_normal(rng);
			length += row[k] * row[k];
		}
		for (size_t k = 0; k < instance->columns; k++)
			row[k] /= sqrt(length);
		/* All half-spaces contain a common point near 0, so that each instance is feasible. */
		instance->bound[i] = 0.05 + 0.5 * rng_uniform(rng);
	}
}

Test(project, finds_the_nearest_point_that_satisfies_every_row)
{
	size_t with_active[COLUMNS_MOST + 1] = {0};
	struct rng rng;

	rng_seed(&rng, 17);
	for (int n = 0; n < INSTANCES; n++) {
		struct instance instance;
		double c[COLUMNS_MAXIMUM] = {0}, nearest;
		unsigned active = 0;

		make_instance(&rng, &instance);
		nearest = brute_force(&instance, &active);
		cr_assert(isfinite(nearest), "instance %d has no feasible point", n);
		memcpy(c, instance.start, sizeof instance.start);
		cr_assert(project_onto_constraints(instance.row, instance.bound, instance.rows, instance.columns, c),
			  "instance %d", n);
		cr_assert(feasible(&instance, c), "instance %d: a row is violated", n);
		cr_assert_float_eq(distance(&instance, c), nearest, 1e-6, "instance %d: distance %g, nearest %g", n,
				   distance(&instance, c), nearest);
		with_active[__builtin_popcount(active)]++;
	}
	for (size_t k = 0; k <= 3; k++)
		cr_assert_gt(with_active[k], 100, "%zu instances have %zu active rows", with_active[k], k);
}

Test(project, contradicting_rows_are_reported)
{
	const double rows[] = {1, 0, -1, 0}, bound[] = {-1, -1};
	double c[COLUMNS_MAXIMUM] = {0.5, 0};

	cr_assert_not(project_onto_constraints(rows, bound, 2, 2, c), "x <= -1 and x >= 1");
}

Test(project, a_feasible_point_stays)
{
	const double rows[] = {1, 0, 0, 1}, bound[] = {1, 1};
	double c[COLUMNS_MAXIMUM] = {0.5, -3};

	cr_assert(project_onto_constraints(rows, bound, 2, 2, c));
	cr_assert_float_eq(c[0], 0.5, 1e-12);
	cr_assert_float_eq(c[1], -3, 1e-12);
}

/* Leave-one-out computed by hand. Weights are far below 1, so that a constant added to their sum would show. */
Test(isotonic, cross_validation_is_the_weighted_error_at_levels_left_out)
{
	double x[] = {0, 10, 20, 30}, y[] = {1, 0.8, 0.9, 0.4}, weight[] = {1e-3, 2e-3, 1e-3, 1e-3};
	struct problem problem = {.count = 4, .x = x, .y = y, .weight = weight};
	double storage[8 * 4], sum = 0;

	for (size_t out = 1; out < 3; out++) {
		double rest_x[3], rest_y[3], rest_weight[3], rest_storage[5 * 3], error;
		struct problem rest = {.count = 3, .x = rest_x, .y = rest_y, .weight = rest_weight};
		struct isotonic isotonic;

		for (size_t i = 0, to = 0; i < 4; i++)
			if (i != out) {
				rest_x[to] = x[i];
				rest_y[to] = y[i];
				rest_weight[to++] = weight[i];
			}
		isotonic_fit(&rest, rest_y, &isotonic, rest_storage);
		error = y[out] - isotonic_value(&isotonic, x[out]);
		sum += weight[out] * error * error;
	}
	cr_assert_float_eq(isotonic_cross_validate(&problem, storage), sqrt(sum / 3e-3), 1e-12);
}

enum { LEVELS = 130 };

struct levels {
	struct problem problem;
	double block[5 * LEVELS];
};

static void make_levels(struct levels *levels)
{
	double *block = levels->block;

	levels->problem = (struct problem){.count = LEVELS,
					   .x = block,
					   .y = block + LEVELS,
					   .weight = block + 2 * LEVELS,
					   .root_weight = block + 3 * LEVELS,
					   .work = block + 4 * LEVELS,
					   .rows = LEVELS,
					   .baseline_known = true,
					   .end_us = 10 * (LEVELS - 1),
					   .constraint_end_us = 10 * (LEVELS - 1)};
	for (size_t i = 0; i < LEVELS; i++) {
		block[i] = 10 * (double)i;
		levels->problem.weight[i] = levels->problem.root_weight[i] = 1;
	}
}

/* With more levels than the grid has thresholds, the search refines the jump in the neighbouring gaps. */
Test(search, a_jump_is_found_in_its_own_gap_at_every_one_of_130_levels)
{
	struct levels levels = {0};

	make_levels(&levels);
	for (size_t jump = 1; jump + 2 < LEVELS; jump++) {
		const double *x = levels.problem.x;
		struct best_profile best;

		for (size_t i = 0; i < LEVELS; i++)
			levels.problem.y[i] = i < jump ? 1 : 0.8 - 1e-4 * x[i];
		cr_assert(search_candidate(&levels.problem, FIT_POLYNOMIAL_1, CURVE_FORM_JUMP, NAN, &best));
		cr_assert(best.profile.threshold_us > x[jump - 1] && best.profile.threshold_us < x[jump],
			  "jump after level %zu found at %g us", jump, best.profile.threshold_us);
	}
}

/* With noise, the best gap can be the last neighbour searched: no gap within three of the chosen one may be better. */
Test(search, no_neighbouring_gap_is_better_in_noise)
{
	struct levels levels = {0};
	struct rng rng;

	make_levels(&levels);
	rng_seed(&rng, 341);
	for (int n = 0; n < 300; n++) {
		const double *x = levels.problem.x;
		struct best_profile best, other;
		size_t gap = 1;

		for (size_t i = 0; i < LEVELS; i++)
			levels.problem.y[i] = (i < 60 ? 1 : 0.97 - 1e-4 * x[i]) + 0.05 * rng_normal(&rng);
		cr_assert(search_candidate(&levels.problem, FIT_POLYNOMIAL_1, CURVE_FORM_JUMP, NAN, &best));
		while (x[gap] < best.profile.threshold_us)
			gap++;
		for (size_t i = gap > 3 ? gap - 3 : 1; i <= gap + 3 && i + 2 < LEVELS; i++) {
			double middle = (x[i - 1] + x[i]) / 2;

			search_candidate(&levels.problem, FIT_POLYNOMIAL_1, CURVE_FORM_JUMP, middle, &other);
			cr_assert_geq(other.solution.rss, best.solution.rss - 1e-12, "sweep %d: %g us, not %g us", n,
				      middle, best.profile.threshold_us);
		}
	}
}
