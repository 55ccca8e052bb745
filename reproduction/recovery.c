/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "reproduction.h"

double experiment_solve_p(const struct recovery_scenario *s, const struct recovery_options *options, uint32_t **server)
{
	struct recovery_answer answer;
	double p = NAN;

	if (recovery_solve(s, options, &answer, NULL) < 0)
		return NAN;
	if (answer.server) {
		p = answer.p;
		if (server)
			*server = recovery_placement(s, &answer);
	}
	recovery_answer_free(&answer);
	return p;
}

struct progress *experiment_progress(FILE *out, const char *label, uint64_t total)
{
	return out ? progress_create(out, label, total) : NULL;
}
