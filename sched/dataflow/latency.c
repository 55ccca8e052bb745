/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/dataflow/plan.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <model/curve_library.h>

#define ONE_HOST_US 1.0 /* round trip within a host: NoMora's "small constant" */

struct dataflow_latency {
	const struct dataflow *dataflow;
	struct latency_matrix *matrix;
	struct curve_library *curves;
	enum latency_statistic statistic;
	uint32_t *host;             /* by node: index of the host in the matrix */
	const struct curve **curve; /* by job; NULL: none */
	double largest_us;          /* largest measured round trip in the matrix, us */
};

static int find_hosts(struct dataflow_latency *latency, const char *file, struct error *err)
{
	const struct topology *topology = latency->dataflow->topology;

	for (uint32_t n = 0; n < topology->node_count; n++) {
		int64_t host = 0;

		if (topology->nodes[n].kind == TOPOLOGY_HOST)
			host = latency_matrix_find_host(latency->matrix, topology->nodes[n].name);
		if (host < 0)
			return error_set(err, ENOENT, "%s: host '%s' of the network is not in the matrix", file,
					 topology->nodes[n].name);
		latency->host[n] = (uint32_t)host;
	}
	return 0;
}

static int find_curves(struct dataflow_latency *latency, const char *other, struct error *err)
{
	const struct dataflow *dataflow = latency->dataflow;

	for (uint32_t j = 0; j < dataflow->job_count; j++) {
		const char *name = dataflow->jobs[j].curve ? dataflow->jobs[j].curve : other;
		int64_t number = name ? curve_library_find(latency->curves, name, err) : 0;

		if (number < 0)
			return (int)number;
		latency->curve[j] = name ? curve_library_at(latency->curves, (size_t)number) : NULL;
	}
	return 0;
}

/*
 * Returns the measured round trip from source to destination (indexes in the matrix) in us, INFINITY if the pair was
 * probed without an answer, or NAN if it was not measured.
 */
static double measured_us(const struct dataflow_latency *latency, uint32_t source, uint32_t destination)
{
	struct latency_entry entry;

	if (!latency_matrix_load_pair(latency->matrix, source, destination, &entry))
		return NAN;
	if (entry.state == LATENCY_STATE_UNREACHABLE)
		return INFINITY;
	return entry.state == LATENCY_STATE_MEASURED ? latency_entry_value(&entry, latency->statistic) : NAN;
}

static double round_trip_us(const struct dataflow_latency *latency, uint32_t a, uint32_t b)
{
	double us;

	if (a == b)
		return ONE_HOST_US;
	us = fmax(measured_us(latency, latency->host[a], latency->host[b]),
		  measured_us(latency, latency->host[b], latency->host[a]));
	return isnan(us) ? latency->largest_us : us;
}

static double find_largest(const struct dataflow_latency *latency)
{
	double largest_us = 0;

	for (size_t i = 0; i < latency_matrix_count(latency->matrix); i++) {
		double us = latency_entry_value(latency_matrix_at(latency->matrix, i), latency->statistic);

		largest_us = isfinite(us) ? fmax(largest_us, us) : largest_us;
	}
	return largest_us;
}

static int read_files(struct dataflow_latency *latency, const struct dataflow_latency_options *options,
		      struct error *err)
{
	int code;

	latency->host = malloc(latency->dataflow->topology->node_count * sizeof *latency->host + 1);
	latency->curve = calloc(latency->dataflow->job_count + 1u, sizeof *latency->curve);
	latency->curves = curve_library_create(options->curves);
	if (!latency->host || !latency->curve || !latency->curves)
		return error_set(err, ENOMEM, "out of memory");
	latency->matrix = latency_matrix_read(options->matrix, NULL, err);
	if (!latency->matrix)
		return error_code(err, EIO);
	latency->largest_us = find_largest(latency);
	code = find_hosts(latency, options->matrix, err);
	return code == 0 ? find_curves(latency, options->curve, err) : code;
}

struct dataflow_latency *dataflow_latency_open(const struct dataflow *dataflow,
					       const struct dataflow_latency_options *options, struct error *err)
{
	struct dataflow_latency *latency = calloc(1, sizeof *latency);

	if (!latency) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	latency->dataflow = dataflow;
	latency->statistic = options->statistic;
	if (read_files(latency, options, err) == 0)
		return latency;
	dataflow_latency_close(latency);
	return NULL;
}

void dataflow_latency_close(struct dataflow_latency *latency)
{
	if (!latency)
		return;
	latency_matrix_destroy(latency->matrix);
	curve_library_destroy(latency->curves);
	free(latency->host);
	free(latency->curve);
	free(latency);
}

double dataflow_latency_performance(const struct dataflow_latency *latency, const struct dataflow_job *job,
				    const struct dataflow_graph *graph)
{
	const struct curve *curve = latency->curve[job - latency->dataflow->jobs];
	double sum = 0;

	if (!curve || graph->flow_count == 0)
		return 1;
	for (uint32_t f = 0; f < graph->flow_count; f++) {
		double us = round_trip_us(latency, job->hosts[graph->flows[f].from], job->hosts[graph->flows[f].to]);

		if (isinf(us))
			return 0;
		sum += curve_eval(curve, curve_added_rtt_us(curve, us));
	}
	return sum / graph->flow_count;
}
