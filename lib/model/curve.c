/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <model/curve.h>

const char *curve_form_name(enum curve_form form)
{
	static const char *const names[] = {"none", "jump", "hinge"};

	return names[form];
}

struct curve *curve_create(void)
{
	struct curve *curve = calloc(1, sizeof *curve);

	if (!curve) {
		errno = ENOMEM;
		return NULL;
	}
	curve->baseline_value = NAN;
	curve->baseline_deviation = NAN;
	curve->baseline_rtt_us = NAN;
	curve->threshold.at_us = NAN;
	curve->band_whole_factor = NAN;
	for (int form = 0; form < CURVE_FORMS; form++)
		curve->threshold.probability[form] = NAN;
	return curve;
}

void curve_destroy(struct curve *curve)
{
	if (!curve)
		return;
	free(curve->application);
	free(curve->metric);
	free(curve->unit);
	free(curve->model);
	free(curve->equation);
	free(curve->note);
	free(curve->coefficients);
	free(curve->covariance);
	free(curve->levels);
	free(curve->table);
	free(curve->band_low);
	free(curve->band_high);
	free(curve->evaluated);
	free(curve);
}

void curve_band_at(const struct curve *curve, double x_us, double *low, double *high)
{
	double last = (double)(curve->table_count - 1), index = fmin(fmax(x_us / CURVE_STEP_US, 0), last);
	double p = curve_eval(curve, x_us), part;
	size_t below, above;

	*low = *high = NAN;
	if (!curve->band_low || !curve->band_high)
		return;
	if (isnan(index))
		index = last;
	below = (size_t)index;
	above = below + 1 < curve->table_count ? below + 1 : below;
	part = index - (double)below;
	*low = curve->band_low[below] + part * (curve->band_low[above] - curve->band_low[below]);
	*high = curve->band_high[below] + part * (curve->band_high[above] - curve->band_high[below]);
	*low = fmin(p, fmax(*low, CURVE_FLOOR));
	*high = fmax(p, fmin(*high, 1));
}

/*
 * Computes p right after the jump, for which the table has no entry: extends the line through the next two entries back
 * to the jump.
 */
static void prepare_jump(struct curve *curve)
{
	const double *p = curve->evaluated;
	double at_us = curve->threshold.at_us;
	size_t after;

	curve->jump_us = NAN;
	if (curve->threshold.form != CURVE_FORM_JUMP || !(at_us > 0) || at_us > curve->last_us)
		return;
	after = (size_t)ceil(at_us / CURVE_STEP_US);
	curve->jump_us = at_us;
	curve->jump_p = p[after];
	if (after + 1 < curve->table_count)
		curve->jump_p += (p[after] - p[after + 1]) * (CURVE_STEP_US * (double)after - at_us) / CURVE_STEP_US;
	curve->jump_p = fmin(fmax(curve->jump_p, CURVE_FLOOR), p[after - 1]);
}

int curve_prepare(struct curve *curve, struct error *err)
{
	double grid_end_us = CURVE_STEP_US * (double)(curve->table_count - 1);

	if (curve->table_count == 0 || curve->table_count > CURVE_TABLE_MAXIMUM)
		return error_set(err, EINVAL, "a curve needs 1 to %d table entries, this one has %zu",
				 CURVE_TABLE_MAXIMUM, curve->table_count);
	free(curve->evaluated);
	curve->evaluated = malloc(curve->table_count * sizeof *curve->evaluated);
	if (!curve->evaluated)
		return error_set(err, ENOMEM, "out of memory");
	curve->smallest = 1;
	for (size_t i = 0; i < curve->table_count; i++) {
		double p = curve->table[i];

		if (!isfinite(p))
			return error_set(err, EINVAL, "table entry %zu is not a finite number", i);
		p = fmin(fmax(p, CURVE_FLOOR), 1);
		curve->evaluated[i] = p;
		curve->smallest = fmin(curve->smallest, p);
	}
	curve->last_us = grid_end_us;
	if (curve->domain_high_us > grid_end_us - CURVE_STEP_US)
		curve->last_us = fmin(grid_end_us, curve->domain_high_us);
	prepare_jump(curve);
	return 0;
}

struct curve *curve_from_table(const char *application, const double *p, size_t count, struct error *err)
{
	struct curve *curve = curve_create();
	bool complete;

	if (!curve) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	curve->application = strdup(application);
	curve->metric = strdup("performance");
	curve->unit = strdup("1");
	curve->model = strdup("table");
	curve->equation = strdup("");
	curve->note = strdup("");
	curve->table = malloc((count ? count : 1) * sizeof *p);
	complete = curve->application && curve->metric && curve->unit && curve->model && curve->equation &&
		   curve->note && curve->table;
	if (!complete) {
		error_set(err, ENOMEM, "out of memory");
		goto fail;
	}
	curve->baseline_value = 1;
	curve->table_count = count;
	curve->domain_high_us = count ? CURVE_STEP_US * (double)(count - 1) : 0;
	memcpy(curve->table, p, count * sizeof *p);
	if (curve_prepare(curve, err) == 0)
		return curve;
fail:
	curve_destroy(curve);
	return NULL;
}
