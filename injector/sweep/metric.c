/* SPDX-License-Identifier: BSD-3-Clause */
#include <injector/sweep/metric.h>

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <base/name.h>
#include <base/number.h>

#include "pattern_priv.h"

/*
 * Copies the next word of `text` to `word`. Returns the text after it, or NULL if there is no word, or the word is too
 * long or has a comma or quote.
 */
static const char *take_word(const char *text, char *word, size_t bytes)
{
	size_t length;

	text += strspn(text, " \t");
	length = strcspn(text, " \t");
	if (length == 0 || length >= bytes || memchr(text, ',', length) || memchr(text, '"', length))
		return NULL;
	memcpy(word, text, length);
	word[length] = '\0';
	return text + length;
}

static int parse_how(const char *how, struct sweep_metric_def *metric, struct error *err)
{
	const char *foreign, *posix;
	char why[200];
	int code;

	metric->how = strchr(how, ':') ? strchr(how, ':') + 1 : "";
	if (strcmp(how, "exit") == 0) {
		metric->source = SWEEP_METRIC_EXIT;
	} else if (strcmp(how, "elapsed") == 0) {
		metric->source = SWEEP_METRIC_ELAPSED;
	} else if (strncmp(how, "json:", 5) == 0 && metric->how[0]) {
		metric->source = SWEEP_METRIC_JSON;
	} else if (strncmp(how, "regex:", 6) == 0 && metric->how[0]) {
		if (pattern_parts(metric->how) > PATTERN_PARTS_MAXIMUM)
			return error_set(
				err, E2BIG,
				"metric '%s': the pattern '%.60s%s' is too large: expected at most %d bytes, and "
				"at most %d parts after expansion of its (nested) repetitions {m,n} and +",
				metric->name, metric->how, strlen(metric->how) > 60 ? "..." : "", PATTERN_BYTES_MAXIMUM,
				PATTERN_PARTS_MAXIMUM);
		foreign = pattern_foreign(metric->how, &posix);
		if (foreign)
			return error_set(err, EINVAL,
					 "metric '%s': the pattern '%.60s' has '%s', which is not POSIX: write %s",
					 metric->name, metric->how, foreign, posix);
		metric->source = SWEEP_METRIC_REGEX;
		code = regcomp(&metric->expression, metric->how, REG_EXTENDED | REG_NEWLINE);
		if (code) {
			regerror(code, &metric->expression, why, sizeof why);
			return error_set(err, EINVAL, "metric '%s': the pattern '%s' is invalid: %s", metric->name,
					 metric->how, why);
		}
	} else {
		return error_set(err, EINVAL, "metric '%s': '%s': expected regex:PATTERN, json:PATH, exit or elapsed",
				 metric->name, how);
	}
	return 0;
}

int sweep_metric_parse(const char *text, struct sweep_metric_def *metric, struct error *err)
{
	char better[16];
	const char *rest;
	int which;

	memset(metric, 0, sizeof *metric);
	metric->source = SWEEP_METRIC_EXIT;
	rest = take_word(text, metric->name, sizeof metric->name);
	rest = rest ? take_word(rest, metric->unit, sizeof metric->unit) : NULL;
	rest = rest ? take_word(rest, better, sizeof better) : NULL;
	if (!rest || !rest[strspn(rest, " \t")])
		return error_set(err, EINVAL,
				 "metric '%s': expected 'NAME UNIT higher|lower HOW', as in 'qps 1/s higher json:qps'",
				 text);
	if (!name_is_utf8(metric->name) || !name_is_utf8(metric->unit))
		return error_set(err, EINVAL, "metric: name and unit: expected UTF-8");
	which = sweep_parse_better(better);
	if (which < 0)
		return error_set(err, EINVAL, "metric '%s': '%s': expected higher or lower", metric->name, better);
	metric->better = (enum sweep_better)which;
	return parse_how(rest + strspn(rest, " \t"), metric, err);
}

void sweep_metric_free(struct sweep_metric_def *metric)
{
	if (metric->source == SWEEP_METRIC_REGEX)
		regfree(&metric->expression);
	metric->source = SWEEP_METRIC_EXIT;
}

static int extract_regex(const struct sweep_metric_def *metric, const char *output, double *value, struct error *err)
{
	int group = metric->expression.re_nsub > 0 ? 1 : 0, found = 0;
	regmatch_t match[2], best = {0};
	const char *begin = NULL, *at = output;
	char number[64];
	size_t length;

	while (regexec(&metric->expression, at, 2, match, at == output ? 0 : REG_NOTBOL * (at[-1] != '\n')) == 0) {
		if (match[group].rm_so >= 0) {
			begin = at;
			best = match[group];
			found = 1;
		}
		if (!at[match[0].rm_eo])
			break;
		at += match[0].rm_eo > match[0].rm_so ? match[0].rm_eo : match[0].rm_eo + 1;
	}
	if (!found)
		return error_set(err, ENOENT, "metric '%s': nothing in the output matches '%s'", metric->name,
				 metric->how);
	length = (size_t)(best.rm_eo - best.rm_so);
	if (length >= sizeof number)
		length = sizeof number - 1;
	memcpy(number, begin + best.rm_so, length);
	number[length] = '\0';
	if (number_parse_double(number, value) != 0)
		return error_set(err, EINVAL, "metric '%s': '%s' matches '%s', which is not a number", metric->name,
				 number, metric->how);
	return 0;
}

/*
 * Follows one step of a JSON path, "name" or "[index]": replaces *value by the member of that name or index. Returns
 * the rest of the path, or NULL if the step is invalid.
 */
static const char *path_step(const char *path, const json_t **value)
{
	char name[128];
	size_t length;

	if (*path == '[') {
		char *end;
		unsigned long index = strtoul(path + 1, &end, 10);

		if (end == path + 1 || *end != ']')
			return NULL;
		*value = json_array_get(*value, index);
		return end + 1;
	}
	if (*path == '.')
		path++;
	length = strcspn(path, ".[");
	if (length == 0 || length >= sizeof name)
		return NULL;
	memcpy(name, path, length);
	name[length] = '\0';
	*value = json_object_get(*value, name);
	return path + length;
}

/*
 * Finds the JSON in a program's output, which may have other text around it: the JSON begins at a line that begins with
 * { or [.
 */
static json_t *find_json(const char *output)
{
	for (const char *line = output; line; line = strchr(line, '\n')) {
		json_t *root;

		line += *line == '\n';
		if (*line != '{' && *line != '[')
			continue;
		root = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
		if (root)
			return root;
	}
	return NULL;
}

static int extract_json(const struct sweep_metric_def *metric, const char *output, double *value, struct error *err)
{
	json_t *root = find_json(output);
	const json_t *at = root;
	const char *path = metric->how;
	int code = 0;

	if (!root)
		return error_set(err, ENOENT, "metric '%s': the output has no JSON", metric->name);
	while (path && *path && at)
		path = path_step(path, &at);
	if (!path || !at)
		code = error_set(err, ENOENT, "metric '%s': the output's JSON has no '%s'", metric->name, metric->how);
	else if (!json_is_number(at))
		code = error_set(err, EINVAL, "metric '%s': '%s' in the output's JSON is not a number", metric->name,
				 metric->how);
	else
		*value = json_number_value(at);
	json_decref(root);
	return code;
}

int sweep_metric_extract(const struct sweep_metric_def *metric, const struct sweep_metric_input *input, double *value,
			 struct error *err)
{
	int code = 0;

	switch (metric->source) {
	case SWEEP_METRIC_EXIT:
		*value = input->exit_code;
		break;
	case SWEEP_METRIC_ELAPSED:
		*value = input->elapsed_s;
		break;
	case SWEEP_METRIC_JSON:
		code = extract_json(metric, input->output, value, err);
		break;
	case SWEEP_METRIC_REGEX:
		code = extract_regex(metric, input->output, value, err);
		break;
	}
	if (!code && !isfinite(*value))
		code = error_set(err, EINVAL, "metric '%s': the value is not finite", metric->name);
	return code;
}
