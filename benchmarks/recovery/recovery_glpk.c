/* SPDX-License-Identifier: BSD-3-Clause */
/* GLPK on a recovery scenario: SCENARIO.json SECONDS; prints "STATUS P SECONDS". */
#include <stdio.h>
#include <stdlib.h>

#include <base/ns.h>
#include <model/recovery.h>

#include "../../tests/sched/recovery/peer_glpk.h"

int main(int argc, char **argv)
{
	struct error err = {0};
	struct recovery_scenario *scenario = argc == 3 ? recovery_read(argv[1], &err) : NULL;
	struct ns begin = ns_now_monotonic();
	struct glpk_answer answer;
	bool solved = scenario && glpk_solve(scenario, 1000 * atof(argv[2]), &answer);

	if (solved)
		printf("%s %.9g %.6f\n", recovery_status_name(answer.status), answer.p,
		       ns_to_s(ns_sub(ns_now_monotonic(), begin)));
	else
		fprintf(stderr, "recovery_glpk: %s\n", scenario ? "out of memory" : err.text);
	recovery_destroy(scenario);
	return solved ? 0 : 1;
}
