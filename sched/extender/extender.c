/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/extender/extender.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/json.h>

#include "request.h"

enum {
	ROOTS_MOST = 10000,
	RACK_LOOKED_AT = 64 /* maximum number of candidates to compare for a root; the time is quadratic */,
	SCORE_MOST = 10,
	WHY_BYTES = 512
};
/*
 * Nodes count as equally good if their predicted performance is at most this much below the best. schedd's costs are no
 * finer: they are 100 / performance, rounded.
 */
#define TIE 0.01

struct extender {
	char *path;
	json_t *roots; /* object: the node of the root, by job; oldest first */
};

/*
 * One node of a request. performance: predicted, 0..1, with two special values:
 * - NAN: the node is not a candidate
 * - 0: the node is not reachable from the root or, in a request for a root, was not compared (rate_roots())
 */
struct rated {
	int64_t machine; /* the node's machine number; -1: schedd does not know the node, or `closed` */
	bool closed;     /* the machine is draining or down, or all its slots are in use */
	double performance;
};

static int read_roots(struct extender *extender, struct error *err)
{
	struct json_reader reader = {.file = extender->path, .err = err};
	const json_t *roots, *node;
	const char *job;
	json_t *root;

	if (access(extender->path, F_OK) < 0)
		return 0;
	root = json_read_file(extender->path, err);
	if (!root)
		return error_code(err, EINVAL);
	json_need_schema(&reader, root, "nomora.roots/1");
	roots = json_need_object(&reader, root, "", "roots");
	json_object_foreach ((json_t *)roots, job, node)
		if (!json_is_string(node))
			json_fail(&reader, "roots", job, "expected a node's name");
	if (!reader.failed)
		json_object_update(extender->roots, (json_t *)roots);
	json_decref(root);
	return reader.failed ? -EINVAL : 0;
}

struct extender *extender_create(const char *path, struct error *err)
{
	struct extender *extender = calloc(1, sizeof *extender);

	if (extender) {
		extender->path = strdup(path);
		extender->roots = json_object();
	}
	if (!extender || !extender->path || !extender->roots)
		error_set(err, ENOMEM, "out of memory");
	else if (read_roots(extender, err) == 0)
		return extender;
	extender_destroy(extender);
	return NULL;
}

void extender_destroy(struct extender *extender)
{
	if (!extender)
		return;
	json_decref(extender->roots);
	free(extender->path);
	free(extender);
}

/*
 * Stores the node of a job's root in the file. Called before the answer is sent: kube-scheduler then binds the root's
 * pod to this node, and requests for the job's tasks need the node, even if schedd has crashed in between.
 */
static int keep_root(struct extender *extender, const char *job, const char *node, struct error *err)
{
	const char *known = json_string_value(json_object_get(extender->roots, job));
	json_t *file;

	if (known && strcmp(known, node) == 0)
		return 0;
	json_object_del(extender->roots, job); /* added again at the end: the object is ordered by age */
	while (json_object_size(extender->roots) >= ROOTS_MOST)
		json_object_del(extender->roots, json_object_iter_key(json_object_iter(extender->roots)));
	json_object_set_new(extender->roots, job, json_string(node));
	file = json_pack("{s:s, s:O}", "schema", "nomora.roots/1", "roots", extender->roots);
	return json_write_file_new(extender->path, file, err);
}

static double predict(const struct live *live, const struct curve *curve, int64_t root, int64_t machine)
{
	enum latency_origin origin;
	double rtt_us = latency_view_get(live_view(live), (uint32_t)root, (uint32_t)machine, &origin);

	return isinf(rtt_us) ? 0 : curve_interpolate(curve, curve_added_rtt_us(curve, rtt_us));
}

static uint32_t rack_of(const struct live *live, int64_t machine)
{
	return live_cluster(live)->machines[machine].rack;
}

/* Returns the rack with the most candidates. Sets *candidates to their number. */
static uint32_t best_rack(const struct live *live, const struct rated *rated, size_t count, size_t *candidates)
{
	uint32_t racks = live_cluster(live)->rack_count, best = 0;
	size_t *counts = calloc((size_t)racks + 1, sizeof *counts);

	*candidates = 0;
	for (size_t n = 0; counts && n < count; n++)
		if (rated[n].machine >= 0 && ++counts[rack_of(live, rated[n].machine)] > *candidates) {
			best = rack_of(live, rated[n].machine);
			*candidates = counts[best];
		}
	free(counts);
	return best;
}

/*
 * Rates candidates for a root. Compares the first RACK_LOOKED_AT candidates of the best rack; all other candidates get
 * 0. The performance of a node is the mean predicted performance of tasks on the compared candidates if the root is on
 * this node. A task on the node itself counts as 1.
 */
static void rate_roots(const struct live *live, const struct curve *curve, struct rated *rated, size_t count)
{
	size_t candidates, members[RACK_LOOKED_AT], member_count = 0;
	uint32_t rack = best_rack(live, rated, count, &candidates);

	for (size_t n = 0; n < count; n++) {
		if (rated[n].machine < 0)
			continue;
		rated[n].performance = 0;
		if (candidates > 0 && rack_of(live, rated[n].machine) == rack && member_count < RACK_LOOKED_AT)
			members[member_count++] = n;
	}
	for (size_t a = 0; a < member_count; a++) {
		double sum = 1; /* a task on the node itself */

		for (size_t b = 0; b < member_count; b++)
			if (b != a)
				sum += predict(live, curve, rated[members[a]].machine, rated[members[b]].machine);
		rated[members[a]].performance = sum / (double)member_count;
	}
}

static void rate_tasks(const struct live *live, const struct curve *curve, int64_t root, struct rated *rated,
		       size_t count)
{
	for (size_t n = 0; n < count; n++)
		if (rated[n].machine >= 0)
			rated[n].performance = predict(live, curve, root, rated[n].machine);
}

/*
 * Returns the machine on which the job's root runs or ended, as nomora k8s-agent reported to schedd. If the agent has
 * not reported it yet, returns the node that the filter chose for the root. Returns -1 if there is neither.
 */
static int64_t find_root(const struct extender *extender, const struct live *live, const char *name)
{
	const char *node = json_string_value(json_object_get(extender->roots, name));
	const struct live_job *job;
	char *id;

	if (asprintf(&id, "k8s-%s", name) < 0)
		return -1;
	*strchr(id, '/') = '.';
	job = live_find_job(live, id);
	free(id);
	if (job && job->reference >= 0)
		return job->reference;
	if (job && job->tasks[job->root].state == LIVE_RUNNING)
		return job->tasks[job->root].machine;
	return node ? cluster_find_machine(live_cluster(live), node) : -1;
}

static struct rated find_machine(const struct live *live, const char *name)
{
	struct rated rated = {.machine = cluster_find_machine(live_cluster(live), name), .performance = NAN};
	uint32_t machine = (uint32_t)rated.machine;

	rated.closed = rated.machine >= 0 &&
		       (live_machine_state_of(live, machine) != LIVE_UP ||
			live_machine_tasks(live, machine) >= live_cluster(live)->machines[machine].slots);
	rated.machine = rated.closed ? -1 : rated.machine;
	return rated;
}

/* Rates all nodes of the request. If this is impossible, returns false and writes the reason to why[]. */
static bool rate(const struct extender *extender, const struct live *live, const struct extender_request *request,
		 struct rated *rated, char why[static WHY_BYTES])
{
	const struct curve *curve = live_curve(live, request->curve);
	int64_t root = find_root(extender, live, request->job);
	bool any = false;

	for (size_t n = 0; n < request->count; n++) {
		rated[n] = find_machine(live, request->names[n]);
		any = any || rated[n].machine >= 0 || rated[n].closed;
	}
	why[0] = '\0';
	if (!curve)
		snprintf(why, WHY_BYTES, "nomora: unknown curve '%s'", request->curve);
	else if (!any)
		snprintf(why, WHY_BYTES, "nomora: schedd knows none of the nodes");
	else if (!request->is_root && root < 0)
		snprintf(why, WHY_BYTES, "nomora: job '%s' has no root yet", request->job);
	else if (request->is_root)
		rate_roots(live, curve, rated, request->count);
	else
		rate_tasks(live, curve, root, rated, request->count);
	return why[0] == '\0';
}

/* Returns the index of the node with the best performance, or `count` if no node has a performance above 0. */
static size_t find_best(const struct rated *rated, size_t count)
{
	size_t best = count;

	for (size_t n = 0; n < count; n++)
		if (rated[n].performance > 0 && (best == count || rated[n].performance > rated[best].performance))
			best = n;
	return best;
}

/*
 * Prints the reason why node n does not pass. Answers are printed directly: to build them as JSON values would take
 * twice the time for thousands of nodes. Names need no escaping.
 */
static void print_reason(FILE *out, const struct extender_request *request, const struct rated *rated, size_t best,
			 size_t n, const char *why)
{
	if (why[0])
		fputs(why, out);
	else if (rated[n].closed)
		fputs("nomora: the node has no free slot, or is draining or down", out);
	else if (isnan(rated[n].performance))
		fputs("nomora: schedd does not know the node", out);
	else if (best == request->count || rated[n].performance == 0)
		fputs(request->is_root ? "nomora: another rack has more nodes for the job"
				       : "nomora: not reachable from the job's root",
		      out);
	else if (request->is_root)
		fprintf(out, "nomora: the root goes to %s", request->names[best]);
	else
		fprintf(out, "nomora: predicted performance %.2f, the best is %.2f", rated[n].performance,
			rated[best].performance);
}

static bool passes(const struct extender_request *request, const struct rated *rated, size_t best, size_t n)
{
	if (!rated)
		return true;
	if (best == request->count)
		return false;
	return request->is_root ? n == best : rated[n].performance >= rated[best].performance - TIE;
}

static void print_kept(FILE *out, const struct extender_request *request, const struct rated *rated, size_t best)
{
	const char *before = "";

	for (size_t n = 0; n < request->count; n++) {
		if (!passes(request, rated, best, n))
			continue;
		fputs(before, out);
		if (request->nodes)
			json_dumpf(json_array_get(request->nodes, n), out, JSON_COMPACT);
		else
			fprintf(out, "\"%s\"", request->names[n]);
		before = ",";
	}
}

/*
 * Returns the ExtenderFilterResult: the nodes that pass (complete nodes or names, as in the request), and the other
 * nodes with the reasons why they do not. rated NULL: all nodes pass.
 */
static char *filter_result(const struct extender_request *request, const struct rated *rated, size_t best,
			   const char *why)
{
	const char *before = "";
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	fputs(request->nodes ? "{\"Nodes\":{\"metadata\":{},\"items\":[" : "{\"Nodes\":null,\"NodeNames\":[", out);
	print_kept(out, request, rated, best);
	fputs(request->nodes ? "]},\"NodeNames\":null,\"FailedNodes\":{" : "],\"FailedNodes\":{", out);
	for (size_t n = 0; n < request->count; n++) {
		if (passes(request, rated, best, n))
			continue;
		fprintf(out, "%s\"%s\":\"", before, request->names[n]);
		print_reason(out, request, rated, best, n, why);
		fputc('"', out);
		before = ",";
	}
	fputs("},\"Error\":\"\"}", out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

static char *filter(struct extender *extender, const struct live *live, const struct extender_request *request,
		    struct error *err)
{
	struct rated *rated;
	char why[WHY_BYTES], *text;
	size_t best;

	if (!request->job)
		return filter_result(request, NULL, 0, "");
	rated = calloc(request->count + 1, sizeof *rated);
	if (!rated)
		return NULL;
	best = rate(extender, live, request, rated, why) ? find_best(rated, request->count) : request->count;
	text = filter_result(request, rated, best, why);
	if (text && request->is_root && best < request->count &&
	    keep_root(extender, request->job, request->names[best], err) < 0) {
		free(text);
		text = NULL;
	}
	free(rated);
	return text;
}

/*
 * Returns the HostPriorityList. A node's score is SCORE_MOST times its performance divided by the best performance. The
 * nodes that pass the filter have nearly the same score; scores matter if kube-scheduler ignores the filter.
 */
static char *prioritize(const struct extender *extender, const struct live *live,
			const struct extender_request *request)
{
	struct rated *rated = calloc(request->count + 1, sizeof *rated);
	char why[WHY_BYTES], *text = NULL;
	bool can = rated && request->job && rate(extender, live, request, rated, why);
	size_t best = can ? find_best(rated, request->count) : request->count, bytes;
	FILE *out = rated ? open_memstream(&text, &bytes) : NULL;

	if (out)
		fputc('[', out);
	for (size_t n = 0; out && n < request->count; n++) {
		double share = best < request->count && rated[n].performance > 0
				       ? rated[n].performance / rated[best].performance
				       : 0;

		fprintf(out, "%s{\"Host\":\"%s\",\"Score\":%ld}", n > 0 ? "," : "", request->names[n],
			lround(SCORE_MOST * share));
	}
	free(rated);
	if (out)
		fputc(']', out);
	if (out && fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

char *extender_filter(struct extender *extender, const struct live *live, const char *body, size_t bytes,
		      struct error *err)
{
	struct extender_request request;
	char *text = NULL;

	if (extender_request_read(&request, body, bytes, err) == 0) {
		text = filter(extender, live, &request, err);
		if (!text && err && !err->code)
			error_set(err, ENOMEM, "out of memory");
	}
	extender_request_free(&request);
	return text;
}

char *extender_prioritize(struct extender *extender, const struct live *live, const char *body, size_t bytes,
			  struct error *err)
{
	struct extender_request request;
	char *text = NULL;

	if (extender_request_read(&request, body, bytes, err) == 0) {
		text = prioritize(extender, live, &request);
		if (!text)
			error_set(err, ENOMEM, "out of memory");
	}
	extender_request_free(&request);
	return text;
}
