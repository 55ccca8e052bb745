/* SPDX-License-Identifier: BSD-3-Clause */
/* Every algorithm when memory runs out: it says so, or gives the optimum. */
#include <criterion/criterion.h>

#include <sched/mcf/algorithms.h>

#include "fail_allocation.h"
#include "mcf_world.h"

static struct world world;
static const struct mcf_algorithm *algorithm;

static int solve(FILE *out)
{
	struct mcf_solution solution = {0};
	enum mcf_status status = mcf_solve(algorithm, world_problem(&world), &solution);

	fprintf(out, "%s %ld", mcf_status_name(status), status == MCF_OPTIMAL ? (long)solution.cost : 0L);
	mcf_solution_free(&solution);
	/* or it refuses the network, so that another algorithm is tried */
	return status == MCF_NO_MEMORY || status == MCF_UNSUITED;
}

Test(memory_mcf, every_algorithm)
{
	FILE *nowhere = fopen("/dev/null", "w");
	struct rng rng;

	rng_seed(&rng, 9);
	for (int32_t number = 0; number < 40; number++) {
		world_random(&world, &rng, number);
		for (algorithm = mcf_algorithms; algorithm->name; algorithm++)
			if (solve(nowhere) == 0)
				fail_each_allocation(solve);
	}
	fclose(nowhere);
}
