/* SPDX-License-Identifier: BSD-3-Clause */
/* Predicted and measured rates of an applied plan, as text and as JSON. */
#include <lab/dataflow/run.h>

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
