/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For applications that latency does not slow down: replaces the curve by the constant 1, because its threshold and
 * slope are only noise.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fit_priv.h"

/*
 * Latency has an effect if, at the end of the domain, the upper edge of the 95 % band is below 1 by more than this, the
 * resolution of a cost.
 */
static const double effect_least = 1e-3;

static bool is_flat(const struct fit_settings *settings, const struct curve *curve)
{
	size_t last = curve->table_count - 1;

	if (settings->family != FIT_AUTO || settings->form != FIT_AUTO)
		return false;
	return curve->band_high ? curve->band_high[last] >= 1 - effect_least : curve->table[last] >= 1 - 1e-9;
}

static int replace_texts(const struct fit *fit, struct curve *curve)
{
	free(curve->model);
	free(curve->equation);
	free(curve->note);
	curve->model = strdup("flat");
	curve->equation = strdup("p(x) = 1");
	curve->note = strdup(fit->reason);
	return curve->model && curve->equation && curve->note ? 0 : -ENOMEM;
}

static void forget_parameters(struct curve *curve)
{
	free(curve->coefficients);
	free(curve->covariance);
	curve->coefficients = NULL;
	curve->covariance = NULL;
	curve->coefficient_count = 0;
	curve->goodness.known = false;
	curve->threshold.form = CURVE_FORM_NONE;
	curve->threshold.at_us = NAN;
	curve->threshold.has_interval = false;
	for (int form = 0; form < CURVE_FORMS; form++)
		curve->threshold.probability[form] = NAN;
}

int flat_replace(const struct fit_settings *settings, struct fit *fit, struct curve *curve)
{
	double low = 1;

	if (!is_flat(settings, curve))
		return 0;
	fit->flat = true;
	fit->decision.open = false;
	forget_parameters(curve);
	for (size_t i = 0; i < curve->table_count; i++) {
		curve->table[i] = 1;
		if (!curve->band_high)
			continue;
		curve->band_high[i] = 1;
		low = fmin(low, curve->band_low[i]);
	}
	for (size_t i = 0; i < curve->level_count; i++)
		curve->levels[i].fitted = 1;
	fit->flat_drop = 1 - low;
	if (curve->band_low)
		snprintf(fit->reason, sizeof fit->reason,
			 "flat: no effect of latency found up to %g us (at most -%.2g %%, with 95 %% confidence).",
			 curve->domain_high_us, 100 * fit->flat_drop);
	else
		snprintf(fit->reason, sizeof fit->reason, "flat: no effect of latency found up to %g us.",
			 curve->domain_high_us);
	return replace_texts(fit, curve);
}
