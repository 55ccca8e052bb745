/* SPDX-License-Identifier: BSD-3-Clause */
#include "extender_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/json.h>
#include <base/name.h>

/* Kubernetes' limit for names, and the NUL. */
enum { NAME_BYTES = 254 };

/*
 * Finds a member that has one of two spellings. Some versions of kube-scheduler send "Pod" and some "pod", because Go's
 * decoder accepts both.
 */
static const json_t *member(const json_t *object, const char *key, const char *other)
{
	const json_t *value = json_object_get(object, key);

	return value ? value : json_object_get(object, other);
}

/* Returns a member's text, or "" if the member is absent, or NULL with err set if the text is not a valid name. */
static const char *name_in(const json_t *object, const char *key, const char *where, struct error *err)
{
	const json_t *value = json_object_get(object, key);
	const char *text = json_string_value(value);

	if (!value)
		return "";
	if (text && name_is_valid(text, NAME_BYTES) && !strchr(text, '\\'))
		return text;
	error_set(err, EINVAL, "%s[%s]: expected a name", where, key);
	return NULL;
}

static int read_labels(struct extender_request *request, const json_t *pod, struct error *err)
{
	const json_t *metadata = json_object_get(pod, "metadata"), *labels = json_object_get(metadata, "labels");
	static const char where[] = "Pod.metadata.labels";
	const char *space = name_in(metadata, "namespace", "Pod.metadata", err);
	const char *job = name_in(labels, "nomora.io/job", where, err),
		   *curve = name_in(labels, "nomora.io/curve", where, err),
		   *role = name_in(labels, "nomora.io/role", where, err);

	if (!space || !job || !curve || !role)
		return -EINVAL;
	if (!curve[0])
		return 0;
	if (!job[0])
		return error_set(err, EINVAL, "Pod.metadata.labels: nomora.io/curve needs nomora.io/job");
	if (role[0] && strcmp(role, "root") != 0 && strcmp(role, "task") != 0)
		return error_set(err, EINVAL, "Pod.metadata.labels[nomora.io/role]: '%s'; expected root or task", role);
	request->is_root = role[0] == 'r';
	request->curve = curve;
	if (asprintf(&request->job, "%s/%s", space[0] ? space : "default", job) >= 0)
		return 0;
	request->job = NULL;
	return error_set(err, ENOMEM, "out of memory");
}

/* Returns the node's name in an entry of the request's list, Nodes.items or NodeNames. */
static const char *name_of(const struct extender_request *request, const json_t *entry)
{
	return json_string_value(request->nodes ? json_object_get(json_object_get(entry, "metadata"), "name") : entry);
}

static int read_names(struct extender_request *request, const json_t *list, const char *field, struct error *err)
{
	const json_t *entry;
	size_t at;

	request->names = calloc(json_array_size(list) + 1, sizeof *request->names);
	if (!request->names)
		return error_set(err, ENOMEM, "out of memory");
	json_array_foreach (list, at, entry) {
		const char *name = name_of(request, entry);

		if (!name || !name_is_valid(name, NAME_BYTES) || strchr(name, '\\'))
			return error_set(err, EINVAL, "%s[%zu]: expected a node's name", field, at);
		request->names[request->count++] = name;
	}
	return 0;
}

static int read_nodes(struct extender_request *request, struct error *err)
{
	const json_t *names = member(request->root, "NodeNames", "nodenames"),
		     *nodes = member(request->root, "Nodes", "nodes");

	if (!names)
		names = json_object_get(request->root, "nodeNames");
	if (json_is_array(names))
		return read_names(request, names, "NodeNames", err);
	request->nodes = json_object_get(nodes, "items");
	if (json_is_array(request->nodes))
		return read_names(request, request->nodes, "Nodes.items", err);
	return error_set(err, EINVAL, "expected NodeNames or Nodes.items");
}

/* Returns the MetaVictims (the pods' UIDs) of a node, from its MetaVictims or its Victims (complete pods). */
static json_t *read_victims(const json_t *victims, bool complete, const char *field, const char *node,
			    struct error *err)
{
	json_t *pods = json_array();
	const json_t *pod;
	size_t at;

	json_array_foreach (json_object_get(victims, "Pods"), at, pod) {
		json_t *uid = complete ? json_object_get(json_object_get(pod, "metadata"), "uid")
				       : json_object_get(pod, "UID");

		if (!json_is_string(uid)) {
			error_set(err, EINVAL, "%s[%s].Pods[%zu]: expected a pod with a UID", field, node, at);
			json_decref(pods);
			return NULL;
		}
		json_array_append_new(pods, json_pack("{s:O}", "UID", uid));
	}
	return json_pack("{s:o, s:I}", "Pods", pods, "NumPDBViolations",
			 json_integer_value(json_object_get(victims, "NumPDBViolations")));
}

static int read_candidates(struct extender_request *request, struct error *err)
{
	const json_t *table = json_object_get(request->root, "NodeNameToMetaVictims"), *victims;
	bool complete = !json_is_object(table);
	const char *field = complete ? "NodeNameToVictims" : "NodeNameToMetaVictims", *node;

	table = complete ? json_object_get(request->root, field) : table;
	if (!json_is_object(table))
		return error_set(err, EINVAL, "expected NodeNameToMetaVictims or NodeNameToVictims");
	request->victims = json_object();
	request->names = calloc(json_object_size(table) + 1, sizeof *request->names);
	if (!request->victims || !request->names)
		return error_set(err, ENOMEM, "out of memory");
	json_object_foreach ((json_t *)table, node, victims) {
		json_t *meta = read_victims(victims, complete, field, node, err);

		if (!meta)
			return -EINVAL;
		json_object_set_new(request->victims, node, meta);
		request->names[request->count++] = node;
	}
	return 0;
}

static int read_request(struct extender_request *request, const char *body, size_t bytes,
			int (*read_list)(struct extender_request *request, struct error *err), struct error *err)
{
	const json_t *pod;
	int code;

	*request = (struct extender_request){.root = json_read_text("body", 0, body, bytes, err)};
	if (!request->root)
		return error_code(err, EINVAL);
	pod = member(request->root, "Pod", "pod");
	if (!json_is_object(pod))
		return error_set(err, EINVAL, "missing Pod; expected extender/v1's ExtenderArgs");
	code = read_list(request, err);
	return code == 0 ? read_labels(request, pod, err) : code;
}

int extender_request_read(struct extender_request *request, const char *body, size_t bytes, struct error *err)
{
	return read_request(request, body, bytes, read_nodes, err);
}

int extender_request_read_preemption(struct extender_request *request, const char *body, size_t bytes,
				     struct error *err)
{
	return read_request(request, body, bytes, read_candidates, err);
}

void extender_request_free(struct extender_request *request)
{
	json_decref(request->root);
	json_decref(request->victims);
	free(request->names);
	free(request->job);
}
