/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fits every family with every form of threshold and chooses: the form by its probability over all families (form.c);
 * the family by AICc, which is after prediction, with some grace for the papers' model and,
 * among equals, the simplest; and leaving levels out must not speak against it.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fitting/linear/linear.h>
#include <fitting/observations/monotone.h>

#include "fit_priv.h"

/* The papers' model, a polynomial behind a threshold, stands unless another is this much better in AICc. */
static const double papers_grace = 4;

/* Candidates this near in AICc are as good: the simplest is taken. */
static const double as_good = 2;
/* A cross-validation error this much above a rival's speaks against a candidate. */
static const double cross_validation_veto = 1.25;
static const double rival_within = 10;

/*
 * Share of a candidate in the band: exp(-steepness * AICc difference). Akaike's 1/2 covers a little too often with many
 * levels (96 to 98 %), because forms and families overlap, and too seldom with eight (86 to 92 %), where AICc is hard
 * on all but the simplest; the best candidate alone covers 83 % at 3 % noise. Set by refit_study.
 */
static const double steepness_few = 0.35, steepness_many = 0.7;
static const double levels_few = 12, levels_many = 30;
/* Pooled levels make no claim about shape: taken only when every formula is this much worse in AICc. */
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
	/* The spline finds its own corners; Hill's has one at the foot. */
	if (settings->form == FIT_AUTO && form == CURVE_FORM_HINGE && family == FIT_SPLINE)
		return false;
	if (settings->form == FIT_AUTO && form == CURVE_FORM_JUMP && family == FIT_HILL)
		return false;
	return true;
}

/* With few levels a model that has nearly as many parameters explains noise. */
static bool levels_suffice(const struct problem *problem, const struct fit_settings *settings, size_t parameters)
{
	size_t spare = settings->family != FIT_AUTO ? 0 : problem->count < 12 ? 3 : 2;

	return problem->count >= parameters + spare && problem->rows > (double)parameters + 1;
}

/* Runs at one delay tell of noise, not of shape: BIC's penalty counts the levels, AICc's the rows. */
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
	struct pooled pooled;

	if (!storage)
		return -ENOMEM;
	pooled_fit(problem, problem->y, &pooled, storage);
	for (size_t i = 0; i < problem->count; i++)
		rss += problem->weight[i] * pow(problem->y[i] - pooled_value(&pooled, problem->x[i]), 2);
	*candidate = (struct fit_candidate){.family = FIT_MONOTONE, .form = CURVE_FORM_NONE, .evidence = NAN};
	candidate->parameters =
		monotone_pool(problem->y, problem->weight, problem->count, storage, storage + problem->count);
	rate(problem, candidate, rss);
	candidate->cross_validation = problem->count <= 300 ? pooled_cross_validate(problem, storage) : NAN;
	free(storage);
	return 1;
}

/* 1 = fitted, 0 = cannot be, -errno. */
static int add_member(const struct problem *problem, const struct fit_settings *settings, enum fit_family family,
		      enum curve_form form, struct fit_candidate *candidate)
{
	struct member probe = {.family = family, .form = form, .shape = {1, 1}};
	struct found found;

	if (!levels_suffice(problem, settings, member_parameters(problem, &probe)))
		return 0;
	if (!search_member(problem, family, form, settings->threshold_us, &found))
		return 0;
	*candidate = (struct fit_candidate){
		.family = family,
		.form = form,
		.threshold_us = found.member.threshold_us,
		.shape = {found.member.shape[0], found.member.shape[1]},
		.coefficient_count = member_columns(problem, &found.member),
		.parameters = member_parameters(problem, &found.member) -
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

/* Has it the likeliest form (of those asked for)? Pooled levels have none to speak of. */
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

/* Is there a rival, not far behind, that predicts left-out levels much better? */
static bool vetoed(const struct fit *fit, size_t index)
{
	const struct fit_candidate *candidate = &fit->candidates[index];

	for (size_t i = 0; i < fit->candidate_count; i++) {
		const struct fit_candidate *rival = &fit->candidates[i];

		if (best_form(fit, i) && rival->family != FIT_MONOTONE &&
		    rival->aicc < candidate->aicc + rival_within &&
		    candidate->cross_validation > cross_validation_veto * rival->cross_validation)
			return true;
	}
	return false;
}

/* May it be chosen at all? Another form of its family does not beat it, and pooled levels only when in need. */
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

/* First in AICc's order that may be chosen and that left-out levels don't speak against. */
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

/* Second best among the other families: whom the sentence compares with. */
static const struct fit_candidate *runner_up(const struct fit *fit)
{
	for (size_t i = 1; i < fit->candidate_count; i++)
		if (fit->candidates[i].family != fit->candidates[0].family && best_form(fit, i))
			return &fit->candidates[i];
	return NULL;
}

/* Candidates of another form, less likely as a whole, may have a lower AICc; pooled levels, which have no form, too. */
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
		snprintf(text, bytes, ", as asked for.");
		return;
	}
	if (!next) {
		snprintf(text, bytes, ": no other family can be fitted to so few levels.");
		return;
	}
	switch (grounds) {
	case CHOSEN_BY_AICC:
		used = snprintf(text, bytes, ": its AICc is the lowest%s, %.1f under the next family's (%s)",
				is_lowest(fit) ? "" : " of the likeliest form", next->aicc - chosen->aicc,
				fit_family_name(next->family));
		break;
	case CHOSEN_BY_SIMPLICITY:
		used = snprintf(text, bytes, ": the fewest parameters (%zu) of those within %g of the lowest AICc",
				chosen->parameters, as_good);
		break;
	case CHOSEN_BY_THE_PAPERS:
		used = snprintf(text, bytes,
				": the papers' model, and none is better by more than %g in AICc (%s by %.1f)",
				papers_grace, fit_family_name(next->family), chosen->aicc - next->aicc);
		break;
	case CHOSEN_BY_CROSS_VALIDATION:
		used = snprintf(text, bytes, ": candidates of lower AICc err more at delay levels left out");
		break;
	}
	if (used > 0 && (size_t)used < bytes)
		snprintf(text + used, bytes - (size_t)used, "; left-out levels are predicted to %.2g.",
			 chosen->cross_validation);
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
			"%zu delay levels are too few for the model asked for; take a simpler one or measure at "
			"more delays",
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
