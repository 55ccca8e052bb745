/* SPDX-License-Identifier: BSD-3-Clause */
/* Which candidate is chosen, rule by rule: AICc, preference for the papers' families, simplicity, cross-validation. */
#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fit_priv.h"

enum { CANDIDATES_MOST = 4 };
enum { NONE = CURVE_FORM_NONE, JUMP = CURVE_FORM_JUMP, HINGE = CURVE_FORM_HINGE };
enum { CUBIC = FIT_POLYNOMIAL_3, QUADRATIC = FIT_POLYNOMIAL_2, LOGARITHM = FIT_LOG, HILL = FIT_HILL };

struct choice {
	char name[64];
	struct fit_candidate candidates[CANDIDATES_MOST]; /* in order of rising AICc; 0 parameters = the end */
	double form_probability[CURVE_FORMS];             /* all 0 = the form was asked for */
	size_t taken;
	enum choice_grounds grounds;
};

#define CANDIDATE(family_, form_, aicc_, parameters_, error_)                                                          \
	{                                                                                                              \
		.family = (enum fit_family)(family_), .form = (enum curve_form)(form_), .aicc = (aicc_),               \
		.parameters = (parameters_), .cross_validation = (error_)                                              \
	}

static const struct choice choices[] = {
	{.name = "the lowest AICc",
	 .candidates = {CANDIDATE(LOGARITHM, NONE, 0, 3, 1), CANDIDATE(HILL, NONE, 3, 3, 1)},
	 .grounds = CHOSEN_BY_AICC},
	{.name = "the papers' model, 3.9 behind",
	 .candidates = {CANDIDATE(LOGARITHM, JUMP, 0, 3, 1), CANDIDATE(CUBIC, JUMP, 3.9, 5, 1)},
	 .taken = 1,
	 .grounds = CHOSEN_BY_THE_PAPERS},
	{.name = "not 4 behind",
	 .candidates = {CANDIDATE(LOGARITHM, JUMP, 0, 3, 1), CANDIDATE(CUBIC, JUMP, 4, 5, 1)},
	 .grounds = CHOSEN_BY_AICC},
	{.name = "a polynomial without a threshold is not the papers'",
	 .candidates = {CANDIDATE(LOGARITHM, NONE, 0, 3, 1), CANDIDATE(CUBIC, NONE, 1, 5, 1)},
	 .grounds = CHOSEN_BY_AICC},
	{.name = "the papers' model errs more at levels left out",
	 .candidates = {CANDIDATE(LOGARITHM, JUMP, 0, 3, 1), CANDIDATE(CUBIC, JUMP, 1, 5, 1.26)},
	 .grounds = CHOSEN_BY_AICC},
	{.name = "but not so much more",
	 .candidates = {CANDIDATE(LOGARITHM, JUMP, 0, 3, 1), CANDIDATE(CUBIC, JUMP, 1, 5, 1.25)},
	 .taken = 1,
	 .grounds = CHOSEN_BY_THE_PAPERS},
	{.name = "the next of the papers' when the first is out",
	 .candidates = {CANDIDATE(LOGARITHM, JUMP, 0, 3, 1), CANDIDATE(CUBIC, JUMP, 1, 5, 2),
			CANDIDATE(QUADRATIC, JUMP, 3, 4, 1)},
	 .taken = 2,
	 .grounds = CHOSEN_BY_THE_PAPERS},
	{.name = "left-out levels speak against the best",
	 .candidates = {CANDIDATE(LOGARITHM, NONE, 0, 3, 1.3), CANDIDATE(HILL, NONE, 9.9, 3, 1)},
	 .taken = 1,
	 .grounds = CHOSEN_BY_CROSS_VALIDATION},
	{.name = "a rival that is 10 behind has no say",
	 .candidates = {CANDIDATE(LOGARITHM, NONE, 0, 3, 1.3), CANDIDATE(HILL, NONE, 10, 3, 1)},
	 .grounds = CHOSEN_BY_AICC},
	{.name = "a rival with more parameters and a higher AICc has no say",
	 .candidates = {CANDIDATE(LOGARITHM, NONE, 0, 3, 1.3), CANDIDATE(HILL, NONE, 1, 4, 1)},
	 .grounds = CHOSEN_BY_AICC},
	{.name = "pooled levels have no say, either",
	 .candidates = {CANDIDATE(LOGARITHM, NONE, 0, 3, 1.3), CANDIDATE(FIT_MONOTONE, NONE, 1, 3, 1)},
	 .grounds = CHOSEN_BY_AICC},
	{.name = "levels that were not left out say nothing",
	 .candidates = {CANDIDATE(LOGARITHM, NONE, 0, 3, NAN), CANDIDATE(HILL, NONE, 1, 3, 1)},
	 .grounds = CHOSEN_BY_AICC},
	{.name = "fewer parameters within 2",
	 .candidates = {CANDIDATE(LOGARITHM, NONE, 0, 4, 1), CANDIDATE(HILL, NONE, 1.9, 3, 1)},
	 .taken = 1,
	 .grounds = CHOSEN_BY_SIMPLICITY},
	{.name = "not 2 behind",
	 .candidates = {CANDIDATE(LOGARITHM, NONE, 0, 4, 1), CANDIDATE(HILL, NONE, 2, 3, 1)},
	 .grounds = CHOSEN_BY_AICC},
	{.name = "a simpler one that errs more at levels left out",
	 .candidates = {CANDIDATE(LOGARITHM, NONE, 0, 4, 1), CANDIDATE(HILL, NONE, 1, 3, 1.3)},
	 .grounds = CHOSEN_BY_AICC},
	{.name = "simplicity compares the papers' with the papers'",
	 .candidates = {CANDIDATE(CUBIC, JUMP, 0, 5, 1), CANDIDATE(LOGARITHM, JUMP, 1, 3, 1),
			CANDIDATE(QUADRATIC, JUMP, 1.5, 4, 1)},
	 .taken = 2,
	 .grounds = CHOSEN_BY_SIMPLICITY},
	{.name = "only the likeliest form",
	 .candidates = {CANDIDATE(LOGARITHM, JUMP, 0, 3, 1), CANDIDATE(LOGARITHM, HINGE, 3, 3, 1)},
	 .form_probability = {[JUMP] = 0.4, [HINGE] = 0.6},
	 .taken = 1,
	 .grounds = CHOSEN_BY_AICC},
	{.name = "pooled levels, 10 better than any formula",
	 .candidates = {CANDIDATE(FIT_MONOTONE, NONE, 0, 9, 1), CANDIDATE(LOGARITHM, NONE, 10, 3, 1)},
	 .grounds = CHOSEN_BY_AICC},
	{.name = "pooled levels, 9.9 better",
	 .candidates = {CANDIDATE(FIT_MONOTONE, NONE, 0, 9, 1), CANDIDATE(LOGARITHM, NONE, 9.9, 3, 1)},
	 .taken = 1,
	 .grounds = CHOSEN_BY_AICC},
	{.name = "all are spoken against: the lowest AICc stands",
	 .candidates = {CANDIDATE(LOGARITHM, NONE, 0, 3, 1.3), CANDIDATE(HILL, NONE, 9, 3, 1.1),
			CANDIDATE(CUBIC, NONE, 18, 3, 0.8)},
	 .grounds = CHOSEN_BY_AICC},
};

Test(choose, takes_a_candidate_by_the_rules)
{
	for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++) {
		const struct choice *choice = &choices[i];
		struct fit_candidate candidates[CANDIDATES_MOST];
		struct fit fit = {.candidates = candidates};
		bool asked = true;
		enum choice_grounds grounds;
		size_t taken;

		memcpy(candidates, choice->candidates, sizeof candidates);
		while (fit.candidate_count < CANDIDATES_MOST && candidates[fit.candidate_count].parameters > 0)
			fit.candidate_count++;
		for (int form = 0; form < CURVE_FORMS; form++)
			asked = asked && choice->form_probability[form] == 0;
		for (int form = 0; form < CURVE_FORMS; form++)
			fit.form_probability[form] = asked ? NAN : choice->form_probability[form];
		taken = choose_pick(&fit, &grounds);
		cr_expect_eq(taken, choice->taken, "%s: number %zu, not %zu", choice->name, taken, choice->taken);
		cr_expect_eq(grounds, choice->grounds, "%s: grounds %d, not %d", choice->name, (int)grounds,
			     (int)choice->grounds);
	}
}
