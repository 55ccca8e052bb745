/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include <base/rng.h>
#include <model/curve.h>

#define CURVES SOURCE_ROOT "/curves/"

static struct curve *load(const char *name)
{
	struct error err = {0};
	char path[512];
	struct curve *curve;

	snprintf(path, sizeof path, CURVES "%s.json", name);
	curve = curve_load(path, &err);
	cr_assert(curve, "%s", err.text);
	return curve;
}

/* NoMora, equations 2 to 5, and values that the specification gives. */
struct pin {
	char name[16];
	double threshold_us, b[4], x_us, p;
};

static const struct pin pins[] = {
	{"memcached", 40, {1.067, -3.093e-3, 4.084e-6, -1.898e-9}, 40, 0.9497},
	{"memcached", 40, {1.067, -3.093e-3, 4.084e-6, -1.898e-9}, 500, 0.304},
	{"memcached", 40, {1.067, -3.093e-3, 4.084e-6, -1.898e-9}, 1000, 0.160},
	{"strads", 20, {1.009, -2.095e-3, 2.571e-6, -1.232e-9}, 1000, 0.253},
	{"spark", 200, {1.0199, -1.161e-4, 0, 0}, 1000, 0.904},
	{"tensorflow", 40, {1.005, -5.146e-4, 5.837e-7, -3.46e-10}, 1000, 0.728},
};

Test(curve, papers_curves_have_the_papers_values)
{
	for (size_t i = 0; i < sizeof pins / sizeof *pins; i++) {
		const struct pin *pin = &pins[i];
		struct curve *curve = load(pin->name);

		cr_assert_float_eq(curve_eval(curve, pin->x_us), pin->p, 5e-4, "%s p(%g) = %g", pin->name, pin->x_us,
				   curve_eval(curve, pin->x_us));
		cr_assert_eq(curve->table_count, 101);
		cr_assert_eq(curve->threshold.form, CURVE_FORM_JUMP);
		cr_assert_eq(curve->threshold.at_us, pin->threshold_us);
		for (size_t k = 0; k < curve->table_count; k++) {
			double x = 10.0 * (double)k;
			double p = x < pin->threshold_us
					   ? 1
					   : pin->b[0] + x * (pin->b[1] + x * (pin->b[2] + x * pin->b[3]));

			cr_assert_float_eq(curve_eval(curve, x), p, 1e-11, "%s at %g us", pin->name, x);
		}
		curve_destroy(curve);
	}
}

Test(curve, costs_lie_between_100_and_1000_everywhere)
{
	for (size_t i = 0; i < sizeof pins / sizeof *pins; i++) {
		struct curve *curve = load(pins[i].name);
		long before = 0;

		for (double x = -10; x < 20000; x += 1.7) {
			long cost = curve_cost(curve, x);

			cr_assert(cost >= 100 && cost <= 1000, "%s costs %ld at %g", pins[i].name, cost, x);
			cr_assert_geq(cost, before, "%s gets cheaper at %g", pins[i].name, x);
			before = cost;
		}
		cr_assert_eq(curve_cost(curve, NAN), before, "what is not known counts as far away");
		cr_assert_eq(curve_cost(curve, INFINITY), before);
		curve_destroy(curve);
	}
}

Test(curve, interpolates_between_ten_microseconds_and_clamps)
{
	const double p[] = {1.2, 0.8, 0.5, 0.04, 0.3};
	struct error err = {0};
	struct curve *curve = curve_from_table("x", p, 5, &err);

	cr_assert(curve, "%s", err.text);
	cr_assert_eq(curve_eval(curve, -3), 1, "never above the baseline");
	cr_assert_float_eq(curve_eval(curve, 4.9), 0.902, 1e-12, "no step at 5 us");
	cr_assert_float_eq(curve_eval(curve, 5.1), 0.898, 1e-12);
	cr_assert_float_eq(curve_eval(curve, 12), 0.74, 1e-12);
	cr_assert_eq(curve_eval(curve, 20), 0.5);
	cr_assert_eq(curve_eval(curve, 30), CURVE_FLOOR);
	cr_assert_float_eq(curve_eval(curve, 35), 0.2, 1e-12);
	cr_assert_eq(curve_eval(curve, 40), 0.3);
	cr_assert_eq(curve_eval(curve, 40.1), CURVE_FLOOR, "beyond the domain the smallest value holds");
	cr_assert_eq(curve_cost(curve, 10), 125);
	cr_assert_eq(curve_cost(curve, 30), 1000);
	curve_destroy(curve);
}

Test(curve, the_papers_look_up_takes_the_nearest_ten_microseconds)
{
	const double p[] = {1.2, 0.8, 0.5, 0.04, 0.3};
	struct error err = {0};
	struct curve *curve = curve_from_table("x", p, 5, &err);

	cr_assert(curve, "%s", err.text);
	cr_assert_eq(curve_eval_nearest(curve, -3), 1, "never above the baseline");
	cr_assert_eq(curve_eval_nearest(curve, 4.99), 1);
	cr_assert_eq(curve_eval_nearest(curve, 5), 0.8);
	cr_assert_eq(curve_eval_nearest(curve, 14.99), 0.8);
	cr_assert_eq(curve_eval_nearest(curve, 44.9), 0.3);
	cr_assert_eq(curve_eval_nearest(curve, 45), CURVE_FLOOR, "beyond the domain the smallest value holds");
	cr_assert_eq(curve_eval_nearest(curve, NAN), CURVE_FLOOR);
	curve_destroy(curve);
}

Test(curve, interpolates_between_entries_and_clamps)
{
	const double p[] = {1.2, 0.8, 0.5, 0.04, 0.3};
	struct curve *curve = curve_from_table("x", p, 5, NULL);

	cr_assert(curve);
	cr_assert_eq(curve_interpolate(curve, -3), 1);
	cr_assert_float_eq(curve_interpolate(curve, 2.5), 0.95, 1e-12);
	cr_assert_float_eq(curve_interpolate(curve, 10), 0.8, 1e-12);
	cr_assert_float_eq(curve_interpolate(curve, 15), 0.65, 1e-12);
	cr_assert_float_eq(curve_interpolate(curve, 35), 0.2, 1e-12);
	cr_assert_eq(curve_interpolate(curve, 40), 0.3);
	cr_assert_eq(curve_interpolate(curve, 40.1), CURVE_FLOOR, "beyond the domain the smallest value holds");
	cr_assert_eq(curve_interpolate(curve, NAN), CURVE_FLOOR);
	cr_assert_eq(curve_interpolate(curve, INFINITY), CURVE_FLOOR);
	curve_destroy(curve);
}

/* No discontinuity except the jump: 0.01 us changes p by at most the steepest segment's slope. */
Test(curve, interpolation_meets_the_table_and_is_continuous_but_for_the_jump)
{
	for (size_t i = 0; i < sizeof pins / sizeof *pins; i++) {
		struct curve *curve = load(pins[i].name);
		double steepest = 0, at = curve->threshold.at_us, before = 1;

		for (size_t k = 0; k < curve->table_count; k++) {
			double here = curve_interpolate(curve, CURVE_STEP_US * (double)k);

			cr_assert_float_eq(here, curve->evaluated[k], 1e-12, "%s at %zu us", pins[i].name, 10 * k);
			if (k > 0)
				steepest = fmax(steepest, (curve->evaluated[k - 1] - curve->evaluated[k]) / 10);
		}
		cr_assert_eq(curve_interpolate(curve, at - 1e-6), curve->evaluated[0]);
		for (double x = 0; x < curve->domain_high_us; x += 0.01) {
			double p = curve_interpolate(curve, x);

			cr_assert_leq(p, before, "%s rises at %g us", pins[i].name, x);
			if (!(x - 0.011 < at && at <= x))
				cr_assert_leq(before - p, steepest * 0.0101 + 1e-12, "%s has a cliff at %g us",
					      pins[i].name, x);
			before = p;
		}
		curve_destroy(curve);
	}
}

Test(curve, a_jump_between_two_entries_stays_where_it_is)
{
	const double p[] = {1, 1, 0.7, 0.6, 0.5};
	struct curve *curve = curve_from_table("x", p, 5, NULL);

	cr_assert(curve);
	curve->threshold.form = CURVE_FORM_JUMP;
	curve->threshold.at_us = 15;
	curve->domain_high_us = 36;
	cr_assert_eq(curve_prepare(curve, NULL), 0);
	cr_assert_eq(curve_interpolate(curve, 14.999), 1);
	cr_assert_float_eq(curve_interpolate(curve, 15), 0.75, 1e-12, "0.7 at 20 and 0.6 at 30, extended to 15");
	cr_assert_float_eq(curve_interpolate(curve, 18), 0.72, 1e-12);
	cr_assert_float_eq(curve_interpolate(curve, 33), 0.55, 1e-12, "the last entry is at the domain's end, 36");
	cr_assert_float_eq(curve_interpolate(curve, 36), 0.5, 1e-12);
	curve_destroy(curve);
}

Test(curve, takes_off_the_testbeds_own_round_trip)
{
	const double p[] = {1, 0.5};
	struct curve *curve = curve_from_table("x", p, 2, NULL);

	cr_assert(curve);
	cr_assert_eq(curve_added_rtt_us(curve, 40), 40);
	curve->baseline_rtt_us = 31;
	cr_assert_float_eq(curve_added_rtt_us(curve, 40), 9, 1e-12);
	cr_assert_eq(curve_added_rtt_us(curve, 20), 0);
	curve_destroy(curve);
}

Test(curve, refuses_tables_that_are_none)
{
	const double p[] = {1, NAN};
	struct error err = {0};

	cr_assert_null(curve_from_table("x", p, 2, &err));
	cr_assert(strstr(err.text, "table entry 1 is not a finite number"), "%s", err.text);
	cr_assert_null(curve_from_table("x", p, 0, &err));
	double *many = calloc(CURVE_TABLE_MAXIMUM + 1, sizeof *many);
	struct curve *most = curve_from_table("x", many, CURVE_TABLE_MAXIMUM, &err);

	cr_assert(most, "%s", err.text);
	cr_assert_null(curve_from_table("x", many, CURVE_TABLE_MAXIMUM + 1, &err));
	curve_destroy(most);
	free(many);
}

/* The last entry is at the end of the domain only if that is within the last step. */
Test(curve, the_domain_may_end_within_the_last_step)
{
	static const double ends[][2] = {{19, 30}, {20, 30}, {20.5, 20.5}, {29.5, 29.5}, {30, 30}, {31, 30}};
	const double p[] = {1, 0.8, 0.6, 0.5};

	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
		struct curve *curve = curve_from_table("x", p, 4, NULL);

		curve->domain_high_us = ends[i][0];
		cr_assert_eq(curve_prepare(curve, NULL), 0);
		cr_expect_eq(curve->last_us, ends[i][1], "%g", ends[i][0]);
		curve_destroy(curve);
	}
}

Test(curve, only_a_jump_within_the_table_is_one)
{
	static const struct {
		enum curve_form form;
		double at_us;
		bool jumps;
	} cases[] = {{CURVE_FORM_JUMP, 15, true},  {CURVE_FORM_HINGE, 15, false}, {CURVE_FORM_NONE, 15, false},
		     {CURVE_FORM_JUMP, 0, false},  {CURVE_FORM_JUMP, 30, true},   {CURVE_FORM_JUMP, 30.5, false},
		     {CURVE_FORM_JUMP, NAN, false}};
	const double p[] = {1, 1, 0.6, 0.5};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct curve *curve = curve_from_table("x", p, 4, NULL);

		curve->threshold.form = cases[i].form;
		curve->threshold.at_us = cases[i].at_us;
		cr_assert_eq(curve_prepare(curve, NULL), 0);
		cr_expect_eq(isfinite(curve->jump_us), cases[i].jumps, "%zu", i);
		curve_destroy(curve);
	}
}

/* A curve whose fields are all filled from a seed. */
static struct curve *random_curve(uint64_t seed)
{
	struct rng rng;
	struct curve *curve = curve_create();
	size_t n = 2;

	cr_assert(curve);
	rng_seed(&rng, seed);
	curve->application = strdup("an \"application\"");
	curve->metric = strdup("queries");
	curve->unit = strdup("1/s");
	curve->model = strdup("log");
	curve->equation = strdup("p(x) = 1\t\xc2\xb5");
	curve->note = strdup("");
	curve->better = rng_below(&rng, 2) ? SWEEP_LOWER : SWEEP_HIGHER;
	curve->baseline_value = rng_normal(&rng);
	curve->baseline_deviation = rng_uniform(&rng);
	curve->baseline_rtt_us = rng_below(&rng, 2) ? NAN : rng_uniform(&rng) * 100;
	curve->domain_high_us = rng_uniform(&rng) * 1000;
	curve->threshold.form = (enum curve_form)rng_below(&rng, 3);
	curve->threshold.at_us = curve->threshold.form ? rng_uniform(&rng) * 100 : NAN;
	curve->threshold.has_interval = curve->threshold.form && rng_below(&rng, 2);
	curve->threshold.high_us = 7;
	curve->threshold.confidence = 0.95;
	for (int form = 0; form < CURVE_FORMS && seed % 2; form++)
		curve->threshold.probability[form] = rng_uniform(&rng);
	curve->coefficient_count = n;
	curve->coefficients = calloc(n, sizeof *curve->coefficients);
	curve->covariance = calloc(n * n, sizeof *curve->covariance);
	for (size_t i = 0; i < n; i++) {
		snprintf(curve->coefficients[i].name, 16, "b%zu", i);
		curve->coefficients[i].value = rng_normal(&rng) * 1e-9;
		curve->coefficients[i].standard_error = i ? NAN : rng_uniform(&rng);
		curve->covariance[i] = rng_normal(&rng);
	}
	curve->goodness = (struct curve_goodness){true, 20, 3, 0.1, 1.5, 0.99, -40.5, -38};
	curve->level_count = 1;
	curve->levels = calloc(1, sizeof *curve->levels);
	*curve->levels = (struct curve_level){10, 0.95, 0.01, 0.94, 10, 1};
	curve->table_count = 1 + rng_below(&rng, 200);
	curve->table = calloc(curve->table_count, sizeof(double));
	curve->band_low = calloc(curve->table_count, sizeof(double));
	curve->band_high = calloc(curve->table_count, sizeof(double));
	for (size_t i = 0; i < curve->table_count; i++) {
		curve->table[i] = rng_uniform(&rng);
		curve->band_low[i] = curve->table[i] / 3;
		curve->band_high[i] = curve->table[i] * 1.1;
	}
	curve->band_confidence = 0.95;
	curve->band_whole_factor = rng_below(&rng, 2) ? NAN : 1.5;
	curve->disturbed_runs = (long)rng_below(&rng, 3);
	cr_assert_eq(curve_prepare(curve, NULL), 0);
	return curve;
}

static bool same(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

/* The fields of random_curve() after they were printed and parsed. */
static void check_fields(const struct curve *curve, const struct curve *expected)
{
	const struct curve_goodness *goodness = &curve->goodness, *fit = &expected->goodness;

	cr_assert_str_eq(curve->application, expected->application);
	cr_assert_str_eq(curve->metric, expected->metric);
	cr_assert_str_eq(curve->unit, expected->unit);
	cr_assert_str_eq(curve->model, expected->model);
	cr_assert_str_eq(curve->equation, expected->equation);
	cr_assert_str_eq(curve->note, expected->note);
	cr_assert_eq(curve->better, expected->better);
	cr_assert_eq(curve->baseline_value, expected->baseline_value);
	cr_assert_eq(curve->baseline_deviation, expected->baseline_deviation);
	cr_assert(same(curve->baseline_rtt_us, expected->baseline_rtt_us));
	cr_assert_eq(curve->disturbed_runs, expected->disturbed_runs);
	cr_assert_eq(curve->domain_low_us, expected->domain_low_us);
	cr_assert_eq(curve->domain_high_us, expected->domain_high_us);
	cr_assert_eq(curve->threshold.form, expected->threshold.form);
	cr_assert(same(curve->threshold.at_us, expected->threshold.at_us));
	cr_assert_eq(curve->threshold.has_interval, expected->threshold.has_interval);
	cr_assert(!curve->threshold.has_interval || (curve->threshold.low_us == expected->threshold.low_us &&
						     curve->threshold.high_us == expected->threshold.high_us &&
						     curve->threshold.confidence == expected->threshold.confidence));
	cr_assert_eq(curve->coefficient_count, expected->coefficient_count);
	for (size_t i = 0; i < curve->coefficient_count; i++) {
		cr_assert_str_eq(curve->coefficients[i].name, expected->coefficients[i].name);
		cr_assert_eq(curve->coefficients[i].value, expected->coefficients[i].value);
		cr_assert(same(curve->coefficients[i].standard_error, expected->coefficients[i].standard_error));
	}
	for (size_t i = 0; i < curve->coefficient_count * curve->coefficient_count; i++)
		cr_assert_eq(curve->covariance[i], expected->covariance[i]);
	cr_assert(goodness->known == fit->known && goodness->points == fit->points &&
		  goodness->parameters == fit->parameters && goodness->rss == fit->rss &&
		  goodness->chi_square == fit->chi_square && goodness->r_squared == fit->r_squared &&
		  goodness->aicc == fit->aicc && goodness->bic == fit->bic);
	cr_assert_eq(curve->level_count, expected->level_count);
	for (size_t i = 0; i < curve->level_count; i++) {
		const struct curve_level *level = &curve->levels[i], *measured = &expected->levels[i];

		cr_assert(level->x_us == measured->x_us && level->measured == measured->measured &&
			  level->deviation == measured->deviation && level->fitted == measured->fitted &&
			  level->runs == measured->runs && level->outliers == measured->outliers);
	}
	for (size_t i = 0; i < curve->table_count; i++)
		cr_assert(curve->table[i] == expected->table[i] && curve->band_low[i] == expected->band_low[i] &&
			  curve->band_high[i] == expected->band_high[i]);
	cr_assert_eq(curve->band_confidence, expected->band_confidence);
	cr_assert(same(curve->band_whole_factor, expected->band_whole_factor));
}

Test(curve, printing_and_parsing_is_the_identity)
{
	for (uint64_t seed = 0; seed < 50; seed++) {
		struct error err = {0};
		struct curve *curve = random_curve(seed), *again;
		char *text = curve_to_text(curve, &err), *text_again;

		cr_assert(text, "%s", err.text);
		again = curve_from_memory("c.json", text, strlen(text), &err);
		cr_assert(again, "%s", err.text);
		text_again = curve_to_text(again, &err);
		cr_assert_str_eq(text, text_again);
		cr_assert_eq(again->table_count, curve->table_count);
		for (size_t i = 0; i < curve->table_count; i++)
			cr_assert_eq(again->evaluated[i], curve->evaluated[i]);
		check_fields(again, curve);
		for (int form = 0; form < CURVE_FORMS; form++)
			cr_assert(seed % 2 ? again->threshold.probability[form] == curve->threshold.probability[form]
					   : isnan(again->threshold.probability[form]));
		free(text);
		free(text_again);
		curve_destroy(curve);
		curve_destroy(again);
	}
}

Test(curve, a_file_cut_anywhere_is_refused_by_line)
{
	struct error err = {0};
	struct curve *curve = random_curve(3);
	char *text = curve_to_text(curve, &err);
	size_t bytes = strlen(text);

	for (size_t cut = 0; cut + 1 < bytes; cut += 1 + cut / 20) {
		err = (struct error){0};
		cr_assert_null(curve_from_memory("c.json", text, cut, &err), "cut at %zu", cut);
		cr_assert(strstr(err.text, "c.json"), "%s", err.text);
	}
	free(text);
	curve_destroy(curve);
}

static const char *const edits[][3] = {
	{"\"hinge\": 0.", "\"hinge\": 2.", "form_probability.hinge"},
	{"\"schema\": \"nomora.curve/1\"", "\"schema\": \"other/1\"", "schema"},
	{"\"x\": \"added_rtt_us\"", "\"x\": \"rtt\"", "x"},
	{"\"step_us\": 10.0", "\"step_us\": 20.0", "table.step_us"},
	{"\"better\": \"", "\"better\": \"x", "better"},
	{"\"confidence\": 0.", "\"confidence\": 90.", "confidence"},
	{"\"covariance\": [", "\"covariance\": [[1],", "model.covariance"},
};

Test(curve, names_the_field_that_is_wrong)
{
	struct error err = {0};
	struct curve *curve = random_curve(1);
	char *text = curve_to_text(curve, &err);

	for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
		char *at = strstr(text, edits[i][0]), *changed = calloc(1, strlen(text) + 64);

		cr_assert(at, "%s is not in the file", edits[i][0]);
		memcpy(changed, text, (size_t)(at - text));
		strcat(changed, edits[i][1]);
		strcat(changed, at + strlen(edits[i][0]));
		err = (struct error){0};
		cr_assert_null(curve_from_memory("c.json", changed, strlen(changed), &err), "edit %zu was taken", i);
		cr_assert(strstr(err.text, edits[i][2]), "'%s' does not name %s", err.text, edits[i][2]);
		free(changed);
	}
	free(text);
	curve_destroy(curve);
}
