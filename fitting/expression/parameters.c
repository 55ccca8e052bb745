/* SPDX-License-Identifier: BSD-3-Clause */
#include <fitting/expression/expression.h>

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include <base/number.h>

enum { ITEM_BYTES = 128 };

/* Copies the next item of a comma-separated list, without surrounding blanks. Returns false at the end. */
static bool next_item(const char **text, char *item, bool *too_long)
{
	const char *start = *text, *end;
	size_t length;

	if (!*start)
		return false;
	end = start + strcspn(start, ",");
	*text = *end ? end + 1 : end;
	while (start < end && isspace((unsigned char)*start))
		start++;
	while (end > start && isspace((unsigned char)end[-1]))
		end--;
	length = (size_t)(end - start);
	*too_long = length >= ITEM_BYTES;
	if (*too_long)
		length = ITEM_BYTES - 1;
	memcpy(item, start, length);
	item[length] = '\0';
	return true;
}

static bool is_name(const char *text)
{
	if (!isalpha((unsigned char)*text) && *text != '_')
		return false;
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && *text != '_')
			return false;
	return true;
}

static int find(const struct expression_parameters *parameters, const char *name)
{
	for (size_t k = 0; k < parameters->count; k++)
		if (strcmp(parameters->name[k], name) == 0)
			return (int)k;
	return -ENOENT;
}

/* Splits "name=value" in place at '='. Returns the value, or NULL if there is no '='. */
static char *value_of(char *item)
{
	char *equals = strchr(item, '=');

	if (!equals)
		return NULL;
	*equals = '\0';
	for (char *end = equals; end > item && isspace((unsigned char)end[-1]);)
		*--end = '\0';
	for (equals++; isspace((unsigned char)*equals);)
		equals++;
	return equals;
}

static int add_start(struct expression_parameters *parameters, char *item, struct error *err)
{
	char *value = value_of(item);
	size_t k = parameters->count;

	if (!value || !is_name(item) || strlen(item) >= PARAMETER_NAME_BYTES)
		return error_set(err, EINVAL, "start '%s': expected name=number, as in b1=500,b2=1e-4", item);
	if (find(parameters, item) >= 0)
		return error_set(err, EINVAL, "start: parameter '%s' is given twice", item);
	if (k == PARAMETERS_MAXIMUM)
		return error_set(err, EINVAL, "start: at most %d parameters", PARAMETERS_MAXIMUM);
	if (number_parse_double(value, &parameters->start[k]) != 0)
		return error_set(err, EINVAL, "start of '%s': expected a number, found '%s'", item, value);
	strcpy(parameters->name[k], item);
	parameters->lower[k] = -INFINITY;
	parameters->upper[k] = INFINITY;
	parameters->fixed[k] = false;
	parameters->count++;
	return 0;
}

int expression_parameters_start(const char *text, struct expression_parameters *parameters, struct error *err)
{
	char item[ITEM_BYTES];
	bool too_long;

	parameters->count = 0;
	while (next_item(&text, item, &too_long)) {
		int code = too_long ? error_set(err, EINVAL, "start '%s...': too long", item)
				    : add_start(parameters, item, err);

		if (code)
			return code;
	}
	return parameters->count > 0 ? 0 : error_set(err, EINVAL, "start: expected name=number, as in b1=500,b2=1e-4");
}

static int add_bounds(struct expression_parameters *parameters, char *item, struct error *err)
{
	char *low = value_of(item), *high = low ? strchr(low, ':') : NULL;
	int k;

	if (!high)
		return error_set(err, EINVAL, "bounds '%s': expected name=low:high, as in b1=0:1000,b2=:1", item);
	*high++ = '\0';
	k = find(parameters, item);
	if (k < 0)
		return error_set(err, EINVAL, "bounds: '%s' has no start", item);
	if ((*low && number_parse_double(low, &parameters->lower[k]) != 0) ||
	    (*high && number_parse_double(high, &parameters->upper[k]) != 0))
		return error_set(err, EINVAL, "bounds of '%s': expected numbers, found '%s:%s'", item, low, high);
	if (!(parameters->lower[k] <= parameters->upper[k]))
		return error_set(err, EINVAL, "bounds of '%s': %s is above %s", item, low, high);
	if (parameters->start[k] < parameters->lower[k] || parameters->start[k] > parameters->upper[k])
		return error_set(err, EINVAL, "bounds of '%s': its start %g lies outside", item, parameters->start[k]);
	return 0;
}

int expression_parameters_bounds(const char *text, struct expression_parameters *parameters, struct error *err)
{
	char item[ITEM_BYTES];
	bool too_long;

	while (next_item(&text, item, &too_long)) {
		int code = too_long ? error_set(err, EINVAL, "bounds '%s...': too long", item)
				    : add_bounds(parameters, item, err);

		if (code)
			return code;
	}
	return 0;
}

int expression_parameters_fixed(const char *text, struct expression_parameters *parameters, struct error *err)
{
	char item[ITEM_BYTES];
	bool too_long;

	while (next_item(&text, item, &too_long)) {
		int k = find(parameters, item);

		if (k < 0 || too_long)
			return error_set(err, EINVAL, "fix: '%s' has no start", item);
		parameters->fixed[k] = true;
	}
	return 0;
}
