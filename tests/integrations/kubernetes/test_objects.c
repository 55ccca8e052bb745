/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts pods and nodes, as the API server sends them, to machines and jobs of schedd. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "kubernetes_priv.h"

static struct k8s_objects objects;

static void setup(void)
{
	cr_assert_eq(k8s_objects_init(&objects, NULL), 0);
}

static void teardown(void)
{
	k8s_objects_free(&objects);
}

TestSuite(k8s_objects, .init = setup, .fini = teardown);

static json_t *read_text(const char *text)
{
	json_t *value = json_loads(text, 0, NULL);

	cr_assert(value, "%s", text);
	return value;
}

static int take(enum k8s_kind kind, const char *text)
{
	json_t *event = read_text(text);
	struct error err = {0};
	const char *version;
	int code = k8s_objects_take(&objects, kind, event, &version, &err);

	json_decref(event);
	cr_assert(code == 0 || err.text[0]);
	return code;
}

/* Takes one line of a watch; node and phase may be "". */
static int take_pod(const char *type, const char *name, const char *role, const char *node, const char *phase)
{
	json_t *event = json_pack("{s:s, s:{s:{s:s, s:s, s:s, s:{s:s, s:s, s:s}}, s:{s:s}, s:{s:s}}}", "type", type,
				  "object", "metadata", "name", name, "namespace", "shop", "resourceVersion", "7",
				  "labels", "nomora.io/job", "web", "nomora.io/curve", "memcached", "nomora.io/role",
				  role, "spec", "nodeName", node, "status", "phase", phase);
	char *text = json_dumps(event, 0);
	int code = take(K8S_PODS, text);

	json_decref(event);
	free(text);
	return code;
}

static void expect(const json_t *value, const char *wanted)
{
	char *text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);

	cr_assert_str_eq(text, wanted);
	free(text);
}

Test(k8s_objects, nodes_become_machines)
{
	json_t *items = read_text(
		"[{\"metadata\": {\"name\": \"n1\", \"labels\": {\"topology.kubernetes.io/zone\": \"z1\"}}, "
		"\"status\": "
		"{\"allocatable\": {\"pods\": \"0.11k\"}, \"conditions\": [{\"type\": \"Ready\", \"status\": "
		"\"True\"}]}}, "
		"{\"metadata\": {\"name\": \"n2\", \"labels\": {\"nomora.io/rack\": \"r9\", "
		"\"topology.kubernetes.io/zone\": \"z1\"}}, \"spec\": {\"unschedulable\": true}, \"status\": "
		"{\"allocatable\": {\"pods\": \"8e0\"}, \"conditions\": [{\"type\": \"Ready\", \"status\": "
		"\"True\"}]}}, "
		"{\"metadata\": {\"name\": \"n3\"}, \"status\": {\"allocatable\": {\"pods\": \"-3\"}, \"conditions\": "
		"[{\"type\": \"Ready\", \"status\": \"Unknown\"}]}}, {\"metadata\": {}}]");

	k8s_objects_replace(&objects, K8S_NODES, items);
	json_decref(items);
	cr_assert(objects.changed && objects.listed[K8S_NODES] && !objects.listed[K8S_PODS]);
	expect(objects.tables[K8S_NODES], "{\"n1\":{\"rack\":\"z1\",\"slots\":110,\"state\":\"up\"},"
					  "\"n2\":{\"rack\":\"r9\",\"slots\":8,\"state\":\"draining\"},"
					  "\"n3\":{\"rack\":\"\",\"slots\":0,\"state\":\"draining\"}}");
}

Test(k8s_objects, pods_count_from_binding_to_their_end)
{
	json_t *jobs;

	take_pod("ADDED", "a", "root", "", "Pending");
	cr_assert(!objects.changed);
	take_pod("MODIFIED", "a", "root", "n1", "Pending");
	take_pod("ADDED", "b", "task", "n2", "Running");
	take_pod("ADDED", "c", "task", "n2", "Running");
	cr_assert(objects.changed);
	objects.changed = false;
	take_pod("MODIFIED", "b", "task", "n2", "Running");
	cr_assert(!objects.changed);
	jobs = k8s_objects_jobs(&objects, NULL);
	expect(jobs, "{\"k8s-shop.web\":{\"curve\":\"memcached\",\"root\":\"a\",\"tasks\":{\"a\":\"n1\",\"b\":\"n2\","
		     "\"c\":\"n2\"}}}");
	json_decref(jobs);
	take_pod("MODIFIED", "b", "task", "n2", "Succeeded");
	take_pod("DELETED", "c", "task", "n2", "Running");
	jobs = k8s_objects_jobs(&objects, NULL);
	expect(jobs, "{\"k8s-shop.web\":{\"curve\":\"memcached\",\"root\":\"a\",\"tasks\":{\"a\":\"n1\"}}}");
	json_decref(jobs);
}

Test(k8s_objects, a_root_that_is_gone_stays_the_reference)
{
	json_t *before, *jobs;

	take_pod("ADDED", "b", "task", "n2", "Running");
	jobs = k8s_objects_jobs(&objects, NULL);
	expect(jobs, "{}");
	json_decref(jobs);
	take_pod("ADDED", "a", "root", "n1", "Running");
	before = k8s_objects_jobs(&objects, NULL);
	take_pod("DELETED", "a", "root", "n1", "Running");
	jobs = k8s_objects_jobs(&objects, before);
	expect(jobs, "{\"k8s-shop.web\":{\"curve\":\"memcached\",\"root\":\"a\",\"root_ended\":true,\"tasks\":{"
		     "\"a\":\"n1\",\"b\":\"n2\"}}}");
	json_decref(before);
	before = jobs;
	take_pod("ADDED", "a2", "root", "n3", "Running");
	jobs = k8s_objects_jobs(&objects, before);
	expect(jobs,
	       "{\"k8s-shop.web\":{\"curve\":\"memcached\",\"root\":\"a2\",\"tasks\":{\"a2\":\"n3\",\"b\":\"n2\"}}}");
	json_decref(before);
	json_decref(jobs);
}

Test(k8s_objects, other_lines_of_a_watch)
{
	cr_assert_eq(
		take(K8S_PODS, "{\"type\": \"BOOKMARK\", \"object\": {\"metadata\": {\"resourceVersion\": \"9\"}}}"),
		0);
	cr_assert_eq(take(K8S_PODS, "{\"type\": \"ERROR\", \"object\": {\"code\": 410}}"), -ESTALE);
	cr_assert_eq(take(K8S_PODS, "{\"type\": \"ERROR\", \"object\": {\"code\": 500}}"), -EINVAL);
	cr_assert_eq(take(K8S_PODS, "{\"type\": \"ADDED\"}"), -EINVAL);
	cr_assert_eq(take(K8S_NODES, "{\"type\": \"ADDED\", \"object\": {\"metadata\": {\"name\": \"a/b\"}}}"),
		     -EINVAL);
	cr_assert(!objects.changed);
}
