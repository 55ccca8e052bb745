/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cairo.h>
#include <criterion/criterion.h>

#include <base/file.h>
#include <plot/chart.h>

static struct chart *make_chart(enum chart_scale scale)
{
	const double x[] = {0, 1, 10, NAN, 100}, y[] = {1, 0.5, -1, 3, 0.1}, error[] = {0.1, NAN, 0, 0.1, 0.2};
	struct chart *chart = chart_create(&(struct chart_options){.title = "a title",
								   .x = {.label = "x (\xc2\xb5s)", .scale = scale},
								   .y = {.label = "y", .scale = scale}});
	struct chart_style style = {0};

	cr_assert(chart);
	cr_assert_eq(chart_add_band(chart, "band", x, y, error, 5, style), 0);
	cr_assert_eq(chart_add_line(chart, "line", x, y, 5, style), 0);
	cr_assert_eq(chart_add_points(chart, "points", x, y, error, 5, style), 0);
	cr_assert_eq(chart_add_cdf(chart, "cdf", y, 5, style), 0);
	cr_assert_eq(chart_add_vertical(chart, "here", 10, style), 0);
	cr_assert_eq(chart_add_horizontal(chart, "there", 1, style), 0);
	cr_assert_eq(chart_add_span(chart, NULL, 1, 10, style), 0);
	return chart;
}

static size_t count(const char *text, const char *what)
{
	size_t found = 0;

	for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
		found++;
	return found;
}

Test(chart, draws_all_kinds_on_both_scales)
{
	for (int scale = CHART_LINEAR; scale <= CHART_LOG; scale++) {
		struct error err = {0};
		struct chart *chart = make_chart((enum chart_scale)scale);
		char *svg = chart_to_svg(chart, "left", &err);

		cr_assert(svg, "%s", err.text);
		cr_assert_eq(strncmp(svg, "<svg", 4), 0, "HTML takes no XML declaration");
		cr_assert(strstr(svg, "</svg>"));
		cr_assert_null(strstr(svg, "nan"), "a number was not finite");
		cr_assert_null(strstr(svg, "inf"));
		free(svg);
		chart_destroy(chart);
	}
}

/* Text, not glyphs: it can be searched, read aloud and edited. */
Test(chart, texts_of_an_svg_are_text_with_a_title_and_a_description)
{
	const double x[] = {0, 10}, y[] = {1, 0.5};
	struct chart *chart = chart_create(
		&(struct chart_options){.title = "a < b & c", .x.label = "added round trip", .y.label = "performance"});
	char *svg;

	cr_assert_eq(chart_add_line(chart, "curve", x, y, 2, (struct chart_style){0}), 0);
	svg = chart_to_svg(chart, "left", NULL);
	cr_assert(strstr(svg, "<title>a &lt; b &amp; c</title>"), "%s", svg);
	cr_assert(strstr(svg, "<desc>performance by added round trip. curve.</desc>"), "%s", svg);
	cr_assert(strstr(svg, ">a &lt; b &amp; c</text>"), "the title is drawn");
	cr_assert(strstr(svg, ">added round trip</text>"));
	cr_assert(strstr(svg, "rotate(-90)"), "the y axis' label is turned");
	cr_assert_null(strstr(svg, "<symbol"), "no glyph is drawn");
	free(svg);
	chart_destroy(chart);
}

Test(chart, ids_of_two_pictures_in_a_page_differ)
{
	struct chart *chart = make_chart(CHART_LINEAR);
	char *svg = chart_to_svg(chart, "left", NULL);

	cr_assert_eq(count(svg, " id=\""), count(svg, " id=\"left"));
	cr_assert_eq(count(svg, "href=\"#"), count(svg, "href=\"#left"));
	cr_assert_eq(count(svg, "url(#"), count(svg, "url(#left"));
	free(svg);
	chart_destroy(chart);
}

/* Checks pixels of the PNG: the line's colour must be where the line is. */
Test(chart, puts_a_point_where_its_value_is)
{
	const double x[] = {0, 50, 100}, y[] = {0.5, 0.5, 0.5};
	struct chart *chart =
		chart_create(&(struct chart_options){.width = 400,
						     .height = 300,
						     .hide_legend = true,
						     .x = {.has_minimum = true, .has_maximum = true, .maximum = 100},
						     .y = {.has_minimum = true, .has_maximum = true, .maximum = 1}});
	char path[64];
	struct error err = {0};
	cairo_surface_t *surface;
	int rows = 0, first = -1;

	cr_assert_eq(chart_add_line(chart, NULL, x, y, 3, (struct chart_style){.colour = 1, .width = 4}), 0);
	snprintf(path, sizeof path, "/tmp/nomora-test-chart-%d.png", (int)getpid());
	cr_assert_eq(chart_save(chart, path, &err), 0, "%s", err.text);
	surface = cairo_image_surface_create_from_png(path);
	cr_assert_eq(cairo_surface_status(surface), CAIRO_STATUS_SUCCESS);
	cr_assert_eq(cairo_image_surface_get_width(surface), 800);
	for (int row = 0; row < 600; row++) {
		const unsigned char *pixel =
			cairo_image_surface_get_data(surface) + row * cairo_image_surface_get_stride(surface) + 4 * 400;

		/* Okabe and Ito's blue: 0, 114, 178. */
		if (pixel[2] < 10 && pixel[1] > 100 && pixel[1] < 125 && pixel[0] > 165) {
			first = first < 0 ? row : first;
			rows++;
		}
	}
	cr_assert_eq(rows, 8, "a line 4 wide is 8 pixels at twice the scale, not %d", rows);
	cr_assert(first > 230 && first < 320, "half-way up, not at row %d", first);
	cairo_surface_destroy(surface);
	unlink(path);
	chart_destroy(chart);
}

Test(chart, refuses_other_kinds_of_files_and_leaves_nothing)
{
	struct chart *chart = make_chart(CHART_LINEAR);
	struct error err = {0};

	cr_assert_eq(chart_save(chart, "/tmp/nomora-test-chart.jpg", &err), -EINVAL);
	cr_assert_neq(access("/tmp/nomora-test-chart.jpg", F_OK), 0);
	cr_assert_neq(chart_save(chart, "/no-such-folder/a.svg", &err), 0);
	chart_destroy(chart);
}

/* The axes are fixed and there is no legend, so the second drawing adds only the point. */
Test(chart, an_empty_chart_and_a_single_value_are_drawn)
{
	const double one = 7;
	const struct chart_axis axis = {.has_minimum = true, .has_maximum = true, .maximum = 10};
	struct chart *chart = chart_create(&(struct chart_options){.hide_legend = true, .x = axis, .y = axis});
	char *svg = chart_to_svg(chart, "a", NULL);
	size_t shapes;

	cr_assert(svg);
	shapes = count(svg, "<path");
	free(svg);
	cr_assert_eq(chart_add_points(chart, "one", &one, &one, NULL, 1, (struct chart_style){0}), 0);
	cr_assert_eq(chart_add_cdf(chart, "none", NULL, 0, (struct chart_style){0}), 0);
	svg = chart_to_svg(chart, "a", NULL);
	cr_assert(svg);
	cr_assert_null(strstr(svg, "nan"));
	cr_assert_eq(count(svg, "<path"), shapes + 1);
	free(svg);
	chart_destroy(chart);
}

Test(chart, bars_stand_over_their_categories)
{
	const char *const names[] = {"random", "a much longer name that is broken", "third"};
	const double values[] = {1, 2, 3};
	struct chart *chart = chart_create(&(struct chart_options){.width = 300});
	char *svg;

	cr_assert_eq(chart_set_categories(chart, names, 3), 0);
	cr_assert_eq(chart_add_bars(chart, "a", values, NULL, 3, (struct chart_style){0}), 0);
	cr_assert_eq(chart_add_bars(chart, "b", values, values, 3, (struct chart_style){0}), 0);
	svg = chart_to_svg(chart, "a", NULL);
	cr_assert(svg);
	free(svg);
	chart_destroy(chart);
}

/* The SVG that heatmap_save() writes. */
static char *svg_of(const struct heatmap *map)
{
	struct error err = {0};
	char path[64], *svg;

	snprintf(path, sizeof path, "/tmp/nomora-test-heatmap-%d.svg", (int)getpid());
	cr_assert_eq(heatmap_save(map, path, &err), 0, "%s", err.text);
	svg = file_read_all(path, 16 << 20, NULL, &err);
	unlink(path);
	cr_assert(svg, "%s", err.text);
	return svg;
}

Test(heatmap, draws_missing_cells_groups_and_labels)
{
	const double values[] = {NAN, 1, 10, NAN, 0, 100};
	const char *const rows[] = {"a", "b"}, *const columns[] = {"one", "two", "three"};
	const size_t group = 1;

	for (int logarithmic = 0; logarithmic < 2; logarithmic++) {
		struct heatmap map = {.title = "t",
				      .unit = "u",
				      .rows = 2,
				      .columns = 3,
				      .values = values,
				      .row_labels = rows,
				      .column_labels = columns,
				      .row_groups = &group,
				      .row_group_count = 1,
				      .logarithmic = logarithmic,
				      .print_values = true};
		char *svg = svg_of(&map);

		cr_assert_null(strstr(svg, "nan"));
		free(svg);
	}
}

/* Returns where the text is drawn. */
static double x_of(const char *svg, const char *label)
{
	char text[32];
	const char *at, *from = NULL;

	snprintf(text, sizeof text, ">%s</text>", label);
	at = strstr(svg, text);
	cr_assert(at, "%s", label);
	for (const char *next = svg; next && next < at; next = strstr(next + 1, "translate("))
		from = next;
	cr_assert(from, "%s", label);
	return atof(from + strlen("translate("));
}

Test(heatmap, column_labels_are_over_their_columns)
{
	const double values[] = {1, 2, 3, 4};
	const char *const columns[] = {"one", "two", "three", "four"};
	struct heatmap map = {
		.rows = 1, .columns = 4, .values = values, .column_labels = columns, .width = 640, .height = 200};
	char *svg = svg_of(&map);
	double step = x_of(svg, "two") - x_of(svg, "one");

	cr_assert_gt(step, 50, "%g", step);
	cr_assert_float_eq(x_of(svg, "three") - x_of(svg, "two"), step, 0.2);
	cr_assert_float_eq(x_of(svg, "four") - x_of(svg, "three"), step, 0.2);
	free(svg);
}

/* One SVG element per cell would be 20 MB. */
Test(heatmap, many_cells_are_one_picture)
{
	enum { N = 300 };
	double *values = malloc(N * N * sizeof *values);
	struct heatmap map = {.rows = N, .columns = N, .values = values, .title = "t"};
	char *svg;

	for (int i = 0; i < N * N; i++)
		values[i] = i % 7 ? i : NAN;
	svg = svg_of(&map);
	cr_assert(strstr(svg, "<image"));
	cr_assert_lt(strlen(svg), 1 << 20);
	free(svg);
	free(values);
}

Test(heatmap, a_matrix_without_any_value_is_drawn)
{
	const double values[] = {NAN};
	struct heatmap map = {.rows = 1, .columns = 1, .values = values};
	free(svg_of(&map));
}
