/* SPDX-License-Identifier: BSD-3-Clause */
/* Nonlinear fits of problems whose minima are known: robust losses, weights, errors, ways to stop. */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include <base/rng.h>
#include <fitting/linear/linear.h>
#include <fitting/nonlinear/nonlinear.h>

enum { ROWS = 60 };

struct data {
	size_t rows;
	double x[ROWS], y[ROWS];
	int calls;
};

/* b0 exp(-b1 x) + b2 */
static int decay(void *context, const double *b, double *residuals, double *jacobian)
{
	struct data *data = context;

	data->calls++;
	for (size_t i = 0; i < data->rows; i++) {
		double e = exp(-b[1] * data->x[i]);

		residuals[i] = b[0] * e + b[2] - data->y[i];
		if (!jacobian)
			continue;
		jacobian[i] = e;
		jacobian[i + data->rows] = -b[0] * data->x[i] * e;
		jacobian[i + 2 * data->rows] = 1;
	}
	return 0;
}

/* b0 + b1 x */
static int line(void *context, const double *b, double *residuals, double *jacobian)
{
	struct data *data = context;

	for (size_t i = 0; i < data->rows; i++) {
		residuals[i] = b[0] + b[1] * data->x[i] - data->y[i];
		if (!jacobian)
			continue;
		jacobian[i] = 1;
		jacobian[i + data->rows] = data->x[i];
	}
	return 0;
}

/* Rosenbrock (1960): r = (10 (b1 - b0^2), 1 - b0). */
static int rosenbrock(void *context, const double *b, double *residuals, double *jacobian)
{
	(void)context;
	residuals[0] = 10 * (b[1] - b[0] * b[0]);
	residuals[1] = 1 - b[0];
	if (jacobian) {
		jacobian[0] = -20 * b[0];
		jacobian[1] = -1;
		jacobian[2] = 10;
		jacobian[3] = 0;
	}
	return 0;
}

/* Powell's singular function (1962): the Jacobian has rank 2 at the minimum, (0, 0, 0, 0). */
static int powell(void *context, const double *b, double *residuals, double *jacobian)
{
	double s = b[1] - 2 * b[2], t = b[0] - b[3];

	(void)context;
	residuals[0] = b[0] + 10 * b[1];
	residuals[1] = sqrt(5) * (b[2] - b[3]);
	residuals[2] = s * s;
	residuals[3] = sqrt(10) * t * t;
	if (jacobian) {
		const double rows[4][4] = {{1, 10, 0, 0},
					   {0, 0, sqrt(5), -sqrt(5)},
					   {0, 2 * s, -4 * s, 0},
					   {2 * sqrt(10) * t, 0, 0, -2 * sqrt(10) * t}};

		for (int i = 0; i < 4; i++)
			for (int j = 0; j < 4; j++)
				jacobian[i + 4 * j] = rows[i][j];
	}
	return 0;
}

static void make_decay(struct data *data, double noise, uint64_t seed)
{
	struct rng rng;

	rng_seed(&rng, seed);
	data->rows = ROWS;
	for (int i = 0; i < ROWS; i++) {
		data->x[i] = i;
		data->y[i] = 5 * exp(-0.1 * i) + 2 + noise * rng_normal(&rng);
	}
}

static void solve(const struct nonlinear_problem *problem, const struct nonlinear_settings *settings,
		  struct nonlinear_result *result)
{
	struct error err = {0};

	cr_assert_eq(nonlinear_fit(problem, settings, result, &err), 0, "%s", err.text);
}

Test(nonlinear, exact_data_give_the_parameters_back)
{
	struct data data = {0};
	const double start[] = {1, 1, 0};
	struct nonlinear_problem problem = {ROWS, 3, decay, NULL, &data, start};
	struct nonlinear_settings settings;
	struct nonlinear_result result;

	make_decay(&data, 0, 1);
	nonlinear_settings_default(&settings);
	solve(&problem, &settings, &result);
	cr_assert(result.converged, "%s", nonlinear_reason_text(result.reason));
	cr_assert(fabs(result.values[0] - 5) < 1e-12 && fabs(result.values[1] - 0.1) < 1e-14 &&
		  fabs(result.values[2] - 2) < 1e-13);
	cr_assert(result.rss < 1e-26);
	nonlinear_result_free(&result);
	nonlinear_result_free(&result);
}

Test(nonlinear, gradient_is_zero_at_the_minimum_and_errors_match_their_scatter)
{
	struct data data = {0};
	const double start[] = {1, 1, 0};
	struct nonlinear_problem problem = {ROWS, 3, decay, NULL, &data, start};
	struct nonlinear_settings settings;
	double mean[3] = {0}, square[3] = {0}, said[3] = {0};
	enum { DRAWS = 400 };

	nonlinear_settings_default(&settings);
	for (int draw = 0; draw < DRAWS; draw++) {
		struct nonlinear_result result;
		double residuals[ROWS], jacobian[3 * ROWS];

		make_decay(&data, 0.05, 100 + draw);
		solve(&problem, &settings, &result);
		cr_assert(result.converged);
		decay(&data, result.values, residuals, jacobian);
		for (int j = 0; j < 3; j++) {
			double gradient = 0, size = 0;

			for (int i = 0; i < ROWS; i++) {
				gradient += jacobian[i + j * ROWS] * residuals[i];
				size += fabs(jacobian[i + j * ROWS] * residuals[i]);
			}
			cr_assert(fabs(gradient) <= 1e-10 * size, "%g of %g", gradient, size);
			mean[j] += result.values[j] / DRAWS;
			square[j] += result.values[j] * result.values[j] / DRAWS;
			said[j] += result.standard_errors[j] / DRAWS;
		}
		nonlinear_result_free(&result);
	}
	for (int j = 0; j < 3; j++) {
		double scatter = sqrt(square[j] - mean[j] * mean[j]);

		/* A scatter estimated from 400 draws is itself accurate to 3.5 %. */
		cr_assert(fabs(said[j] / scatter - 1) < 0.12, "parameter %d: said %g, scatter %g", j, said[j], scatter);
	}
}

Test(nonlinear, a_linear_model_gets_the_linear_answer_with_weights)
{
	struct data data = {0};
	const double start[] = {100, -7};
	double weights[ROWS], matrix[2 * ROWS];
	struct nonlinear_problem problem = {ROWS, 2, line, NULL, &data, start, .weights = weights};
	struct linear_problem linear = {ROWS, 2, matrix, 0, data.y, weights, true};
	struct linear_workspace *workspace = linear_workspace_create(ROWS, 2);
	struct linear_result wanted;
	struct nonlinear_settings settings;
	struct nonlinear_result result;

	make_decay(&data, 0.1, 3);
	for (int i = 0; i < ROWS; i++) {
		weights[i] = i % 4;
		matrix[i] = 1;
		matrix[i + ROWS] = data.x[i];
	}
	nonlinear_settings_default(&settings);
	for (int absolute = 0; absolute < 2; absolute++) {
		settings.absolute_sigma = absolute;
		solve(&problem, &settings, &result);
		cr_assert_eq(linear_fit(workspace, &linear, &wanted), LINEAR_OK);
		for (int k = 0; k < 4; k++) {
			double cell = absolute ? wanted.covariance_absolute[k] : wanted.covariance_scaled[k];

			cr_assert(fabs(result.covariance[k] - cell) <= 1e-12 * fabs(cell));
		}
		for (int j = 0; j < 2; j++)
			cr_assert(fabs(result.values[j] - wanted.coefficients[j]) <=
				  1e-13 * fabs(wanted.coefficients[j]));
		cr_assert(fabs(result.rss - wanted.chi2) <= 1e-13 * wanted.chi2);
		cr_assert_eq(result.dof, wanted.dof);
		cr_assert(fabs(result.bic - wanted.bic) < 1e-10);
		nonlinear_result_free(&result);
	}
	linear_workspace_destroy(workspace);
}

Test(nonlinear, robust_losses_shrug_off_outliers)
{
	struct data data = {0};
	const double start[] = {1, 1, 0};
	struct nonlinear_problem problem = {ROWS, 3, decay, NULL, &data, start};
	struct nonlinear_settings settings;
	struct nonlinear_result result;
	double off[3];

	make_decay(&data, 0.05, 4);
	for (int i = 5; i < ROWS; i += 10)
		data.y[i] += 4;
	nonlinear_settings_default(&settings);
	settings.loss_scale = 0.1;
	for (int loss = NONLINEAR_LINEAR; loss <= NONLINEAR_HUBER; loss++) {
		settings.loss = (enum nonlinear_loss)loss;
		solve(&problem, &settings, &result);
		cr_assert(result.converged, "%s", nonlinear_reason_text(result.reason));
		off[loss] = fabs(result.values[2] - 2);
		if (loss != NONLINEAR_LINEAR)
			cr_assert(off[loss] < 4 * result.standard_errors[2], "off by %g, error said %g", off[loss],
				  result.standard_errors[2]);
		nonlinear_result_free(&result);
	}
	cr_assert(off[NONLINEAR_LINEAR] > 0.3, "%g", off[NONLINEAR_LINEAR]);
	cr_assert(off[NONLINEAR_SOFT_L1] < 0.05, "%g", off[NONLINEAR_SOFT_L1]);
	cr_assert(off[NONLINEAR_HUBER] < 0.05, "%g", off[NONLINEAR_HUBER]);
}

/* A Huber fit of a constant is the value at which clipped residuals balance. */
Test(nonlinear, huber_solves_its_equation)
{
	struct data data = {.rows = 7, .y = {1, 1.5, 2, 2.2, 2.4, 3, 50}};
	const double start[] = {0, 0};
	const bool fixed[] = {false, true};
	struct nonlinear_problem problem = {7, 2, line, NULL, &data, start, .fixed = fixed};
	struct nonlinear_settings settings;
	struct nonlinear_result result;
	double balance = 0, square = 0, inside = 0;

	nonlinear_settings_default(&settings);
	settings.loss = NONLINEAR_HUBER;
	settings.loss_scale = 0.5;
	solve(&problem, &settings, &result);
	cr_assert(result.converged);
	for (int i = 0; i < 7; i++) {
		double residual = result.values[0] - data.y[i], clipped = fmin(fmax(residual, -0.5), 0.5);

		balance += clipped;
		square += clipped * clipped;
		inside += residual == clipped;
	}
	cr_assert(fabs(balance) < 1e-14, "%g", balance);
	/* Huber (1973): sum psi^2 / (n - 1) / (mean psi')^2 / n */
	cr_assert_float_eq(result.standard_errors[0], sqrt(square / 6 / pow(inside / 7, 2) / 7), 1e-12);
	nonlinear_result_free(&result);
}

Test(nonlinear, classic_hard_functions_are_solved)
{
	const double rosenbrock_start[] = {-1.2, 1}, powell_start[] = {3, -1, 0, 1};
	struct nonlinear_problem problem = {2, 2, rosenbrock, NULL, NULL, rosenbrock_start};
	struct nonlinear_settings settings;
	struct nonlinear_result result;

	nonlinear_settings_default(&settings);
	solve(&problem, &settings, &result);
	cr_assert(result.converged && result.values[0] == 1 && result.values[1] == 1);
	cr_assert(isinf(result.standard_errors[0])); /* no degrees of freedom */
	nonlinear_result_free(&result);
	problem = (struct nonlinear_problem){4, 4, powell, NULL, NULL, powell_start};
	solve(&problem, &settings, &result);
	for (int j = 0; j < 4; j++)
		cr_assert(fabs(result.values[j]) < 1e-4, "%g", result.values[j]);
	nonlinear_result_free(&result);
}

Test(nonlinear, switches_change_the_way_not_the_answer)
{
	struct data data = {0};
	const double start[] = {1, 1, 0};
	const bool linear[] = {true, false, true};
	struct nonlinear_problem problem = {ROWS, 3, decay, NULL, &data, start, .linear = linear};
	struct nonlinear_settings settings;
	struct nonlinear_result result;
	double wanted[3];

	make_decay(&data, 0.05, 5);
	nonlinear_settings_default(&settings);
	solve(&problem, &settings, &result);
	memcpy(wanted, result.values, sizeof wanted);
	nonlinear_result_free(&result);
	for (int way = 0; way < 3; way++) {
		nonlinear_settings_default(&settings);
		settings.acceleration = way != 0;
		settings.polish = way != 1;
		settings.starts = way == 2 ? 6 : 1;
		solve(&problem, &settings, &result);
		cr_assert(result.converged);
		for (int j = 0; j < 3; j++)
			cr_assert(fabs(result.values[j] - wanted[j]) < 1e-6 * fabs(wanted[j]));
		if (way == 2)
			cr_assert(result.starts_tried >= 3 && result.starts_agreeing >= 3 && result.start_used == 0);
		nonlinear_result_free(&result);
	}
}
