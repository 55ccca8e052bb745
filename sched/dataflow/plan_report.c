/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/dataflow/plan.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include <figures/figures.h>
#include <sched/flows/max_min.h>

enum { RESOURCE_BYTES = 2 * TOPOLOGY_NAME_BYTES + 16 };

static const char *limit_name(const struct dataflow_plan *plan, uint32_t resource, char *text)
{
	if (resource == MAX_MIN_OFFERED)
		return "its own rate";
	network_resource_name(plan->network, resource, text);
	return text;
}

static void print_job(const struct dataflow_plan_report *report, const struct plan_job *job, FILE *out)
{
	const struct dataflow_plan *plan = report->plan;
	const struct topology *topology = network_topology(plan->network);
	char name[2 * DATAFLOW_NAME_BYTES], limit[RESOURCE_BYTES];

	fprintf(out, "%s: %.2f MB/s", job->job->name, job->total_MBps);
	if (isfinite(job->random_MBps) && job->placed_here)
		fprintf(out, ", random %.2f", job->random_MBps);
	if (job->placed_here)
		fprintf(out, " (%" PRIu64 " placements evaluated in %.1f ms)\n", job->evaluations, 1e3 * job->seconds);
	else
		fputs(" (was running)\n", out);
	if (report->latency)
		fprintf(out, "  performance at the hosts' latency: %.1f %%\n",
			100 * dataflow_latency_performance(report->latency, job->job, job->graph));
	for (uint32_t t = 0; t < job->job->task_count; t++) {
		dataflow_task_name(job->job, t, name);
		fprintf(out, "  %-24s %s\n", name, topology->nodes[job->job->hosts[t]].name);
	}
	for (uint32_t s = 0; s < job->graph->source_count; s++) {
		dataflow_task_name(job->job, job->graph->sources[s], name);
		fprintf(out, "  %s sends %.2f MB/s, limited by %s\n", name, job->MBps[s],
			limit_name(plan, job->bottleneck[s], limit));
	}
}

static json_t *job_json(const struct dataflow_plan_report *report, const struct plan_job *job)
{
	const struct dataflow_plan *plan = report->plan;
	const struct topology *topology = network_topology(plan->network);
	json_t *placement = json_object(), *sources = json_array(), *root;
	char name[2 * DATAFLOW_NAME_BYTES], limit[RESOURCE_BYTES];

	for (uint32_t t = 0; t < job->job->task_count; t++) {
		dataflow_task_name(job->job, t, name);
		json_object_set_new(placement, name, json_string(topology->nodes[job->job->hosts[t]].name));
	}
	for (uint32_t s = 0; s < job->graph->source_count; s++) {
		dataflow_task_name(job->job, job->graph->sources[s], name);
		json_array_append_new(sources, json_pack("{s:s, s:f, s:s}", "task", name, "MBps", job->MBps[s],
							 "limited_by", limit_name(plan, job->bottleneck[s], limit)));
	}
	root = json_pack("{s:s, s:f, s:o, s:o}", "name", job->job->name, "MBps", job->total_MBps, "placement",
			 placement, "sources", sources);
	if (isfinite(job->random_MBps))
		json_object_set_new(root, "random_MBps", json_real(job->random_MBps));
	if (report->latency)
		json_object_set_new(root, "performance",
				    json_real(dataflow_latency_performance(report->latency, job->job, job->graph)));
	if (job->placed_here)
		json_object_set_new(root, "evaluations", json_integer((json_int_t)job->evaluations));
	return root;
}

/* Returns the names of a route's links. names[]: by resource, NULL if not needed before: a link is on many routes. */
static json_t *links_of(const struct dataflow_plan *plan, const struct network_route *route, json_t **names)
{
	json_t *links = json_array();

	for (uint32_t r = 0; r < route->count; r++) {
		uint32_t resource = network_route_link(route, r);
		char name[RESOURCE_BYTES];

		if (!names[resource]) {
			network_resource_name(plan->network, resource, name);
			names[resource] = json_string(name);
		}
		json_array_append(links, names[resource]);
	}
	return links;
}

/* Returns the routes of all pairs of hosts that exchange data. */
static json_t *routes_json(const struct dataflow_plan *plan)
{
	const struct topology *topology = network_topology(plan->network);
	uint32_t resources = network_resource_count(plan->network);
	json_t **names = calloc(resources + 1u, sizeof *names), *list = names ? json_array() : NULL;

	for (uint32_t a = 0; a < topology->node_count && names; a++)
		for (uint32_t b = a + 1; b < topology->node_count; b++) {
			int64_t number =
				topology->nodes[a].kind == TOPOLOGY_HOST ? network_route_of(plan->network, a, b) : -1;
			struct network_route route;

			if (number < 0 || network_route(plan->network, a, b, (uint32_t)number, &route) < 0)
				continue;
			json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "from", topology->nodes[a].name, "to",
							      topology->nodes[b].name, "links",
							      links_of(plan, &route, names)));
		}
	for (uint32_t r = 0; r < resources && names; r++)
		json_decref(names[r]);
	free(names);
	return list;
}

static double sum_MBps(const struct dataflow_plan *plan)
{
	double sum = 0;

	for (uint32_t j = 0; j < plan->job_count; j++)
		sum += plan->jobs[j].total_MBps;
	return sum;
}

static void print_moves(const struct dataflow_plan *plan, const struct dataflow_advice *advice, FILE *out)
{
	const struct topology *topology = network_topology(plan->network);
	char name[2 * DATAFLOW_NAME_BYTES];

	if (advice->count == 0)
		fputs("no move of a task of a running job would raise the sum of the rates\n", out);
	for (size_t m = 0; m < advice->count; m++) {
		const struct dataflow_move *move = &advice->moves[m];

		dataflow_task_name(move->job->job, move->task, name);
		fprintf(out, "move %s of %s from %s to %s: %+.2f MB/s for all jobs, %+.2f MB/s for this job\n", name,
			move->job->job->name, topology->nodes[move->from].name, topology->nodes[move->to].name,
			move->gain_MBps, move->own_gain_MBps);
	}
}

static json_t *moves_json(const struct dataflow_plan *plan, const struct dataflow_advice *advice)
{
	const struct topology *topology = network_topology(plan->network);
	json_t *list = json_array();
	char name[2 * DATAFLOW_NAME_BYTES];

	for (size_t m = 0; m < advice->count; m++) {
		const struct dataflow_move *move = &advice->moves[m];

		dataflow_task_name(move->job->job, move->task, name);
		json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:f, s:f}", "job", move->job->job->name,
						      "task", name, "from", topology->nodes[move->from].name, "to",
						      topology->nodes[move->to].name, "gain_MBps", move->gain_MBps,
						      "own_gain_MBps", move->own_gain_MBps));
	}
	return list;
}

void dataflow_plan_print(const struct dataflow_plan_report *report, FILE *out)
{
	const double bound_MBps = report->bound_MBps, all_MBps = sum_MBps(report->plan);

	for (uint32_t j = 0; j < report->plan->job_count; j++)
		print_job(report, &report->plan->jobs[j], out);
	if (report->advice)
		print_moves(report->plan, report->advice, out);
	if (isfinite(bound_MBps))
		fprintf(out, "bound: all jobs %.2f MB/s, %.1f %% of the %.2f MB/s that these placements allow\n",
			all_MBps, bound_MBps > 0 ? 100 * all_MBps / bound_MBps : 100, bound_MBps);
}

int dataflow_plan_plot(const struct dataflow_plan *plan, const char *engine, const char *path, struct error *err)
{
	double *MBps = malloc(network_resource_count(plan->network) * sizeof *MBps + 1);
	char title[160];
	int code = MBps ? network_usage(plan->network, MBps) : -ENOMEM;

	snprintf(title, sizeof title, "%u dataflow jobs, engine %s: %.1f MB/s in all", plan->job_count, engine,
		 sum_MBps(plan));
	if (code == 0)
		code = figures_topology_save(network_topology(plan->network), MBps, title, path, err);
	else
		error_set(err, ENOMEM, "out of memory");
	free(MBps);
	return code;
}

/* Returns a list of the links that carry data, with their loads; each direction of a link is an entry. */
static json_t *links_json(const struct dataflow_plan *plan)
{
	uint32_t directions = 2 * network_topology(plan->network)->link_count;
	double *MBps = malloc(network_resource_count(plan->network) * sizeof *MBps + 1);
	json_t *list = MBps && network_usage(plan->network, MBps) == 0 ? json_array() : NULL;
	char name[RESOURCE_BYTES];

	for (uint32_t r = 0; list && r < directions; r++) {
		if (MBps[r] <= 0)
			continue;
		network_resource_name(plan->network, r, name);
		json_array_append_new(list, json_pack("{s:s, s:f, s:f}", "link", name, "MBps", MBps[r], "capacity_MBps",
						      network_capacity(plan->network, r)));
	}
	free(MBps);
	return list;
}

json_t *dataflow_plan_to_pod(const struct dataflow_plan *plan, const struct plan_job *job)
{
	const struct topology *topology = network_topology(plan->network);
	bool *used = calloc(topology->node_count + 1u, sizeof *used);
	json_t *hosts = used ? json_array() : NULL;

	for (uint32_t t = 0; hosts && t < job->job->task_count; t++)
		used[job->job->hosts[t]] = true;
	for (uint32_t n = 0; hosts && n < topology->node_count; n++)
		if (used[n])
			json_array_append_new(hosts, json_string(topology->nodes[n].name));
	free(used);
	/* json_pack() returns NULL if hosts is NULL: out of memory */
	return json_pack("{s:s, s:s, s:{s:s}, s:{s:{s:{s:{s:[{s:[{s:s, s:s, s:o}]}]}}}}}", "apiVersion", "v1", "kind",
			 "Pod", "metadata", "name", "pod-template", "spec", "affinity", "nodeAffinity",
			 "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms", "matchExpressions",
			 "key", "kubernetes.io/hostname", "operator", "In", "values", hosts);
}

json_t *dataflow_plan_to_json(const struct dataflow_plan_report *report)
{
	const struct dataflow_plan *plan = report->plan;
	json_t *jobs = json_array(), *root;

	for (uint32_t j = 0; j < plan->job_count; j++)
		json_array_append_new(jobs, job_json(report, &plan->jobs[j]));
	root = json_pack("{s:s, s:s, s:o, s:o, s:o}", "schema", "nomora.dataflow-plan/1", "engine", report->engine,
			 "jobs", jobs, "routes", routes_json(plan), "links", links_json(plan));
	if (root && isfinite(report->bound_MBps))
		json_object_set_new(root, "bound_MBps", json_real(report->bound_MBps));
	if (root && report->advice)
		json_object_set_new(root, "moves", moves_json(plan, report->advice));
	return root;
}
