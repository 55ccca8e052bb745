/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/dataflow/generate.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/number.h>
#include <base/rng.h>

enum { COUNT_MAXIMUM = 100000 };
#define CHILDREN_MEAN 2
#define CHILDREN_DEVIATION 2

static int bad(struct error *err, const char *word, const char *expected)
{
	return error_set(err, EINVAL, "--generate: found '%s', expected %s", word, expected);
}

static int bad_value(struct error *err, const char *word, const char *value, const char *expected)
{
	return error_set(err, EINVAL, "--generate: found '%s=%s', expected %s", word, value, expected);
}

static int read_range(char *value, double *low, double *high)
{
	char *dash = strchr(value, '-');
	bool good;

	if (!dash)
		return -EINVAL;
	*dash = '\0';
	good = number_parse_double(value, low) == 0 && number_parse_double(dash + 1, high) == 0 && *low >= 0 &&
	       *high >= *low && *high <= 1e12;
	*dash = '-';
	return good ? 0 : -EINVAL;
}

static int read_word(const char *word, char *value, struct dataflow_recipe *recipe, struct error *err)
{
	const struct {
		const char *name;
		uint32_t *to;
	} counts[] = {{"jobs", &recipe->jobs},       {"spouts", &recipe->spouts},     {"bolts", &recipe->bolts},
		      {"mappers", &recipe->mappers}, {"reducers", &recipe->reducers}, {"stages", &recipe->stages}};
	int64_t number;

	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		if (strcmp(word, counts[i].name) != 0)
			continue;
		if (number_parse_i64(value, &number) != 0 || number < 1 || number > COUNT_MAXIMUM)
			return bad_value(err, word, value, "a whole number from 1 to 100000");
		*counts[i].to = (uint32_t)number;
		return 0;
	}
	if (strcmp(word, "seed") == 0) {
		if (number_parse_i64(value, &number) != 0 || number < 0)
			return bad_value(err, word, value, "a seed of 0 or more");
		recipe->seed = (uint64_t)number;
	} else if (strcmp(word, "per-minute") == 0) {
		if (number_parse_double(value, &recipe->per_minute) != 0 ||
		    !(recipe->per_minute >= 0 && recipe->per_minute <= 1e6))
			return bad_value(err, word, value, "jobs per minute from 0 to 1e6");
	} else if (strcmp(word, "MB") == 0) {
		if (read_range(value, &recipe->MB_low, &recipe->MB_high) != 0)
			return bad_value(err, word, value, "LOW-HIGH, as in 1-100");
	} else {
		return bad(err, word, "jobs, per-minute, MB, seed, spouts, bolts, mappers, reducers or stages");
	}
	return 0;
}

int dataflow_recipe_parse(const char *text, struct dataflow_recipe *recipe, struct error *err)
{
	char *copy = strdup(text), *rest = copy, *word = copy ? strsep(&rest, ",") : NULL;
	int code = copy ? 0 : error_set(err, ENOMEM, "out of memory");

	*recipe = (struct dataflow_recipe){
		.jobs = 10, .spouts = 2, .bolts = 10, .mappers = 4, .reducers = 4, .stages = 1, .seed = 1};
	if (copy && strcmp(word, "mapreduce") == 0)
		recipe->workload = DATAFLOW_MAPREDUCE;
	else if (copy && strcmp(word, "storm") != 0)
		code = bad(err, word, "storm or mapreduce");
	while (code == 0 && (word = strsep(&rest, ","))) {
		char *value = strchr(word, '=');

		if (value)
			*value++ = '\0';
		code = value ? read_word(word, value, recipe, err) : bad(err, word, "NAME=VALUE");
	}
	free(copy);
	return code;
}

static bool add_component(struct dataflow_job *job, const char *kind, uint32_t number, uint32_t tasks)
{
	char name[DATAFLOW_NAME_BYTES];

	snprintf(name, sizeof name, "%s%u", kind, number);
	return dataflow_add_component(job, name, tasks) >= 0;
}

static bool has_edge(const struct dataflow_job *job, uint32_t from, uint32_t to)
{
	for (uint32_t e = 0; e < job->edge_count; e++)
		if (job->edges[e].from == from && job->edges[e].to == to)
			return true;
	return false;
}

static bool has_parent(const struct dataflow_job *job, uint32_t component)
{
	for (uint32_t e = 0; e < job->edge_count; e++)
		if (job->edges[e].to == component)
			return true;
	return false;
}

static bool add_children(struct dataflow_job *job, const struct dataflow_recipe *recipe, uint32_t from, struct rng *rng)
{
	uint32_t first = from < recipe->spouts ? recipe->spouts : from + 1, others = job->component_count - first;
	double wanted = round(CHILDREN_MEAN + CHILDREN_DEVIATION * rng_normal(rng));
	uint32_t count = wanted < 0 ? 0 : (uint32_t)wanted;

	if (count == 0 && from < recipe->spouts)
		count = 1;
	for (uint32_t i = 0; i < count && i < others; i++) {
		uint32_t to = first + (uint32_t)rng_below(rng, others);

		while (has_edge(job, from, to))
			to = to + 1 < job->component_count ? to + 1 : first;
		if (!dataflow_add_edge(job, from, to, DATAFLOW_SHUFFLE))
			return false;
	}
	return true;
}

static bool make_storm(struct dataflow_job *job, const struct dataflow_recipe *recipe, struct rng *rng)
{
	for (uint32_t i = 0; i < recipe->spouts; i++)
		if (!add_component(job, "spout", i, 1))
			return false;
	for (uint32_t i = 0; i < recipe->bolts; i++)
		if (!add_component(job, "bolt", i, 1))
			return false;
	for (uint32_t c = 0; c + 1 < job->component_count; c++)
		if (!add_children(job, recipe, c, rng))
			return false;
	for (uint32_t c = recipe->spouts; c < job->component_count; c++)
		if (!has_parent(job, c) && !dataflow_add_edge(job, (uint32_t)rng_below(rng, c), c, DATAFLOW_SHUFFLE))
			return false;
	return true;
}

static bool make_mapreduce(struct dataflow_job *job, const struct dataflow_recipe *recipe)
{
	for (uint32_t stage = 0; stage < recipe->stages; stage++)
		if (!add_component(job, "map", stage, recipe->mappers) ||
		    !add_component(job, "reduce", stage, recipe->reducers))
			return false;
	for (uint32_t c = 0; c + 1 < job->component_count; c++)
		if (!dataflow_add_edge(job, c, c + 1, DATAFLOW_SHUFFLE))
			return false;
	return true;
}

static void set_volumes(struct dataflow_job *job, const struct dataflow_recipe *recipe, struct rng *rng)
{
	for (uint32_t c = 0; c < job->component_count && recipe->MB_high > 0; c++)
		if (!has_parent(job, c))
			job->components[c].MB = recipe->MB_low + (recipe->MB_high - recipe->MB_low) * rng_uniform(rng);
}

int dataflow_generate(struct dataflow *dataflow, const struct dataflow_recipe *recipe)
{
	struct rng rng;

	rng_seed(&rng, recipe->seed);
	for (uint32_t j = 0; j < recipe->jobs; j++) {
		double arrival_s = recipe->per_minute > 0 ? 60 * j / recipe->per_minute : 0;
		char name[DATAFLOW_NAME_BYTES];
		struct dataflow_job *job;

		snprintf(name, sizeof name, "j%u", j);
		job = dataflow_add_job(dataflow, name, arrival_s);
		if (!job ||
		    !(recipe->workload == DATAFLOW_STORM ? make_storm(job, recipe, &rng)
							 : make_mapreduce(job, recipe)) ||
		    dataflow_place_nowhere(job) < 0)
			return -ENOMEM;
		set_volumes(job, recipe, &rng);
	}
	return 0;
}
