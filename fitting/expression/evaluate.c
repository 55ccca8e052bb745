/* SPDX-License-Identifier: BSD-3-Clause */
/* Evaluation of a tape with reverse automatic differentiation; analysis of its structure. */
#include "expression_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXPRESSION_REAL double
#define EXPRESSION_NAME(name) name##_double
#define EXPRESSION_MATH(name) name
#include "expression_template_priv.h"
#undef EXPRESSION_REAL
#undef EXPRESSION_NAME
#undef EXPRESSION_MATH

#define EXPRESSION_REAL long double
#define EXPRESSION_NAME(name) name##_extended
#define EXPRESSION_MATH(name) name##l
#include "expression_template_priv.h"
#undef EXPRESSION_REAL
#undef EXPRESSION_NAME
#undef EXPRESSION_MATH

long double expression_apply(enum expression_operation operation, int32_t index, long double left, long double right)
{
	return apply_extended(operation, index, left, right);
}

size_t expression_scratch(const struct expression *expression)
{
	return 2 * expression->count;
}

double expression_evaluate(const struct expression *expression, const double *x, const double *b, double *gradient,
			   double *scratch)
{
	return evaluate_double(expression, x, b, gradient, scratch);
}

long double expression_evaluate_extended(const struct expression *expression, const long double *x,
					 const long double *b, long double *gradient, long double *scratch)
{
	return evaluate_extended(expression, x, b, gradient, scratch);
}

enum dependence { DEPENDENCE_NONE, DEPENDENCE_AFFINE, DEPENDENCE_OTHER };

static enum dependence dependence_of(const struct expression_node *node, const unsigned char *known, const bool *mask)
{
	enum dependence left = known[node->left], right = known[node->right];

	switch (node->operation) {
	case EXPRESSION_CONSTANT:
	case EXPRESSION_PREDICTOR:
		return DEPENDENCE_NONE;
	case EXPRESSION_PARAMETER:
		return mask[node->index] ? DEPENDENCE_AFFINE : DEPENDENCE_NONE;
	case EXPRESSION_ADD:
	case EXPRESSION_SUBTRACT:
	case EXPRESSION_NEGATE:
		return left > right ? left : right;
	case EXPRESSION_MULTIPLY:
		if (left == DEPENDENCE_NONE || right == DEPENDENCE_NONE)
			return left > right ? left : right;
		return DEPENDENCE_OTHER;
	case EXPRESSION_DIVIDE:
		return right == DEPENDENCE_NONE ? left : DEPENDENCE_OTHER;
	case EXPRESSION_POWER_INTEGER:
		if (node->index == 1)
			return left;
		break;
	default:
		break;
	}
	return left == DEPENDENCE_NONE && right == DEPENDENCE_NONE ? DEPENDENCE_NONE : DEPENDENCE_OTHER;
}

/* Returns true if the expression is jointly affine in the parameters in `mask`, with the others fixed. */
static bool is_affine(const struct expression *expression, const bool *mask)
{
	unsigned char known[EXPRESSION_NODES_MAXIMUM] = {0};

	for (size_t k = 0; k < expression->count; k++) {
		known[k] = (unsigned char)dependence_of(&expression->nodes[k], known, mask);
	}
	return known[expression->count - 1] != DEPENDENCE_OTHER;
}

void expression_affine_parameters(const struct expression *expression, bool *mask)
{
	memset(mask, 0, expression->parameter_count * sizeof *mask);
	for (size_t j = 0; j < expression->parameter_count; j++) {
		mask[j] = true;
		if (!is_affine(expression, mask))
			mask[j] = false;
	}
}

static bool uses(const struct expression *expression, enum expression_operation operation, size_t index)
{
	for (size_t k = 0; k < expression->count; k++)
		if (expression->nodes[k].operation == operation && (size_t)expression->nodes[k].index == index)
			return true;
	return false;
}

bool expression_uses_parameter(const struct expression *expression, size_t index)
{
	return uses(expression, EXPRESSION_PARAMETER, index);
}

bool expression_uses_predictor(const struct expression *expression, size_t index)
{
	return uses(expression, EXPRESSION_PREDICTOR, index);
}

void expression_destroy(struct expression *expression)
{
	free(expression);
}
