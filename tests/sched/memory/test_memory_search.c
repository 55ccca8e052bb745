/* SPDX-License-Identifier: BSD-3-Clause */
/* The bounds and the annealing of the recovery's search, which small scenarios need only in the split build. */
#include <criterion/criterion.h>

#include <errno.h>

#include <sched/recovery/recovery.h>

#include "fail_allocation.h"

static const char *text;

static int solve(FILE *out)
{
	const struct recovery_options options = {.filter = RECOVERY_FILTER_EXACT};
	struct recovery_answer answer = {0};
	struct recovery_recipe recipe;
	struct recovery_scenario *scenario = NULL;
	struct error err = {0};
	int code = recovery_recipe_parse(text, &recipe, &err);

	if (code == 0)
		scenario = recovery_generate(&recipe, &err);
	code = scenario ? recovery_solve(scenario, &options, &answer, &err) : -ENOMEM;
	/* out of memory, it may prove less, or find another placement that is as good */
	if (code == 0 && answer.status == RECOVERY_FEASIBLE)
		code = -ENOMEM;
	fprintf(out, "%s %.9g", recovery_status_name(answer.status), answer.p);
	recovery_answer_free(&answer);
	recovery_destroy(scenario);
	return code;
}

Test(memory_search, proves_the_same_or_less)
{
	static const char *const recipes[] = {
		"servers=6,apps=2,tasks=4,failed=4,seed=3",
		"servers=9,apps=3,tasks=6,failed=6,seed=5,weights=1-4,links=1:10",
		"servers=8,apps=2,tasks=8,failed=6,seed=7,dense",
	};
	FILE *nowhere = fopen("/dev/null", "w");
	int tried = 0;

	for (size_t r = 0; r < sizeof recipes / sizeof *recipes; r++) {
		text = recipes[r];
		if (solve(nowhere) == 0)
			tried += fail_each_allocation(solve) > 0;
	}
	fclose(nowhere);
	cr_expect_geq(tried, 2);
}
