/* SPDX-License-Identifier: BSD-3-Clause */
/* sched/dataflow when memory runs out: an error, or the same plan and the same simulation. */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/json.h>
#include <sched/dataflow/plan.h>
#include <sched/dataflow/simulate.h>

#include "fail_allocation.h"

/* Six hosts on three switches in a ring, so that a link may fail; two jobs wait, one has hosts, a fourth comes later.
 */
static const char scene[] =
	"{\"schema\": \"nomora.dataflow/1\", \"slots\": 2, \"topology\": {\"schema\": \"nomora.topology/1\","
	"\"switches\": [{\"name\": \"s0\"}, {\"name\": \"s1\"}, {\"name\": \"s2\"}],"
	"\"hosts\": [{\"name\": \"a\"}, {\"name\": \"b\"}, {\"name\": \"c\"}, {\"name\": \"d\"}, {\"name\": \"e\"}, "
	"{\"name\": \"f\"}],"
	"\"links\": [{\"a\": \"a\", \"b\": \"s0\", \"MBps\": 100}, {\"a\": \"b\", \"b\": \"s0\", \"MBps\": 60},"
	"{\"a\": \"c\", \"b\": \"s1\", \"MBps\": 100}, {\"a\": \"d\", \"b\": \"s1\", \"MBps\": 80},"
	"{\"a\": \"e\", \"b\": \"s2\", \"MBps\": 30}, {\"a\": \"f\", \"b\": \"s2\", \"MBps\": 90},"
	"{\"a\": \"s0\", \"b\": \"s1\", \"MBps\": 20}, {\"a\": \"s1\", \"b\": \"s2\", \"MBps\": 25},"
	"{\"a\": \"s2\", \"b\": \"s0\", \"MBps\": 15}]}, \"jobs\": ["
	"{\"name\": \"one\", \"components\": [{\"name\": \"s\", \"MB\": 300}, {\"name\": \"k\", \"tasks\": 2}],"
	"\"edges\": [{\"from\": \"s\", \"to\": \"k\"}], \"placement\": {\"s.0\": \"d\"}},"
	"{\"name\": \"two\", \"components\": [{\"name\": \"s\", \"MB\": 500, \"tasks\": 2}, {\"name\": \"k\"}],"
	"\"edges\": [{\"from\": \"s\", \"to\": \"k\", \"selectivity\": 0.5}]},"
	"{\"name\": \"far\", \"components\": [{\"name\": \"s\", \"MB\": 400}, {\"name\": \"k\"}],"
	"\"edges\": [{\"from\": \"s\", \"to\": \"k\"}], \"placement\": {\"s.0\": \"a\", \"k.0\": \"c\"}},"
	"{\"name\": \"late\", \"arrival_s\": 3, \"components\": [{\"name\": \"s\", \"MB\": 100, \"tasks\": 2}, "
	"{\"name\": \"k\", \"tasks\": 2}],"
	"\"edges\": [{\"from\": \"s\", \"to\": \"k\"}]}]}";

static const struct topology_paths_options paths = {.k = 3, .detour = TOPOLOGY_PATHS_DETOUR, .seed = 1};
static const char *engine;

static struct dataflow *parse(void)
{
	struct error err = {0};

	return dataflow_parse("scene", scene, strlen(scene), &err);
}

static int write_json(json_t *json, FILE *out)
{
	int code = json_print(out, json);

	json_decref(json);
	return code;
}

static int plan(FILE *out)
{
	struct engine_options options = engine_defaults();
	struct dataflow *dataflow = parse();
	struct dataflow_advice advice = {0};
	struct dataflow_plan_report report = {.engine = engine, .advice = &advice, .bound_MBps = NAN};
	struct dataflow_plan *made = NULL;
	struct error err = {0};
	int code = -ENOMEM;

	options.steps = options.route_steps = options.repeats = 2;
	options.evaluations = 200;
	if (dataflow)
		made = dataflow_plan_create(dataflow, engine_find(engine), &options, &paths, 2, &err);
	if (made) {
		report.plan = made;
		code = !engine_seeks_rates(engine_find(engine))
			       ? 0
			       : dataflow_advise(made, engine_find(engine), &options, &advice, &err);
	}
	if (code == 0)
		code = write_json(dataflow_plan_to_json(&report), out);
	dataflow_advice_clear(&advice);
	dataflow_plan_destroy(made);
	dataflow_destroy(dataflow);
	return code;
}

static int simulation(FILE *out)
{
	const struct simulate_fault faults[] = {{SIMULATE_LINK, 6, 4, 9}, {SIMULATE_HOST, 5, 5, 40}};
	struct dataflow_simulate_options options = {.engine = engine_find(engine),
						    .engine_options = engine_defaults(),
						    .paths = paths,
						    .faults = faults,
						    .fault_count = 2,
						    .until_s = INFINITY};
	struct dataflow_simulate_result result = {0};
	struct dataflow *dataflow = parse();
	struct error err = {0};
	int code = -ENOMEM;

	options.engine_options.steps = options.engine_options.route_steps = options.engine_options.repeats = 2;
	options.engine_options.evaluations = 200;
	if (dataflow)
		code = dataflow_simulate(dataflow, &options, &result, &err);
	if (code == 0)
		code = write_json(simulate_result_to_json(dataflow, &result, engine), out);
	simulate_result_clear(&result);
	dataflow_destroy(dataflow);
	return code;
}

Test(memory_dataflow, plans)
{
	for (size_t e = 0; (engine = engine_name(e)); e++)
		fail_each_allocation(plan);
}

/* Plans are made by every engine; here are one of each way to choose routes. */
Test(memory_dataflow, simulations)
{
	static const char *const some[] = {"rate", "both", "storm"};

	for (size_t e = 0; e < sizeof some / sizeof *some; e++) {
		engine = some[e];
		fail_each_allocation(simulation);
	}
}
