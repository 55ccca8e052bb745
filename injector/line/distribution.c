/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/number.h>
#include <base/quantile.h>
#include <injector/line/line.h>

#include "mode_priv.h"

enum kind { UNIFORM, NORMAL, PARETO, NETEM, SAMPLES, KINDS };

struct specification {
	enum kind kind;
	double scale_us, shape;
	const char *path;    /* of NETEM and SAMPLES */
	struct series table; /* sorted values of that file */
};

/* Returns the p-quantile of a sorted table, linear between its values. */
static double table_quantile(const struct series *table, double p)
{
	double at = p * (double)(table->rows - 1), low = floor(at);
	const double *value = &table->values[(size_t)low];

	return (size_t)low + 1 < table->rows ? value[0] + (value[1] - value[0]) * (at - low) : value[0];
}

/*
 * Returns the p-quantile of the added delay, us. Pareto is shifted to start at 0 (Lomax). Infinite tails are cut off in
 * the middle of the outer cells.
 */
static double quantile_us(const struct specification *wanted, double p)
{
	const double half = 0.5 / DISTRIBUTION_CELLS;

	switch (wanted->kind) {
	case UNIFORM:
		return wanted->scale_us * p;
	case NORMAL:
		return wanted->scale_us * quantile_normal(fmin(fmax(p, half), 1 - half));
	case PARETO:
		return wanted->scale_us * (pow(fmax(1 - p, half), -1 / wanted->shape) - 1);
	case NETEM:
		return wanted->scale_us * table_quantile(&wanted->table, p) / SERIES_NETEM_SCALE;
	case SAMPLES:
		return table_quantile(&wanted->table, p);
	case KINDS:
		break;
	}
	return 0;
}

static int refuse(const char *specification, struct error *err)
{
	return error_set(
		err, EINVAL,
		"--jitter: \"%s\": expected uniform:W, normal:S, pareto:S,A, netem:S,FILE or samples:FILE with 0 "
		"to %g us and shape 1 < A <= 100",
		specification, INJECTOR_DELAY_MAXIMUM_US);
}

/* Splits "S,REST" or "S": the scale, and the text after the comma, or NULL. Changes `text`. */
static int parse_scale(char *text, double *scale_us, char **rest)
{
	*rest = strchr(text, ',');
	if (*rest)
		*(*rest)++ = '\0';
	if (number_parse_double(text, scale_us) != 0 || !(*scale_us >= 0 && *scale_us <= INJECTOR_DELAY_MAXIMUM_US))
		return -EINVAL;
	return 0;
}

/* Parses the text after the name of the kind; changes it. wanted->path points into it. */
static int parse_values(struct specification *wanted, char *text)
{
	char *rest = NULL;

	if (wanted->kind == SAMPLES)
		rest = text;
	else if (parse_scale(text, &wanted->scale_us, &rest))
		return -EINVAL;
	if ((wanted->kind == UNIFORM || wanted->kind == NORMAL) != (rest == NULL) || (rest && *rest == '\0'))
		return -EINVAL;
	if (wanted->kind == PARETO &&
	    (number_parse_double(rest, &wanted->shape) != 0 || !(wanted->shape > 1 && wanted->shape <= 100)))
		return -EINVAL;
	wanted->path = rest;
	return 0;
}

static int read_samples_file(const char *path, struct series *table, struct error *err)
{
	int status = series_read(path, 1, ',', table, err);

	for (size_t i = 0; !status && i < table->rows; i++) {
		if (!(fabs(table->values[i]) <= INJECTOR_DELAY_MAXIMUM_US))
			status = error_set(err, EINVAL, "%s: value %zu, %g us, is out of range: expected -%g to %g",
					   path, i + 1, table->values[i], INJECTOR_DELAY_MAXIMUM_US,
					   INJECTOR_DELAY_MAXIMUM_US);
	}
	return status;
}

static int read_table(struct specification *wanted, struct error *err)
{
	int status = 0;

	if (wanted->kind == NETEM)
		status = series_read_netem(wanted->path, &wanted->table, err);
	else if (wanted->kind == SAMPLES)
		status = read_samples_file(wanted->path, &wanted->table, err);
	if (!status && wanted->table.rows > 0)
		quantile_sort(wanted->table.values, wanted->table.rows);
	return mode_blame_file(status, err);
}

int distribution_read(const char *specification, double quantiles_us[DISTRIBUTION_CELLS + 1], struct error *err)
{
	static const char *const names[] = {"uniform:", "normal:", "pareto:", "netem:", "samples:"};
	struct specification wanted = {0};
	size_t kind = 0;
	char *text;
	int status;

	while (kind < KINDS && strncmp(specification, names[kind], strlen(names[kind])) != 0)
		kind++;
	if (kind == KINDS)
		return refuse(specification, err);
	wanted.kind = (enum kind)kind;
	text = strdup(specification + strlen(names[kind]));
	if (!text)
		return error_set(err, ENOMEM, "no memory for --jitter");
	status = parse_values(&wanted, text) ? refuse(specification, err) : read_table(&wanted, err);
	for (int i = 0; !status && i <= DISTRIBUTION_CELLS; i++) {
		quantiles_us[i] =
			fmin(fmax(quantile_us(&wanted, (double)i / DISTRIBUTION_CELLS), -INJECTOR_DELAY_MAXIMUM_US),
			     INJECTOR_DELAY_MAXIMUM_US);
	}
	free(wanted.table.values);
	free(text);
	return status;
}
