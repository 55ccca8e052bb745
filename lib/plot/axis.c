/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "chart_priv.h"

/*
 * Returns the smallest step of the form 1, 2, 2.5 or 5 times a power of ten that splits `range` into at most `pieces`
 * pieces.
 */
static double nice_step(double range, double pieces)
{
	static const double multiples[] = {1, 2, 2.5, 5};
	double rough = range / pieces, magnitude = pow(10, floor(log10(rough)));

	for (size_t i = 0; i < sizeof multiples / sizeof *multiples; i++)
		if (multiples[i] * magnitude >= rough * (1 - 1e-9))
			return multiples[i] * magnitude;
	return 10 * magnitude;
}

static void add_tick(struct axis *axis, double value, bool labelled)
{
	double slack = axis->logarithmic ? value * 1e-9 : fabs(axis->maximum - axis->minimum) * 1e-9;

	if (value < axis->minimum - slack || value > axis->maximum + slack || axis->tick_count == AXIS_TICKS_MAXIMUM)
		return;
	axis->ticks[axis->tick_count++] = (struct tick){value, labelled};
}

/*
 * Places ticks at the powers of ten and, on an axis of 6 decades or fewer, at their multiples by 2..9. If there are
 * more decades than `pieces`, only every n-th power of ten has a label. Below 3 decades, the multiples by 2 and 5 have
 * labels, too; below 1 decade, also those by 3, 4 and 7.
 */
static void place_decades(struct axis *axis, double pieces)
{
	int first = (int)floor(log10(axis->minimum) + 1e-9), last = (int)ceil(log10(axis->maximum) - 1e-9);
	double decades = log10(axis->maximum / axis->minimum);
	int every = (int)fmax(1, ceil(decades / pieces));

	axis->step = 0;
	for (int decade = first; decade <= last; decade++) {
		double unit = pow(10, decade);

		add_tick(axis, unit, (decade - first) % every == 0);
		for (int digit = 2; digit <= 9 && decades <= 6; digit++)
			add_tick(axis, digit * unit,
				 (decades < 3 && (digit == 2 || digit == 5)) ||
					 (decades < 1 && (digit == 3 || digit == 4 || digit == 7)));
	}
}

static void place_steps(struct axis *axis, double pieces)
{
	axis->step = nice_step(axis->maximum - axis->minimum, pieces);
	double first = ceil(axis->minimum / axis->step - 1e-9);

	axis->tick_count = 0;
	for (int i = 0; i < AXIS_TICKS_MAXIMUM; i++)
		add_tick(axis, (first + i) * axis->step, true);
}

static int count_labels(const struct axis *axis)
{
	int count = 0;

	for (size_t i = 0; i < axis->tick_count; i++)
		count += axis->ticks[i].labelled;
	return count;
}

/*
 * If a logarithmic axis would have fewer than two labels, its ticks are placed at equal steps instead: over so narrow a
 * range the axis is almost linear.
 */
void axis_place_ticks(struct axis *axis, double spacing)
{
	double pieces = fmax(2, fabs(axis->to - axis->from) / spacing);

	axis->tick_count = 0;
	if (axis->logarithmic)
		place_decades(axis, pieces);
	if (!axis->logarithmic || count_labels(axis) < 2)
		place_steps(axis, pieces);
}

bool axis_accepts(const struct axis *axis, double value)
{
	return isfinite(value) && (!axis->logarithmic || value > 0);
}

double axis_pixel(const struct axis *axis, double value)
{
	double part = axis->logarithmic ? log(value / axis->minimum) / log(axis->maximum / axis->minimum)
					: (value - axis->minimum) / (axis->maximum - axis->minimum);

	return axis->from + part * (axis->to - axis->from);
}
