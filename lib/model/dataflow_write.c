/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes nomora.dataflow/1 as JSON; fields that have their default values are left out. */
#include <model/dataflow.h>

#include <math.h>

static void set_number(json_t *object, const char *key, double value, double fallback)
{
	if (value != fallback)
		json_object_set_new(object, key, json_real(value));
}

static json_t *hosts_json(const struct dataflow *dataflow)
{
	json_t *hosts = json_array();

	for (uint32_t n = 0; n < dataflow->topology->node_count; n++) {
		json_t *host;

		if (dataflow->topology->nodes[n].kind != TOPOLOGY_HOST)
			continue;
		host = json_pack("{s:s, s:I}", "name", dataflow->topology->nodes[n].name, "slots",
				 (json_int_t)dataflow->slots[n]);
		set_number(host, "cpu", dataflow->cpu[n], INFINITY);
		json_array_append_new(hosts, host);
	}
	return hosts;
}

static json_t *component_json(const struct dataflow_component *component)
{
	json_t *object = json_pack("{s:s, s:I}", "name", component->name, "tasks", (json_int_t)component->task_count);

	set_number(object, "MBps", component->MBps, INFINITY);
	set_number(object, "MB", component->MB, INFINITY);
	set_number(object, "cpu_s_per_MB", component->cpu_s_per_MB, 0);
	return object;
}

static json_t *edge_json(const struct dataflow_job *job, const struct dataflow_edge *edge)
{
	json_t *object = json_pack("{s:s, s:s, s:s}", "from", job->components[edge->from].name, "to",
				   job->components[edge->to].name, "grouping", dataflow_grouping_name(edge->grouping));

	set_number(object, "skew", edge->skew, 0);
	set_number(object, "selectivity", edge->selectivity, 1);
	return object;
}

static json_t *job_json(const struct dataflow *dataflow, const struct dataflow_job *job)
{
	json_t *components = json_array(), *edges = json_array(), *placement = json_object(), *object;
	char name[2 * DATAFLOW_NAME_BYTES];

	for (uint32_t c = 0; c < job->component_count; c++)
		json_array_append_new(components, component_json(&job->components[c]));
	for (uint32_t e = 0; e < job->edge_count; e++)
		json_array_append_new(edges, edge_json(job, &job->edges[e]));
	for (uint32_t t = 0; t < job->task_count; t++) {
		if (job->hosts[t] == DATAFLOW_NOWHERE)
			continue;
		dataflow_task_name(job, t, name);
		json_object_set_new(placement, name, json_string(dataflow->topology->nodes[job->hosts[t]].name));
	}
	object = json_pack("{s:s, s:o, s:o}", "name", job->name, "components", components, "edges", edges);
	set_number(object, "weight", job->weight, 1);
	set_number(object, "arrival_s", job->arrival_s, 0);
	if (job->shares_slots)
		json_object_set_new(object, "shares_slots", json_true());
	if (job->curve)
		json_object_set_new(object, "curve", json_string(job->curve));
	if (json_object_size(placement) > 0)
		json_object_set(object, "placement", placement);
	json_decref(placement);
	return object;
}

json_t *dataflow_to_json(const struct dataflow *dataflow)
{
	json_t *jobs = json_array();

	for (uint32_t j = 0; j < dataflow->job_count; j++)
		json_array_append_new(jobs, job_json(dataflow, &dataflow->jobs[j]));
	return json_pack("{s:s, s:o, s:I, s:o, s:o}", "schema", "nomora.dataflow/1", "topology",
			 topology_to_json(dataflow->topology), "seed", (json_int_t)dataflow->seed, "hosts",
			 hosts_json(dataflow), "jobs", jobs);
}
