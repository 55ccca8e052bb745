/* SPDX-License-Identifier: BSD-3-Clause */
/* The exact solver compared with GLPK's branch and cut on scenarios too large for brute force. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>

#include <sched/recovery/recovery.h>

#include "peer_glpk.h"

static const char *const recipes[] = {
	"servers=24,apps=4,tasks=8,failed=4",
	"servers=20,apps=3,tasks=8,failed=4,demand=4,weights=1-4",
	"servers=16,apps=3,tasks=8,failed=4,dense",
	"servers=20,apps=4,tasks=8,failed=2,fail=servers,links=1:10",
	"servers=12,apps=4,tasks=12,failed=4,cpu=tight,backups=3",
};

enum { RECIPES = sizeof recipes / sizeof *recipes, SEEDS_EACH = 50 };

Test(recovery_glpk, agrees)
{
	int compared = 0;

	for (int i = 0; i < RECIPES * SEEDS_EACH; i++) {
		struct recovery_options ours = {0};
		struct recovery_answer a;
		struct glpk_answer b;
		struct recovery_recipe recipe;
		struct recovery_scenario *s;
		struct error err = {0};

		cr_assert_eq(recovery_recipe_parse(recipes[i % RECIPES], &recipe, &err), 0, "%s", err.text);
		recipe.seed = 100 + (uint64_t)i;
		s = recovery_generate(&recipe, &err);
		cr_assert_not_null(s, "%s", err.text);
		cr_assert_eq(recovery_solve(s, &ours, &a, &err), 0, "%s", err.text);
		if (a.status == RECOVERY_OPTIMAL) {
			cr_assert(glpk_solve(s, 20000, &b));
			if (b.status == RECOVERY_OPTIMAL) {
				cr_expect_float_eq(a.p, b.p, 1e-6 * b.p, "%s seed %d: %.9g, GLPK %.9g",
						   recipes[i % RECIPES], 100 + i, a.p, b.p);
				compared++;
			}
		} else {
			cr_expect_eq(a.status, RECOVERY_INFEASIBLE);
		}
		recovery_answer_free(&a);
		recovery_destroy(s);
	}
	cr_expect_geq(compared, 200);
}
