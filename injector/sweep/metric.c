/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweeper_priv.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/name.h>
#include <base/number.h>
#include <injector/sweep/plan.h>

/*
 * glibc's regcomp() expands repetitions: a{1,255} becomes 255 copies of a, a+ becomes two, and nested repetitions
 * multiply until memory is exhausted. So pattern_parts() first estimates the number of parts, such as single
 * characters, after the expansion.
 */

/*
 * A sequence between parentheses, as far as it was read. parts: its number of parts; atom: the number of parts of its
 * last atom, which a repetition that follows multiplies.
 */
struct sequence {
	size_t parts, atom;
};

static void add_atom(struct sequence *sequence, size_t parts)
{
	sequence->parts += parts;
	sequence->atom = parts;
}

static void repeat(struct sequence *sequence, size_t times)
{
	sequence->parts += sequence->atom * (times - 1);
	sequence->atom *= times;
}

/*
 * Skips the rest of a bracket expression; `at` is after its "[". Returns the place after the matching "]", or the end
 * of the text. Classes such as [:digit:] contain brackets of their own.
 */
static const char *skip_brackets(const char *at)
{
	at += *at == '^';
	at += *at == ']';
	while (*at && *at != ']') {
		const char kind = at[0] == '[' ? at[1] : '\0';

		at++;
		if (kind == ':' || kind == '.' || kind == '=') {
			at++;
			while (*at && !(at[0] == kind && at[1] == ']'))
				at++;
			at += *at ? 2 : 0;
		}
	}
	return at + (*at != '\0');
}

/*
 * Returns the first construct of Perl's regular expressions that POSIX lacks or reads in another way, such as \d or *?,
 * and sets *posix to the form to write instead; NULL if there is none. Pure.
 */
static const char *pattern_foreign(const char *pattern, const char **posix)
{
	static const char *const forms[][2] = {
		{"\\d", "[0-9]"},
		{"\\D", "[^0-9]"},
		{"*?", "a class such as [^0-9]*"},
		{"+?", "a class such as [^0-9]+"},
		{"??", "?"},
		{"(?", "( )"},
	};

	for (const char *at = pattern; *at; at++) {
		for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
			if (strncmp(at, forms[i][0], 2) == 0) {
				*posix = forms[i][1];
				return forms[i][0];
			}
		if (at[0] == '\\' && at[1])
			at++;
		else if (*at == '[')
			at = skip_brackets(at + 1) - 1;
	}
	return NULL;
}

/*
 * Parses the rest of an interval such as {1,5}; `at` is after its "{". Returns the place after the "}", and sets *times
 * to the number of copies. If the text is not an interval, returns `at` and sets *times to 1.
 */
static const char *read_interval(const char *at, size_t *times)
{
	char *end;
	unsigned long least = strtoul(at, &end, 10), most = least;
	bool has_least = end != at;

	*times = 1;
	if (*end == ',') {
		const char *upper = end + 1;

		most = strtoul(upper, &end, 10);
		if (end == upper)
			most = least < PATTERN_PARTS_MAXIMUM ? least + 1 : least;
	} else if (!has_least) {
		return at;
	}
	if (*end != '}')
		return at;
	*times = most < 1 ? 1 : most > PATTERN_PARTS_MAXIMUM ? PATTERN_PARTS_MAXIMUM + 1 : most;
	return end + 1;
}

size_t pattern_parts(const char *pattern)
{
	struct sequence stack[PATTERN_BYTES_MAXIMUM + 1] = {{0}};
	struct sequence *now = stack;
	const char *at = pattern;

	if (strlen(pattern) > PATTERN_BYTES_MAXIMUM)
		return PATTERN_PARTS_MAXIMUM + 1;
	while (*at) {
		const char c = *at++;
		size_t times = 1;

		if (c == '(') {
			*++now = (struct sequence){0};
		} else if (c == ')' && now > stack) {
			now--;
			add_atom(now, now[1].parts + 1);
		} else if (c == '|') {
			add_atom(now, 1);
		} else if (c == '+') {
			repeat(now, 2);
		} else if (c == '{' && now->atom > 0) {
			at = read_interval(at, &times);
			repeat(now, times);
		} else if (c == '[') {
			at = skip_brackets(at);
			add_atom(now, 1);
		} else if (c != '*' && c != '?') {
			at += c == '\\' && *at;
			add_atom(now, 1);
		}
		if (now->parts > PATTERN_PARTS_MAXIMUM)
			return PATTERN_PARTS_MAXIMUM + 1;
	}
	while (now > stack) {
		now--;
		now->parts += now[1].parts;
	}
	return stack->parts > PATTERN_PARTS_MAXIMUM ? PATTERN_PARTS_MAXIMUM + 1 : stack->parts;
}

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
	} else if ((strncmp(how, "regex:", 6) == 0 || strncmp(how, "only:", 5) == 0) && metric->how[0]) {
		metric->only = *how == 'o';
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
		return error_set(err, EINVAL,
				 "metric '%s': '%s': expected regex:PATTERN, only:PATTERN, json:PATH, exit or elapsed",
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

/* What a number with a unit is; only units of one kind can be converted. */
enum unit_kind { UNIT_TIME, UNIT_BITS, UNIT_COUNT };

struct unit {
	const char *name;
	enum unit_kind kind;
	double factor; /* to us, bits per second, or a rate */
};

/* Returns the unit of this name, or NULL. k and M are those of counts: IOPS=12.3k. */
static const struct unit *find_unit(const char *text, size_t length)
{
	static const struct unit units[] = {
		{"ns", UNIT_TIME, 1e-3},       {"us", UNIT_TIME, 1},          {"µs", UNIT_TIME, 1},
		{"μs", UNIT_TIME, 1},          {"ms", UNIT_TIME, 1e3},        {"s", UNIT_TIME, 1e6},
		{"bits/sec", UNIT_BITS, 1},    {"Kbits/sec", UNIT_BITS, 1e3}, {"Mbits/sec", UNIT_BITS, 1e6},
		{"Gbits/sec", UNIT_BITS, 1e9}, {"1/s", UNIT_COUNT, 1},        {"k", UNIT_COUNT, 1e3},
		{"M", UNIT_COUNT, 1e6}};

	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (strlen(units[i].name) == length && memcmp(units[i].name, text, length) == 0)
			return &units[i];
	return NULL;
}

static size_t word_length(const char *text)
{
	size_t length = 0;

	while (isalpha((unsigned char)text[length]) || (unsigned char)text[length] >= 0x80 || text[length] == '%')
		length++;
	return length;
}

/* The length of a word, or of two with a '/' between them: Mbits/sec. */
static size_t ratio_length(const char *text)
{
	size_t length = word_length(text);

	return length > 0 && text[length] == '/' ? length + 1 + word_length(text + length + 1) : length;
}

/* Returns how many characters at `after` continue the number before them: "5" of 1.5, ",234" of 1,234. */
static size_t continuation_length(const char *number, const char *after)
{
	size_t digits = strspn(after + (*after != '\0'), "0123456789");

	if (isdigit((unsigned char)*after) || (*after == '.' && digits > 0))
		return 1 + digits;
	return *after == ',' && digits == 3 && strlen(number) <= 3 && !strchr(number, '.') ? 4 : 0;
}

/*
 * A pattern that ends with the number does not say what follows. Tools change the unit with the size (950us, 1.2ms;
 * 941 Mbits/sec; 12.3k): such a value is converted to the metric's unit; any other suffix that is not this unit, or
 * more of the number, is refused.
 */
static int take_suffix(const struct sweep_metric_def *metric, const char *number, const char *after, double *value,
		       struct error *err)
{
	const struct unit *wanted = find_unit(metric->unit, strlen(metric->unit)), *found;
	size_t blanks = strspn(after, " "), length = ratio_length(after + blanks), more;

	found = find_unit(after + blanks, length);
	if (!found) /* the "ms" of "ms/op" */
		found = find_unit(after + blanks, word_length(after + blanks));
	if (wanted && found && wanted->kind == found->kind) {
		*value *= found->factor / wanted->factor;
		return 0;
	}
	more = continuation_length(number, after);
	if (more == 0 && blanks == 0)
		more = length;
	if (more == 0 || (strlen(metric->unit) == more && memcmp(metric->unit, after, more) == 0))
		return 0;
	return error_set(err, EINVAL,
			 "metric '%s': '%s' is followed by '%.*s' in the output: if that is right, add it to the "
			 "pattern after the number",
			 metric->name, number, (int)(more < 20 ? more : 20), after);
}

static int take_number(const struct sweep_metric_def *metric, const char *output, const char *begin, const char *end,
		       const char *match_end, double *value, struct error *err)
{
	char number[64];
	size_t length = (size_t)(end - begin);

	if (length >= sizeof number)
		length = sizeof number - 1;
	memcpy(number, begin, length);
	number[length] = '\0';
	if (number_parse_double(number, value) != 0)
		return error_set(err, EINVAL, "metric '%s': '%s' matches '%s', which is not a number", metric->name,
				 number, metric->how);
	if (begin > output && isdigit((unsigned char)begin[-1]) && isdigit((unsigned char)*begin))
		return error_set(err, EINVAL,
				 "metric '%s': '%s' is the end of a longer number in the output: expected a pattern "
				 "that does not match digits before the number",
				 metric->name, number);
	return match_end > end ? 0 : take_suffix(metric, number, end, value, err);
}

static int extract_regex(const struct sweep_metric_def *metric, const char *output, double *value, struct error *err)
{
	int group = metric->expression.re_nsub > 0 ? 1 : 0;
	const char *begin = NULL, *end = NULL, *match_end = NULL, *at = output;
	regmatch_t match[2];
	size_t count = 0;

	while (regexec(&metric->expression, at, 2, match, at == output ? 0 : REG_NOTBOL * (at[-1] != '\n')) == 0) {
		if (match[group].rm_so >= 0) {
			begin = at + match[group].rm_so;
			end = at + match[group].rm_eo;
			match_end = at + match[0].rm_eo;
			count++;
		}
		if (!at[match[0].rm_eo])
			break;
		at += match[0].rm_eo > match[0].rm_so ? match[0].rm_eo : match[0].rm_eo + 1;
	}
	if (!begin)
		return error_set(err, ENOENT, "metric '%s': nothing in the output matches '%s'", metric->name,
				 metric->how);
	if (metric->only && count > 1)
		return error_set(err, ENOENT,
				 "metric '%s': %zu results in the output match '%s': expected one; run one test of the "
				 "program, or choose a result with --metric",
				 metric->name, count, metric->how);
	return take_number(metric, output, begin, end, match_end, value, err);
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
