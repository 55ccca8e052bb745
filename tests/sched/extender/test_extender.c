/* SPDX-License-Identifier: BSD-3-Clause */
/* Five nodes in two racks; requests recorded from kube-scheduler 1.20 (tests/k8s). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <jansson.h>

#include <base/file.h>
#include <sched/extender/extender.h>

static struct live *live;
static struct extender *extender;
static char path[64];

static const char curve_text[] =
	"{\"schema\": \"nomora.curve/1\", \"application\": \"a\", \"metric\": \"m\", \"better\": \"higher\", \"x\": "
	"\"added_rtt_us\", \"baseline\": {\"value\": 1, \"deviation\": 0}, \"domain_us\": [0, 100], \"model\": "
	"{\"name\": \"table\", \"equation\": \"\", \"coefficients\": []}, \"table\": {\"step_us\": 10, \"p\": [1, 0.9, "
	"0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.2, 0.2]}}";

static void setup(void)
{
	static const char *const names[] = {"n1", "n2", "n3", "n4", "n5"};
	struct live_settings settings;
	struct error err = {0};
	struct curve *curve = curve_from_memory("curve", curve_text, strlen(curve_text), &err);
	int fd;

	cr_assert(curve, "%s", err.text);
	live_settings_default(&settings);
	settings.default_rtt = (struct cluster_default_rtt){0, 10, 50, 50};
	live = live_create(&settings, &err);
	for (int m = 0; m < 5; m++)
		cr_assert_eq(live_machine_set(live, names[m], m < 2 ? "r1" : "r2", "", 4, LIVE_UP, &err), 0);
	cr_assert_eq(live_curve_set(live, "memcached", curve, &err), 0);
	curve_destroy(curve);
	snprintf(path, sizeof path, "/tmp/nomora-extender.XXXXXX");
	fd = mkstemp(path);
	cr_assert(fd >= 0);
	close(fd);
	unlink(path);
	extender = extender_create(path, &err);
	cr_assert(extender, "%s", err.text);
}

static void teardown(void)
{
	extender_destroy(extender);
	live_destroy(live);
	unlink(path);
}

TestSuite(extender, .init = setup, .fini = teardown);

static json_t *filter_text(const char *body)
{
	struct error err = {0};
	char *text = extender_filter(extender, live, body, strlen(body), &err);
	json_t *answer = text ? json_loads(text, 0, NULL) : NULL;

	cr_assert(answer, "%s", err.text);
	free(text);
	return answer;
}

static char *read_request(const char *name)
{
	char file[4096];
	size_t bytes;

	snprintf(file, sizeof file, "%s/%s", getenv("NOMORA_TEST_DATA"), name);
	return file_read_all(file, 1 << 20, &bytes, NULL);
}

static json_t *filter(const char *name)
{
	char *body = read_request(name);
	json_t *answer = filter_text(body);

	free(body);
	return answer;
}

static const char *reason_in(const json_t *answer, const char *table, const char *node)
{
	const char *text = json_string_value(json_object_get(json_object_get(answer, table), node));

	return text ? text : "";
}

/* Returns why a node is rejected for which kube-scheduler must not evict other pods. */
static const char *reason(const json_t *answer, const char *node)
{
	return reason_in(answer, "FailedAndUnresolvableNodes", node);
}

static void expect_names(const json_t *answer, const char *wanted)
{
	char *text = json_dumps(json_object_get(answer, "NodeNames"), JSON_COMPACT);

	cr_assert_str_eq(text, wanted);
	free(text);
}

Test(extender, tasks_wait_for_the_root)
{
	json_t *answer = filter("filter_names.json");

	expect_names(answer, "[]");
	cr_assert_str_eq(reason(answer, "n5"), "nomora: job 'shop/web' has no root yet");
	json_decref(answer);
}

Test(extender, the_root_goes_to_the_rack_with_most_nodes_and_tasks_follow)
{
	json_t *answer = filter("filter_root.json");

	expect_names(answer, "[\"n3\"]");
	cr_assert_str_eq(reason(answer, "n4"), "nomora: the root goes to n3");
	cr_assert_str_eq(reason(answer, "n1"), "nomora: another rack has more nodes for the job");
	json_decref(answer);
	answer = filter("filter_names.json"); /* p is 1 on n3, 0.9 in its rack, 0.5 in the other rack */
	expect_names(answer, "[\"n3\"]");
	cr_assert_str_eq(reason(answer, "n4"), "nomora: predicted performance 0.90, the best is 1.00");
	cr_assert_str_eq(reason(answer, "n1"), "nomora: predicted performance 0.50, the best is 1.00");
	json_decref(answer);
}

Test(extender, measurements_decide_and_unreachable_is_not_unmeasured)
{
	struct latency_sample samples[] = {{2, 3, 90}, {2, 4, INFINITY}, {2, 0, 20}};
	json_t *answer = filter("filter_root.json");

	json_decref(answer);
	cr_assert_eq(live_latency(live, samples, 3, 10), 0);
	answer = filter_text(
		"{\"Pod\": {\"metadata\": {\"namespace\": \"shop\", \"labels\": {\"nomora.io/job\": \"web\", "
		"\"nomora.io/curve\": \"memcached\"}}}, \"NodeNames\": [\"n5\", \"n4\", \"n1\"]}");
	expect_names(answer, "[\"n1\"]");
	cr_assert_str_eq(reason(answer, "n5"), "nomora: not reachable from the job's root");
	cr_assert_str_eq(reason(answer, "n4"), "nomora: predicted performance 0.20, the best is 0.80");
	json_decref(answer);
}

Test(extender, whole_nodes_are_answered_with_whole_nodes)
{
	json_t *answer = filter("filter_root.json"), *items;

	json_decref(answer);
	answer = filter("filter_nodes.json");
	items = json_object_get(json_object_get(answer, "Nodes"), "items");
	cr_assert(json_is_null(json_object_get(answer, "NodeNames")));
	cr_assert_eq(json_array_size(items), 1);
	cr_assert_eq(
		json_array_size(json_object_get(json_object_get(json_array_get(items, 0), "status"), "conditions")), 1);
	json_decref(answer);
}

Test(extender, a_pod_that_does_not_ask_passes)
{
	json_t *answer = filter_text("{\"Pod\": {\"metadata\": {}}, \"Nodes\": null, \"NodeNames\": [\"a\", \"b\"]}");

	expect_names(answer, "[\"a\",\"b\"]");
	json_decref(answer);
}

Test(extender, roots_survive_a_restart)
{
	json_t *answer = filter("filter_root.json");
	struct error err = {0};

	json_decref(answer);
	extender_destroy(extender);
	extender = extender_create(path, &err);
	cr_assert(extender, "%s", err.text);
	answer = filter("filter_names.json");
	expect_names(answer, "[\"n3\"]");
	json_decref(answer);
}

Test(extender, scores_are_shares_of_the_best)
{
	char *body = read_request("filter_names.json"), *text;
	json_t *answer = filter("filter_root.json");

	json_decref(answer);
	text = extender_prioritize(extender, live, body, strlen(body), NULL);
	cr_assert_str_eq(text,
			 "[{\"Host\":\"n1\",\"Score\":5},{\"Host\":\"n3\",\"Score\":10},{\"Host\":\"n2\",\"Score\":5},"
			 "{\"Host\":\"n4\",\"Score\":9},{\"Host\":\"n5\",\"Score\":9}]");
	free(text);
	free(body);
}

Test(extender, bad_requests_name_their_field)
{
	static const struct {
		char body[160], expected[64];
	} rows[] = {{"{", "body:"},
		    {"{}", "missing Pod"},
		    {"{\"Pod\": {}}", "expected NodeNames or Nodes.items"},
		    {"{\"Pod\": {}, \"NodeNames\": [1]}", "NodeNames[0]"},
		    {"{\"Pod\": {}, \"NodeNames\": [{\"metadata\": {\"name\": \"n1\"}}]}", "NodeNames[0]"},
		    {"{\"Pod\": {}, \"Nodes\": {\"items\": [{\"metadata\": {\"name\": \"n1\"}}, \"n2\"]}}",
		     "Nodes.items[1]"},
		    {"{\"Pod\": {\"metadata\": {\"labels\": {\"nomora.io/curve\": 1}}}, \"NodeNames\": []}",
		     "labels[nomora.io/curve]"},
		    {"{\"Pod\": {\"metadata\": {\"labels\": {\"nomora.io/curve\": \"x\"}}}, \"NodeNames\": []}",
		     "needs nomora.io/job"},
		    {"{\"Pod\": {\"metadata\": {\"labels\": {\"nomora.io/curve\": \"x\", \"nomora.io/job\": \"y\", "
		     "\"nomora.io/role\": \"leader\"}}}, \"NodeNames\": []}",
		     "labels[nomora.io/role]: 'leader'; expected root or task"}};

	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
		struct error err = {0};

		cr_assert_null(extender_filter(extender, live, rows[r].body, strlen(rows[r].body), &err));
		cr_assert(strstr(err.text, rows[r].expected), "%s: %s", rows[r].body, err.text);
	}
}

/* Five thousand names, five of which schedd knows: the answer has all of them. */
Test(extender, five_thousand_names)
{
	json_t *names = json_array(), *request, *answer;
	char *body;

	answer = filter("filter_root.json");
	json_decref(answer);
	for (int n = 1; n <= 5000; n++)
		json_array_append_new(names, json_sprintf("n%d", n));
	request = json_pack("{s:{s:{s:s, s:{s:s, s:s}}}, s:n, s:o}", "Pod", "metadata", "namespace", "shop", "labels",
			    "nomora.io/job", "web", "nomora.io/curve", "memcached", "Nodes", "NodeNames", names);
	body = json_dumps(request, 0);
	answer = filter_text(body);
	expect_names(answer, "[\"n3\"]");
	cr_assert_eq(json_object_size(json_object_get(answer, "FailedAndUnresolvableNodes")), 4999);
	cr_assert_eq(json_object_size(json_object_get(answer, "FailedNodes")), 0);
	json_decref(answer);
	json_decref(request);
	free(body);
}

/* A request of a task, or the root, of shop/web for these nodes. */
static json_t *filter_for(const char *curve, const char *role, const char *nodes)
{
	char body[512];

	snprintf(
		body, sizeof body,
		"{\"Pod\": {\"metadata\": {\"namespace\": \"shop\", \"name\": \"p\", \"labels\": {\"nomora.io/curve\": "
		"\"%s\", \"nomora.io/job\": \"web\", \"nomora.io/role\": \"%s\"}}}, \"NodeNames\": %s}",
		curve, role, nodes);
	return filter_text(body);
}

Test(extender, a_node_that_cannot_take_a_pod_says_why)
{
	struct error err = {0};
	json_t *answer;

	cr_assert_eq(live_machine_set(live, "n1", "r1", "", 0, LIVE_UP, &err), 0);
	cr_assert_eq(live_machine_set(live, "n4", "r2", "", 4, LIVE_DRAINING, &err), 0);
	cr_assert_eq(live_machine_set(live, "n5", "r2", "", 4, LIVE_DOWN, &err), 0);
	answer = filter_for("memcached", "root", "[\"n1\", \"n2\", \"n4\", \"n5\", \"n9\"]");
	expect_names(answer, "[\"n2\"]");
	cr_expect_str_eq(reason_in(answer, "FailedNodes", "n1"), "nomora: the node has no free slot");
	cr_expect_eq(json_object_size(json_object_get(answer, "FailedNodes")), 1);
	cr_expect_str_eq(reason(answer, "n4"), "nomora: the node is draining or down");
	cr_expect_str_eq(reason(answer, "n5"), "nomora: the node is draining or down");
	cr_expect_str_eq(reason(answer, "n9"), "nomora: schedd does not know the node");
	json_decref(answer);
	answer = filter_for("none", "task", "[\"n1\"]");
	cr_expect_str_eq(reason(answer, "n1"), "nomora: unknown curve 'none'");
	json_decref(answer);
	answer = filter_for("memcached", "task", "[\"n8\", \"n9\"]");
	cr_expect_str_eq(reason(answer, "n9"), "nomora: schedd knows none of the nodes");
	json_decref(answer);
}

/* To evict a pod helps on a full node, but not if that node is unreachable, or the pod is refused everywhere. */
Test(extender, an_eviction_is_proposed_only_where_it_helps)
{
	struct latency_sample unreachable = {1, 0, INFINITY};
	struct error err = {0};
	json_t *answer;

	cr_assert_eq(live_machine_set(live, "n1", "r1", "", 0, LIVE_UP, &err), 0);
	cr_assert_eq(live_machine_set(live, "n3", "r2", "", 0, LIVE_UP, &err), 0);
	answer = filter_for("memcached", "task", "[\"n1\", \"n3\"]");
	cr_expect_str_eq(reason(answer, "n3"), "nomora: job 'shop/web' has no root yet");
	cr_expect_eq(json_object_size(json_object_get(answer, "FailedNodes")), 0);
	json_decref(answer);
	json_decref(filter_for("memcached", "root", "[\"n2\"]"));
	cr_assert_eq(live_latency(live, &unreachable, 1, 0), 0);
	answer = filter_for("memcached", "task", "[\"n1\", \"n3\"]");
	expect_names(answer, "[]");
	cr_expect_str_eq(reason(answer, "n1"), "nomora: not reachable from the job's root");
	cr_expect_str_eq(reason_in(answer, "FailedNodes", "n3"), "nomora: the node has no free slot");
	json_decref(answer);
}

/* Asks which of the nodes n1 to n5 (and n9) remain, each with the victim uN; expects them in this order. */
static void expect_victims(const char *curve, const char *role, const char *expected)
{
	json_t *victims = json_object(), *request, *answer;
	char *body, *text, names[64] = "";
	struct error err = {0};
	const char *name;

	for (const char *n = "123459"; *n; n++)
		json_object_set_new(victims, (char[]){'n', *n, '\0'},
				    json_pack("{s:[{s:s++}], s:i}", "Pods", "UID", "u", (char[]){*n, '\0'}, "",
					      "NumPDBViolations", 1));
	request = json_pack("{s:{s:{s:s, s:{s:s, s:s, s:s}}}, s:n, s:o}", "Pod", "metadata", "namespace", "shop",
			    "labels", "nomora.io/job", "web", "nomora.io/curve", curve, "nomora.io/role", role,
			    "NodeNameToVictims", "NodeNameToMetaVictims", victims);
	body = json_dumps(request, 0);
	text = extender_preempt(extender, live, body, strlen(body), &err);
	cr_assert(text, "%s", err.text);
	answer = json_loads(text, 0, NULL);
	json_object_foreach (json_object_get(answer, "NodeNameToMetaVictims"), name, victims) {
		cr_expect(
			json_equal(victims, json_object_get(json_object_get(request, "NodeNameToMetaVictims"), name)));
		strcat(strcat(names, names[0] ? " " : ""), name);
	}
	cr_expect_str_eq(names, expected, "%s", text);
	json_decref(answer);
	json_decref(request);
	free(text);
	free(body);
}

/* n2 is full, which an eviction changes; n5 is draining, and schedd does not know n9. */
Test(extender, pods_are_evicted_only_on_nodes_that_the_filter_then_passes)
{
	struct error err = {0};

	cr_assert_eq(live_machine_set(live, "n2", "r1", "", 0, LIVE_UP, &err), 0);
	cr_assert_eq(live_machine_set(live, "n5", "r2", "", 4, LIVE_DRAINING, &err), 0);
	expect_victims("memcached", "task", "");
	expect_victims("none", "root", "");
	expect_victims("memcached", "root", "n1 n2 n3 n4");
	json_decref(filter_for("memcached", "root", "[\"n1\"]"));
	expect_victims("memcached", "task", "n1");
	cr_assert_eq(live_machine_set(live, "n1", "r1", "", 4, LIVE_DOWN, &err), 0);
	expect_victims("memcached", "task", "n2");
}

/* Without nodeCacheCapable, kube-scheduler sends complete pods and expects their UIDs. */
Test(extender, complete_victims_are_answered_with_their_uids)
{
	static const char *const rows[][2] = {
		{"{\"Pod\": {}, \"NodeNameToVictims\": {\"n1\": {\"Pods\": [{\"metadata\": {\"name\": \"a\", \"uid\": "
		 "\"u1\"}}], \"NumPDBViolations\": 2}}, \"NodeNameToMetaVictims\": null}",
		 "{\"NodeNameToMetaVictims\":{\"n1\":{\"Pods\":[{\"UID\":\"u1\"}],\"NumPDBViolations\":2}}}"},
		{"{\"Pod\": {}, \"NodeNameToMetaVictims\": {\"n1\": {\"Pods\": [{\"UID\": \"u1\"}], "
		 "\"NumPDBViolations\": "
		 "0}}}",
		 "{\"NodeNameToMetaVictims\":{\"n1\":{\"Pods\":[{\"UID\":\"u1\"}],\"NumPDBViolations\":0}}}"}};
	static const char *const bad[][2] = {
		{"{\"Pod\": {}, \"NodeNames\": []}", "expected NodeNameToMetaVictims or NodeNameToVictims"},
		{"{\"Pod\": {}, \"NodeNameToVictims\": {\"n1\": {\"Pods\": [{}]}}}",
		 "NodeNameToVictims[n1].Pods[0]: expected a pod with a UID"}};
	struct error err = {0};
	char *text;

	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
		text = extender_preempt(extender, live, rows[r][0], strlen(rows[r][0]), &err);
		cr_assert(text, "%s", err.text);
		cr_expect_str_eq(text, rows[r][1]);
		free(text);
	}
	for (size_t r = 0; r < sizeof bad / sizeof *bad; r++) {
		cr_expect_null(extender_preempt(extender, live, bad[r][0], strlen(bad[r][0]), &err));
		cr_expect(strstr(err.text, bad[r][1]), "%s", err.text);
	}
}

/* The agent's report counts more than the filter's choice, which was n2: the root runs, and then has ended, on n4. */
Test(extender, the_root_is_where_the_agent_has_reported_it)
{
	struct job_task tasks[] = {{.name = (char *)"a", .machine = 3}, {.name = (char *)"b", .machine = 0}};
	struct job job = {.id = (char *)"k8s-shop.web", .curve = (char *)"memcached", .tasks = tasks, .task_count = 2};
	struct error err = {0};
	json_t *answer = filter_for("memcached", "root", "[\"n2\"]");

	expect_names(answer, "[\"n2\"]");
	json_decref(answer);
	answer = filter_for("memcached", "task", "[\"n1\", \"n2\", \"n4\", \"n5\"]");
	expect_names(answer, "[\"n2\"]");
	json_decref(answer);
	cr_assert_eq(live_submit(live, &job, 0, false, 0, &err), 0, "%s", err.text);
	for (int ended = 0; ended < 2; ended++) {
		answer = filter_for("memcached", "task", "[\"n1\", \"n2\", \"n4\", \"n5\"]");
		expect_names(answer, "[\"n4\"]");
		cr_expect_str_eq(reason(answer, "n5"), "nomora: predicted performance 0.90, the best is 1.00");
		cr_expect_str_eq(reason(answer, "n2"), "nomora: predicted performance 0.50, the best is 1.00");
		json_decref(answer);
		cr_assert_eq(live_ended(live, "k8s-shop.web", ended ? "b" : "a", &err), 0, "%s", err.text);
	}
}

/* Mean performance of tasks on the rack's nodes: n3 (1 + 0.4 + 0.2) / 3, n4 (1 + 0.4 + 0.8) / 3, n5 (1 + 0.2 + 0.8)
 * / 3. */
Test(extender, the_root_goes_where_tasks_in_its_rack_would_be_nearest)
{
	static const char body[] =
		"{\"Pod\": {\"metadata\": {\"namespace\": \"shop\", \"name\": \"p\", \"labels\": {\"nomora.io/curve\": "
		"\"memcached\", \"nomora.io/job\": \"web\", \"nomora.io/role\": \"root\"}}}, \"NodeNames\": [\"n1\", "
		"\"n2\", \"n3\", \"n4\", \"n5\"]}";
	struct latency_sample samples[] = {{2, 3, 60}, {2, 4, 80}, {3, 4, 20}};
	static const int scores[] = {0, 0, 7, 10, 9};
	struct error err = {0};
	json_t *answer, *entry;
	size_t at;
	char *text;

	cr_assert_eq(live_latency(live, samples, 3, 0), 0);
	text = extender_prioritize(extender, live, body, strlen(body), &err);
	cr_assert(text, "%s", err.text);
	answer = json_loads(text, 0, NULL);
	cr_assert_eq(json_array_size(answer), 5);
	json_array_foreach (answer, at, entry)
		cr_expect_eq(json_integer_value(json_object_get(entry, "Score")), scores[at], "%s", text);
	json_decref(answer);
	free(text);
	answer = filter_text(body);
	expect_names(answer, "[\"n4\"]");
	json_decref(answer);
}
