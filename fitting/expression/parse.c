/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recursive-descent parser of formulas. Each rule appends nodes to the tape and returns the index of the last one,
 * which has the value of the parsed part.
 */
#include "expression_priv.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct parser {
	const char *text, *at;
	const struct expression_names *names;
	struct expression *tape;
	struct error *err;
	int depth;
	bool failed;
};

struct function {
	const char *name;
	enum expression_operation operation;
};

static const struct function functions[] = {
	{"exp", EXPRESSION_EXP},     {"log", EXPRESSION_LOG},     {"ln", EXPRESSION_LOG},
	{"log10", EXPRESSION_LOG10}, {"sqrt", EXPRESSION_SQRT},   {"sin", EXPRESSION_SIN},
	{"cos", EXPRESSION_COS},     {"tan", EXPRESSION_TAN},     {"asin", EXPRESSION_ASIN},
	{"acos", EXPRESSION_ACOS},   {"atan", EXPRESSION_ATAN},   {"arcsin", EXPRESSION_ASIN},
	{"arccos", EXPRESSION_ACOS}, {"arctan", EXPRESSION_ATAN}, {"sinh", EXPRESSION_SINH},
	{"cosh", EXPRESSION_COSH},   {"tanh", EXPRESSION_TANH},   {"abs", EXPRESSION_ABS},
	{NULL, EXPRESSION_CONSTANT},
};

static uint16_t parse_sum(struct parser *parser);
static uint16_t parse_unary(struct parser *parser);

/* Sets the error, unless one is set already: the first one counts. */
static uint16_t fail(struct parser *parser, const char *at, const char *expected)
{
	const char *end = at;
	long column = at - parser->text + 1;

	if (parser->failed)
		return 0;
	parser->failed = true;
	while (isalnum((unsigned char)*end) || *end == '_' || *end == '.')
		end++;
	if (end == at && *at)
		end++;
	if (!*at)
		error_set(parser->err, EINVAL, "column %ld: the formula ends here; expected %s", column, expected);
	else if (!isprint((unsigned char)*at))
		error_set(parser->err, EINVAL, "column %ld: found byte 0x%02x; expected %s", column,
			  (unsigned)(unsigned char)*at, expected);
	else
		error_set(parser->err, EINVAL, "column %ld: found '%.*s'; expected %s", column,
			  (int)(end - at < 40 ? end - at : 40), at, expected);
	return 0;
}

static void skip_blanks(struct parser *parser)
{
	while (*parser->at == ' ' || *parser->at == '\t')
		parser->at++;
}

static bool accept(struct parser *parser, char wanted)
{
	skip_blanks(parser);
	if (*parser->at != wanted)
		return false;
	parser->at++;
	return true;
}

/* Accepts "^" or "**". */
static bool accept_power(struct parser *parser)
{
	if (accept(parser, '^'))
		return true;
	if (parser->at[0] != '*' || parser->at[1] != '*')
		return false;
	parser->at += 2;
	return true;
}

static bool accept_times(struct parser *parser)
{
	skip_blanks(parser);
	return parser->at[0] == '*' && parser->at[1] != '*' ? accept(parser, '*') : false;
}

static bool is_constant(const struct parser *parser, uint16_t node)
{
	return parser->tape->nodes[node].operation == EXPRESSION_CONSTANT;
}

static uint16_t append(struct parser *parser, struct expression_node node)
{
	struct expression *tape = parser->tape;

	if (parser->failed)
		return 0;
	if (tape->count == EXPRESSION_NODES_MAXIMUM)
		return fail(parser, parser->at, "a formula of at most 4096 operations");
	tape->nodes[tape->count] = node;
	return (uint16_t)tape->count++;
}

static uint16_t append_constant(struct parser *parser, long double value)
{
	return append(parser, (struct expression_node){.operation = EXPRESSION_CONSTANT, .constant = value});
}

static uint16_t append_operation(struct parser *parser, enum expression_operation operation, int32_t index,
				 uint16_t left, uint16_t right)
{
	const struct expression_node *nodes = parser->tape->nodes;

	if (parser->failed)
		return 0;
	if (is_constant(parser, left) && is_constant(parser, right))
		return append_constant(parser,
				       expression_apply(operation, index, nodes[left].constant, nodes[right].constant));
	return append(parser, (struct expression_node){
				      .operation = operation,
				      .active = nodes[left].active || nodes[right].active,
				      .left = left,
				      .right = right,
				      .index = index,
			      });
}

/*
 * Uses multiplication for small integer exponents: it is faster than pow(), exact for a negative base, and has the
 * right derivative at base 0.
 */
static uint16_t append_power(struct parser *parser, uint16_t base, uint16_t exponent)
{
	long double value;

	if (parser->failed)
		return 0;
	value = parser->tape->nodes[exponent].constant;
	if (is_constant(parser, exponent) && value == rintl(value) && fabsl(value) <= EXPRESSION_INTEGER_POWER_MAXIMUM)
		return append_operation(parser, EXPRESSION_POWER_INTEGER, (int32_t)value, base, base);
	return append_operation(parser, EXPRESSION_POWER, 0, base, exponent);
}

/* Parses digits, point and exponent (e, E, d or D), but not hexadecimal, inf or nan, which strtold() would accept. */
static uint16_t parse_number(struct parser *parser)
{
	char digits[128] = "";
	size_t length = 0;
	const char *at = parser->at;
	bool any = false, exponent = false;
	long double value;

	for (; length < sizeof digits - 1; at++) {
		bool sign = (*at == '+' || *at == '-') && length > 0 && digits[length - 1] == 'e';
		bool mark = !exponent && any && strchr("eEdD", *at) && *at &&
			    (isdigit((unsigned char)at[1]) ||
			     ((at[1] == '+' || at[1] == '-') && isdigit((unsigned char)at[2])));
		bool point = *at == '.' && !exponent && !memchr(digits, '.', length);

		if (!isdigit((unsigned char)*at) && !sign && !mark && !point)
			break;
		any |= isdigit((unsigned char)*at) != 0;
		exponent |= mark;
		digits[length++] = mark ? 'e' : *at;
	}
	if (!any || length == sizeof digits - 1)
		return fail(parser, parser->at, "a number, a name, a function or '('");
	digits[length] = '\0';
	errno = 0;
	value = strtold(digits, NULL);
	if (!isfinite(value))
		return fail(parser, parser->at, "a finite number");
	parser->at = at;
	return append_constant(parser, value);
}

static bool find_name(const char *const *names, size_t count, const char *name, size_t *index)
{
	for (int pass = 0; pass < 2; pass++)
		for (*index = 0; *index < count; (*index)++)
			if ((pass ? strcasecmp : strcmp)(names[*index], name) == 0)
				return true;
	return false;
}

/* Parses "( sum )" in any of the three kinds of brackets, which must match. */
static uint16_t parse_brackets(struct parser *parser)
{
	char close = *parser->at == '(' ? ')' : (*parser->at == '[' ? ']' : '}');
	uint16_t inner;

	if (++parser->depth > EXPRESSION_DEPTH_MAXIMUM)
		return fail(parser, parser->at, "at most 200 nested brackets");
	parser->at++;
	inner = parse_sum(parser);
	parser->depth--;
	if (!accept(parser, close))
		return fail(parser, parser->at,
			    close == ')' ? "an operator or ')'" : "an operator or the closing bracket");
	return inner;
}

static bool at_bracket(struct parser *parser)
{
	skip_blanks(parser);
	return *parser->at && strchr("([{", *parser->at);
}

static uint16_t parse_name(struct parser *parser)
{
	const char *start = parser->at;
	char name[64];
	size_t length = 0, index;

	while (isalnum((unsigned char)*parser->at) || *parser->at == '_') {
		if (length == sizeof name - 1)
			return fail(parser, start, "a name of at most 63 letters");
		name[length++] = *parser->at++;
	}
	name[length] = '\0';
	for (const struct function *function = functions; at_bracket(parser) && function->name; function++) {
		uint16_t operand;

		if (strcasecmp(function->name, name) != 0)
			continue;
		operand = parse_brackets(parser);
		return append_operation(parser, function->operation, 0, operand, operand);
	}
	if (find_name(parser->names->parameters, parser->names->parameter_count, name, &index))
		return append(parser, (struct expression_node){.operation = EXPRESSION_PARAMETER,
							       .active = true,
							       .index = (int32_t)index});
	if (find_name(parser->names->predictors, parser->names->predictor_count, name, &index))
		return append(parser,
			      (struct expression_node){.operation = EXPRESSION_PREDICTOR, .index = (int32_t)index});
	if (strcasecmp(name, "pi") == 0)
		return append_constant(parser, 3.14159265358979323846264338327950288L);
	if (at_bracket(parser))
		return fail(parser, start, "a known function (exp, log, sqrt, sin, cos, tan, atan, ...)");
	return fail(parser, start, "the name of a parameter (does it have a start?) or of a column");
}

static uint16_t parse_primary(struct parser *parser)
{
	if (at_bracket(parser))
		return parse_brackets(parser);
	if (isalpha((unsigned char)*parser->at) || *parser->at == '_')
		return parse_name(parser);
	return parse_number(parser);
}

static uint16_t parse_power(struct parser *parser)
{
	uint16_t base = parse_primary(parser);

	if (!parser->failed && accept_power(parser))
		return append_power(parser, base, parse_unary(parser));
	return base;
}

static uint16_t parse_unary(struct parser *parser)
{
	uint16_t operand;

	if (accept(parser, '+') || *parser->at == '-') {
		bool negative = accept(parser, '-');

		if (++parser->depth > EXPRESSION_DEPTH_MAXIMUM)
			return fail(parser, parser->at, "at most 200 signs in a row");
		operand = parse_unary(parser);
		parser->depth--;
		return negative ? append_operation(parser, EXPRESSION_NEGATE, 0, operand, operand) : operand;
	}
	return parse_power(parser);
}

static uint16_t parse_product(struct parser *parser)
{
	uint16_t left = parse_unary(parser);

	while (!parser->failed) {
		if (accept_times(parser))
			left = append_operation(parser, EXPRESSION_MULTIPLY, 0, left, parse_unary(parser));
		else if (accept(parser, '/'))
			left = append_operation(parser, EXPRESSION_DIVIDE, 0, left, parse_unary(parser));
		else
			break;
	}
	return left;
}

static uint16_t parse_sum(struct parser *parser)
{
	uint16_t left = parse_product(parser);

	while (!parser->failed) {
		if (accept(parser, '+'))
			left = append_operation(parser, EXPRESSION_ADD, 0, left, parse_product(parser));
		else if (accept(parser, '-'))
			left = append_operation(parser, EXPRESSION_SUBTRACT, 0, left, parse_product(parser));
		else
			break;
	}
	return left;
}

struct expression *expression_parse(const char *text, const struct expression_names *names, struct error *err)
{
	struct parser parser = {.text = text, .at = text, .names = names, .err = err};
	struct expression *tape, *fitted;

	tape = malloc(sizeof *tape + EXPRESSION_NODES_MAXIMUM * sizeof tape->nodes[0]);
	if (!tape) {
		error_set(err, ENOMEM, "not enough memory for a formula");
		return NULL;
	}
	*tape = (struct expression){.parameter_count = names->parameter_count};
	parser.tape = tape;
	parse_sum(&parser);
	skip_blanks(&parser);
	if (!parser.failed && *parser.at)
		fail(&parser, parser.at, "an operator or the end (2*x, not 2x)");
	if (parser.failed) {
		free(tape);
		return NULL;
	}
	fitted = realloc(tape, sizeof *tape + tape->count * sizeof tape->nodes[0]);
	if (fitted)
		tape = fitted;
	return tape;
}
