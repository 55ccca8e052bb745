/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fitting/files/fit_files.h>

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

Test(files, models_are_named_with_commas)
{
	struct fit_sweeps_settings settings = {0};
	struct error err = {0};

	cr_assert_eq(fit_sweeps_set_models(&settings, "hill,log", 0, &err), 0, "%s", err.text);
	cr_assert_eq(settings.model_count, 2);
	settings = (struct fit_sweeps_settings){0};
	cr_assert_eq(fit_sweeps_set_models(&settings, "auto", 3, &err), 0, "%s", err.text);
	cr_assert_eq(settings.models[0], FIT_POLYNOMIAL_1 + 2);
	settings = (struct fit_sweeps_settings){0};
	cr_assert_eq(fit_sweeps_set_models(&settings, "hill", 3, &err), -EINVAL);
	cr_assert(strstr(err.text, "--degree is for polynomials"), "%s", err.text);
	settings = (struct fit_sweeps_settings){0};
	cr_assert_eq(fit_sweeps_set_models(&settings, "hill,sinus", 0, &err), -EINVAL);
}

Test(files, a_threshold_decides_the_form)
{
	struct fit_sweeps_settings settings = {.model_count = 1, .models = {FIT_AUTO, FIT_MONOTONE}}; /* one counts */
	struct error err = {0};

	fit_settings_default(&settings.fitting);
	cr_assert_eq(fit_sweeps_set_threshold(&settings, 40, false, &err), 0, "%s", err.text);
	cr_assert_eq(settings.fitting.form, CURVE_FORM_JUMP);
	cr_assert_float_eq(settings.fitting.threshold_us, 40, 0);
	cr_assert_eq(fit_sweeps_set_threshold(&settings, 40, true, &err), 0);
	cr_assert_eq(settings.fitting.form, CURVE_FORM_HINGE);
	cr_assert_eq(fit_sweeps_set_threshold(&settings, 0, false, &err), 0);
	cr_assert_eq(settings.fitting.form, CURVE_FORM_NONE);
	cr_assert_eq(fit_sweeps_set_threshold(&settings, 0, true, &err), -EINVAL);
	settings.models[0] = FIT_MONOTONE;
	cr_assert_eq(fit_sweeps_set_threshold(&settings, NAN, true, &err), -EINVAL);
	cr_assert_eq(fit_sweeps_set_threshold(&settings, NAN, false, &err), 0);
}

Test(files, an_application_is_named_after_its_file)
{
	char name[32];

	fit_name_of_file("runs/memcached.csv.gz", name, sizeof name);
	cr_assert_str_eq(name, "memcached");
	fit_name_of_file("-", name, sizeof name);
	cr_assert_str_eq(name, "application");
}

Test(files, one_sweep_by_two_models_is_two_fits)
{
	char sweep[] = "/tmp/nomora-fit-XXXXXX";
	char *paths[] = {sweep};
	struct fit_sweeps_settings settings = {.application = "web", .quiet = true};
	struct fit_sweeps result;
	struct error err = {0};
	json_t *root;

	close(mkstemp(sweep));
	write_text(sweep, "0,1\n100,0.9\n200,0.8\n300,0.7\n400,0.6\n500,0.5\n");
	fit_settings_default(&settings.fitting);
	settings.fitting.replicates = 0;
	cr_assert_eq(fit_sweeps_set_models(&settings, "polynomial-1,monotone", 0, &err), 0);
	cr_assert_eq(fit_sweeps_run(&settings, paths, 1, &result, &err), 0, "%s", err.text);
	cr_assert_eq(result.count, 2);
	cr_assert_str_eq(result.fits[1].curve->application, "web");
	root = fit_sweeps_to_json(&result);
	cr_assert_str_eq(json_string_value(json_object_get(root, "schema")), "nomora.fit/1");
	cr_assert_eq(json_array_size(json_object_get(root, "fits")), 2);
	json_decref(root);
	fit_sweeps_free(&result);
	unlink(sweep);
	cr_assert_eq(fit_sweeps_run(&settings, paths, 1, &result, &err), -ENOENT);
	cr_assert_null(result.fits);
}

Test(files, a_curve_agrees_with_itself_and_several_are_listed)
{
	static char first[] = SHIPPED_CURVES "/memcached.json", other[] = SHIPPED_CURVES "/strads.json";
	char *paths[] = {first, first, other};
	struct fit_plots plots = {0};
	struct curve_comparisons comparisons;
	struct error err = {0};
	json_t *root;

	cr_assert_eq(curve_comparisons_load(paths, 2, &plots, &comparisons, &err), 0, "%s", err.text);
	cr_assert(!curve_comparisons_differ(&comparisons));
	root = curve_comparisons_to_json(&comparisons);
	cr_assert_str_eq(json_string_value(json_object_get(root, "schema")), "nomora.curve_comparison/1");
	json_decref(root);
	curve_comparisons_free(&comparisons);
	cr_assert_eq(curve_comparisons_load(paths, 3, &plots, &comparisons, &err), 0, "%s", err.text);
	root = curve_comparisons_to_json(&comparisons);
	cr_assert_eq(json_array_size(json_object_get(root, "comparisons")), 2);
	json_decref(root);
	curve_comparisons_free(&comparisons);
}

Test(files, a_formula_goes_through_its_data_and_a_wrong_one_is_an_option)
{
	char data[] = "/tmp/nomora-fit-XXXXXX";
	struct formula_settings settings;
	struct error err = {0};
	struct formula_fit *fit;
	bool bad_option;
	json_t *root, *slope;

	close(mkstemp(data));
	write_text(data, "y,x\n1,0\n3,1\n5,2\n7,3\n");
	formula_settings_default(&settings);
	settings.input = data;
	settings.expression = "a+b*x";
	settings.start = "a=0,b=1";
	fit = formula_fit_create(&settings, &bad_option, &err);
	cr_assert(fit, "%s", err.text);
	cr_assert(formula_fit_converged(fit));
	root = formula_fit_to_json(fit);
	slope = json_array_get(json_object_get(root, "parameters"), 1);
	cr_assert_float_eq(json_number_value(json_object_get(slope, "value")), 2, 1e-9);
	json_decref(root);
	formula_fit_destroy(fit);
	settings.expression = "a+c*x";
	cr_assert_null(formula_fit_create(&settings, &bad_option, &err));
	cr_assert(bad_option);
	settings.expression = "a+b*x";
	unlink(data);
	cr_assert_null(formula_fit_create(&settings, &bad_option, &err));
	cr_assert(!bad_option);
}

static double number_at(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	cr_assert(json_is_number(value), "%s", name);
	return json_number_value(value);
}

static double element(const json_t *array, size_t at)
{
	return json_number_value(json_array_get(array, at));
}

static char *print_formula(const struct formula_fit *fit)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	formula_fit_print(fit, out);
	fclose(out);
	return text;
}

/*
 * By hand: mean x 1.5, mean y 4.25, Sxx 5, Sxy 11.5, so b = 2.3 and a = 0.8. The residuals 0.2, -0.1, -0.4, 0.3 have
 * the sum of squares 0.3; variance 0.15 with 2 degrees of freedom.
 */
Test(files, a_line_is_reported_with_its_errors)
{
	char data[] = "/tmp/nomora-fit-XXXXXX";
	static const double residuals[] = {0.2, -0.1, -0.4, 0.3}, values[] = {0.8, 2.3};
	const double errors[] = {sqrt(0.15 * 0.7), sqrt(0.15 / 5)};
	struct formula_settings settings;
	struct error err = {0};
	struct formula_fit *fit;
	const json_t *list;
	bool bad_option;
	json_t *root;
	char *text;

	close(mkstemp(data));
	write_text(data, "y,x\n1,0\n3,1\n5,2\n8,3\n");
	formula_settings_default(&settings);
	settings.input = data;
	settings.expression = "a+b*x";
	settings.start = "a=0,b=1";
	fit = formula_fit_create(&settings, &bad_option, &err);
	cr_assert(fit, "%s", err.text);
	root = formula_fit_to_json(fit);
	cr_expect_str_eq(json_string_value(json_object_get(root, "schema")), "nomora.fit_expression/1");
	cr_expect_str_eq(json_string_value(json_object_get(root, "response")), "y");
	cr_expect_str_eq(json_string_value(json_object_get(root, "model")), "a+b*x");
	cr_expect(json_is_true(json_object_get(root, "converged")));
	cr_expect_eq(number_at(root, "observations"), 4);
	cr_expect_float_eq(number_at(root, "rss"), 0.3, 1e-9);
	cr_expect_eq(number_at(root, "degrees_of_freedom"), 2);
	cr_expect_float_eq(number_at(root, "r_squared"), 1 - 0.3 / 26.75, 1e-9);
	list = json_object_get(root, "parameters");
	cr_assert_eq(json_array_size(list), 2);
	for (size_t j = 0; j < 2; j++) {
		const json_t *parameter = json_array_get(list, j);

		cr_expect_str_eq(json_string_value(json_object_get(parameter, "name")), j ? "b" : "a");
		cr_expect_eq(number_at(parameter, "start"), (double)j);
		cr_expect_float_eq(number_at(parameter, "value"), values[j], 1e-9);
		cr_expect_float_eq(number_at(parameter, "standard_error"), errors[j], 1e-9);
		cr_expect(json_is_false(json_object_get(parameter, "fixed")));
		cr_expect(json_is_false(json_object_get(parameter, "at_bound")));
	}
	list = json_object_get(root, "covariance");
	cr_assert_eq(json_array_size(list), 2);
	cr_expect_float_eq(element(json_array_get(list, 0), 0), 0.105, 1e-9);
	cr_expect_float_eq(element(json_array_get(list, 0), 1), -0.045, 1e-9);
	cr_expect_float_eq(element(json_array_get(list, 1), 1), 0.03, 1e-9);
	list = json_object_get(root, "residuals");
	cr_assert_eq(json_array_size(list), 4);
	for (size_t i = 0; i < 4; i++)
		cr_expect_float_eq(element(list, i), residuals[i], 1e-9);
	json_decref(root);
	text = print_formula(fit);
	cr_expect_eq(strncmp(text, "y = a+b*x\n4 observations; ", 26), 0, "%s", text);
	cr_expect_not_null(strstr(text, "\n  parameter                   value  standard error\n"
					"  a                             0.8        0.324037  \n"
					"  b                             2.3        0.173205  \n"
					"\n  residual sum of squares      0.3\n"
					"  residual standard deviation  0.38729833 on 2 degrees of freedom\n"
					"  R^2 0.98878505   AICc "),
			   "%s", text);
	cr_expect_null(strstr(text, "warning"), "%s", text);
	free(text);
	formula_fit_destroy(fit);

	write_text(data, "y,x\n1,0\n3,1\n");
	fit = formula_fit_create(&settings, &bad_option, &err);
	cr_assert(fit, "%s", err.text);
	text = print_formula(fit);
	cr_expect_not_null(strstr(text, "\nwarning: as many parameters as observations: errors cannot be estimated\n"),
			   "%s", text);
	cr_expect_null(strstr(text, "degrees of freedom"), "%s", text);
	free(text);
	formula_fit_destroy(fit);
	unlink(data);
}
