/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report_priv.h"

static char *text;
static size_t bytes;

static FILE *begin(void)
{
	free(text);
	return open_memstream(&text, &bytes);
}

static struct curve *make_curve(const char *name, const double *p, size_t count)
{
	struct curve *curve = curve_from_table(name, p, count, NULL);

	cr_assert_not_null(curve);
	return curve;
}

static void replace(char **field, const char *value)
{
	free(*field);
	*field = strdup(value);
}

#define LEVELS_HEAD                                                                                                    \
	"<table><tr><th class=\"n\">added round trip, µs</th><th class=\"n\">runs</th><th class=\"n\">measured</th>"  \
	"<th class=\"n\">±</th><th class=\"n\">curve</th><th class=\"n\">cost</th></tr>\n"

Test(report_sections, a_curve_has_its_equation_note_baseline_and_levels)
{
	static const double p[] = {1, 0.9, 0.8, 0.5};
	struct curve *curve = make_curve("web <1>", p, 4);
	FILE *out = begin();

	replace(&curve->equation, "p(x) < 1");
	replace(&curve->note, "a & b");
	replace(&curve->unit, "req/s > 0");
	curve->baseline_value = 2000;
	curve->baseline_deviation = 50;
	curve->disturbed_runs = 1;
	curve->level_count = 2;
	curve->levels = calloc(2, sizeof *curve->levels);
	curve->levels[0] = (struct curve_level){.x_us = 0, .runs = 1, .measured = 1, .deviation = 0.5, .fitted = 0.99};
	curve->levels[1] =
		(struct curve_level){.x_us = 20, .runs = 2, .measured = 0.8, .deviation = 0.05, .fitted = 0.79};
	report_curve(out, curve, true);
	fclose(out);
	cr_assert_str_eq(
		text,
		"<h3>web &lt;1&gt;</h3>\n<p><b>p(x) &lt; 1</b></p>\n<p class=\"muted\">a &amp; b</p>\n"
		"<p>Baseline: 2000 req/s &gt; 0 ± 2.5&nbsp;% from run to run.</p>\n"
		"<p class=\"warn\">1 of the runs were disturbed: do not rely on this curve.</p>\n" LEVELS_HEAD
		"<tr><td class=\"n\">0</td><td class=\"n\">1</td><td class=\"n\">1.000</td><td class=\"n\">–</td>"
		"<td class=\"n\">0.990</td><td class=\"n\">100</td></tr>\n"
		"<tr><td class=\"n\">20</td><td class=\"n\">2</td><td class=\"n\">0.800</td><td class=\"n\">0.050</td>"
		"<td class=\"n\">0.790</td><td class=\"n\">125</td></tr>\n"
		"</table>\n<p class=\"muted\">The scheduler's cost of a machine at that latency is 100 ÷ performance, "
		"100 to "
		"1000.</p>\n");
	curve_destroy(curve);
}

Test(report_sections, a_curve_shows_only_the_figures_that_are_known)
{
	static const double p[] = {1, 0.9};
	struct curve *curve = make_curve("web", p, 2);
	FILE *out = begin();

	replace(&curve->equation, "p");
	curve->baseline_value = NAN;
	report_curve(out, curve, false);
	fclose(out);
	cr_assert_str_eq(text, "<p><b>p</b></p>\n");
	curve->baseline_value = 0;
	curve->baseline_deviation = 1;
	out = begin();
	report_curve(out, curve, false);
	fclose(out);
	cr_assert_str_eq(text, "<p><b>p</b></p>\n<p>Baseline: 0 1.</p>\n");
	curve->baseline_value = 5;
	curve->baseline_deviation = NAN;
	out = begin();
	report_curve(out, curve, false);
	fclose(out);
	cr_assert_str_eq(text, "<p><b>p</b></p>\n<p>Baseline: 5 1.</p>\n");
	curve_destroy(curve);
}

Test(report_sections, a_card_says_how_far_a_curve_keeps_nine_tenths)
{
	static const struct {
		double p[4];
		const char *card;
	} cases[] = {
		{{1, 0.95, 0.85, 0.5}, "<b>15 µs</b>a&amp;b keeps 90&nbsp;% of"},
		{{1, 0.9, 0.7, 0.5}, "<b>10 µs</b>a&amp;b keeps 90&nbsp;% of"},
		{{1, 1, 0.92, 0.87}, "<b>24 µs</b>a&amp;b keeps 90&nbsp;% of"},
		{{0.8, 0.7, 0.6, 0.5}, "<b>0 µs</b>a&amp;b keeps 90&nbsp;% of"},
		{{1, 0.98, 0.95, 0.9}, "<b>30 µs</b>a&amp;b keeps more than 90&nbsp;% of"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct curve *curve = make_curve("a&b", cases[i].p, 4);
		const struct curve *one = curve;
		char expected[300];
		FILE *out = begin();

		report_cards(out, &one, 1, NULL, false);
		fclose(out);
		snprintf(expected, sizeof expected,
			 "<div class=\"cards\"><div class=\"card\">%s its performance up to this added round "
			 "trip</div></div>\n",
			 cases[i].card);
		cr_expect_str_eq(text, expected);
		curve_destroy(curve);
	}
}

static const struct latency_group groups[LATENCY_RELATIONS] = {
	[LATENCY_SAME_RACK] = {.pairs = 4,
			       .silent = 1,
			       .samples = 300,
			       .lowest_p50_us = 10.25,
			       .p50_us = 11.5,
			       .highest_p50_us = 13,
			       .p99_us = 20,
			       .worst_us = 99,
			       .loss = 0.25},
	[LATENCY_OTHER_RACK] = {.pairs = 2, .silent = 2, .samples = 0, .p50_us = 77, .loss = 1},
};

Test(report_sections, the_mesh_has_a_row_for_each_relation_with_pairs)
{
	static const char first[] = "<td class=\"n\">4</td><td class=\"n\">10.2</td><td class=\"n\">11.5</td>"
				    "<td class=\"n\">13.0</td><td class=\"n\">20.0</td><td class=\"n\">300</td>"
				    "<td class=\"n\">1</td><td class=\"n\">25</td></tr>\n";
	static const char *const names[] = {"all pairs", "within a rack"};

	for (int has_cluster = 0; has_cluster < 2; has_cluster++) {
		char expected[600];
		FILE *out = begin();

		report_mesh(out, groups, has_cluster);
		fclose(out);
		snprintf(expected, sizeof expected,
			 "</tr>\n<tr><td>%s</td>%s<tr><td>between racks</td><td "
			 "class=\"n\">2</td><td></td><td></td><td></td>"
			 "<td></td><td class=\"n\">0</td><td class=\"n\">2</td><td "
			 "class=\"n\">100</td></tr>\n</table>\n",
			 names[has_cluster], first);
		cr_assert(strstr(text, "<table><tr><th>round trips, µs</th><th class=\"n\">pairs</th>") == text);
		cr_assert_str_eq(strstr(text, "</tr>\n"), expected);
	}
}

Test(report_sections, a_mesh_has_a_card_for_each_relation_that_answers)
{
	struct latency_group all[LATENCY_RELATIONS];
	FILE *out = begin();

	report_cards(out, NULL, 0, groups, true);
	fclose(out);
	cr_assert_str_eq(text, "<div class=\"cards\"><div class=\"card\"><b>11.5 µs</b>median round trip within a "
			       "rack</div></div>\n");
	memcpy(all, groups, sizeof all);
	all[LATENCY_OTHER_RACK].silent = 1;
	all[LATENCY_UNKNOWN_RACK] = (struct latency_group){.pairs = 1, .p50_us = 5};
	out = begin();
	report_cards(out, NULL, 0, all, false);
	fclose(out);
	cr_assert_str_eq(text,
			 "<div class=\"cards\"><div class=\"card\"><b>11.5 µs</b>median round trip over all pairs</div>"
			 "<div class=\"card\"><b>77.0 µs</b>median round trip between racks</div></div>\n");
}

Test(report_sections, a_picture_is_in_the_page_as_what_it_is)
{
	static const struct {
		const char *content, *image;
	} cases[] = {
		{"<svg/>", "image/svg+xml;base64,PHN2Zy8+\">\n"},
		{"<svg />", "image/svg+xml;base64,PHN2ZyAvPg==\">\n"},
		{"\x89PNG~~?\xff", "image/png;base64,iVBOR35+P/8=\">\n"},
		{"\x89PNG", "image/svg+xml;base64,iVBORw==\">\n"},
	};
	char path[] = "/tmp/nomora-picture-XXXXXX";
	struct error err = {0};

	close(mkstemp(path));
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		FILE *file = fopen(path, "w"), *out = begin();
		char expected[200];

		cr_assert(fputs(cases[i].content, file) >= 0 && fclose(file) == 0);
		cr_assert_eq(report_picture(out, path, "a \"b\"", &err), 0, "%s", err.text);
		fclose(out);
		snprintf(expected, sizeof expected, "<img class=\"plot\" alt=\"a &quot;b&quot;\" src=\"data:%s",
			 cases[i].image);
		cr_assert_str_eq(text, expected);
	}
	unlink(path);
	cr_assert_eq(report_picture(stdout, path, "", &err), -ENOENT);
}
