/* SPDX-License-Identifier: BSD-3-Clause */
/* --apply: the plan on a routed lab, and a table of predicted and measured rates. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <jansson.h>

#include <base/json.h>
#include <lab/dataflow/apply.h>
#include <lab/lab.h>
#include <lab/transfer.h>

#include "../command.h"
#include "dataflow.h"

static int print(const struct lab *lab, const struct apply_result *result, bool as_json)
{
	json_t *flows = json_array(), *root;
	char from[2 * DATAFLOW_NAME_BYTES], to[2 * DATAFLOW_NAME_BYTES], *text;

	if (!as_json)
		printf("%-12s %-16s %-16s %-8s %-8s %14s %14s\n", "JOB", "FROM", "TO", "HOST", "HOST", "PREDICTED MB/s",
		       "MEASURED MB/s");
	for (size_t i = 0; i < result->flow_count; i++) {
		const struct applied_flow *flow = &result->flows[i];
		const struct dataflow_job *job = flow->job->job;
		const char *first = lab_node_name(lab, flow->from_host), *second = lab_node_name(lab, flow->to_host);

		dataflow_task_name(job, flow->from_task, from);
		dataflow_task_name(job, flow->to_task, to);
		if (!as_json)
			printf("%-12s %-16s %-16s %-8s %-8s %14.3f %14.3f\n", job->name, from, to, first, second,
			       flow->predicted_MBps, flow->measured_MBps);
		json_array_append_new(flows,
				      json_pack("{s:s, s:s, s:s, s:s, s:s, s:f, s:f}", "job", job->name, "from", from,
						"to", to, "from_host", first, "to_host", second, "predicted_MBps",
						flow->predicted_MBps, "measured_MBps", flow->measured_MBps));
	}
	root = json_pack("{s:s, s:o}", "schema", "nomora.dataflow-apply/1", "flows", flows);
	text = root ? json_to_text(root) : NULL;
	json_decref(root);
	if (text && as_json)
		puts(text);
	free(text);
	return text ? 0 : -ENOMEM;
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
	struct apply_result result = {0};
	struct lab *lab = malloc(sizeof *lab);
	int code = lab ? dataflow_read_lab(settings->lab, lab, err) : error_set(err, ENOMEM, "out of memory");

	if (code == 0)
		code = apply_plan(lab, plan, settings->seconds, settings->keep_routes, &result, err);
	if (result.measured && print(lab, &result, settings->json) < 0 && code == 0)
		code = error_set(err, ENOMEM, "out of memory");
	apply_result_clear(&result);
	free(lab);
	return code;
}
