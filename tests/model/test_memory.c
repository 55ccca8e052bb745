/* SPDX-License-Identifier: BSD-3-Clause */
/* What is read when memory runs out: the whole file or none of it. */
#include <criterion/criterion.h>

#include <jansson.h>

#include <base/file.h>
#include <model/batch_trace.h>
#include <model/cluster.h>
#include <model/curve.h>
#include <model/dataflow.h>
#include <model/findings.h>
#include <model/jobs.h>
#include <model/latency_table.h>
#include <model/peers.h>
#include <model/recovery.h>
#include <model/rtt_samples.h>
#include <model/sweep.h>
#include <model/topology.h>
#include <model/worker.h>
#include <model/workload.h>

#include "../support/fail_in_turn.h"

static char text[1 << 16];
static size_t length;
static struct error err;

static int failed(void)
{
	return -err.code;
}

/* Consumes the value. */
static int tell_json(json_t *value, char *answer, size_t bytes)
{
	size_t used = value ? json_dumpb(value, answer, bytes - 1, JSON_SORT_KEYS) : 0;

	cr_assert_lt(used, bytes - 1);
	answer[used] = '\0';
	json_decref(value);
	return value ? 0 : -ENOMEM;
}

static int tell_curve(const void *context, char *answer, size_t bytes)
{
	struct curve *curve = curve_from_memory("c", text, length, &err);
	char *again = curve ? curve_to_text(curve, &err) : NULL;

	(void)context;
	snprintf(answer, bytes, "%s", again ? again : "");
	free(again);
	curve_destroy(curve);
	return again ? 0 : failed();
}

static int tell_sweep(const void *context, char *answer, size_t bytes)
{
	struct sweep *sweep = sweep_read(file_lines_from_memory("s", text, length, &err), &err);
	size_t used = 0;

	(void)context;
	for (size_t i = 0; sweep && i < sweep->count && used < bytes; i++)
		used += (size_t)snprintf(answer + used, bytes - used, "%zu: %g %g %d of %zu\n", sweep->metric_count,
					 sweep->rows[i].delay_us, sweep->rows[i].value, (int)sweep->rows[i].run,
					 sweep->count);
	sweep_destroy(sweep);
	return sweep ? 0 : failed();
}

static int tell_topology(const void *context, char *answer, size_t bytes)
{
	struct topology *topology = topology_parse_file("t", text, length, context ? 1250 : NAN, &err);
	int code = topology ? tell_json(topology_to_json(topology), answer, bytes) : failed();

	topology_destroy(topology);
	return code;
}

static int tell_dataflow(const void *context, char *answer, size_t bytes)
{
	struct dataflow *dataflow = dataflow_parse("d", text, length, &err);
	int code = dataflow ? tell_json(dataflow_to_json(dataflow), answer, bytes) : failed();

	(void)context;
	dataflow_destroy(dataflow);
	return code;
}

static int tell_recovery(const void *context, char *answer, size_t bytes)
{
	struct recovery_scenario *scenario = recovery_parse("r", text, length, &err);
	int code = scenario ? tell_json(recovery_to_json(scenario), answer, bytes) : failed();

	(void)context;
	recovery_destroy(scenario);
	return code;
}

static int tell_worker(const void *context, char *answer, size_t bytes)
{
	struct worker_plan *plan = worker_plan_parse("w", text, length, &err);
	int code = plan ? tell_json(worker_plan_to_json(plan), answer, bytes) : failed();

	(void)context;
	worker_plan_destroy(plan);
	return code;
}

static int tell_cluster(const void *context, char *answer, size_t bytes)
{
	struct cluster *cluster = cluster_parse("c", text, length, &err);
	size_t used = 0;

	(void)context;
	for (uint32_t m = 0; cluster && m < cluster->machine_count && used < bytes; m++)
		used += (size_t)snprintf(answer + used, bytes - used, "%s in %s of %u/%u\n", cluster->machines[m].name,
					 cluster->racks[cluster->machines[m].rack].name, cluster->rack_count,
					 cluster->pod_count);
	cluster_destroy(cluster);
	return cluster ? 0 : failed();
}

static int tell_findings(const void *context, char *answer, size_t bytes)
{
	struct findings findings = {0};
	int code = findings_parse("f", text, length, &findings, &err);
	size_t used = 0;

	(void)context;
	for (size_t i = 0; code == 0 && i < findings.count && used < bytes; i++)
		used += (size_t)snprintf(answer + used, bytes - used, "%d %s\n", findings.items[i].level,
					 findings.items[i].found);
	findings_free(&findings);
	return code;
}

/* The formats of lines. */
static int tell_lines(struct file_lines *lines, int kind, char *answer, size_t bytes)
{
	struct jobs *jobs = NULL;
	struct peers peers = {0};
	struct rtt_samples samples = {0};
	struct workload *workload = NULL;
	struct batch_report report = {0};
	size_t used = 0;
	int code = 0;

	if (kind == 0) {
		jobs = jobs_parse(lines, &err);
		for (size_t j = 0; jobs && j < jobs->count && used < bytes; j++)
			used += (size_t)snprintf(answer + used, bytes - used, "%s %s %u of %u %d\n", jobs->items[j].id,
						 jobs->items[j].curve, jobs->items[j].root, jobs->items[j].task_count,
						 jobs->items[j].graph != NULL);
		code = jobs ? 0 : failed();
		jobs_destroy(jobs);
	} else if (kind == 1) {
		code = peers_parse(lines, &peers, &err);
		for (size_t i = 0; code == 0 && i < peers.count && used < bytes; i++)
			used += (size_t)snprintf(answer + used, bytes - used, "%s %s %d\n", peers.items[i].name,
						 peers.items[i].rack, peers.items[i].has_mac);
		peers_free(&peers);
	} else if (kind == 2) {
		code = rtt_samples_parse(lines, &samples, &err);
		for (size_t i = 0; code == 0 && i < samples.count && used < bytes; i++)
			used += (size_t)snprintf(answer + used, bytes - used, "%zu %zu\n", samples.count,
						 samples.peer_count);
		rtt_samples_free(&samples);
	} else if (kind == 3) {
		struct latency_matrix *matrix = latency_matrix_parse(lines, &err);

		if (matrix)
			snprintf(answer, bytes, "%zu hosts, %zu pairs", latency_matrix_hosts(matrix),
				 latency_matrix_count(matrix));
		code = matrix ? 0 : failed();
		latency_matrix_destroy(matrix);
	} else {
		workload = workload_create();
		code = workload ? batch_trace_read(workload, BATCH_SWF, lines, false, &report, &err) : -ENOMEM;
		for (size_t t = 0; code == 0 && t < workload->task_count && used < bytes; t++)
			used += (size_t)snprintf(answer + used, bytes - used, "%lld\n",
						 (long long)workload->tasks[t].submit_us);
		workload_destroy(workload);
	}
	return code;
}

static int tell_file_of_lines(const void *kind, char *answer, size_t bytes)
{
	struct file_lines *lines = file_lines_from_memory("l", text, length, &err);
	int code = lines ? tell_lines(lines, *(const int *)kind, answer, bytes) : -ENOMEM;

	if (lines)
		file_lines_close(lines);
	return code;
}

static const struct {
	const char *file;
	allocation_call *call;
	int kind;
} files[] = {
	{"curve/fitted.json", tell_curve, 0},
	{"sweep/full.csv", tell_sweep, 0},
	{"topology_1", tell_topology, 0},
	{"../graphml/zoo.graphml", tell_topology, 1},
	{"dataflow_1", tell_dataflow, 0},
	{"recovery_1", tell_recovery, 0},
	{"worker_1", tell_worker, 0},
	{"cluster_1", tell_cluster, 0},
	{"findings_1", tell_findings, 0},
	{"jobs_1", tell_file_of_lines, 0},
	{"peers/forms.txt", tell_file_of_lines, 1},
	{"rtt_samples_1", tell_file_of_lines, 2},
	{"latency_matrix/mesh.csv", tell_file_of_lines, 3},
	{"batch_swf_1", tell_file_of_lines, 4},
};

Test(memory, lack_of_it_changes_nothing_that_is_read)
{
	/* jansson's parser does not survive it */
	json_set_alloc_funcs(__real_malloc, free);
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		char path[300];
		FILE *file;

		snprintf(path, sizeof path, "%s/tests/data/fuzz/%s", SOURCE_ROOT, files[i].file);
		file = fopen(path, "re");
		cr_assert_not_null(file, "%s", path);
		length = fread(text, 1, sizeof text - 1, file);
		text[length] = '\0';
		fclose(file);
		err = (struct error){0};
		allocations_fail(files[i].call,
				 files[i].kind || files[i].call == tell_file_of_lines ? &files[i].kind : NULL,
				 files[i].file);
	}
}
