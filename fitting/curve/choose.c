/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fits every family with every form of threshold and chooses one: the form by its probability over all families
 * (form.c), the family by AICc. A small tolerance favours the papers' model and, among equals, the simplest one;
 * cross-validation can veto a candidate.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fitting/linear/linear.h>
#include <fitting/observations/observations.h>

#include "fit_priv.h"

/* The papers' model, a polynomial after a threshold, is kept unless another model's AICc is lower by this much. */
static const double papers_grace = 4;

/* Candidates whose AICc differs by less than this count as equal: the one with the fewest parameters is chosen. */
static const double as_good = 2;
/*
 * A candidate is vetoed if there is a rival whose AICc is at most rival_within higher and whose cross-validation error
 * is smaller by more than the factor cross_validation_veto. A rival with a higher AICc and more parameters does not
 * count: beside a cliff, families that fall steeply by themselves guess a level left out better, but place the
 * threshold one gap early.
 */
static const double cross_validation_veto = 1.25;
static const double rival_within = 10;

/*
 * A candidate's weight in the band is exp(-steepness * (its AICc - the lowest AICc)). The steepness is steepness_few
 * for up to levels_few levels, steepness_many from levels_many levels on, and linear in between. Akaike's steepness,
 * 1/2, is not used: the 95 % band would cover 96 to 98 % with many levels, where candidates resemble each other, and 86
 * to 92 % with eight levels, where AICc penalises all but the simplest candidate. A band of the best candidate alone
 * would cover 83 % at 3 % noise. Measured by refit_study.
 */
static const double steepness_few = 0.35, steepness_many = 0.7;
static const double levels_few = 12, levels_many = 30;
/* Isotonic regression is chosen only if its AICc is lower than that of every formula by this much. */
static const double pooled_handicap = 10;

static bool family_wanted(const struct fit_settings *settings, enum fit_family family)
{
	if (settings->family == FIT_AUTO)
		return true;
	if (settings->family == FIT_ANY_POLYNOMIAL)
		return family <= FIT_POLYNOMIAL_5;
	return settings->family == (int)family;
}

static bool form_wanted(const struct fit_settings *settings, enum fit_family family, enum curve_form form)
{
	if (settings->form != FIT_AUTO && settings->form != (int)form)
		return false;
	if (family == FIT_MONOTONE)
		return form == CURVE_FORM_NONE;
	/* A spline needs no hinge: it can bend anywhere. Hill's curve needs no jump: its start can be flat. */
	if (settings->form == FIT_AUTO && form == CURVE_FORM_HINGE && family == FIT_SPLINE)
		return false;
	if (settings->form == FIT_AUTO && form == CURVE_FORM_JUMP && family == FIT_HILL)
		return false;
	return true;
}

/* Returns false if there are too few levels: a model with nearly as many parameters as levels fits the noise. */
static bool levels_suffice(const struct problem *problem, const struct fit_settings *settings, size_t parameters)
{
	size_t spare = settings->family != FIT_AUTO ? 0 : problem->count < 12 ? 3 : 2;

	return problem->count >= parameters + spare && problem->rows > (double)parameters + 1;
}

/*
 * Fills rss, AICc and BIC. BIC's penalty uses the number of levels, because repeated runs of a level tell nothing about
 * the shape. AICc uses the number of runs.
 */
static void rate(const struct problem *problem, struct fit_candidate *candidate, double level_rss)
{
	size_t rows = (size_t)problem->rows;

	candidate->rss = level_rss + problem->scatter;
	candidate->aicc = fitting_aicc(fmax(candidate->rss, 1e-300), rows, candidate->parameters);
	candidate->bic = problem->rows * log(fmax(candidate->rss, 1e-300) / problem->rows) +
			 (double)(candidate->parameters + 1) * log((double)problem->count);
}

static int add_pooled(const struct problem *problem, struct fit_candidate *candidate)
{
	double *storage = malloc(8 * problem->count * sizeof *storage), rss = 0;
	struct isotonic isotonic;

	if (!storage)
		return -ENOMEM;
	isotonic_fit(problem, problem->y, &isotonic, storage);
	for (size_t i = 0; i < problem->count; i++)
		rss += problem->weight[i] * pow(problem->y[i] - isotonic_value(&isotonic, problem->x[i]), 2);
	*candidate = (struct fit_candidate){.family = FIT_MONOTONE, .form = CURVE_FORM_NONE, .evidence = NAN};
	candidate->parameters =
		isotonic_regression(problem->y, problem->weight, problem->count, storage, storage + problem->count);
	rate(problem, candidate, rss);
	candidate->cross_validation = problem->count <= 300 ? isotonic_cross_validate(problem, storage) : NAN;
	free(storage);
	return 1;
}

/* Returns 1 if fitted, 0 if there are too few levels, or -ENOMEM. */
static int add_member(const struct problem *problem, const struct fit_settings *settings, enum fit_family family,
		      enum curve_form form, struct fit_candidate *candidate)
{
	struct profile probe = {.family = family, .form = form, .shape = {1, 1}};
	struct best_profile found;
	int code;

	if (!levels_suffice(problem, settings, profile_parameters(problem, &probe)))
		return 0;
	code = search_candidate(problem, family, form, settings->threshold_us, &found);
	if (code <= 0)
		return code;
	*candidate = (struct fit_candidate){
		.family = family,
		.form = form,
		.threshold_us = found.profile.threshold_us,
		.shape = {found.profile.shape[0], found.profile.shape[1]},
		.coefficient_count = profile_columns(problem, &found.profile),
		.parameters = profile_parameters(problem, &found.profile) -
			      (form != CURVE_FORM_NONE && !isnan(settings->threshold_us)),
		.constrained = found.solution.constrained,
		.cross_validation = found.cross_validation,
		.evidence = found.evidence,
	};
	memcpy(candidate->coefficients, found.solution.coefficients,
	       candidate->coefficient_count * sizeof *candidate->coefficients);
	rate(problem, candidate, found.solution.rss);
	return 1;
}

static int fit_all(const struct problem *problem, const struct fit_settings *settings, struct fit *fit)
{
	for (int family = 0; family < FIT_FAMILY_COUNT; family++) {
		if (!family_wanted(settings, (enum fit_family)family))
			continue;
		for (int form = 0; form < CURVE_FORMS; form++) {
			struct fit_candidate *candidate = &fit->candidates[fit->candidate_count];
			int rc;

			if (!form_wanted(settings, (enum fit_family)family, (enum curve_form)form))
				continue;
			rc = family == FIT_MONOTONE ? add_pooled(problem, candidate)
						    : add_member(problem, settings, (enum fit_family)family,
								 (enum curve_form)form, candidate);
			if (rc < 0)
				return rc;
			fit->candidate_count += (size_t)rc;
		}
	}
	return 0;
}

static int compare_aicc(const void *left, const void *right)
{
	const struct fit_candidate *a = left, *b = right;

	if (a->aicc != b->aicc)
		return a->aicc < b->aicc ? -1 : 1;
	return a->parameters < b->parameters ? -1 : a->parameters > b->parameters;
}

static void weigh_candidates(const struct problem *problem, struct fit *fit)
{
	double total = 0, best = fit->candidates[0].aicc;
	double many = fmin(fmax(((double)problem->count - levels_few) / (levels_many - levels_few), 0), 1);
	double steepness = steepness_few + many * (steepness_many - steepness_few);

	for (size_t i = 0; i < fit->candidate_count; i++) {
		fit->candidates[i].weight =
			isfinite(fit->candidates[i].aicc) ? exp(-steepness * (fit->candidates[i].aicc - best)) : 0;
		total += fit->candidates[i].weight;
	}
	for (size_t i = 0; i < fit->candidate_count; i++)
		fit->candidates[i].weight = total > 0 ? fit->candidates[i].weight / total : i == 0;
}

/* Returns true if the candidate has the most likely form of threshold, or is isotonic regression, which has no form. */
static bool best_form(const struct fit *fit, size_t index)
{
	const struct fit_candidate *candidate = &fit->candidates[index];

	if (candidate->family == FIT_MONOTONE)
		return true;
	for (int form = 0; form < CURVE_FORMS; form++)
		if (fit->form_probability[form] > fit->form_probability[candidate->form])
			return false;
	return true;
}

/* Returns true if a candidate of similar AICc has a much lower cross-validation error. */
static bool vetoed(const struct fit *fit, size_t index)
{
	const struct fit_candidate *candidate = &fit->candidates[index];

	for (size_t i = 0; i < fit->candidate_count; i++) {
		const struct fit_candidate *rival = &fit->candidates[i];

		if (best_form(fit, i) && rival->family != FIT_MONOTONE &&
		    (rival->aicc <= candidate->aicc || rival->parameters <= candidate->parameters) &&
		    rival->aicc < candidate->aicc + rival_within &&
		    candidate->cross_validation > cross_validation_veto * rival->cross_validation)
			return true;
	}
	return false;
}

/*
 * Returns true if the candidate may be chosen: it is a formula of the most likely form, or it is isotonic regression
 * and every formula fits much worse.
 */
static bool eligible(const struct fit *fit, size_t index)
{
	if (!best_form(fit, index))
		return false;
	if (fit->candidates[index].family != FIT_MONOTONE)
		return true;
	for (size_t i = 0; i < fit->candidate_count; i++)
		if (fit->candidates[i].family != FIT_MONOTONE &&
		    fit->candidates[i].aicc < fit->candidates[index].aicc + pooled_handicap)
			return false;
	return true;
}

static bool is_papers_model(const struct fit *fit, size_t index)
{
	return fit->candidates[index].family <= FIT_POLYNOMIAL_5 && fit->candidates[index].form != CURVE_FORM_NONE;
}

/* Returns the eligible candidate of lowest AICc that is not vetoed; if all are vetoed, the first of them. */
static size_t first_sound(const struct fit *fit, enum choice_grounds *grounds)
{
	*grounds = CHOSEN_BY_AICC;
	for (size_t i = 0; i < fit->candidate_count; i++) {
		if (!eligible(fit, i))
			continue;
		if (!vetoed(fit, i))
			return i;
		*grounds = CHOSEN_BY_CROSS_VALIDATION;
	}
	*grounds = CHOSEN_BY_AICC;
	for (size_t i = 0; i < fit->candidate_count; i++)
		if (eligible(fit, i))
			return i;
	return 0;
}

size_t choose_pick(const struct fit *fit, enum choice_grounds *grounds)
{
	size_t first = first_sound(fit, grounds), chosen = first;
	double best = fit->candidates[first].aicc;

	for (size_t i = first; i < fit->candidate_count && !is_papers_model(fit, chosen); i++)
		if (eligible(fit, i) && is_papers_model(fit, i) && !vetoed(fit, i) &&
		    fit->candidates[i].aicc < best + papers_grace) {
			chosen = i;
			*grounds = CHOSEN_BY_THE_PAPERS;
		}
	for (size_t i = first, near = chosen; i < fit->candidate_count; i++)
		if (eligible(fit, i) && !vetoed(fit, i) && is_papers_model(fit, i) == is_papers_model(fit, chosen) &&
		    fit->candidates[i].aicc < fit->candidates[near].aicc + as_good &&
		    fit->candidates[i].parameters < fit->candidates[chosen].parameters) {
			chosen = i;
			*grounds = CHOSEN_BY_SIMPLICITY;
		}
	return chosen;
}

static const char *form_words(enum curve_form form)
{
	static const char *const words[] = {"without a threshold", "with a jump at its threshold",
					    "continuous at its threshold"};

	return words[form];
}

/*
 * Returns the best candidate of another family but of the most likely form, or NULL. explain() compares it with the
 * chosen one.
 */
static const struct fit_candidate *runner_up(const struct fit *fit)
{
	for (size_t i = 1; i < fit->candidate_count; i++)
		if (fit->candidates[i].family != fit->candidates[0].family && best_form(fit, i))
			return &fit->candidates[i];
	return NULL;
}

/*
 * Returns true if the chosen candidate has the lowest AICc of all. A candidate that is not eligible, because its form
 * is less likely, can have a lower one.
 */
static bool is_lowest(const struct fit *fit)
{
	for (size_t i = 1; i < fit->candidate_count; i++)
		if (fit->candidates[i].aicc < fit->candidates[0].aicc)
			return false;
	return true;
}

static void explain(const struct fit_settings *settings, enum choice_grounds grounds, struct fit *fit)
{
	const struct fit_candidate *chosen = &fit->candidates[0], *next = runner_up(fit);
	char *text = fit->reason;
	size_t bytes = sizeof fit->reason;
	int used = snprintf(text, bytes, "%s %s", fit_family_name(chosen->family), form_words(chosen->form));

	text += used;
	bytes -= (size_t)used;
	if (settings->family >= 0) {
		snprintf(text, bytes, ", as requested.");
		return;
	}
	if (!next) {
		snprintf(text, bytes, ": too few levels for any other family.");
		return;
	}
	switch (grounds) {
	case CHOSEN_BY_AICC:
		used = snprintf(text, bytes, ": lowest AICc%s, %.1f %s than %s's",
				is_lowest(fit) ? "" : " of the most likely form", fabs(next->aicc - chosen->aicc),
				next->aicc < chosen->aicc ? "higher" : "lower", fit_family_name(next->family));
		break;
	case CHOSEN_BY_SIMPLICITY:
		used = snprintf(text, bytes, ": fewest parameters (%zu) of the candidates within %g of the lowest AICc",
				chosen->parameters, as_good);
		break;
	case CHOSEN_BY_THE_PAPERS:
		used = snprintf(text, bytes,
				": the papers' model; the AICc of no other is lower by more than %g (%s: by %.1f)",
				papers_grace, fit_family_name(next->family), chosen->aicc - next->aicc);
		break;
	case CHOSEN_BY_CROSS_VALIDATION:
		used = snprintf(text, bytes, ": candidates with a lower AICc have a larger cross-validation error");
		break;
	}
	if (used > 0 && (size_t)used < bytes)
		snprintf(text + used, bytes - (size_t)used, "; cross-validation error %.2g.", chosen->cross_validation);
}

int choose_candidates(const struct problem *problem, const struct fit_settings *settings, struct fit *fit,
		      struct error *err)
{
	struct fit_candidate chosen;
	enum choice_grounds grounds;
	size_t index;
	int rc;

	fit->candidates = calloc((size_t)FIT_FAMILY_COUNT * CURVE_FORMS, sizeof *fit->candidates);
	if (!fit->candidates)
		return error_set(err, ENOMEM, "out of memory");
	rc = fit_all(problem, settings, fit);
	if (rc != 0)
		return error_set(err, -rc, "out of memory");
	if (fit->candidate_count == 0)
		return error_set(
			err, EINVAL,
			"%zu delay levels are too few for this model; choose a simpler one or measure more delays",
			problem->count);
	qsort(fit->candidates, fit->candidate_count, sizeof *fit->candidates, compare_aicc);
	weigh_candidates(problem, fit);
	for (int form = 0; form < CURVE_FORMS; form++)
		fit->form_probability[form] = NAN;
	if (settings->form == FIT_AUTO && settings->family != FIT_MONOTONE)
		form_probabilities(fit);
	index = choose_pick(fit, &grounds);
	chosen = fit->candidates[index];
	memmove(&fit->candidates[1], &fit->candidates[0], index * sizeof chosen);
	fit->candidates[0] = chosen;
	explain(settings, grounds, fit);
	return 0;
}
