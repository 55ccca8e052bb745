/* SPDX-License-Identifier: BSD-3-Clause */
#include <fitting/files/fit_files.h>

#include <errno.h>
#include <math.h>
#include <string.h>

static int unknown_model(struct error *err)
{
	return error_set(err, EINVAL,
			 "--model: expected auto, polynomial, polynomial-1..5, log, exponential, rational, hill, "
			 "spline or monotone");
}

int fit_sweeps_set_models(struct fit_sweeps_settings *settings, const char *names, int degree, struct error *err)
{
	char text[256];
	char *rest = text, *name;

	if (strlen(names) >= sizeof text)
		return unknown_model(err);
	strcpy(text, names);
	while ((name = strsep(&rest, ","))) {
		int *family = &settings->models[settings->model_count++];

		if (settings->model_count == FIT_MODELS_MAXIMUM || fit_family_parse(name, family) != 0)
			return unknown_model(err);
	}
	if (!degree)
		return 0;
	if (settings->model_count > 1 || (settings->models[0] != FIT_AUTO && settings->models[0] != FIT_ANY_POLYNOMIAL))
		return error_set(err, EINVAL, "--degree is for polynomials: leave --model out");
	settings->models[0] = FIT_POLYNOMIAL_1 + degree - 1;
	return 0;
}

int fit_sweeps_set_threshold(struct fit_sweeps_settings *settings, double threshold_us, bool continuous,
			     struct error *err)
{
	bool forced = !isnan(threshold_us);
	struct fit_settings *fit = &settings->fitting;

	for (size_t i = 0; i < settings->model_count; i++)
		if (settings->models[i] == FIT_MONOTONE && (forced || continuous))
			return error_set(err, EINVAL,
					 "--model monotone has no threshold: leave --threshold and --continuous out");
	if (forced && threshold_us == 0 && continuous)
		return error_set(err, EINVAL, "--continuous needs a threshold, and --threshold 0 means none");
	if (continuous)
		fit->form = CURVE_FORM_HINGE;
	else if (forced)
		fit->form = threshold_us > 0 ? CURVE_FORM_JUMP : CURVE_FORM_NONE;
	if (forced && threshold_us > 0)
		fit->threshold_us = threshold_us;
	return 0;
}
