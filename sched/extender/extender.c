/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/extender/extender.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/json.h>
#include <base/text_stream.h>

#include "extender_priv.h"

enum { ROOTS_MOST = 10000, SCORE_MOST = 10, WHY_BYTES = 512 };
/*
 * Nodes count as equally good if their predicted performance is at most this much below the best. schedd's costs are no
 * finer: they are 100 / performance, rounded.
 */
#define TIE 0.01

struct extender {
	char *path;
	json_t *roots; /* object: the node of the root, by job; oldest first */
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

/* Rates all nodes of the request. If this is impossible, returns false and writes the reason to why[]. */
static bool rate(const struct extender *extender, const struct live *live, const struct extender_request *request,
		 struct rated *rated, char why[static WHY_BYTES])
{
	const struct curve *curve = live_curve(live, request->curve);
	int64_t root = find_root(extender, live, request->job);
	bool any = false;

	for (size_t n = 0; n < request->count; n++) {
		rated[n] = rate_find(live, request->names[n], request->victims != NULL);
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
		if (!rated[n].full && rated[n].performance > 0 &&
		    (best == count || rated[n].performance > rated[best].performance))
			best = n;
	return best;
}

/* True if node n would be a candidate if a pod on it ended. */
static bool eviction_helps(const struct extender_request *request, const struct rated *rated, size_t n, const char *why)
{
	return !why[0] && rated[n].full && (request->is_root || rated[n].performance > 0);
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
		fputs("nomora: the node is draining or down", out);
	else if (rated[n].machine < 0)
		fputs("nomora: schedd does not know the node", out);
	else if (eviction_helps(request, rated, n, why))
		fputs("nomora: the node has no free slot", out);
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
	if (request->is_root && !request->victims)
		return n == best;
	if (request->is_root)
		return rated[n].machine >= 0;
	return !rated[n].full && rated[n].performance >= rated[best].performance - TIE;
}

/* Prints the nodes that do not pass, as members of an object: those on which an eviction helps, or the others. */
static void print_failed(FILE *out, const struct extender_request *request, const struct rated *rated, size_t best,
			 const char *why, bool helps)
{
	const char *before = "";

	for (size_t n = 0; n < request->count; n++) {
		if (passes(request, rated, best, n) || eviction_helps(request, rated, n, why) != helps)
			continue;
		fprintf(out, "%s\"%s\":\"", before, request->names[n]);
		print_reason(out, request, rated, best, n, why);
		fputc('"', out);
		before = ",";
	}
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
	char *text = NULL;
	size_t bytes;
	FILE *out = text_stream_open(&text, &bytes);

	if (!out)
		return NULL;
	fputs(request->nodes ? "{\"Nodes\":{\"metadata\":{},\"items\":[" : "{\"Nodes\":null,\"NodeNames\":[", out);
	print_kept(out, request, rated, best);
	fputs(request->nodes ? "]},\"NodeNames\":null,\"FailedNodes\":{" : "],\"FailedNodes\":{", out);
	print_failed(out, request, rated, best, why, true);
	fputs("},\"FailedAndUnresolvableNodes\":{", out);
	print_failed(out, request, rated, best, why, false);
	fputs("},\"Error\":\"\"}", out);
	fclose(out);
	return text;
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
	FILE *out = rated ? text_stream_open(&text, &bytes) : NULL;

	if (out)
		fputc('[', out);
	for (size_t n = 0; out && n < request->count; n++) {
		double share = best < request->count && !rated[n].full && rated[n].performance > 0
				       ? rated[n].performance / rated[best].performance
				       : 0;

		fprintf(out, "%s{\"Host\":\"%s\",\"Score\":%ld}", n > 0 ? "," : "", request->names[n],
			lround(SCORE_MOST * share));
	}
	free(rated);
	if (out)
		fputc(']', out);
	if (out)
		fclose(out);
	return text;
}

/* Returns the ExtenderPreemptionResult. */
static char *preempt(const struct extender *extender, const struct live *live, const struct extender_request *request)
{
	struct rated *rated = calloc(request->count + 1, sizeof *rated);
	char why[WHY_BYTES], *text = NULL;
	json_t *kept = json_object(), *answer;
	size_t best = request->count;

	if (rated && request->job && rate(extender, live, request, rated, why))
		best = find_best(rated, request->count);
	for (size_t n = 0; rated && n < request->count; n++)
		if (passes(request, request->job ? rated : NULL, best, n))
			json_object_set(kept, request->names[n], json_object_get(request->victims, request->names[n]));
	answer = rated ? json_pack("{s:O}", "NodeNameToMetaVictims", kept) : NULL;
	text = json_dump_whole(answer, JSON_COMPACT);
	json_decref(answer);
	json_decref(kept);
	free(rated);
	return text;
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

char *extender_preempt(struct extender *extender, const struct live *live, const char *body, size_t bytes,
		       struct error *err)
{
	struct extender_request request;
	char *text = NULL;

	if (extender_request_read_preemption(&request, body, bytes, err) == 0) {
		text = preempt(extender, live, &request);
		if (!text)
			error_set(err, ENOMEM, "out of memory");
	}
	extender_request_free(&request);
	return text;
}
