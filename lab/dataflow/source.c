/* SPDX-License-Identifier: BSD-3-Clause */
#include <lab/dataflow/settings.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <lab/dataflow/run.h>
#include <sched/dataflow/generate.h>

struct dataflow_latency *dataflow_open_latency(const struct dataflow_settings *settings,
					       const struct dataflow *dataflow, struct error *err)
{
	const struct dataflow_latency_options options = {
		.matrix = settings->latency_file,
		.statistic = (enum latency_statistic)settings->latency_stat,
		.curves = settings->curves,
		.curve = settings->curve,
	};

	return dataflow_latency_open(dataflow, &options, err);
}

typedef int trace_reader(struct dataflow *dataflow, const char *path, const struct dataflow_trace_options *options,
			 struct error *err);

/* By format; NULL: has no such options. */
static trace_reader *const traces[] = {
	[DATAFLOW_SCENARIO] = NULL,
	[DATAFLOW_SWIM] = dataflow_read_swim,
	[DATAFLOW_COFLOWS] = dataflow_read_coflows,
	[DATAFLOW_SPARK] = dataflow_read_spark,
	[DATAFLOW_STORM_TOPOLOGY] = NULL,
};

static int add_jobs(const struct dataflow_settings *settings, struct dataflow *dataflow, struct error *err)
{
	const struct dataflow_trace_options trace = {.jobs = (uint32_t)settings->jobs,
						     .tasks = (uint32_t)settings->tasks,
						     .split_MB = settings->split_MB,
						     .pin = settings->pin};
	struct dataflow_recipe recipe;

	if (settings->from == DATAFLOW_FLINK) {
		int code = dataflow_read_flink(dataflow, settings->file, err);

		return code == 0 && settings->rates
			       ? dataflow_read_flink_rates(&dataflow->jobs[0], settings->rates, err)
			       : code;
	}
	if (settings->from == DATAFLOW_STORM_TOPOLOGY)
		return dataflow_read_storm(dataflow, settings->file, err);
	if (traces[settings->from])
		return traces[settings->from](dataflow, settings->file, &trace, err);
	if (dataflow_recipe_parse(settings->generate, &recipe, err) < 0)
		return -EINVAL;
	return dataflow_generate(dataflow, &recipe) < 0 ? error_set(err, ENOMEM, "out of memory") : 0;
}

/* Returns the topology of the scenario: that of the lab, or the one of --topology. */
static struct topology *make_topology(const struct dataflow_settings *settings, struct error *err)
{
	struct topology *topology = NULL;
	struct lab *lab;

	if (!settings->lab) {
		topology =
			topology_from_argument(settings->topology, settings->link_MBps, (uint64_t)settings->seed, err);
		/* the error of a file begins with its name, and is not one of usage */
		if (!topology && err->code == EINVAL &&
		    strncmp(err->text, settings->topology, strlen(settings->topology)) != 0)
			error_prefix(err, "--topology");
		return topology;
	}
	lab = malloc(sizeof *lab);
	if (!lab)
		error_set(err, ENOMEM, "out of memory");
	else if (apply_read_lab(settings->lab, lab, err) == 0 && !(topology = lab_topology(lab)))
		error_set(err, ENOMEM, "out of memory");
	free(lab);
	return topology;
}

struct dataflow *dataflow_load(const struct dataflow_settings *settings, struct error *err)
{
	struct topology *topology;
	struct dataflow *dataflow;

	if (settings->file && settings->from == DATAFLOW_SCENARIO)
		return dataflow_read(settings->file, err);
	topology = make_topology(settings, err);
	if (!topology)
		return NULL;
	dataflow = dataflow_create(topology, (uint32_t)settings->slots);
	if (!dataflow) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	if (add_jobs(settings, dataflow, err) == 0) {
		if (dataflow->job_count > 0)
			return dataflow;
		error_set(err, EINVAL, "%s: no job that sends anything",
			  settings->file ? settings->file : settings->generate);
	}
	dataflow_destroy(dataflow);
	return NULL;
}

int dataflow_parse_faults(const struct dataflow_settings *settings, const struct topology *topology,
			  struct simulate_fault faults[OPTION_LIST_MAXIMUM], struct error *err)
{
	for (size_t f = 0; f < settings->faults.count; f++)
		if (simulate_fault_parse(settings->faults.items[f], topology, &faults[f], err) < 0)
			return error_prefix(err, "--fail");
	return 0;
}
