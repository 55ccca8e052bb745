/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses a formula, evaluates it with its derivatives, and queries its structure. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <fitting/expression/expression.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const predictors[] = {"x", "x2"};
	static const char *const known[] = {"b1", "b2", "b3"};
	static const struct expression_names names = {predictors, 2, known, 3};
	const double x[] = {1.5, -0.5}, b[] = {0.25, -2, 3};
	const long double wide_x[] = {1.5L, -0.5L}, wide_b[] = {0.25L, -2, 3};
	double gradient[3], *scratch;
	long double wide_gradient[3], *wide_scratch;
	struct expression_parameters parameters;
	struct error err = {0};
	struct expression *expression;
	bool mask[3];
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (expression_parameters_start(text, &parameters, &err) == 0) {
		expression_parameters_bounds(text, &parameters, &err);
		expression_parameters_fixed(text, &parameters, &err);
	}
	expression = expression_parse(text, &names, &err);
	if (expression) {
		scratch = malloc(expression_scratch(expression) * sizeof *scratch);
		wide_scratch = malloc(expression_scratch(expression) * sizeof *wide_scratch);
		expression_evaluate(expression, x, b, gradient, scratch);
		expression_evaluate_extended(expression, wide_x, wide_b, wide_gradient, wide_scratch);
		expression_affine_parameters(expression, mask);
		free(scratch);
		free(wide_scratch);
	}
	expression_destroy(expression);
	free(text);
	return 0;
}
