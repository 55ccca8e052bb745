/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of a NIST model: joins its lines, removes the error term and expands ellipses. */
#include "nist_priv.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *skip_blanks(const char *text)
{
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

static void trim_end(char *text)
{
	size_t length = strlen(text);

	while (length > 0 && isspace((unsigned char)text[length - 1]))
		text[--length] = '\0';
}

static int append(char *into, size_t capacity, const char *text, size_t length, struct error *err)
{
	size_t used = strlen(into);

	if (used + length + 2 > capacity)
		return error_set(err, EINVAL, "the model's equation is too long (over %zu letters)", capacity);
	if (used > 0)
		into[used++] = ' ';
	memcpy(into + used, text, length);
	into[used + length] = '\0';
	trim_end(into);
	return 0;
}

static bool is_constant_definition(const char *line)
{
	line = skip_blanks(line);
	if (strncasecmp(line, "pi", 2) != 0)
		return false;
	line = skip_blanks(line + 2);
	return *line == '=';
}

int nist_model_add(struct nist_set *set, const char *line, struct error *err)
{
	const char *equals = strchr(line, '=');

	line = skip_blanks(line);
	if (!*line || is_constant_definition(line))
		return 0;
	if (set->response[0])
		return append(set->model, sizeof set->model, line, strlen(line), err);
	if (!equals)
		return 0;
	if (append(set->response, sizeof set->response, line, (size_t)(equals - line), err) != 0)
		return -EINVAL;
	if (!set->response[0])
		return error_set(err, EINVAL, "nothing on the left of '='; expected the response, as in 'y = ...'");
	equals = skip_blanks(equals + 1);
	return append(set->model, sizeof set->model, equals, strlen(equals), err);
}

static int bracket_depth(const char *text)
{
	int depth = 0;

	for (; *text; text++)
		depth += (strchr("([{", *text) != NULL) - (strchr(")]}", *text) != NULL);
	return depth;
}

bool nist_model_complete(const struct nist_set *set)
{
	size_t length = strlen(set->model);

	return length > 0 && bracket_depth(set->model) == 0 && !strchr("+-*/^=.", set->model[length - 1]);
}

/* Removes the error term from the model's end: "+ e", "+e" or "+ error". */
static void drop_error_term(char *model)
{
	size_t length = strlen(model), end = length;

	while (end > 0 && isalpha((unsigned char)model[end - 1]))
		end--;
	if (end == length || (strcasecmp(model + end, "e") != 0 && strncasecmp(model + end, "err", 3) != 0))
		return;
	while (end > 0 && isspace((unsigned char)model[end - 1]))
		end--;
	if (end > 0 && model[end - 1] == '+') {
		model[end - 1] = '\0';
		trim_end(model);
	}
}

static const char *last_number(const char *begin, const char *end)
{
	while (end > begin && !isdigit((unsigned char)end[-1]))
		end--;
	while (end > begin && isdigit((unsigned char)end[-1]))
		end--;
	return end;
}

/* Writes the term [term, end), and replaces each whole number equal to `old` by `new`. */
static size_t write_term(char *out, size_t capacity, const char *term, const char *end, long old, long new)
{
	size_t used = 0;

	while (term < end && used + 24 < capacity) {
		char *after;

		if (!isdigit((unsigned char)*term)) {
			out[used++] = *term++;
			continue;
		}
		if (strtol(term, &after, 10) == old) {
			used += (size_t)snprintf(out + used, capacity - used, "%ld", new);
		} else {
			memcpy(out + used, term, (size_t)(after - term) < 20 ? (size_t)(after - term) : 20);
			used += (size_t)(after - term) < 20 ? (size_t)(after - term) : 20;
		}
		term = after;
	}
	return used;
}

/* Returns the end of the term that starts at `term`: the next '+' or '-' outside brackets. */
static const char *term_end(const char *term)
{
	int depth = 0;

	for (; *term; term++) {
		depth += (strchr("([{", *term) != NULL) - (strchr(")]}", *term) != NULL);
		if (depth == 0 && (*term == '+' || *term == '-'))
			break;
	}
	return term;
}

/*
 * Expands an ellipsis such as "A1 + ... + A5": each missing term is the term after the dots, with its number replaced
 * by 2, 3, 4.
 */
static int fill_ellipsis(char *model, size_t capacity, struct error *err)
{
	char filled[sizeof((struct nist_set *)NULL)->model];
	char *dots = strstr(model, "...");
	const char *next, *end, *number;
	long first, last;
	size_t used;

	if (!dots)
		return 0;
	next = skip_blanks(dots + strspn(dots, "."));
	if (*next != '+')
		return error_set(err, EINVAL, "'...' in the model must be between two terms: + ... +");
	next = skip_blanks(next + 1);
	end = term_end(next);
	number = last_number(model, dots);
	first = strtol(number, NULL, 10);
	last = strtol(last_number(next, end), NULL, 10);
	if (!isdigit((unsigned char)*number) || last <= first || last - first > NIST_PARAMETERS_MAXIMUM)
		return error_set(err, EINVAL,
				 "'...' in the model is between terms numbered %ld and %ld: expected ascending numbers",
				 first, last);
	used = (size_t)(dots - model);
	memcpy(filled, model, used);
	for (long k = first + 1; k < last; k++) {
		used += write_term(filled + used, sizeof filled - used, next, end, last, k);
		used += (size_t)snprintf(filled + used, sizeof filled - used, "+ ");
		if (used + 32 >= sizeof filled)
			return error_set(err, EINVAL, "the model is too long with its '...' filled in");
	}
	if (used + strlen(next) + 1 > sizeof filled || used + strlen(next) + 1 > capacity)
		return error_set(err, EINVAL, "the model is too long with its '...' filled in");
	strcpy(filled + used, next);
	strcpy(model, filled);
	return 0;
}

int nist_model_finish(struct nist_set *set, struct error *err)
{
	if (!set->response[0] || !set->model[0])
		return error_set(err, EINVAL, "no equation such as 'y = b1*x + e' below 'Model:'");
	drop_error_term(set->model);
	return fill_ellipsis(set->model, sizeof set->model, err);
}

int nist_expressions(const struct nist_set *set, struct expression **model, struct expression **response,
		     struct error *err)
{
	const char *predictors[NIST_PREDICTORS_MAXIMUM], *parameters[NIST_PARAMETERS_MAXIMUM];
	static const char *const y[] = {"y"};
	struct expression_names names = {
		.predictors = predictors,
		.predictor_count = set->predictor_count,
		.parameters = parameters,
		.parameter_count = set->parameter_count,
	};
	struct expression_names response_names = {.parameters = y, .parameter_count = 1};

	for (size_t k = 0; k < set->predictor_count; k++)
		predictors[k] = set->predictors[k];
	for (size_t k = 0; k < set->parameter_count; k++)
		parameters[k] = set->parameters[k].name;
	*response = NULL;
	*model = expression_parse(set->model, &names, err);
	if (!*model)
		return error_prefix(err, "model '%s'", set->model);
	*response = expression_parse(set->response, &response_names, err);
	if (*response)
		return 0;
	expression_destroy(*model);
	*model = NULL;
	return error_prefix(err, "response '%s'", set->response);
}
