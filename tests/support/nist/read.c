/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads NIST .dat files line by line. The parts always come in the same order (name, description, model, table of
 * starts and certified values or of regression statistics, data). But line numbers, blank lines, spelling and spacing
 * differ between files, so the parts are recognised by their words only.
 */
#include "nist_priv.h"

#include <base/array.h>
#include <base/file.h>

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum part { PART_HEAD, PART_MODEL, PART_TABLE, PART_REGRESSION, PART_ANALYSIS, PART_DATA };

enum { NUMBERS_MAXIMUM = NIST_PREDICTORS_MAXIMUM + 1, OBSERVATIONS_MAXIMUM = 1000000 };

struct reader {
	struct nist_set *set;
	struct file_lines *lines;
	struct error *err;
	enum part part;
	bool nonlinear_procedure, linear_procedure, model_whole;
	long said_observations, model_line;
	size_t capacity; /* rows allocated in set->x and set->y */
};

static struct error_place place_of(const struct reader *reader, const char *field)
{
	return (struct error_place){file_lines_name(reader->lines), file_lines_number(reader->lines), field};
}

#define fail(reader, field, ...) error_at((reader)->err, place_of(reader, field), EINVAL, __VA_ARGS__)

static char *skip_blanks(char *text)
{
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

static bool begins(const char *line, const char *word)
{
	while (isspace((unsigned char)*line))
		line++;
	return strncasecmp(line, word, strlen(word)) == 0;
}

/* Returns the text after `word` and any colons and blanks that follow it; the whole line if it lacks `word`. */
static char *behind(char *line, const char *word)
{
	char *at = strcasestr(line, word);

	at = at ? at + strlen(word) : line;
	return skip_blanks(at + strspn(at, ": \t"));
}

/* Reads a decimal number such as "2.5", "180E0" or "1.0D+02" that ends at a blank or at the end of the text. */
static bool read_number(char **text, long double *value)
{
	char digits[64], *end, *start = skip_blanks(*text);
	size_t length = strcspn(start, " \t\r\f\v");

	if (length == 0 || length >= sizeof digits || strspn(start, "+-.0123456789eEdD") < length)
		return false;
	for (size_t i = 0; i < length; i++)
		digits[i] = strchr("dD", start[i]) ? 'E' : start[i];
	digits[length] = '\0';
	*value = strtold(digits, &end);
	if (*end || end == digits || !isfinite(*value))
		return false;
	*text = start + length;
	return true;
}

static size_t read_numbers(char *text, long double *values, size_t capacity, bool *clean)
{
	size_t count = 0;

	while (count < capacity && read_number(&text, &values[count]))
		count++;
	*clean = *skip_blanks(text) == '\0';
	return count;
}

static bool read_name(char **text, char *name, size_t bytes)
{
	char *start = skip_blanks(*text);
	size_t length = 0;

	while (isalnum((unsigned char)start[length]) || start[length] == '_')
		length++;
	if (length == 0 || length >= bytes || !isalpha((unsigned char)*start))
		return false;
	memcpy(name, start, length);
	name[length] = '\0';
	*text = start + length;
	return true;
}

static struct nist_parameter *add_parameter(const struct reader *reader, const char *name)
{
	struct nist_set *set = reader->set;
	struct nist_parameter *parameter;

	for (size_t k = 0; k < set->parameter_count; k++) {
		if (strcasecmp(set->parameters[k].name, name) == 0) {
			fail(reader, name, "parameter '%s' is given twice", name);
			return NULL;
		}
	}
	if (set->parameter_count == NIST_PARAMETERS_MAXIMUM) {
		fail(reader, name, "parameter '%s': at most 32 parameters are supported", name);
		return NULL;
	}
	parameter = &set->parameters[set->parameter_count++];
	memset(parameter, 0, sizeof *parameter);
	strcpy(parameter->name, name);
	return parameter;
}

/*
 * Reads "  b1 =   500   250   2.3894212918E+02  2.7070075241E+00": starts, then the certified value and its deviation.
 */
static int read_start_row(struct reader *reader, char *line)
{
	long double values[NIST_STARTS_MAXIMUM + 2];
	char name[sizeof reader->set->parameters[0].name];
	struct nist_parameter *parameter;
	size_t count;
	bool clean;

	if (!read_name(&line, name, sizeof name) || *skip_blanks(line) != '=')
		return 0;
	count = read_numbers(skip_blanks(line) + 1, values, sizeof values / sizeof values[0], &clean);
	if (!clean || count < 3)
		return fail(reader, name, "expected starting values, certified value and its deviation");
	if (reader->set->parameter_count > 0 && reader->set->start_count != count - 2)
		return fail(reader, name, "expected as many starting values as in the row above");
	parameter = add_parameter(reader, name);
	if (!parameter)
		return -EINVAL;
	reader->set->start_count = count - 2;
	for (size_t k = 0; k + 2 < count; k++)
		parameter->start[k] = (double)values[k];
	parameter->certified = (double)values[count - 2];
	parameter->certified_error = (double)values[count - 1];
	return 0;
}

static int read_scalar(const struct reader *reader, char *line, const char *word, double *value)
{
	long double number;
	char *at = behind(line, word);

	if (!read_number(&at, &number))
		return fail(reader, word, "expected a number, found '%s'", at);
	*value = (double)number;
	return 0;
}

static int read_table_line(struct reader *reader, char *line)
{
	struct nist_set *set = reader->set;

	if (begins(line, "Residual Sum of Squares")) {
		set->has_certified_rss = true;
		return read_scalar(reader, line, "Squares", &set->certified_rss);
	}
	if (begins(line, "Residual Standard Deviation"))
		return read_scalar(reader, line, "Deviation", &set->certified_residual_deviation);
	if (strchr(line, '='))
		return read_start_row(reader, line);
	return 0;
}

/* Reads "        B0       -3482258.63459582         890420.383607373": the certified value and its deviation. */
static int read_regression_row(struct reader *reader, char *line)
{
	long double values[2];
	char name[sizeof reader->set->parameters[0].name];
	struct nist_parameter *parameter;
	bool clean;

	if (!read_name(&line, name, sizeof name))
		return 0;
	line = skip_blanks(line);
	if (*line == '=')
		line++;
	if (read_numbers(line, values, 2, &clean) != 2 || !clean)
		return 0;
	parameter = add_parameter(reader, name);
	if (!parameter)
		return -EINVAL;
	parameter->certified = (double)values[0];
	parameter->certified_error = (double)values[1];
	return 0;
}

static int read_regression_line(struct reader *reader, char *line)
{
	struct nist_set *set = reader->set;

	if (begins(line, "R-Squared"))
		return read_scalar(reader, line, "R-Squared", &set->certified_r_squared);
	if (begins(line, "Standard Deviation") && strpbrk(line, "0123456789"))
		return read_scalar(reader, line, "Deviation", &set->certified_residual_deviation);
	if (strcasestr(line, "Analysis of Variance") || begins(line, "Source")) {
		reader->part = PART_ANALYSIS;
		return 0;
	}
	return begins(line, "Residual") ? 0 : read_regression_row(reader, line);
}

/* Reads "Residual      9      836424.055505915   92936.0061673238": degrees of freedom, sum of squares, mean square. */
static int read_analysis_line(struct reader *reader, char *line)
{
	long double values[3];
	bool clean;

	if (!begins(line, "Residual"))
		return 0;
	if (read_numbers(behind(line, "Residual"), values, 3, &clean) < 2)
		return fail(reader, "Residual", "expected degrees of freedom and sum of squares in '%s'", line);
	reader->set->certified_rss = (double)values[1];
	reader->set->has_certified_rss = true;
	return 0;
}

/* Reads "Data:   y              x1            x2": the response comes first. */
static int read_data_header(struct reader *reader, char *line)
{
	struct nist_set *set = reader->set;
	char *at = behind(line, "Data");
	char name[sizeof set->predictors[0]];

	if (!read_name(&at, name, sizeof name))
		return fail(reader, "Data", "expected the names of the columns, response first, found '%s'", at);
	while (*skip_blanks(at)) {
		if (set->predictor_count == NIST_PREDICTORS_MAXIMUM)
			return fail(reader, "Data", "more than 16 predictors");
		if (!read_name(&at, name, sizeof name))
			return fail(reader, "Data", "expected the name of a column, found '%s'", at);
		strcpy(set->predictors[set->predictor_count++], name);
	}
	if (set->predictor_count == 0)
		return fail(reader, "Data", "expected at least one predictor beside the response");
	reader->part = PART_DATA;
	return 0;
}

static int grow(struct reader *reader)
{
	struct nist_set *set = reader->set;
	size_t capacity = reader->capacity;
	void *grown = array_grow(set->y, set->observations, &capacity, sizeof *set->y);

	if (grown)
		set->y = grown;
	if (grown &&
	    (grown = array_grow(set->x, set->observations, &reader->capacity, set->predictor_count * sizeof *set->x)))
		set->x = grown;
	return grown ? 0
		     : error_set(reader->err, ENOMEM, "not enough memory for %zu observations", set->observations + 1);
}

static int read_data_line(struct reader *reader, char *line)
{
	struct nist_set *set = reader->set;
	long double values[NUMBERS_MAXIMUM];
	bool clean;
	size_t count = read_numbers(line, values, set->predictor_count + 1, &clean);
	int code;

	if ((count == 0 && clean) || *skip_blanks(line) == '\x1a') /* Ctrl-Z ends text files of DOS */
		return 0;
	if (count != set->predictor_count + 1 || !clean)
		return fail(reader, "Data", "expected one number for each column of the header, found '%s'", line);
	if (set->observations == OBSERVATIONS_MAXIMUM)
		return fail(reader, "Data", "more than a million observations");
	if (set->observations == reader->capacity) {
		code = grow(reader);
		if (code)
			return code;
	}
	set->y[set->observations] = values[0];
	memcpy(set->x + set->observations * set->predictor_count, values + 1, set->predictor_count * sizeof *set->x);
	set->observations++;
	return 0;
}

static bool is_table_heading(const char *line)
{
	return strcasestr(line, "Starting values") || strcasestr(line, "Certified Values");
}

static int read_model_line(struct reader *reader, char *line)
{
	int code;

	if (is_table_heading(line)) {
		reader->part = PART_TABLE;
		return 0;
	}
	if (strcasestr(line, "Certified Regression") || strcasestr(line, "Estimate")) {
		reader->part = PART_REGRESSION;
		return 0;
	}
	if (begins(line, "Model:"))
		line = behind(line, "Model");
	if (reader->model_whole && *skip_blanks(line) == '\0')
		return 0;
	if (!reader->model_line && strchr(line, '='))
		reader->model_line = file_lines_number(reader->lines);
	code = nist_model_add(reader->set, line, reader->err);
	reader->model_whole = nist_model_complete(reader->set);
	return code ? error_prefix(reader->err, "%s:%ld", file_lines_name(reader->lines),
				   file_lines_number(reader->lines))
		    : 0;
}

static void read_head_line(struct reader *reader, char *line)
{
	struct nist_set *set = reader->set;
	char *at;

	if (begins(line, "Dataset Name")) {
		at = behind(line, "Name");
		set->name[0] = '\0';
		strncat(set->name, at, strcspn(at, " \t(") < 63 ? strcspn(at, " \t(") : 63);
	}
	if (begins(line, "Procedure")) {
		reader->nonlinear_procedure = strcasestr(line, "Nonlinear") != NULL;
		reader->linear_procedure = !reader->nonlinear_procedure && strcasestr(line, "Linear") != NULL;
	}
	at = skip_blanks(begins(line, "Data:") ? behind(line, "Data") : line);
	if (isdigit((unsigned char)*at) && strcasestr(at, "Observation"))
		reader->said_observations = labs(strtol(at, NULL, 10));
}

static int read_line(struct reader *reader, char *line)
{
	bool data_header = begins(line, "Data:");

	switch (reader->part) {
	case PART_HEAD:
		if (begins(line, "Model:")) {
			reader->part = PART_MODEL;
			return read_model_line(reader, line);
		}
		read_head_line(reader, line);
		return 0;
	case PART_MODEL:
		return data_header ? read_data_header(reader, line) : read_model_line(reader, line);
	case PART_TABLE:
		return data_header ? read_data_header(reader, line) : read_table_line(reader, line);
	case PART_REGRESSION:
		return data_header ? read_data_header(reader, line) : read_regression_line(reader, line);
	case PART_ANALYSIS:
		return data_header ? read_data_header(reader, line) : read_analysis_line(reader, line);
	case PART_DATA:
		return read_data_line(reader, line);
	}
	return 0;
}

/* Checks that the file was complete, and completes the model. */
static int finish(struct reader *reader)
{
	struct nist_set *set = reader->set;
	struct expression *model, *response;
	struct error_place place = {file_lines_name(reader->lines), reader->model_line, "Model"};
	int code;

	if (reader->part == PART_HEAD)
		return fail(reader, "Model", "no line 'Model:': is this a NIST StRD regression file?");
	if (reader->part != PART_DATA)
		return fail(reader, "Data", "no line 'Data:  y  x' below the model");
	if (set->parameter_count == 0)
		return fail(reader, "Certified Values", "no parameters with certified values");
	if (set->observations < set->parameter_count)
		return fail(reader, "Data", "the data end with fewer observations than parameters");
	if ((size_t)reader->said_observations > set->observations)
		return fail(reader, "Data", "the data end after %zu of the %ld observations that the description gives",
			    set->observations, reader->said_observations);
	set->linear = reader->linear_procedure || (!reader->nonlinear_procedure && set->start_count == 0);
	if (!set->linear && set->start_count == 0)
		return fail(reader, "Starting values", "a nonlinear set needs starting values");
	code = nist_model_finish(set, reader->err);
	if (code == 0)
		code = nist_expressions(set, &model, &response, reader->err);
	if (code)
		return error_prefix(reader->err, "%s:%ld: %s", place.file, place.line, place.field);
	expression_destroy(model);
	expression_destroy(response);
	return 0;
}

static int read_lines(struct file_lines *lines, struct nist_set *set, struct error *err)
{
	struct error scratch = {0};
	struct reader reader = {.set = set, .lines = lines, .err = err ? err : &scratch};
	char *line;
	int code;

	*set = (struct nist_set){.certified_r_squared = (double)NAN};
	while ((code = file_lines_next(lines, &line, reader.err)) == 1) {
		code = read_line(&reader, line);
		if (code)
			break;
	}
	if (code == 0)
		code = finish(&reader);
	if (code)
		nist_free(set);
	file_lines_close(lines);
	return code;
}

int nist_read(const char *path, struct nist_set *set, struct error *err)
{
	struct file_lines *lines = file_lines_open(path, err);

	*set = (struct nist_set){0};
	return lines ? read_lines(lines, set, err) : error_code(err, EIO);
}

int nist_read_memory(const char *name, const char *text, size_t bytes, struct nist_set *set, struct error *err)
{
	struct file_lines *lines = file_lines_from_memory(name, text, bytes, err);

	*set = (struct nist_set){0};
	return lines ? read_lines(lines, set, err) : error_set(err, ENOMEM, "not enough memory to read %s", name);
}

void nist_free(struct nist_set *set)
{
	free(set->x);
	free(set->y);
	*set = (struct nist_set){0};
}
