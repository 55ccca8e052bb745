/* SPDX-License-Identifier: BSD-3-Clause */
/* The measured rates of a Flink job: what each vertex sends, from the metrics of Flink's REST interface. */
#include <model/dataflow.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>
#include <base/json.h>

enum { FILE_BYTES_MAXIMUM = 1 << 20, PLACE_BYTES = 32 };

int dataflow_parse_flink_rate(const char *name, const char *text, size_t bytes, double *MBps, struct error *err)
{
	static const char metric[] = "numBytesOutPerSecond";
	struct error scratch = {0};
	struct json_reader reader = {.file = name, .err = err ? err : &scratch};
	json_t *root = json_read_text(name, 0, text, bytes, reader.err);
	char where[PLACE_BYTES] = "";
	size_t i = 0;

	if (!root)
		return error_code(reader.err, EINVAL);
	if (!json_is_array(root))
		json_fail(&reader, "", "", "expected a list of metrics");
	for (; i < json_array_size(root) && !reader.failed; i++) {
		const json_t *object = json_array_get(root, i);

		const char *id;

		snprintf(where, sizeof where, "[%zu]", i);
		id = json_need_string(&reader, object, where, "id");
		if (id && strcmp(id, metric) == 0) {
			*MBps = json_need_number(&reader, object, where, "sum", 0, 1e15) / 1e6;
			break;
		}
	}
	if (i == json_array_size(root))
		json_fail(&reader, "", "", "no metric %s", metric);
	json_decref(root);
	return reader.failed ? error_code(reader.err, EINVAL) : 0;
}

/* How many bytes the edge carries per byte of an edge of selectivity 1 that sends each byte to one task. */
static double weight_of(const struct dataflow_job *job, const struct dataflow_edge *edge)
{
	return edge->selectivity * (edge->grouping == DATAFLOW_ALL ? job->components[edge->to].task_count : 1);
}

/*
 * out[c]: MB/s that component c sends; in[c], weights[c]: zeros. A vertex's rate is divided among its outputs as if
 * each got the same records.
 */
static int set_rates(struct dataflow_job *job, const char *folder, const double *out, double *in, double *weights,
		     struct error *err)
{
	for (uint32_t e = 0; e < job->edge_count; e++)
		weights[job->edges[e].from] += weight_of(job, &job->edges[e]);
	for (uint32_t e = 0; e < job->edge_count; e++) {
		const struct dataflow_edge *edge = &job->edges[e];

		in[edge->to] += out[edge->from] * weight_of(job, edge) / weights[edge->from];
	}
	for (uint32_t c = 0; c < job->component_count; c++) {
		struct dataflow_component *component = &job->components[c];
		bool source = true;

		for (uint32_t e = 0; e < job->edge_count; e++)
			source = source && job->edges[e].to != c;
		if (weights[c] == 0)
			continue;
		if (source ? out[c] == 0 : in[c] == 0 && out[c] > 0)
			return error_set(err, EINVAL, "%s/%s.json: %s", folder, component->name,
					 source ? "the source sends nothing: its rate is unknown"
						: "sends data, but its inputs send nothing");
		if (source)
			component->MBps = out[c] / weights[c] / component->task_count;
		for (uint32_t e = 0; e < job->edge_count && !source && in[c] > 0; e++)
			if (job->edges[e].from == c)
				job->edges[e].selectivity *= out[c] / weights[c] / in[c];
	}
	return 0;
}

static int read_rate(const char *folder, const char *vertex, double *MBps, struct error *err)
{
	char path[PATH_MAX], *text;
	size_t bytes;
	int code;

	if (snprintf(path, sizeof path, "%s/%s.json", folder, vertex) >= (int)sizeof path)
		return error_set(err, ENAMETOOLONG, "%s: the path is too long", folder);
	text = file_read_all(path, FILE_BYTES_MAXIMUM, &bytes, err);
	code = text ? dataflow_parse_flink_rate(path, text, bytes, MBps, err) : error_code(err, EIO);
	free(text);
	return code;
}

int dataflow_read_flink_rates(struct dataflow_job *job, const char *folder, struct error *err)
{
	double *out = calloc(3 * (job->component_count + 1u), sizeof *out);
	int code = out ? 0 : error_set(err, ENOMEM, "out of memory");

	for (uint32_t e = 0; e < job->edge_count && code == 0; e++) {
		uint32_t c = job->edges[e].from;

		if (out[c] == 0)
			code = read_rate(folder, job->components[c].name, &out[c], err);
	}
	if (code == 0)
		code = set_rates(job, folder, out, out + job->component_count, out + 2 * (size_t)job->component_count,
				 err);
	free(out);
	return code;
}
