/* SPDX-License-Identifier: BSD-3-Clause */
#include "nist_peers.h"

#ifndef HAVE_GSL

bool nist_peer_gsl(const struct nist_set *set, size_t start, double *values)
{
	(void)set;
	(void)start;
	(void)values;
	return false;
}

#else

#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_blas.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit_nlinear.h>

#include <fitting/expression/expression.h>

struct model {
	const struct nist_set *set;
	struct expression *right, *left;
	double *scratch;
};

static int evaluate(const struct model *model, const gsl_vector *b, gsl_vector *residuals, gsl_matrix *jacobian)
{
	const struct nist_set *set = model->set;
	double x[NIST_PREDICTORS_MAXIMUM], parameters[NIST_PARAMETERS_MAXIMUM], gradient[NIST_PARAMETERS_MAXIMUM];

	for (size_t j = 0; j < set->parameter_count; j++)
		parameters[j] = gsl_vector_get(b, j);
	for (size_t i = 0; i < set->observations; i++) {
		double y = (double)set->y[i], value;

		for (size_t k = 0; k < set->predictor_count; k++)
			x[k] = (double)set->x[i * set->predictor_count + k];
		value = expression_evaluate(model->right, x, parameters, gradient, model->scratch);
		if (!isfinite(value))
			return GSL_EDOM;
		if (residuals)
			gsl_vector_set(residuals, i,
				       value - expression_evaluate(model->left, NULL, &y, NULL, model->scratch));
		for (size_t j = 0; jacobian && j < set->parameter_count; j++)
			gsl_matrix_set(jacobian, i, j, gradient[j]);
	}
	return GSL_SUCCESS;
}

static int fill_residuals(const gsl_vector *b, void *data, gsl_vector *residuals)
{
	return evaluate(data, b, residuals, NULL);
}

static int fill_jacobian(const gsl_vector *b, void *data, gsl_matrix *jacobian)
{
	return evaluate(data, b, NULL, jacobian);
}

static bool parse(const struct nist_set *set, struct model *model)
{
	const char *predictors[NIST_PREDICTORS_MAXIMUM], *parameters[NIST_PARAMETERS_MAXIMUM];
	static const char *const y[] = {"y"};
	struct expression_names right = {predictors, set->predictor_count, parameters, set->parameter_count};
	struct expression_names left = {.parameters = y, .parameter_count = 1};

	for (size_t k = 0; k < set->predictor_count; k++)
		predictors[k] = set->predictors[k];
	for (size_t k = 0; k < set->parameter_count; k++)
		parameters[k] = set->parameters[k].name;
	*model = (struct model){.set = set};
	model->right = expression_parse(set->model, &right, NULL);
	model->left = expression_parse(set->response, &left, NULL);
	if (model->right && model->left)
		model->scratch =
			malloc((expression_scratch(model->right) + expression_scratch(model->left)) * sizeof(double));
	return model->scratch != NULL;
}

/* As in GSL's manual: default parameters, tolerances of 1e-8 on step and gradient; here with 1,000 iterations. */
static bool solve(struct model *model, size_t start, double *values)
{
	const struct nist_set *set = model->set;
	gsl_multifit_nlinear_parameters how = gsl_multifit_nlinear_default_parameters();
	gsl_multifit_nlinear_workspace *work =
		gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &how, set->observations, set->parameter_count);
	gsl_multifit_nlinear_fdf system = {.f = fill_residuals,
					   .df = fill_jacobian,
					   .n = set->observations,
					   .p = set->parameter_count,
					   .params = model};
	gsl_vector *first = gsl_vector_alloc(set->parameter_count);
	int info;

	if (!work || !first)
		exit(2);
	gsl_set_error_handler_off();
	for (size_t j = 0; j < set->parameter_count; j++)
		gsl_vector_set(first, j, set->parameters[j].start[start]);
	if (gsl_multifit_nlinear_init(first, &system, work) == GSL_SUCCESS)
		gsl_multifit_nlinear_driver(1000, 1e-8, 1e-8, 0, NULL, NULL, &info, work);
	for (size_t j = 0; j < set->parameter_count; j++)
		values[j] = gsl_vector_get(gsl_multifit_nlinear_position(work), j);
	gsl_vector_free(first);
	gsl_multifit_nlinear_free(work);
	return true;
}

bool nist_peer_gsl(const struct nist_set *set, size_t start, double *values)
{
	struct model model;
	bool done = parse(set, &model) && solve(&model, start, values);

	expression_destroy(model.right);
	expression_destroy(model.left);
	free(model.scratch);
	return done;
}

#endif
