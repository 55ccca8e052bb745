/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Evaluation of a tape for one number type. evaluate.c includes this file twice, with EXPRESSION_REAL double and long
 * double, so it has no include guard. EXPRESSION_MATH(f) gives libm's function of that type.
 */

static EXPRESSION_REAL EXPRESSION_NAME(power_integer)(EXPRESSION_REAL base, int32_t exponent)
{
	EXPRESSION_REAL result = 1, square = base;
	uint32_t left = exponent < 0 ? -(uint32_t)exponent : (uint32_t)exponent;

	for (; left; left >>= 1) {
		if (left & 1)
			result *= square;
		square *= square;
	}
	return exponent < 0 ? 1 / result : result;
}

static EXPRESSION_REAL EXPRESSION_NAME(apply)(enum expression_operation operation, int32_t index, EXPRESSION_REAL a,
					      EXPRESSION_REAL b)
{
	switch (operation) {
	case EXPRESSION_CONSTANT:
	case EXPRESSION_PREDICTOR:
	case EXPRESSION_PARAMETER:
		return a;
	case EXPRESSION_ADD:
		return a + b;
	case EXPRESSION_SUBTRACT:
		return a - b;
	case EXPRESSION_MULTIPLY:
		return a * b;
	case EXPRESSION_DIVIDE:
		return a / b;
	case EXPRESSION_NEGATE:
		return -a;
	case EXPRESSION_POWER:
		return EXPRESSION_MATH(pow)(a, b);
	case EXPRESSION_POWER_INTEGER:
		return EXPRESSION_NAME(power_integer)(a, index);
	case EXPRESSION_EXP:
		return EXPRESSION_MATH(exp)(a);
	case EXPRESSION_LOG:
		return EXPRESSION_MATH(log)(a);
	case EXPRESSION_LOG10:
		return EXPRESSION_MATH(log10)(a);
	case EXPRESSION_SQRT:
		return EXPRESSION_MATH(sqrt)(a);
	case EXPRESSION_SIN:
		return EXPRESSION_MATH(sin)(a);
	case EXPRESSION_COS:
		return EXPRESSION_MATH(cos)(a);
	case EXPRESSION_TAN:
		return EXPRESSION_MATH(tan)(a);
	case EXPRESSION_ASIN:
		return EXPRESSION_MATH(asin)(a);
	case EXPRESSION_ACOS:
		return EXPRESSION_MATH(acos)(a);
	case EXPRESSION_ATAN:
		return EXPRESSION_MATH(atan)(a);
	case EXPRESSION_SINH:
		return EXPRESSION_MATH(sinh)(a);
	case EXPRESSION_COSH:
		return EXPRESSION_MATH(cosh)(a);
	case EXPRESSION_TANH:
		return EXPRESSION_MATH(tanh)(a);
	case EXPRESSION_ABS:
		return EXPRESSION_MATH(fabs)(a);
	}
	return (EXPRESSION_REAL)NAN;
}

/* Returns d a^c / d a; correct at a = 0 as well (c a^(c-1), not c a^c / a). */
static EXPRESSION_REAL EXPRESSION_NAME(power_slope)(EXPRESSION_REAL a, EXPRESSION_REAL c, EXPRESSION_REAL value)
{
	if (c == 0)
		return 0;
	return a != 0 && value != 0 ? c * value / a : c * EXPRESSION_MATH(pow)(a, c - 1);
}

/* Returns the derivative of an operation of one operand. a: the operand; value: the operation's result. */
static EXPRESSION_REAL EXPRESSION_NAME(slope)(const struct expression_node *node, EXPRESSION_REAL a,
					      EXPRESSION_REAL value)
{
	switch (node->operation) {
	case EXPRESSION_NEGATE:
		return -1;
	case EXPRESSION_POWER_INTEGER:
		return node->index == 0
			       ? 0
			       : (EXPRESSION_REAL)node->index * EXPRESSION_NAME(power_integer)(a, node->index - 1);
	case EXPRESSION_EXP:
		return value;
	case EXPRESSION_LOG:
		return 1 / a;
	case EXPRESSION_LOG10:
		return 1 / (a * EXPRESSION_MATH(log)(10));
	case EXPRESSION_SQRT:
		return 1 / (2 * value);
	case EXPRESSION_SIN:
		return EXPRESSION_MATH(cos)(a);
	case EXPRESSION_COS:
		return -EXPRESSION_MATH(sin)(a);
	case EXPRESSION_TAN:
		return 1 + value * value;
	case EXPRESSION_ASIN:
		return 1 / EXPRESSION_MATH(sqrt)((1 - a) * (1 + a));
	case EXPRESSION_ACOS:
		return -1 / EXPRESSION_MATH(sqrt)((1 - a) * (1 + a));
	case EXPRESSION_ATAN:
		return 1 / (1 + a * a);
	case EXPRESSION_SINH:
		return EXPRESSION_MATH(cosh)(a);
	case EXPRESSION_COSH:
		return EXPRESSION_MATH(sinh)(a);
	case EXPRESSION_TANH:
		return (1 - value) * (1 + value);
	case EXPRESSION_ABS:
		return a > 0 ? 1 : (a < 0 ? -1 : 0);
	default:
		return (EXPRESSION_REAL)NAN;
	}
}

/*
 * Multiplies the slopes along a path. A path that ends in a constant 0 contributes nothing, even through an infinite
 * slope: at x = 0, (x/k)^n with n < 1 does not depend on k.
 */
static EXPRESSION_REAL EXPRESSION_NAME(chain)(EXPRESSION_REAL adjoint, EXPRESSION_REAL slope)
{
	return adjoint == 0 || slope == 0 ? 0 : adjoint * slope;
}

/* Adds, to the adjoint of each operand, the node's adjoint times the node's derivative by the operand. */
static void EXPRESSION_NAME(propagate)(const struct expression *expression, const struct expression_node *node,
				       EXPRESSION_REAL value, EXPRESSION_REAL adjoint, const EXPRESSION_REAL *values,
				       EXPRESSION_REAL *adjoints)
{
	bool left = expression->nodes[node->left].active, right = expression->nodes[node->right].active;
	EXPRESSION_REAL a = values[node->left], b = values[node->right];

	switch (node->operation) {
	case EXPRESSION_ADD:
		adjoints[node->left] += adjoint;
		adjoints[node->right] += adjoint;
		break;
	case EXPRESSION_SUBTRACT:
		adjoints[node->left] += adjoint;
		adjoints[node->right] -= adjoint;
		break;
	case EXPRESSION_MULTIPLY:
		adjoints[node->left] += EXPRESSION_NAME(chain)(adjoint, b);
		adjoints[node->right] += EXPRESSION_NAME(chain)(adjoint, a);
		break;
	case EXPRESSION_DIVIDE:
		if (left)
			adjoints[node->left] += adjoint / b;
		if (right)
			adjoints[node->right] -= EXPRESSION_NAME(chain)(adjoint, value / b);
		break;
	case EXPRESSION_POWER:
		if (left)
			adjoints[node->left] +=
				EXPRESSION_NAME(chain)(adjoint, EXPRESSION_NAME(power_slope)(a, b, value));
		if (right && value != 0) /* 0^c stays 0 for every c > 0: no slope */
			adjoints[node->right] += adjoint * value * EXPRESSION_MATH(log)(a);
		break;
	default:
		adjoints[node->left] += EXPRESSION_NAME(chain)(adjoint, EXPRESSION_NAME(slope)(node, a, value));
	}
}

static EXPRESSION_REAL EXPRESSION_NAME(evaluate)(const struct expression *expression, const EXPRESSION_REAL *x,
						 const EXPRESSION_REAL *b, EXPRESSION_REAL *gradient,
						 EXPRESSION_REAL *scratch)
{
	EXPRESSION_REAL *values = scratch, *adjoints = scratch + expression->count;
	size_t last = expression->count - 1;

	for (size_t k = 0; k < expression->count; k++) {
		const struct expression_node *node = &expression->nodes[k];

		adjoints[k] = 0;
		if (node->operation == EXPRESSION_CONSTANT)
			values[k] = (EXPRESSION_REAL)node->constant;
		else if (node->operation == EXPRESSION_PREDICTOR)
			values[k] = x[node->index];
		else if (node->operation == EXPRESSION_PARAMETER)
			values[k] = b[node->index];
		else
			values[k] = EXPRESSION_NAME(apply)(node->operation, node->index, values[node->left],
							   values[node->right]);
	}
	if (!gradient)
		return values[last];
	for (size_t j = 0; j < expression->parameter_count; j++)
		gradient[j] = 0;
	adjoints[last] = 1;
	for (size_t k = expression->count; k-- > 0;) {
		const struct expression_node *node = &expression->nodes[k];

		/* an infinite slope further down would turn 0 into NaN, but this node contributes 0 */
		if (!node->active || adjoints[k] == 0)
			continue;
		if (node->operation == EXPRESSION_PARAMETER)
			gradient[node->index] += adjoints[k];
		else
			EXPRESSION_NAME(propagate)(expression, node, values[k], adjoints[k], values, adjoints);
	}
	return values[last];
}
