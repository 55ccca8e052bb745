/* SPDX-License-Identifier: BSD-3-Clause */
/* curve.json `nomora.curve/1`: each part of the file has its reader and its writer side by side. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/json.h>
#include <model/curve.h>

static const double number_limit = 1e300;

static json_t *numbers(const double *values, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, json_number_or_null(values[i]));
	return array;
}

static char *copy_text(struct json_reader *reader, const char *text)
{
	char *copy = strdup(text ? text : "");

	if (!copy)
		json_no_memory(reader);
	return copy;
}

/* Returns number `index` of the array, or NAN if it is null. */
static double array_number(struct json_reader *reader, const json_t *array, const char *where, size_t index)
{
	const json_t *item = json_array_get(array, index);

	if (json_is_number(item) && isfinite(json_number_value(item)))
		return json_number_value(item);
	if (!json_is_null(item) || !item)
		json_fail(reader, where, "", "entry %zu: expected a number", index);
	return NAN;
}

static double *read_numbers(struct json_reader *reader, const json_t *array, const char *where, size_t count)
{
	double *values;

	if (reader->failed)
		return NULL;
	if (json_array_size(array) != count) {
		json_fail(reader, where, "", "expected %zu entries, found %zu", count, json_array_size(array));
		return NULL;
	}
	values = malloc((count ? count : 1) * sizeof *values);
	if (!values) {
		json_no_memory(reader);
		return NULL;
	}
	for (size_t i = 0; i < count; i++) {
		values[i] = array_number(reader, array, where, i);
		if (isnan(values[i]))
			json_fail(reader, where, "", "entry %zu: expected a number, found null", i);
	}
	return values;
}

/* Reads the two ends of an interval; *low must not exceed *high. */
static void read_interval(struct json_reader *reader, const json_t *object, const char *where, const char *key,
			  double *low, double *high)
{
	const json_t *array = json_need_array(reader, object, where, key);
	double *ends = read_numbers(reader, array, key, 2);

	if (ends && !reader->failed) {
		*low = ends[0];
		*high = ends[1];
		if (*low > *high)
			json_fail(reader, where, key, "%g..%g: expected the lower end first", *low, *high);
	}
	free(ends);
}

static json_t *baseline_json(const struct curve *curve)
{
	return json_pack("{s:o, s:o}", "value", json_number_or_null(curve->baseline_value), "deviation",
			 json_number_or_null(curve->baseline_deviation));
}

static json_t *threshold_json(const struct curve_threshold *threshold)
{
	json_t *interval;

	if (threshold->form == CURVE_FORM_NONE)
		return json_null();
	if (!threshold->has_interval)
		return json_pack("{s:s, s:f}", "form", curve_form_name(threshold->form), "at_us", threshold->at_us);
	interval = json_pack("[f, f]", threshold->low_us, threshold->high_us);
	return json_pack("{s:s, s:f, s:o, s:f}", "form", curve_form_name(threshold->form), "at_us", threshold->at_us,
			 "interval_us", interval, "confidence", threshold->confidence);
}

static void read_threshold(struct json_reader *reader, const json_t *root, struct curve_threshold *threshold)
{
	const json_t *object = json_object_get(root, "threshold");
	const char *form;

	if (!object || json_is_null(object))
		return;
	object = json_need_object(reader, root, "", "threshold");
	form = json_need_string(reader, object, "threshold", "form");
	if (reader->failed)
		return;
	for (int i = CURVE_FORM_JUMP; i <= CURVE_FORM_HINGE; i++)
		if (strcmp(form, curve_form_name((enum curve_form)i)) == 0)
			threshold->form = (enum curve_form)i;
	if (threshold->form == CURVE_FORM_NONE)
		json_fail(reader, "threshold", "form", "'%s': expected jump or hinge", form);
	threshold->at_us = json_need_number(reader, object, "threshold", "at_us", 0, number_limit);
	threshold->confidence = json_may_number(reader, object, "threshold", "confidence", 0, 1, NAN);
	if (json_may_array(reader, object, "threshold", "interval_us")) {
		threshold->has_interval = true;
		read_interval(reader, object, "threshold", "interval_us", &threshold->low_us, &threshold->high_us);
	}
}

static json_t *probability_json(const struct curve_threshold *threshold)
{
	json_t *object = json_object();

	for (int form = 0; form < CURVE_FORMS; form++)
		json_object_set_new(object, curve_form_name((enum curve_form)form),
				    json_number_or_null(threshold->probability[form]));
	return object;
}

static void read_probability(struct json_reader *reader, const json_t *root, struct curve_threshold *threshold)
{
	const char *where = "form_probability";
	const json_t *object = json_object_get(root, where);

	if (!object || json_is_null(object))
		return;
	object = json_need_object(reader, root, "", where);
	for (int form = 0; form < CURVE_FORMS && !reader->failed; form++)
		threshold->probability[form] =
			json_need_number(reader, object, where, curve_form_name((enum curve_form)form), 0, 1);
}

static json_t *model_json(const struct curve *curve)
{
	json_t *model = json_pack("{s:s, s:s}", "name", curve->model, "equation", curve->equation);
	json_t *coefficients = json_array(), *covariance;

	for (size_t i = 0; i < curve->coefficient_count; i++) {
		const struct curve_coefficient *c = &curve->coefficients[i];

		json_array_append_new(coefficients, json_pack("{s:s, s:o, s:o}", "name", c->name, "value",
							      json_number_or_null(c->value), "standard_error",
							      json_number_or_null(c->standard_error)));
	}
	json_object_set_new(model, "coefficients", coefficients);
	if (!curve->covariance)
		return model;
	covariance = json_array();
	for (size_t i = 0; i < curve->coefficient_count; i++)
		json_array_append_new(covariance, numbers(&curve->covariance[i * curve->coefficient_count],
							  curve->coefficient_count));
	json_object_set_new(model, "covariance", covariance);
	return model;
}

static void read_covariance(struct json_reader *reader, const json_t *model, struct curve *curve)
{
	const json_t *rows = json_may_array(reader, model, "model", "covariance");
	size_t n = curve->coefficient_count;

	if (!rows || reader->failed)
		return;
	if (json_array_size(rows) != n) {
		json_fail(reader, "model", "covariance", "expected %zu rows, one per coefficient", n);
		return;
	}
	curve->covariance = malloc((n ? n * n : 1) * sizeof *curve->covariance);
	if (!curve->covariance) {
		json_no_memory(reader);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const json_t *row = json_array_get(rows, i);

		if (json_array_size(row) != n) {
			json_fail(reader, "model", "covariance", "row %zu: expected %zu numbers", i, n);
			return;
		}
		for (size_t j = 0; j < n; j++)
			curve->covariance[i * n + j] = array_number(reader, row, "model.covariance", j);
	}
}

static void read_model(struct json_reader *reader, const json_t *root, struct curve *curve)
{
	const json_t *model = json_need_object(reader, root, "", "model");
	const json_t *coefficients;

	if (reader->failed)
		return;
	curve->model = copy_text(reader, json_need_string(reader, model, "model", "name"));
	curve->equation = copy_text(reader, json_may_string(reader, model, "model", "equation", ""));
	coefficients = json_may_array(reader, model, "model", "coefficients");
	curve->coefficient_count = coefficients ? json_array_size(coefficients) : 0;
	if (curve->coefficient_count == 0)
		return;
	curve->coefficients = calloc(curve->coefficient_count, sizeof *curve->coefficients);
	if (!curve->coefficients) {
		curve->coefficient_count = 0;
		json_no_memory(reader);
		return;
	}
	for (size_t i = 0; i < curve->coefficient_count && !reader->failed; i++) {
		struct curve_coefficient *c = &curve->coefficients[i];
		const json_t *item = json_array_get(coefficients, i);
		const char *name;
		char where[48];

		snprintf(where, sizeof where, "model.coefficients[%zu]", i);
		name = json_need_string(reader, item, where, "name");
		if (!reader->failed && strlen(name) >= sizeof c->name)
			json_fail(reader, where, "name", "expected at most %zu bytes", sizeof c->name - 1);
		if (reader->failed)
			return;
		memcpy(c->name, name, strlen(name) + 1);
		c->value = json_need_number(reader, item, where, "value", -number_limit, number_limit);
		c->standard_error = json_may_number(reader, item, where, "standard_error", 0, number_limit, NAN);
	}
	read_covariance(reader, model, curve);
}

static json_t *goodness_json(const struct curve_goodness *goodness)
{
	if (!goodness->known)
		return json_null();
	return json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "points", (json_int_t)goodness->points, "parameters",
			 (json_int_t)goodness->parameters, "rss", json_number_or_null(goodness->rss), "chi_square",
			 json_number_or_null(goodness->chi_square), "r_squared",
			 json_number_or_null(goodness->r_squared), "aicc", json_number_or_null(goodness->aicc), "bic",
			 json_number_or_null(goodness->bic));
}

static void read_goodness(struct json_reader *reader, const json_t *root, struct curve_goodness *goodness)
{
	const json_t *object = json_object_get(root, "goodness");
	const char *where = "goodness";

	if (!object || json_is_null(object))
		return;
	object = json_need_object(reader, root, "", where);
	if (reader->failed)
		return;
	goodness->known = true;
	goodness->points = (long)json_need_integer(reader, object, where, "points", 0, INT64_MAX);
	goodness->parameters = (long)json_need_integer(reader, object, where, "parameters", 0, INT64_MAX);
	goodness->rss = json_may_number(reader, object, where, "rss", 0, number_limit, NAN);
	goodness->chi_square = json_may_number(reader, object, where, "chi_square", 0, number_limit, NAN);
	goodness->r_squared = json_may_number(reader, object, where, "r_squared", -number_limit, 1, NAN);
	goodness->aicc = json_may_number(reader, object, where, "aicc", -number_limit, number_limit, NAN);
	goodness->bic = json_may_number(reader, object, where, "bic", -number_limit, number_limit, NAN);
}

static json_t *levels_json(const struct curve *curve)
{
	json_t *array = json_array();

	for (size_t i = 0; i < curve->level_count; i++) {
		const struct curve_level *level = &curve->levels[i];

		json_array_append_new(array,
				      json_pack("{s:f, s:f, s:f, s:f, s:f, s:I, s:I}", "x_us", level->x_us, "measured",
						level->measured, "deviation", level->deviation, "fitted", level->fitted,
						"residual", level->measured - level->fitted, "runs",
						(json_int_t)level->runs, "outliers", (json_int_t)level->outliers));
	}
	return array;
}

static void read_levels(struct json_reader *reader, const json_t *root, struct curve *curve)
{
	const json_t *array = json_may_array(reader, root, "", "levels");
	size_t count = array ? json_array_size(array) : 0;

	if (count == 0 || reader->failed)
		return;
	curve->levels = calloc(count, sizeof *curve->levels);
	if (!curve->levels) {
		json_no_memory(reader);
		return;
	}
	curve->level_count = count;
	for (size_t i = 0; i < count && !reader->failed; i++) {
		struct curve_level *level = &curve->levels[i];
		const json_t *item = json_array_get(array, i);
		char where[32];

		snprintf(where, sizeof where, "levels[%zu]", i);
		level->x_us = json_need_number(reader, item, where, "x_us", 0, number_limit);
		level->measured = json_need_number(reader, item, where, "measured", -number_limit, number_limit);
		level->deviation = json_may_number(reader, item, where, "deviation", 0, number_limit, 0);
		level->fitted = json_need_number(reader, item, where, "fitted", -number_limit, number_limit);
		level->runs = (long)json_may_integer(reader, item, where, "runs", 0, INT64_MAX, 1);
		level->outliers = (long)json_may_integer(reader, item, where, "outliers", 0, INT64_MAX, 0);
	}
}

static void read_table(struct json_reader *reader, const json_t *root, struct curve *curve)
{
	const json_t *table = json_need_object(reader, root, "", "table"), *p, *band;

	if (reader->failed)
		return;
	json_need_number(reader, table, "table", "step_us", CURVE_STEP_US, CURVE_STEP_US);
	p = json_need_array(reader, table, "table", "p");
	if (reader->failed)
		return;
	if (json_array_size(p) == 0 || json_array_size(p) > CURVE_TABLE_MAXIMUM) {
		json_fail(reader, "table", "p", "%zu entries: expected 1 to %d", json_array_size(p),
			  CURVE_TABLE_MAXIMUM);
		return;
	}
	curve->table_count = json_array_size(p);
	curve->table = read_numbers(reader, p, "table.p", curve->table_count);
	band = json_object_get(root, "band");
	if (!band || json_is_null(band))
		return;
	band = json_need_object(reader, root, "", "band");
	if (reader->failed)
		return;
	curve->band_confidence = json_need_number(reader, band, "band", "confidence", 0, 1);
	curve->band_whole_factor = json_may_number(reader, band, "band", "whole_curve_factor", 0, 1e9, NAN);
	curve->band_low =
		read_numbers(reader, json_need_array(reader, band, "band", "low"), "band.low", curve->table_count);
	curve->band_high =
		read_numbers(reader, json_need_array(reader, band, "band", "high"), "band.high", curve->table_count);
}

static void read_head(struct json_reader *reader, const json_t *root, struct curve *curve)
{
	const json_t *baseline;
	const char *text;

	json_need_schema(reader, root, CURVE_SCHEMA);
	if (reader->failed)
		return;
	curve->application = copy_text(reader, json_need_string(reader, root, "", "application"));
	curve->metric = copy_text(reader, json_need_string(reader, root, "", "metric"));
	curve->unit = copy_text(reader, json_may_string(reader, root, "", "unit", ""));
	curve->note = copy_text(reader, json_may_string(reader, root, "", "note", ""));
	text = json_may_string(reader, root, "", "origin", "measured");
	curve->predicted = text && strcmp(text, "predicted") == 0;
	if (text && !curve->predicted && strcmp(text, "measured") != 0)
		json_fail(reader, "", "origin", "'%s': expected measured or predicted", text);
	text = json_need_string(reader, root, "", "better");
	if (reader->failed)
		return;
	if (sweep_parse_better(text) < 0)
		json_fail(reader, "", "better", "'%s': expected higher or lower", text);
	else
		curve->better = (enum sweep_better)sweep_parse_better(text);
	text = json_need_string(reader, root, "", "x");
	if (!reader->failed && strcmp(text, "added_rtt_us") != 0)
		json_fail(reader, "", "x", "'%s': expected added_rtt_us", text);
	baseline = json_need_object(reader, root, "", "baseline");
	if (reader->failed)
		return;
	curve->baseline_value =
		json_may_number(reader, baseline, "baseline", "value", -number_limit, number_limit, NAN);
	curve->baseline_deviation = json_may_number(reader, baseline, "baseline", "deviation", 0, number_limit, NAN);
	curve->baseline_rtt_us = json_may_number(reader, root, "", "baseline_rtt_us", 0, number_limit, NAN);
	curve->disturbed_runs = (long)json_may_integer(reader, root, "", "disturbed_runs", 0, INT64_MAX, 0);
	read_interval(reader, root, "", "domain_us", &curve->domain_low_us, &curve->domain_high_us);
}

static struct curve *read_curve(const char *name, const json_t *root, struct error *err)
{
	struct error scratch = {0}, *say = err ? err : &scratch;
	struct json_reader reader = {.file = name, .err = say};
	struct curve *curve = curve_create();

	if (!curve) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	read_head(&reader, root, curve);
	if (!reader.failed)
		read_threshold(&reader, root, &curve->threshold);
	if (!reader.failed)
		read_probability(&reader, root, &curve->threshold);
	if (!reader.failed)
		read_model(&reader, root, curve);
	if (!reader.failed)
		read_goodness(&reader, root, &curve->goodness);
	if (!reader.failed)
		read_levels(&reader, root, curve);
	if (!reader.failed)
		read_table(&reader, root, curve);
	if (!reader.failed) {
		if (curve_prepare(curve, say) == 0)
			return curve;
		error_prefix(say, "%s: table", name);
	}
	curve_destroy(curve);
	return NULL;
}

struct curve *curve_load(const char *path, struct error *err)
{
	json_t *root = json_read_file(path, err);
	struct curve *curve = root ? read_curve(path, root, err) : NULL;

	json_decref(root);
	return curve;
}

struct curve *curve_from_memory(const char *name, const char *text, size_t bytes, struct error *err)
{
	json_t *root = json_read_text(name, 0, text, bytes, err);
	struct curve *curve = root ? read_curve(name, root, err) : NULL;

	json_decref(root);
	return curve;
}

static json_t *band_json(const struct curve *curve)
{
	json_t *band = json_pack("{s:f, s:o, s:o}", "confidence", curve->band_confidence, "low",
				 numbers(curve->band_low, curve->table_count), "high",
				 numbers(curve->band_high, curve->table_count));

	if (isfinite(curve->band_whole_factor))
		json_object_set_new(band, "whole_curve_factor", json_real(curve->band_whole_factor));
	return band;
}

static json_t *curve_json(const struct curve *curve)
{
	json_t *root = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "schema", CURVE_SCHEMA, "application",
				 curve->application, "metric", curve->metric, "unit", curve->unit, "better",
				 sweep_better_name(curve->better), "x", "added_rtt_us");
	const double domain[2] = {curve->domain_low_us, curve->domain_high_us};

	if (curve->predicted)
		json_object_set_new(root, "origin", json_string("predicted"));
	json_object_set_new(root, "baseline", baseline_json(curve));
	json_object_set_new(root, "baseline_rtt_us", json_number_or_null(curve->baseline_rtt_us));
	json_object_set_new(root, "disturbed_runs", json_integer(curve->disturbed_runs));
	json_object_set_new(root, "domain_us", numbers(domain, 2));
	json_object_set_new(root, "beyond_domain", json_pack("{s:s, s:f}", "rule", "smallest", "p", curve->smallest));
	json_object_set_new(root, "threshold", threshold_json(&curve->threshold));
	if (isfinite(curve->threshold.probability[CURVE_FORM_NONE]))
		json_object_set_new(root, "form_probability", probability_json(&curve->threshold));
	json_object_set_new(root, "model", model_json(curve));
	json_object_set_new(root, "note", json_string(curve->note));
	json_object_set_new(root, "goodness", goodness_json(&curve->goodness));
	json_object_set_new(root, "levels", levels_json(curve));
	json_object_set_new(
		root, "table",
		json_pack("{s:f, s:o}", "step_us", CURVE_STEP_US, "p", numbers(curve->table, curve->table_count)));
	if (curve->band_low && curve->band_high)
		json_object_set_new(root, "band", band_json(curve));
	return root;
}

int curve_save(const struct curve *curve, const char *path, struct error *err)
{
	return json_write_file_new(path, curve_json(curve), err);
}

char *curve_to_text(const struct curve *curve, struct error *err)
{
	json_t *root = curve_json(curve);
	char *text = root ? json_to_text(root) : NULL;

	json_decref(root);
	if (!text)
		error_set(err, ENOMEM, "out of memory");
	return text;
}
