/* SPDX-License-Identifier: BSD-3-Clause */
/* Recovery, placement and simulation when memory runs out: an error, or the same answer. */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sched/recover/recover.h>
#include <sched/recovery/sharing.h>

#include "fail_allocation.h"

static struct recover_settings settings = {.eta = 1, .runs = 3, .seed = 1, .json = true};

/* The text without what depends on the solver's effort. */
static void print_result(const char *text, FILE *out)
{
	for (const char *line = text, *end; *line; line = end) {
		end = line + strcspn(line, "\n");
		end += *end == '\n';
		if (strncmp(line, "  \"nodes\"", 9) != 0 && strncmp(line, "  \"solve_ms\"", 12) != 0)
			fwrite(line, 1, (size_t)(end - line), out);
	}
}

static int answer(FILE *out)
{
	struct error err = {0};
	struct recovery_scenario *scenario = recover_load(&settings, &err);
	static char text[1 << 17];
	FILE *into = fmemopen(text, sizeof text, "w");
	bool infeasible = false;
	int code = scenario && into ? recover_run(scenario, &settings, into, into, &infeasible, &err) : -ENOMEM;

	if (into && fclose(into) != 0)
		code = -ENOMEM;
	if (code == 0 && (strstr(text, "\"feasible\"") || strstr(text, "\"ties_proved\": false")))
		code = -ENOMEM; /* it says that it did not prove everything */
	if (code == 0)
		print_result(text, out);
	recovery_destroy(scenario);
	return code;
}

static int shares(FILE *out)
{
	struct error err = {0};
	struct recovery_scenario *s = recover_load(&settings, &err);
	const struct recovery_options options = recover_options(&settings);
	struct recovery_answer solved = {0};
	struct fluid fluid = {0};
	uint32_t *server;
	int code;

	fail_allocation_pause(); /* out of memory, it may find another placement that is as good */
	cr_assert(!s || recovery_solve(s, &options, &solved, &err) == 0);
	fail_allocation_go_on();
	server = s ? recovery_placement(s, &solved) : NULL;
	code = server ? fluid_create(s, server, solved.p, &fluid) : -ENOMEM;
	for (size_t p = 0; sharing_policies[p] && code == 0; p++) {
		struct fluid_result result = {0};

		code = fluid_run(&fluid, sharing_policies[p], 0, &result);
		for (uint32_t f = 0; f < s->flow_count && code == 0; f++)
			fprintf(out, "%a ", result.flow_end_s[f]);
		if (code == 0)
			fluid_result_free(&result);
	}
	fluid_free(&fluid);
	free(server);
	recovery_answer_free(&solved);
	recovery_destroy(s);
	return code;
}

Test(memory_recovery, answers)
{
	static const char *const recipes[] = {
		"servers=6,apps=2,tasks=4,failed=2,seed=3",
		"servers=14,apps=3,tasks=6,failed=1,fail=servers,seed=5,cpu=tight,links=1:10",
		"servers=12,apps=2,tasks=8,failed=6,seed=4,backups=3,weights=2-5",
	};
	FILE *nowhere = fopen("/dev/null", "w");
	int tried = 0;

	for (size_t r = 0; r < sizeof recipes / sizeof *recipes; r++) {
		settings.generate = recipes[r];
		for (settings.filter = 0; recovery_filter_names[settings.filter]; settings.filter++)
			if (answer(nowhere) == 0) /* proved */
				tried += fail_each_allocation(answer) > 0;
	}
	fclose(nowhere);
	cr_expect_geq(tried, 6);
}

Test(memory_recovery, shares)
{
	settings.generate = "servers=9,apps=3,tasks=6,failed=4,seed=5";
	fail_each_allocation(shares);
}
