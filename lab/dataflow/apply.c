/* SPDX-License-Identifier: BSD-3-Clause */
#include <lab/dataflow/run.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include <base/array.h>
#include <base/ns.h>
#include <lab/routes/routes.h>
#include <lab/transfer.h>

#include "run_priv.h"

static const double MB = 1e6, patience_s = 30;

struct applying {
	const struct lab *lab;
	struct dataflow_plan *plan;
	double seconds;
	struct fabric fabric;
	struct routes *switches;
	struct transfers *transfers;
	struct apply_result *result;
};

static int add_flows(struct applying *a, const struct plan_job *job, struct error *err)
{
	const struct dataflow_by_source *carried = &job->graph->carried;
	struct apply_result *result = a->result;

	for (uint32_t f = 0; f < job->graph->flow_count; f++) {
		const struct dataflow_flow *tasks = &job->graph->flows[f];
		struct applied_flow flow = {.job = job, .from_task = tasks->from, .to_task = tasks->to};
		struct applied_flow *all =
			array_grow(result->flows, result->flow_count, &result->flow_capacity, sizeof *all);

		if (!all)
			return error_set(err, ENOMEM, "out of memory");
		result->flows = all;
		flow.from_host = a->fabric.node_of[job->job->hosts[tasks->from]];
		flow.to_host = a->fabric.node_of[job->job->hosts[tasks->to]];
		for (uint32_t i = carried->first[f]; i < carried->first[f + 1]; i++)
			flow.predicted_MBps += carried->rate[i] * job->MBps[carried->source[i]];
		if (flow.from_host != flow.to_host && flow.predicted_MBps > 0)
			all[result->flow_count++] = flow;
	}
	return 0;
}

static int set_routes(struct applying *a, struct error *err)
{
	int code = fabric_list_routes(&a->fabric, a->plan->network, err);

	if (code != 0)
		return code;
	a->switches = routes_open(a->lab, err);
	if (!a->switches)
		return error_code(err, EIO);
	code = routes_set(a->switches, a->fabric.routes, a->fabric.route_count, NULL, err);
	return code == 0 ? routes_check(a->switches, a->fabric.routes, a->fabric.route_count, err) : code;
}

static int start_transfers(struct applying *a, struct error *err)
{
	const struct apply_result *result = a->result;
	double *rate = malloc((result->flow_count + 1) * sizeof *rate);
	int code = rate ? 0 : error_set(err, ENOMEM, "out of memory");

	a->transfers = rate ? transfers_create(a->lab, (uint32_t)result->flow_count, err) : NULL;
	if (rate && !a->transfers)
		code = error_code(err, EIO);
	for (uint32_t i = 0; code == 0 && i < result->flow_count; i++) {
		rate[i] = result->flows[i].predicted_MBps;
		transfers_set_hosts(a->transfers, i, result->flows[i].from_host, result->flows[i].to_host);
	}
	if (code == 0)
		code = transfers_set_rates(a->transfers, rate, err);
	for (uint32_t i = 0; code == 0 && i < result->flow_count; i++)
		code = transfers_start(a->transfers, i, (uint64_t)llround(rate[i] * a->seconds * MB) + 1, err);
	free(rate);
	return code;
}

static int wait_for_transfers(struct applying *a, struct error *err)
{
	struct ns limit = ns_add(ns_now_monotonic(), ns_from_us(1e6 * (10 * a->seconds + patience_s)));
	uint32_t open = 1;

	while (open > 0) {
		int code = transfers_poll(a->transfers, ns_from_us(20000), err);

		if (code < 0)
			return code;
		open = 0;
		for (uint32_t i = 0; i < a->result->flow_count; i++) {
			const struct applied_flow *flow = &a->result->flows[i];
			enum transfer_state state = transfers_get(a->transfers, i)->state;

			open += state == TRANSFER_RUNNING;
			if (state == TRANSFER_FAILED)
				return error_set(err, EIO, "the transfer from %s to %s failed",
						 lab_node_name(a->lab, flow->from_host),
						 lab_node_name(a->lab, flow->to_host));
		}
		if (open > 0 && ns_now_monotonic().v > limit.v)
			return error_set(err, ETIMEDOUT, "%u transfers did not end in time", open);
	}
	return 0;
}

static void measure(struct applying *a)
{
	for (uint32_t i = 0; i < a->result->flow_count; i++) {
		const struct transfer *transfer = transfers_get(a->transfers, i);

		a->result->flows[i].measured_MBps =
			(double)transfer->bytes / MB / ns_to_s(ns_sub(transfer->ended, transfer->started));
	}
	a->result->measured = true;
}

int apply_plan(const struct lab *lab, struct dataflow_plan *plan, double seconds, bool keep_routes,
	       struct apply_result *result, struct error *err)
{
	struct applying a = {.lab = lab, .plan = plan, .seconds = seconds, .result = result};
	int code;

	*result = (struct apply_result){0};
	code = fabric_init(&a.fabric, lab, plan->network, err);
	for (uint32_t j = 0; j < plan->job_count && code == 0; j++)
		code = add_flows(&a, &plan->jobs[j], err);
	if (code == 0)
		code = set_routes(&a, err);
	if (code == 0)
		code = start_transfers(&a, err);
	if (code == 0)
		code = wait_for_transfers(&a, err);
	if (code == 0)
		measure(&a);
	transfers_destroy(a.transfers);
	if (!keep_routes && a.switches && routes_set(a.switches, NULL, 0, NULL, code == 0 ? err : NULL) < 0 &&
	    code == 0)
		code = error_code(err, EIO);
	routes_close(a.switches);
	fabric_clear(&a.fabric);
	return code;
}

void apply_result_clear(struct apply_result *result)
{
	free(result->flows);
	*result = (struct apply_result){0};
}

int apply_read_lab(const char *name, struct lab *lab, struct error *err)
{
	if (geteuid() != 0)
		return error_set(err, EPERM,
				 "a lab consists of network namespaces, which need root: run this with sudo");
	if (lab_read(name, lab, err) != 0)
		return error_code(err, EIO);
	if (lab->switch_count == 0)
		return error_set(err, EINVAL,
				 "lab '%s' has bridges; expected a routed one: nomora lab up --fabric "
				 "NETWORK --link-MBps R",
				 name);
	return lab_check_links(lab, err);
}

void apply_result_print(const struct lab *lab, const struct apply_result *result, FILE *out)
{
	char from[2 * DATAFLOW_NAME_BYTES], to[2 * DATAFLOW_NAME_BYTES];

	fprintf(out, "%-12s %-16s %-16s %-8s %-8s %14s %14s\n", "JOB", "FROM", "TO", "HOST", "HOST", "PREDICTED MB/s",
		"MEASURED MB/s");
	for (size_t i = 0; i < result->flow_count; i++) {
		const struct applied_flow *flow = &result->flows[i];
		const struct dataflow_job *job = flow->job->job;

		dataflow_task_name(job, flow->from_task, from);
		dataflow_task_name(job, flow->to_task, to);
		fprintf(out, "%-12s %-16s %-16s %-8s %-8s %14.3f %14.3f\n", job->name, from, to,
			lab_node_name(lab, flow->from_host), lab_node_name(lab, flow->to_host), flow->predicted_MBps,
			flow->measured_MBps);
	}
}

json_t *apply_result_to_json(const struct lab *lab, const struct apply_result *result)
{
	char from[2 * DATAFLOW_NAME_BYTES], to[2 * DATAFLOW_NAME_BYTES];
	json_t *flows = json_array();

	for (size_t i = 0; i < result->flow_count; i++) {
		const struct applied_flow *flow = &result->flows[i];
		const struct dataflow_job *job = flow->job->job;

		dataflow_task_name(job, flow->from_task, from);
		dataflow_task_name(job, flow->to_task, to);
		json_array_append_new(flows, json_pack("{s:s, s:s, s:s, s:s, s:s, s:f, s:f}", "job", job->name, "from",
						       from, "to", to, "from_host", lab_node_name(lab, flow->from_host),
						       "to_host", lab_node_name(lab, flow->to_host), "predicted_MBps",
						       flow->predicted_MBps, "measured_MBps", flow->measured_MBps));
	}
	return json_pack("{s:s, s:o}", "schema", "nomora.dataflow-apply/1", "flows", flows);
}
