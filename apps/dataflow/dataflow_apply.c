/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --apply: the plan on a routed lab. Its routes are set in the switches; then every flow between two hosts is a TCP
 * transfer at the rate that the plan predicts for it, all at once. The plan holds if each ends in the time predicted.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include <base/array.h>
#include <base/json.h>
#include <lab/lab.h>
#include <lab/dataflow/fabric.h>
#include <lab/routes/routes.h>
#include <lab/transfer.h>

#include "../command.h"
#include "dataflow.h"

static const double MB = 1e6, patience_s = 30;

struct sending {
	const struct plan_job *job;
	struct dataflow_flow flow;
	int from, to; /* hosts of the lab */
	double MBps;  /* predicted */
};

struct applied {
	const struct dataflow_settings *settings;
	struct dataflow_plan *plan;
	struct lab lab;
	struct fabric fabric;
	struct sending *sendings;
	size_t sending_count, sending_capacity;
	struct routes *switches;
	struct transfers *transfers;
};

static int add_sendings(struct applied *a, const struct plan_job *job, struct error *err)
{
	const struct dataflow_by_source *carried = &job->graph->carried;

	for (uint32_t f = 0; f < job->graph->flow_count; f++) {
		struct sending sending = {.job = job, .flow = job->graph->flows[f]};
		struct sending *all = array_grow(a->sendings, a->sending_count, &a->sending_capacity, sizeof *all);

		if (!all)
			return error_set(err, ENOMEM, "out of memory");
		a->sendings = all;
		sending.from = a->fabric.node_of[job->job->hosts[sending.flow.from]];
		sending.to = a->fabric.node_of[job->job->hosts[sending.flow.to]];
		for (uint32_t i = carried->first[f]; i < carried->first[f + 1]; i++)
			sending.MBps += carried->rate[i] * job->MBps[carried->source[i]];
		if (sending.from != sending.to && sending.MBps > 0)
			all[a->sending_count++] = sending;
	}
	return 0;
}

static int set_routes(struct applied *a, struct error *err)
{
	int code = fabric_list_routes(&a->fabric, a->plan->network, err);

	if (code != 0)
		return code;
	a->switches = routes_open(&a->lab, err);
	if (!a->switches)
		return error_code(err, EIO);
	code = routes_set(a->switches, a->fabric.routes, a->fabric.route_count, NULL, err);
	return code == 0 ? routes_check(a->switches, a->fabric.routes, a->fabric.route_count, err) : code;
}

static int start_transfers(struct applied *a, struct error *err)
{
	double *rate = malloc((a->sending_count + 1) * sizeof *rate);
	int code = rate ? 0 : error_set(err, ENOMEM, "out of memory");

	a->transfers = rate ? transfers_create(&a->lab, (uint32_t)a->sending_count, err) : NULL;
	if (rate && !a->transfers)
		code = error_code(err, EIO);
	for (uint32_t i = 0; code == 0 && i < a->sending_count; i++) {
		rate[i] = a->sendings[i].MBps;
		transfers_set_hosts(a->transfers, i, a->sendings[i].from, a->sendings[i].to);
	}
	if (code == 0)
		code = transfers_set_rates(a->transfers, rate, err);
	for (uint32_t i = 0; code == 0 && i < a->sending_count; i++)
		code = transfers_start(a->transfers, i, (uint64_t)llround(rate[i] * a->settings->seconds * MB) + 1,
				       err);
	free(rate);
	return code;
}

static int wait_for_transfers(struct applied *a, struct error *err)
{
	struct ns limit = ns_add(ns_now_monotonic(), ns_from_us(1e6 * (10 * a->settings->seconds + patience_s)));
	uint32_t open = 1;

	while (open > 0) {
		int code = transfers_poll(a->transfers, ns_from_us(20000), err);

		if (code < 0)
			return code;
		open = 0;
		for (uint32_t i = 0; i < a->sending_count; i++) {
			const struct sending *sending = &a->sendings[i];
			enum transfer_state state = transfers_get(a->transfers, i)->state;

			open += state == TRANSFER_RUNNING;
			if (state == TRANSFER_FAILED)
				return error_set(err, EIO, "the transfer from %s to %s failed",
						 lab_node_name(&a->lab, sending->from),
						 lab_node_name(&a->lab, sending->to));
		}
		if (open > 0 && ns_now_monotonic().v > limit.v)
			return error_set(err, ETIMEDOUT, "%u transfers did not end", open);
	}
	return 0;
}

static double measured_MBps(const struct applied *a, uint32_t i)
{
	const struct transfer *transfer = transfers_get(a->transfers, i);

	return (double)transfer->bytes / MB / ns_to_s(ns_sub(transfer->ended, transfer->started));
}

static int print(const struct applied *a)
{
	json_t *flows = json_array(), *root;
	char from[2 * DATAFLOW_NAME_BYTES], to[2 * DATAFLOW_NAME_BYTES], *text;

	if (!a->settings->json)
		printf("%-12s %-16s %-16s %-8s %-8s %14s %14s\n", "JOB", "FROM", "TO", "HOST", "HOST", "PREDICTED MB/s",
		       "MEASURED MB/s");
	for (uint32_t i = 0; i < a->sending_count; i++) {
		const struct sending *sending = &a->sendings[i];
		const struct dataflow_job *job = sending->job->job;
		const char *first = lab_node_name(&a->lab, sending->from),
			   *second = lab_node_name(&a->lab, sending->to);

		dataflow_task_name(job, sending->flow.from, from);
		dataflow_task_name(job, sending->flow.to, to);
		if (!a->settings->json)
			printf("%-12s %-16s %-16s %-8s %-8s %14.3f %14.3f\n", job->name, from, to, first, second,
			       sending->MBps, measured_MBps(a, i));
		json_array_append_new(flows,
				      json_pack("{s:s, s:s, s:s, s:s, s:s, s:f, s:f}", "job", job->name, "from", from,
						"to", to, "from_host", first, "to_host", second, "predicted_MBps",
						sending->MBps, "measured_MBps", measured_MBps(a, i)));
	}
	root = json_pack("{s:s, s:o}", "schema", "nomora.dataflow-apply/1", "flows", flows);
	text = root ? json_to_text(root) : NULL;
	json_decref(root);
	if (text && a->settings->json)
		puts(text);
	free(text);
	return text ? 0 : -ENOMEM;
}

static int apply(struct applied *a, struct error *err)
{
	int code = fabric_init(&a->fabric, &a->lab, a->plan->network, err);

	for (uint32_t j = 0; j < a->plan->job_count && code == 0; j++)
		code = add_sendings(a, &a->plan->jobs[j], err);
	if (code == 0)
		code = set_routes(a, err);
	if (code == 0)
		code = start_transfers(a, err);
	if (code == 0)
		code = wait_for_transfers(a, err);
	if (code == 0 && print(a) < 0)
		code = error_set(err, ENOMEM, "out of memory");
	transfers_destroy(a->transfers);
	if (!a->settings->keep_routes && a->switches &&
	    routes_set(a->switches, NULL, 0, NULL, code == 0 ? err : NULL) < 0 && code == 0)
		code = error_code(err, EIO);
	routes_close(a->switches);
	return code;
}

int dataflow_read_lab(const char *name, struct lab *lab, struct error *err)
{
	if (geteuid() != 0)
		return error_set(err, EPERM, "--apply enters network namespaces and needs root: run it with sudo");
	if (lab_read(name, lab, err) != 0)
		return error_code(err, EIO);
	if (lab->switch_count == 0)
		return error_set(err, EINVAL,
				 "lab '%s' has bridges; --apply needs a routed one: nomora lab up --fabric "
				 "NETWORK --link-MBps R",
				 name);
	return lab_check_links(lab, err);
}

int dataflow_apply(const struct dataflow_settings *settings, struct dataflow_plan *plan, struct error *err)
{
	struct applied a = {.settings = settings, .plan = plan};
	int code = dataflow_read_lab(settings->lab, &a.lab, err);

	if (code == 0)
		code = apply(&a, err);
	fabric_clear(&a.fabric);
	free(a.sendings);
	return code;
}
