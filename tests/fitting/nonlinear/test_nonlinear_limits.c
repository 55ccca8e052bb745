/* SPDX-License-Identifier: BSD-3-Clause */
/* Bounds, fixed parameters, and fits that cannot succeed and must report it. */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#include <base/rng.h>
#include <fitting/nonlinear/nonlinear.h>

enum { ROWS = 40 };

static double xs[ROWS], ys[ROWS];

/* b0 exp(-b1 x) + b2 x */
static int bent(void *context, const double *b, double *residuals, double *jacobian)
{
	size_t rows = *(const size_t *)context;

	for (size_t i = 0; i < rows; i++) {
		double e = exp(-b[1] * xs[i]);

		residuals[i] = b[0] * e + b[2] * xs[i] - ys[i];
		if (!jacobian)
			continue;
		jacobian[i] = e;
		jacobian[i + rows] = -b[0] * xs[i] * e;
		jacobian[i + 2 * rows] = xs[i];
	}
	return 0;
}

/* (b0 + b1) x: only the sum is determined */
static int twice(void *context, const double *b, double *residuals, double *jacobian)
{
	size_t rows = *(const size_t *)context;

	for (size_t i = 0; i < rows; i++) {
		residuals[i] = (b[0] + b[1]) * xs[i] - ys[i];
		if (jacobian)
			jacobian[i] = jacobian[i + rows] = xs[i];
	}
	return 0;
}

static int nowhere(void *context, const double *b, double *residuals, double *jacobian)
{
	(void)context;
	(void)b;
	(void)residuals;
	(void)jacobian;
	return -1;
}

/* Fits sqrt(b0), defined only for b0 > 0, to x + 1. */
static int half_plane(void *context, const double *b, double *residuals, double *jacobian)
{
	size_t rows = *(const size_t *)context;

	for (size_t i = 0; i < rows; i++) {
		residuals[i] = log(b[0]) - 0.5;
		if (jacobian)
			jacobian[i] = 1 / b[0];
	}
	return 0;
}

static size_t rows = ROWS;
static struct nonlinear_settings settings;

static void setup(void)
{
	struct rng rng;

	rng_seed(&rng, 9);
	for (int i = 0; i < ROWS; i++) {
		xs[i] = i * 0.25;
		ys[i] = 4 * exp(-0.7 * xs[i]) + 0.3 * xs[i] + 0.05 * rng_normal(&rng);
	}
	nonlinear_settings_default(&settings);
}

TestSuite(nonlinear_limits, .init = setup);

static void solve(const struct nonlinear_problem *problem, struct nonlinear_result *result)
{
	struct error err = {0};

	cr_assert_eq(nonlinear_fit(problem, &settings, result, &err), 0, "%s", err.text);
}

static double cost_at(const double *b)
{
	double residuals[ROWS], sum = 0;

	bent(&rows, b, residuals, NULL);
	for (int i = 0; i < ROWS; i++)
		sum += residuals[i] * residuals[i];
	return sum;
}

/* At a constrained minimum no step that stays inside the box lowers the cost. */
Test(nonlinear_limits, bounded_fits_end_at_the_constrained_minimum)
{
	struct rng rng;

	rng_seed(&rng, 10);
	for (int round = 0; round < 200; round++) {
		double lower[3], upper[3], start[3];
		struct nonlinear_problem problem = {ROWS, 3, bent, NULL, &rows, start, NULL, lower, upper};
		struct nonlinear_result result;
		const double truth[] = {4, 0.7, 0.3};
		double cost;

		for (int j = 0; j < 3; j++) {
			lower[j] = truth[j] * (0.5 + rng_uniform(&rng));
			upper[j] = lower[j] + truth[j] * rng_uniform(&rng);
			start[j] = lower[j] + (upper[j] - lower[j]) * rng_uniform(&rng);
		}
		solve(&problem, &result);
		cr_assert(result.converged, "round %d: %s", round, nonlinear_reason_text(result.reason));
		cost = cost_at(result.values);
		for (int j = 0; j < 3; j++) {
			cr_assert(result.values[j] >= lower[j] && result.values[j] <= upper[j]);
			cr_assert_eq(result.at_bound[j], result.values[j] == lower[j] || result.values[j] == upper[j]);
			cr_assert_eq((bool)isnan(result.standard_errors[j]), result.at_bound[j]);
		}
		for (int probe = 0; probe < 100; probe++) {
			double other[3];

			for (int j = 0; j < 3; j++)
				other[j] = fmin(fmax(result.values[j] + 1e-3 * rng_normal(&rng), lower[j]), upper[j]);
			cr_assert(cost_at(other) >= cost * (1 - 1e-12), "round %d: %.15g under %.15g", round,
				  cost_at(other), cost);
		}
		nonlinear_result_free(&result);
	}
}

Test(nonlinear_limits, fixed_parameters_stay_and_have_no_error)
{
	const double start[] = {1, 0.9, 0};
	const bool fixed[] = {false, true, false};
	struct nonlinear_problem problem = {ROWS, 3, bent, NULL, &rows, start, .fixed = fixed};
	struct nonlinear_result result;
	const bool all[] = {true, true, true};

	solve(&problem, &result);
	cr_assert(result.converged);
	cr_assert_eq(result.values[1], 0.9);
	cr_assert_eq(result.standard_errors[1], 0);
	cr_assert(result.standard_errors[0] > 0);
	cr_assert_eq(result.dof, ROWS - 2);
	nonlinear_result_free(&result);
	problem.fixed = all;
	solve(&problem, &result);
	cr_assert(result.converged);
	cr_assert(fabs(result.rss - cost_at(start)) < 1e-12 * result.rss);
	nonlinear_result_free(&result);
}

Test(nonlinear_limits, undetermined_parameters_are_named_as_such)
{
	const double start[] = {1, 2};
	struct nonlinear_problem problem = {ROWS, 2, twice, NULL, &rows, start};
	struct nonlinear_result result;

	solve(&problem, &result);
	cr_assert(!result.converged);
	cr_assert_eq(result.reason, NONLINEAR_UNDETERMINED);
	cr_assert_eq(result.rank, 1);
	cr_assert(isinf(result.standard_errors[0]) || isinf(result.standard_errors[1]));
	nonlinear_result_free(&result);
}

Test(nonlinear_limits, too_few_iterations_are_admitted)
{
	const double start[] = {300, 0.01, -5};
	struct nonlinear_problem problem = {ROWS, 3, bent, NULL, &rows, start};
	struct nonlinear_result result;

	settings.iterations = 1;
	settings.polish = false;
	solve(&problem, &result);
	cr_assert(!result.converged);
	cr_assert_eq(result.reason, NONLINEAR_ITERATIONS);
	nonlinear_result_free(&result);
}

Test(nonlinear_limits, a_model_without_values_is_a_bad_start)
{
	const double start[] = {1};
	struct nonlinear_problem problem = {ROWS, 1, nowhere, NULL, &rows, start};
	struct nonlinear_result result;

	settings.starts = 5;
	solve(&problem, &result);
	cr_assert(!result.converged);
	cr_assert_eq(result.reason, NONLINEAR_START_BAD);
	nonlinear_result_free(&result);
}

Test(nonlinear_limits, edges_of_the_domain_are_stepped_back_from)
{
	const double start[] = {30};
	struct nonlinear_problem problem = {ROWS, 1, half_plane, NULL, &rows, start};
	struct nonlinear_result result;

	solve(&problem, &result);
	cr_assert(result.converged, "%s", nonlinear_reason_text(result.reason));
	cr_assert(fabs(result.values[0] - exp(0.5)) < 1e-14);
	nonlinear_result_free(&result);
}

Test(nonlinear_limits, nonsense_is_refused)
{
	const double start[] = {1, 1, 1}, nan_start[] = {1, NAN, 1}, high[] = {0.5, 2, 2}, low[] = {0, 3, 0};
	double weights[ROWS] = {0};
	struct nonlinear_problem good = {ROWS, 3, bent, NULL, &rows, start}, bad;
	struct nonlinear_result result;
	struct error err;

	bad = good;
	bad.start = nan_start;
	cr_assert_eq(nonlinear_fit(&bad, &settings, &result, &err), -EINVAL);
	bad = good;
	bad.upper = high;
	cr_assert_eq(nonlinear_fit(&bad, &settings, &result, &err), -EINVAL);
	cr_assert(strstr(err.text, "outside its bounds"), "%s", err.text);
	bad.lower = low;
	cr_assert_eq(nonlinear_fit(&bad, &settings, &result, &err), -EINVAL);
	bad = good;
	bad.observations = 2;
	cr_assert_eq(nonlinear_fit(&bad, &settings, &result, &err), -EINVAL);
	bad = good;
	bad.weights = weights;
	cr_assert_eq(nonlinear_fit(&bad, &settings, &result, &err), -EINVAL);
	weights[0] = -1;
	cr_assert_eq(nonlinear_fit(&bad, &settings, &result, &err), -EINVAL);
	bad = good;
	bad.parameters = NONLINEAR_PARAMETERS_MAXIMUM + 1;
	cr_assert_eq(nonlinear_fit(&bad, &settings, &result, NULL), -EINVAL);
	settings.loss_scale = 0;
	cr_assert_eq(nonlinear_fit(&good, &settings, &result, &err), -EINVAL);
}
