/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>

#include <sched/dataflow/network.h>
#include <sched/dataflow/generate.h>
#include <sched/dataflow/plan.h>

#include "dataflow_world.h"

/* Two paths of 100 MB/s between the hosts: a flow uses one of them, the bound assumes both. */
static const char diamond[] =
	"{\"schema\": \"nomora.dataflow/1\", \"slots\": 4, \"hosts\": [{\"name\": \"b\", \"cpu\": 5}],"
	" \"topology\": {\"schema\": \"nomora.topology/1\","
	" \"switches\": [{\"name\": \"s\"}, {\"name\": \"t\"}, {\"name\": \"u\"}, {\"name\": \"v\"}],"
	" \"hosts\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"links\": ["
	"{\"a\": \"a\", \"b\": \"s\", \"MBps\": 1000}, {\"a\": \"b\", \"b\": \"v\", \"MBps\": 1000},"
	"{\"a\": \"s\", \"b\": \"t\", \"MBps\": 100}, {\"a\": \"t\", \"b\": \"v\", \"MBps\": 100},"
	"{\"a\": \"s\", \"b\": \"u\", \"MBps\": 100}, {\"a\": \"u\", \"b\": \"v\", \"MBps\": 100}]},"
	" \"jobs\": [{\"name\": \"j\", \"components\": [{\"name\": \"x\"%s}, {\"name\": \"y\"%s}],"
	" \"edges\": [{\"from\": \"x\", \"to\": \"y\", \"selectivity\": 2}], \"placement\": {\"x.0\": \"a\", \"y.0\": "
	"\"b\"}}]}";

static double bound_of(const char *source, const char *sink, double local_MBps)
{
	struct engine_options options = engine_defaults();
	struct topology_paths_options paths = {.k = 4, .detour = TOPOLOGY_PATHS_DETOUR, .seed = 1};
	struct error err = {0};
	char text[2048];
	struct dataflow *dataflow;
	struct dataflow_plan *plan;
	double bound_MBps = -1;

	options.local_MBps = local_MBps;
	snprintf(text, sizeof text, diamond, source, sink);
	dataflow = dataflow_parse("test", text, strlen(text), &err);
	cr_assert_not_null(dataflow, "%s", err.text);
	plan = dataflow_plan_create(dataflow, engine_find("rate"), &options, &paths, 0, &err);
	cr_assert_not_null(plan, "%s", err.text);
	cr_assert_eq(dataflow_bound(plan->network, &bound_MBps, &err), 0, "%s", err.text);
	dataflow_plan_destroy(plan);
	dataflow_destroy(dataflow);
	return bound_MBps;
}

Test(dataflow_bound, splits_over_all_routes_and_heeds_cpu_and_offers)
{
	cr_expect_float_eq(bound_of("", "", 1e4), 100, 1e-6, "2 MB per MB over two routes of 100");
	cr_expect_float_eq(bound_of(", \"MBps\": 30", "", 1e4), 30, 1e-6);
	cr_expect_float_eq(bound_of("", "", 20), 20, 1e-6);
	cr_expect_float_eq(bound_of("", ", \"cpu_s_per_MB\": 0.1", 1e4), 25, 1e-6, "0.2 s per MB, 5 s per s");
	cr_expect_float_eq(bound_of(", \"cpu_s_per_MB\": 0.1", "", 1e4), 100, 1e-6, "a host without a CPU limit");
	cr_expect_eq(bound_of(", \"MBps\": 0", "", 1e4), 0);
}

Test(dataflow_bound, hosts_without_a_route_are_an_error)
{
	struct engine_options options = engine_defaults();
	struct topology_paths_options paths = {.k = 4, .detour = TOPOLOGY_PATHS_DETOUR, .seed = 1};
	struct error err = {0};
	char text[2048];
	struct dataflow *dataflow;
	struct dataflow_plan *plan;
	double bound_MBps = -1;

	snprintf(text, sizeof text, diamond, "", "");
	dataflow = dataflow_parse("test", text, strlen(text), &err);
	plan = dataflow_plan_create(dataflow, engine_find("rate"), &options, &paths, 0, &err);
	cr_assert_not_null(plan, "%s", err.text);
	for (int link = 2; link < 6; link++) {
		dataflow->topology->links[link].up = false;
		cr_expect_eq(dataflow_bound(plan->network, &bound_MBps, &err), link < 4 ? 0 : -EHOSTUNREACH);
	}
	cr_expect_str_eq(err.text, "cannot compute the bound: no route between the hosts of two tasks");
	dataflow_plan_destroy(plan);
	dataflow_destroy(dataflow);
}

/* No engine exceeds the bound for its own placement; the bound does not exceed the sources' limits. */
Test(dataflow_bound, no_engine_exceeds_it)
{
	struct topology_paths_options paths = {.k = 4, .detour = TOPOLOGY_PATHS_DETOUR, .seed = 1};

	for (uint64_t seed = 0; seed < 6; seed++)
		for (size_t e = 0; engine_name(e); e++) {
			struct dataflow_recipe recipe;
			struct engine_options options = engine_defaults();
			struct error err = {0};
			struct dataflow *dataflow = dataflow_create(topology_jellyfish(10, 5, 20, 100, seed, &err), 2);
			struct dataflow_plan *plan;
			double sum = 0, bound_MBps = 0;

			cr_assert_eq(dataflow_recipe_parse(seed % 2 ? "storm,jobs=2" : "mapreduce,jobs=2,stages=2",
							   &recipe, &err),
				     0, "%s", err.text);
			recipe.seed = seed;
			cr_assert_eq(dataflow_generate(dataflow, &recipe), 0);
			options.steps = 10;
			options.starts = 1;
			plan = dataflow_plan_create(dataflow, engine_find(engine_name(e)), &options, &paths, 0, &err);
			cr_assert_not_null(plan, "%s", err.text);
			for (uint32_t j = 0; j < plan->job_count; j++)
				sum += plan->jobs[j].total_MBps;
			cr_assert_eq(dataflow_bound(plan->network, &bound_MBps, &err), 0, "%s", err.text);
			cr_expect_leq(sum, bound_MBps * (1 + 1e-7), "%s, seed %lu", engine_name(e),
				      (unsigned long)seed);
			dataflow_plan_destroy(plan);
			dataflow_destroy(dataflow);
		}
}
