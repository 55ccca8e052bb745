/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tape of an expression: nodes in the order of evaluation, each after its operands; the last node is the result.
 * Constant parts are folded while parsing.
 */
#ifndef FITTING_EXPRESSION_PRIV_H
#define FITTING_EXPRESSION_PRIV_H

#include <stdint.h>

#include <fitting/expression/expression.h>

enum { EXPRESSION_NODES_MAXIMUM = 4096, EXPRESSION_DEPTH_MAXIMUM = 200, EXPRESSION_INTEGER_POWER_MAXIMUM = 64 };

enum expression_operation {
	EXPRESSION_CONSTANT,
	EXPRESSION_PREDICTOR,
	EXPRESSION_PARAMETER,
	EXPRESSION_ADD,
	EXPRESSION_SUBTRACT,
	EXPRESSION_MULTIPLY,
	EXPRESSION_DIVIDE,
	EXPRESSION_NEGATE,
	EXPRESSION_POWER,
	EXPRESSION_POWER_INTEGER, /* exponent in `index`, as a signed number */
	EXPRESSION_EXP,
	EXPRESSION_LOG,
	EXPRESSION_LOG10,
	EXPRESSION_SQRT,
	EXPRESSION_SIN,
	EXPRESSION_COS,
	EXPRESSION_TAN,
	EXPRESSION_ASIN,
	EXPRESSION_ACOS,
	EXPRESSION_ATAN,
	EXPRESSION_SINH,
	EXPRESSION_COSH,
	EXPRESSION_TANH,
	EXPRESSION_ABS,
};

struct expression_node {
	enum expression_operation operation;
	bool active;          /* depends on a parameter, so that it has a derivative */
	uint16_t left, right; /* right = left for operations of one operand */
	int32_t index;        /* predictor, parameter, or integer exponent */
	long double constant;
};

struct expression {
	size_t parameter_count, count;
	struct expression_node nodes[];
};

/* Returns the value of one operation on constants; the parser uses it for constant folding. */
long double expression_apply(enum expression_operation operation, int32_t index, long double left, long double right);

#endif
