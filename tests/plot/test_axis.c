/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "chart_priv.h"

/* Five numbers: ticks of a range from 0 to maximum, about one per 100 of 500 pixels. */
struct linear_case {
	double maximum, step;
	size_t ticks;
};

Test(axis, steps_are_the_next_1_2_2_5_or_5)
{
	static const struct linear_case cases[] = {
		{5, 1, 6},     {5.1, 2, 3},      {10, 2, 6},    {10.1, 2.5, 5},  {12.5, 2.5, 6},
		{12.6, 5, 3},  {25, 5, 6},       {25.1, 10, 3}, {50, 10, 6},     {0.5, 0.1, 6},
		{0.6, 0.2, 4}, {0.01, 0.002, 6}, {1e6, 2e5, 6}, {1e-6, 2e-7, 6}, {1.2e9, 2.5e8, 5},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct axis axis = {.maximum = cases[i].maximum, .to = 500};

		axis_place_ticks(&axis, 100);
		cr_expect(fabs(axis.step / cases[i].step - 1) < 1e-9, "0..%g: a step of %g, not %g", axis.maximum,
			  axis.step, cases[i].step);
		cr_expect_eq(axis.tick_count, cases[i].ticks, "0..%g: %zu ticks, not %zu", axis.maximum,
			     axis.tick_count, cases[i].ticks);
		for (size_t t = 0; t < axis.tick_count; t++)
			cr_expect(axis.ticks[t].labelled &&
					  fabs(axis.ticks[t].value - (double)t * axis.step) < 1e-9 * axis.maximum,
				  "0..%g: tick %zu is at %g", axis.maximum, t, axis.ticks[t].value);
	}
}

Test(axis, ticks_lie_within_the_range_and_on_multiples_of_the_step)
{
	struct axis axis = {.minimum = -0.3, .maximum = 1.05, .from = 400, .to = 0};

	axis_place_ticks(&axis, 100);
	cr_assert(fabs(axis.step - 0.5) < 1e-12, "%g", axis.step);
	cr_assert_eq(axis.tick_count, 3);
	for (size_t t = 0; t < 3; t++)
		cr_assert(fabs(axis.ticks[t].value - 0.5 * (double)t) < 1e-12);
	cr_assert_eq(axis_pixel(&axis, axis.minimum), 400, "up is towards 0");
	cr_assert(fabs(axis_pixel(&axis, axis.maximum)) < 1e-9);
}

/* Labels of a logarithmic axis, separated by blanks: "1 2 5 10". */
static void labels(double minimum, double maximum, double step, char *text, size_t bytes)
{
	struct axis axis = {.logarithmic = true, .minimum = minimum, .maximum = maximum, .to = 500};

	axis_place_ticks(&axis, 100);
	cr_assert(fabs(axis.step - step) < 1e-9, "%g..%g: a step of %g", minimum, maximum, axis.step);
	*text = '\0';
	for (size_t t = 0; t < axis.tick_count; t++)
		if (axis.ticks[t].labelled)
			snprintf(text + strlen(text), bytes - strlen(text), "%s%g", *text ? " " : "",
				 axis.ticks[t].value);
}

Test(axis, decades_are_labelled_as_room_allows)
{
	static const struct {
		double minimum, maximum;
		char labels[64];
		double step; /* for a range too narrow for decades */
	} cases[] = {
		{2, 9, "2 3 4 5 7"},
		{1, 10, "1 2 5 10"},
		{1, 500, "1 2 5 10 20 50 100 200 500"},
		{1, 1000, "1 10 100 1000"},
		{1, 1e6, "1 100 10000 1e+06"},
		{0.1, 1, "0.1 0.2 0.5 1"},
		{20.5, 21, "20.5 20.6 20.7 20.8 20.9 21", 0.1},
		{60, 95, "60 70 80 90", 10},
		{8, 9.9, "8 8.5 9 9.5", 0.5},
	};
	char text[200];

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		labels(cases[i].minimum, cases[i].maximum, cases[i].step, text, sizeof text);
		cr_expect_str_eq(text, cases[i].labels, "%g..%g: '%s', not '%s'", cases[i].minimum, cases[i].maximum,
				 text, cases[i].labels);
	}
}

Test(axis, takes_what_can_be_drawn)
{
	struct axis linear = {.maximum = 1, .to = 1}, logarithmic = {.logarithmic = true, .minimum = 1, .maximum = 100};

	logarithmic.to = 200;
	cr_assert(axis_accepts(&linear, -1) && axis_accepts(&linear, 0));
	cr_assert(!axis_accepts(&linear, NAN) && !axis_accepts(&linear, INFINITY));
	cr_assert(!axis_accepts(&logarithmic, 0) && !axis_accepts(&logarithmic, -1) && axis_accepts(&logarithmic, 0.1));
	cr_assert(fabs(axis_pixel(&logarithmic, 10) - 100) < 1e-9);
}

/* On a white surface: where the ink is, and its darkest colour. */
struct ink {
	int left, right, top, bottom, red, green, blue;
};

static struct ink draw_text(struct text_style style)
{
	enum { SIZE = 400 };
	cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, SIZE, SIZE);
	cairo_t *cr = cairo_create(surface);
	struct ink ink = {SIZE, 0, SIZE, 0, 255, 255, 255};

	cairo_set_source_rgb(cr, 1, 1, 1);
	cairo_paint(cr);
	text_draw(cr, "888", SIZE / 2, SIZE / 2, style);
	cairo_surface_flush(surface);
	for (int y = 0; y < SIZE; y++)
		for (int x = 0; x < SIZE; x++) {
			const unsigned char *pixel = cairo_image_surface_get_data(surface) +
						     y * cairo_image_surface_get_stride(surface) + 4 * (ptrdiff_t)x;

			if (pixel[1] == 255)
				continue;
			ink.left = x < ink.left ? x : ink.left;
			ink.right = x > ink.right ? x : ink.right;
			ink.top = y < ink.top ? y : ink.top;
			ink.bottom = y > ink.bottom ? y : ink.bottom;
			ink.blue = pixel[0] < ink.blue ? pixel[0] : ink.blue;
			ink.green = pixel[1] < ink.green ? pixel[1] : ink.green;
			ink.red = pixel[2] < ink.red ? pixel[2] : ink.red;
		}
	cairo_destroy(cr);
	cairo_surface_destroy(surface);
	return ink;
}

/* The anchor is the text's left end, centre or right end, at half the height of its digits, however it is turned. */
Test(text, in_a_picture_is_beside_its_anchor_in_its_grey)
{
	for (int place = 0; place < 3; place++)
		for (int turned = 0; turned < 2; turned++) {
			struct ink ink = draw_text((struct text_style){.size = 80,
								       .grey = 0.2 + 0.2 * place,
								       .place = (enum text_place)place,
								       .angle = turned ? M_PI / 2 : 0});
			int along[] = {turned ? ink.top : ink.left, turned ? ink.bottom : ink.right};
			int across[] = {turned ? ink.left : ink.top, turned ? ink.right : ink.bottom};
			double middle = (along[0] + along[1]) / 2.0, half = (along[1] - along[0]) / 2.0;

			cr_expect(ink.red == ink.green && ink.green == ink.blue);
			cr_expect(abs(ink.red - (int)lround(255 * (0.2 + 0.2 * place))) <= 1, "%d", ink.red);
			cr_expect(half > 60 && half < 100, "%g", half);
			cr_expect_float_eq(middle, 200 + half * (1 - place), 10, "%g for place %d", middle, place);
			cr_expect_float_eq((across[0] + across[1]) / 2.0, 200, 5);
		}
}
