/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of engines (see engine.h) and the default options. decision.c calls an engine only through its row of the
 * table.
 */
#include <string.h>

#include "decision.h"

static const struct engine engines[] = {
	/* name, choice of routes, default limit of evaluations, minimise weight / rate, function */
	{"rate", ROUTES_LEAST_USED, 20000, false, engine_place_rate},
	{"completion", ROUTES_LEAST_USED, 20000, true, engine_place_rate},
	{"both", ROUTES_RANDOM, UINT32_MAX, false, engine_place_both},
	{"application", ROUTES_RANDOM, UINT32_MAX, false, engine_place_application},
	{"routing", ROUTES_RANDOM, UINT32_MAX, false, engine_place_routing},
	{"random", ROUTES_RANDOM, 1, false, engine_place_random},
	{"storm", ROUTES_EQUAL_COST, 1, false, engine_place_storm},
	{"flink", ROUTES_EQUAL_COST, 1, false, engine_place_flink},
	{"rstorm", ROUTES_EQUAL_COST, 1, false, engine_place_rstorm},
};

const struct engine *engine_find(const char *name)
{
	for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
		if (strcmp(engines[i].name, name) == 0)
			return &engines[i];
	return NULL;
}

const char *engine_name(size_t index)
{
	return index < sizeof engines / sizeof *engines ? engines[index].name : NULL;
}

bool engine_seeks_rates(const struct engine *engine)
{
	return engine->place == engine_place_rate;
}

struct engine_options engine_defaults(void)
{
	return (struct engine_options){.seed = 1,
				       .starts = 8,
				       .local_MBps = 10000,
				       .temperature = 100,
				       .steps = 100,
				       .route_steps = 10,
				       .repeats = 5};
}
