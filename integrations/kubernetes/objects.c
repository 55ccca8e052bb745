/* SPDX-License-Identifier: BSD-3-Clause */
#include "kubernetes_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/name.h>

enum { NAME_BYTES = 254 /* Kubernetes' own limit */, SLOTS_MOST = 1000000 };

int k8s_objects_init(struct k8s_objects *objects, struct error *err)
{
	*objects = (struct k8s_objects){{json_object(), json_object()}, {false}, false};
	return objects->tables[K8S_NODES] && objects->tables[K8S_PODS] ? 0 : error_set(err, ENOMEM, "out of memory");
}

void k8s_objects_free(struct k8s_objects *objects)
{
	for (int kind = 0; kind < K8S_KINDS; kind++)
		json_decref(objects->tables[kind]);
}

const char *k8s_text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text && name_is_valid(text, NAME_BYTES) && !strpbrk(text, "/?#%\\") ? text : "";
}

static const json_t *labels_of(const json_t *object)
{
	return json_object_get(json_object_get(object, "metadata"), "labels");
}

static bool is_ready(const json_t *status)
{
	const json_t *condition;
	size_t at;

	json_array_foreach (json_object_get(status, "conditions"), at, condition)
		if (strcmp(k8s_text_of(condition, "type"), "Ready") == 0)
			return strcmp(k8s_text_of(condition, "status"), "True") == 0;
	return false;
}

/* Returns the value of a Quantity, such as "110", "1k", "1e3" or "1Ki"; 0 if it is not valid. */
static double quantity(const char *text)
{
	static const struct {
		const char *suffix;
		double factor;
	} units[] = {{"", 1},        {"n", 1e-9},    {"u", 1e-6},    {"m", 1e-3},   {"k", 1e3},     {"M", 1e6},
		     {"G", 1e9},     {"T", 1e12},    {"P", 1e15},    {"E", 1e18},   {"Ki", 0x1p10}, {"Mi", 0x1p20},
		     {"Gi", 0x1p30}, {"Ti", 0x1p40}, {"Pi", 0x1p50}, {"Ei", 0x1p60}};
	char *end;
	double value = strtod(text, &end);

	if (strspn(text, "+-0123456789.eE") < (size_t)(end - text))
		return 0; /* hexadecimal numbers, inf and nan */
	for (size_t u = 0; end > text && u < sizeof units / sizeof units[0]; u++)
		if (strcmp(end, units[u].suffix) == 0)
			return value * units[u].factor;
	return 0;
}

/*
 * A node that is not ready becomes draining and not down, because it may still run its pods. If it does not come back,
 * Kubernetes deletes the pods.
 */
static json_t *describe_node(const json_t *object)
{
	const json_t *status = json_object_get(object, "status"), *labels = labels_of(object);
	double pods = quantity(k8s_text_of(json_object_get(status, "allocatable"), "pods"));
	bool closed = json_is_true(json_object_get(json_object_get(object, "spec"), "unschedulable"));
	const char *rack = k8s_text_of(labels, "nomora.io/rack");

	if (!rack[0])
		rack = k8s_text_of(labels, "topology.kubernetes.io/zone");
	pods = pods < 0 ? 0 : pods > SLOTS_MOST ? SLOTS_MOST : pods;
	return json_pack("{s:i, s:s, s:s}", "slots", (int)pods, "state",
			 closed || !is_ready(status) ? "draining" : "up", "rack", rack);
}

/*
 * Returns a pod's entry for the table. Returns NULL if the pod occupies no slot: it has ended, is not bound to a node,
 * or lacks one of nomora's labels.
 */
static json_t *describe_pod(const json_t *object)
{
	const json_t *metadata = json_object_get(object, "metadata"), *labels = labels_of(object);
	const char *name = k8s_text_of(metadata, "name"), *space = k8s_text_of(metadata, "namespace"),
		   *job = k8s_text_of(labels, "nomora.io/job"), *curve = k8s_text_of(labels, "nomora.io/curve"),
		   *node = k8s_text_of(json_object_get(object, "spec"), "nodeName"),
		   *phase = k8s_text_of(json_object_get(object, "status"), "phase");
	bool ended = strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;

	if (ended || !space[0] || !job[0] || !curve[0] || !node[0])
		return NULL;
	return json_pack("{s:s++++, s:s, s:b, s:s, s:s}", "job", "k8s-", space, ".", job, "", "curve", curve, "root",
			 strcmp(k8s_text_of(labels, "nomora.io/role"), "root") == 0, "task", name, "node", node);
}

/* Returns the key of an object in its table; the caller frees. NULL: the object has no name. */
static char *key_of(enum k8s_kind kind, const json_t *object)
{
	const json_t *metadata = json_object_get(object, "metadata");
	const char *name = k8s_text_of(metadata, "name"), *space = k8s_text_of(metadata, "namespace");
	size_t bytes = strlen(name) + strlen(space) + 2;
	char *key = name[0] ? malloc(bytes) : NULL;

	if (!key)
		return NULL;
	key[0] = '\0';
	if (kind == K8S_PODS)
		strcat(strcat(key, space), "/");
	return strcat(key, name);
}

static json_t *describe(enum k8s_kind kind, const json_t *object)
{
	return kind == K8S_NODES ? describe_node(object) : describe_pod(object);
}

void k8s_objects_replace(struct k8s_objects *objects, enum k8s_kind kind, const json_t *items)
{
	json_t *table = json_object(), *entry;
	const json_t *item;
	size_t at;

	json_array_foreach (items, at, item) {
		char *key = key_of(kind, item);

		if (key && (entry = describe(kind, item)))
			json_object_set_new(table, key, entry);
		free(key);
	}
	objects->changed = objects->changed || !objects->listed[kind] || !json_equal(table, objects->tables[kind]);
	objects->listed[kind] = true;
	json_decref(objects->tables[kind]);
	objects->tables[kind] = table;
}

/*
 * Stores an entry, or deletes it if `entry` is NULL. Sets `changed` only if the entry differs: most updates of an
 * object, such as a node's heartbeat, do not change its entry.
 */
static void set_entry(struct k8s_objects *objects, enum k8s_kind kind, const char *key, json_t *entry)
{
	json_t *table = objects->tables[kind], *known = json_object_get(table, key);

	if (entry ? json_equal(entry, known) : !known) {
		json_decref(entry);
		return;
	}
	objects->changed = true;
	if (entry)
		json_object_set_new(table, key, entry);
	else
		json_object_del(table, key);
}

int k8s_objects_take(struct k8s_objects *objects, enum k8s_kind kind, const json_t *event, const char **version,
		     struct error *err)
{
	const char *type = k8s_text_of(event, "type");
	const json_t *object = json_object_get(event, "object");
	char *key;

	*version = json_string_value(json_object_get(json_object_get(object, "metadata"), "resourceVersion"));
	if (strcmp(type, "BOOKMARK") == 0)
		return 0;
	if (strcmp(type, "ERROR") == 0)
		return json_integer_value(json_object_get(object, "code")) == 410
			       ? error_set(err, ESTALE, "the resourceVersion is too old")
			       : error_set(err, EINVAL, "the API server ended the watch with an error");
	key = key_of(kind, object);
	if (!key)
		return error_set(err, EINVAL, "a watch sent an object without a name");
	set_entry(objects, kind, key, strcmp(type, "DELETED") == 0 ? NULL : describe(kind, object));
	free(key);
	return 0;
}

/* Adds a pod to its job. If several pods of a job claim to be the root, the first one is used. */
static void add_pod(json_t *jobs, const json_t *pod)
{
	const char *id = json_string_value(json_object_get(pod, "job"));
	json_t *job = json_object_get(jobs, id);

	if (!job) {
		job = json_pack("{s:O, s:{}}", "curve", json_object_get(pod, "curve"), "tasks");
		json_object_set_new(jobs, id, job);
	}
	json_object_set(json_object_get(job, "tasks"), json_string_value(json_object_get(pod, "task")),
			json_object_get(pod, "node"));
	if (json_is_true(json_object_get(pod, "root")) && !json_object_get(job, "root"))
		json_object_set(job, "root", json_object_get(pod, "task"));
}

/*
 * If none of the job's pods is the root, takes the root from `before`, the same job in the previous result. Returns
 * false if that has no root either.
 */
static bool complete(json_t *job, const json_t *before)
{
	const char *root = json_string_value(json_object_get(before, "root"));
	json_t *tasks = json_object_get(job, "tasks");

	if (json_object_get(job, "root"))
		return true;
	if (!root)
		return false;
	json_object_set_new(job, "root", json_string(root));
	if (!json_object_get(tasks, root)) {
		json_object_set(tasks, root, json_object_get(json_object_get(before, "tasks"), root));
		json_object_set_new(job, "root_ended", json_true());
	}
	return true;
}

json_t *k8s_objects_jobs(const struct k8s_objects *objects, const json_t *before)
{
	json_t *jobs = json_object(), *job;
	const json_t *pod;
	const char *id;
	void *next;

	json_object_foreach (objects->tables[K8S_PODS], id, pod)
		add_pod(jobs, pod);
	json_object_foreach_safe(jobs, next, id, job) if (!complete(job, json_object_get(before, id)))
		json_object_del(jobs, id);
	return jobs;
}
