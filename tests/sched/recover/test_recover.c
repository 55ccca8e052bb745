/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a scenario from its source to the printed answer. */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sched/recover/recover.h>

static struct recover_settings settings = {
	.eta = 1, .runs = 3, .seed = 1, .generate = "servers=6,apps=2,tasks=4,failed=2,seed=3"};

static struct recovery_scenario *load(void)
{
	struct error err = {0};
	struct recovery_scenario *s = recover_load(&settings, &err);

	cr_assert_not_null(s, "%s", err.text);
	return s;
}

Test(recover, the_worst_server_comes_first)
{
	struct recovery_scenario *s = load();
	struct error err = {0};
	char *text = NULL, *line, *rest = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	double last = 1e300, p;
	uint32_t lines = 0;

	cr_assert_eq(recover_each_server(s, &settings, out, &err), 0, "%s", err.text);
	fclose(out);
	line = strtok_r(text, "\n", &rest);
	cr_assert_eq(sscanf(line, "before any failure p %lf s", &p), 1, "%s", line);
	strtok_r(NULL, "\n", &rest);
	while ((line = strtok_r(NULL, "\n", &rest))) {
		cr_assert_eq(sscanf(line, "%*s %*u %lf optimal", &p), 1, "%s", line);
		cr_expect_leq(p, last, "%s", line);
		last = p;
		lines++;
	}
	cr_expect_eq(lines, s->server_count);
	free(text);
	recovery_destroy(s);
}

Test(recover, a_proof_is_printed_apart_from_the_answer)
{
	struct recovery_scenario *s = load();
	struct error err = {0};
	char *answer = NULL, *proof = NULL;
	size_t answer_bytes, proof_bytes;
	FILE *out = open_memstream(&answer, &answer_bytes), *proof_out = open_memstream(&proof, &proof_bytes);
	bool infeasible = false;

	for (uint32_t n = 0; n < s->server_count; n++)
		s->servers[n].cpu = 0.5;
	cr_assert_eq(recover_run(s, &settings, out, proof_out, &infeasible, &err), 0, "%s", err.text);
	fclose(out);
	fclose(proof_out);
	cr_expect(infeasible);
	cr_expect_eq(strncmp(answer, "infeasible: 2 failed tasks", 26), 0, "%s", answer);
	cr_expect_not_null(strstr(proof, "no surviving server has enough CPU"), "%s", proof);
	free(answer);
	free(proof);
	recovery_destroy(s);
}

Test(recover, a_server_that_must_not_fail_is_named)
{
	struct error err = {0};

	settings.fail = "s99";
	cr_expect_null(recover_load(&settings, &err));
	cr_expect_eq(err.code, ENOENT);
	cr_expect_not_null(strstr(err.text, "unknown server 's99'"), "%s", err.text);
}

/*
 * A has two thirds of each link, B one third. Task x (CPU 2) fits on S3 and S4. Its flow of 100 MB needs 2/3 s at unit
 * share on the ingress of S1, 1/3 s on the egress of S4, and 4/3 s on that of S3.
 */
static const char hand[] =
	"{\"schema\": \"nomora.recovery/1\", \"servers\": ["
	"{\"name\": \"S1\", \"cpu\": 3, \"egress_MBps\": 100, \"ingress_MBps\": 100},"
	"{\"name\": \"S2\", \"cpu\": 2, \"egress_MBps\": 100, \"ingress_MBps\": 100},"
	"{\"name\": \"S3\", \"cpu\": 3, \"egress_MBps\": 50, \"ingress_MBps\": 200},"
	"{\"name\": \"S4\", \"cpu\": 2, \"egress_MBps\": 200, \"ingress_MBps\": 100}],"
	"\"applications\": [{\"name\": \"A\", \"weight\": 2, \"tasks\": ["
	"{\"name\": \"x\", \"cpu\": 2, \"server\": \"S2\"}, {\"name\": \"y\", \"server\": \"S1\"}],"
	"\"flows\": [{\"from\": \"x\", \"to\": \"y\", \"MB\": 100, \"sent_MB\": 60}]},"
	"{\"name\": \"B\", \"tasks\": [{\"name\": \"u\", \"server\": \"S1\"}, {\"name\": \"v\", \"server\": \"S3\"}],"
	"\"flows\": [{\"from\": \"u\", \"to\": \"v\", \"MB\": 80, \"sent_MB\": 30}]}],"
	"\"failed_servers\": [\"S2\"]}";

enum call { RUN, EACH_SERVER };

/* The text that a call prints on `out`; `proof` gets what it prints as a proof. Both are for the caller to free. */
static char *print(struct recovery_scenario *s, enum call call, bool json, bool compare, char **proof)
{
	struct recover_settings how = {.eta = 1, .runs = 40, .seed = 1, .json = json, .compare = compare};
	struct error err = {0};
	char *text = NULL;
	size_t bytes, proof_bytes;
	FILE *out = open_memstream(&text, &bytes), *proof_out = open_memstream(proof, &proof_bytes);
	bool infeasible;

	if (call == RUN)
		cr_assert_eq(recover_run(s, &how, out, proof_out, &infeasible, &err), 0, "%s", err.text);
	else
		cr_assert_eq(recover_each_server(s, &how, out, &err), 0, "%s", err.text);
	fclose(out);
	fclose(proof_out);
	return text;
}

static char *print_text(struct recovery_scenario *s, enum call call)
{
	char *proof, *text = print(s, call, false, false, &proof);

	free(proof);
	return text;
}

static json_t *print_json(struct recovery_scenario *s, enum call call, bool compare)
{
	char *proof, *text = print(s, call, true, compare, &proof);
	json_t *root = json_loads(text, 0, NULL);

	cr_assert_not_null(root, "%s", text);
	free(text);
	free(proof);
	return root;
}

static struct recovery_scenario *parse_hand(void)
{
	struct error err = {0};
	struct recovery_scenario *s = recovery_parse("hand.json", hand, sizeof hand - 1, &err);

	cr_assert_not_null(s, "%s", err.text);
	return s;
}

Test(recover, an_answer_is_printed_with_times_bottlenecks_and_alternatives)
{
	struct recovery_scenario *s = parse_hand();
	char *text = print_text(s, RUN), *rest = strchr(text, '\n');

	cr_assert_eq(strncmp(text, "optimal: 1 failed task, ", 24), 0, "%s", text);
	cr_assert_not_null(rest);
	cr_expect_str_eq(rest + 1, "p 0.666667 s (gap 0 %), S* 1.5; before the failure p 0.266667 s, S* 3.75\n"
				   "transfer times: A 1 s, B 2 s\n"
				   "bottlenecks: S1 ingress\n"
				   "task             server           load   next best                random\n"
				   "A.x              S4         0.333333     S3: p 1.33333 (+100.0 %) p 1 over 2\n");
	free(text);
	s->servers[3].egress_MBps = 100; /* a second bottleneck */
	text = print_text(s, RUN);
	cr_expect_not_null(strstr(text, "\nbottlenecks: S1 ingress, S4 egress\n"), "%s", text);
	cr_expect_not_null(strstr(text, "A.x              S4         0.666667 *   S3: "), "%s", text);
	free(text);
	recovery_destroy(s);
}

static double number_of(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	cr_assert(json_is_number(value), "%s", name);
	return json_number_value(value);
}

static const char *text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	cr_assert_not_null(text, "%s", name);
	return text;
}

static void expect_number(const json_t *object, const char *name, double wanted)
{
	cr_expect_float_eq(number_of(object, name), wanted, 1e-9, "%s: %.12g", name, number_of(object, name));
}

Test(recover, an_answer_as_json_has_the_same_figures)
{
	struct recovery_scenario *s = parse_hand();
	json_t *root = print_json(s, RUN, false);
	const json_t *why = json_array_get(json_object_get(root, "why"), 0), *rates = json_object_get(root, "rates");

	cr_expect_str_eq(text_of(root, "status"), "optimal");
	cr_expect_str_eq(text_of(root, "filter"), "exact");
	expect_number(root, "failed", 1);
	expect_number(root, "p", 2.0 / 3);
	expect_number(root, "S", 1.5);
	expect_number(root, "p_before", 4.0 / 15);
	expect_number(root, "S_before", 3.75);
	expect_number(root, "bound", 2.0 / 3);
	expect_number(root, "gap", 0);
	expect_number(root, "touched_load_s", 1.0 / 3);
	expect_number(root, "network_MB", 100);
	cr_expect(json_is_true(json_object_get(root, "ties_proved")));
	cr_expect_str_eq(text_of(json_object_get(root, "placement"), "A.x"), "S4");
	expect_number(json_object_get(root, "transfer_time_s"), "A", 1);
	expect_number(json_object_get(root, "transfer_time_s"), "B", 2);
	cr_expect_eq(json_array_size(json_object_get(root, "bottlenecks")), 1);
	cr_expect_str_eq(text_of(json_array_get(json_object_get(root, "bottlenecks"), 0), "direction"), "ingress");
	cr_expect_str_eq(text_of(why, "task"), "A.x");
	cr_expect_str_eq(text_of(why, "server"), "S4");
	expect_number(why, "load_s", 1.0 / 3);
	cr_expect_str_eq(text_of(json_object_get(why, "next_best"), "server"), "S3");
	expect_number(json_object_get(why, "next_best"), "p", 4.0 / 3);
	expect_number(why, "random_p", 1);
	expect_number(why, "servers", 2);
	cr_assert_eq(json_array_size(rates), 2);
	cr_expect_str_eq(text_of(json_array_get(rates, 0), "from"), "x");
	cr_expect_str_eq(text_of(json_array_get(rates, 0), "to"), "y");
	cr_expect_str_eq(text_of(json_array_get(rates, 1), "application"), "B");
	expect_number(json_array_get(rates, 0), "MBps", 100);
	expect_number(json_array_get(rates, 1), "MBps", 25);
	cr_expect_null(json_object_get(root, "proof"));
	json_decref(root);
	s->servers[3].egress_MBps = 100;
	root = print_json(s, RUN, false);
	cr_expect_eq(json_array_size(json_object_get(root, "bottlenecks")), 2);
	cr_expect_str_eq(text_of(json_array_get(json_object_get(root, "bottlenecks"), 1), "server"), "S4");
	cr_expect_str_eq(text_of(json_array_get(json_object_get(root, "bottlenecks"), 1), "direction"), "egress");
	json_decref(root);
	recovery_destroy(s);
}

/*
 * Random placements are S3 or S4; eta 1 keeps S4. With fixed rates, A ends after 1 s and B after 2 s; if B takes the
 * rest of its link, it ends after 1 s. With equal shares, B sends 50 MB at 100 MB/s.
 */
Test(recover, a_comparison_has_all_placements_and_policies)
{
	struct recovery_scenario *s = parse_hand();
	json_t *root = print_json(s, RUN, true);
	const json_t *list = json_object_get(root, "compare");
	char *proof, *text = print(s, RUN, false, true, &proof);

	cr_assert_eq(json_array_size(list), 7);
	cr_expect_str_eq(text_of(json_array_get(list, 0), "placement"), "joint");
	expect_number(json_array_get(list, 0), "p", 2.0 / 3);
	for (size_t i = 1; i < 3; i++) {
		const json_t *random = json_array_get(list, i);

		cr_expect_str_eq(text_of(random, "placement"), i == 1 ? "filter and random" : "random");
		expect_number(random, "runs", 40);
		expect_number(random, "least_p", 2.0 / 3);
		expect_number(random, "greatest_p", i == 1 ? 2.0 / 3 : 4.0 / 3);
	}
	expect_number(json_array_get(list, 1), "p", 2.0 / 3);
	cr_expect_float_eq(number_of(json_array_get(list, 2), "p"), 1, 0.2);
	for (size_t i = 3; i < 7; i++) {
		static const double mean_s[] = {1.5, 0.75, 0.75, 0.75}, last_s[] = {2, 1, 1, 1};
		static const char *const names[] = {"performance", "work-conserving", "equal", "max-min"};

		cr_expect_str_eq(text_of(json_array_get(list, i), "sharing"), names[i - 3]);
		expect_number(json_array_get(list, i), "mean_time_s", mean_s[i - 3]);
		expect_number(json_array_get(list, i), "last_s", last_s[i - 3]);
	}
	cr_expect_not_null(strstr(text, "\njoint                        0.666667    1.000\n"
					"filter, eta 1 + random       0.666667    1.000     0.666667     0.666667\n"),
			   "%s", text);
	cr_expect_not_null(strstr(text, "    0.666667      1.33333\n\nsharing (joint placement)    mean time"), "%s",
			   text);
	cr_expect_not_null(strstr(text, "\nperformance                     1.5 s          2 s\n"), "%s", text);
	free(text);
	free(proof);
	json_decref(root);
	recovery_destroy(s);
}

/* The failure of S1 or of S2 leaves too little CPU. S3's task v goes to S1, where its flow is local. */
Test(recover, servers_that_must_not_fail_come_first)
{
	struct recovery_scenario *s = parse_hand();
	const json_t *each;
	json_t *root;
	char *text;

	text = print_text(s, EACH_SERVER);
	cr_expect_str_eq(text, "before any failure p 0.266667 s\n"
			       "server            tasks            p status\n"
			       "S1                    2     0.666667 optimal\n"
			       "S2                    1     0.666667 optimal\n"
			       "S3                    1     0.266667 optimal\n"
			       "S4                    0     0.266667 optimal\n");
	free(text);
	s->servers[2].cpu = s->servers[3].cpu = 1;
	root = print_json(s, EACH_SERVER, false);
	cr_expect_str_eq(text_of(root, "schema"), "nomora.recover/1");
	each = json_object_get(root, "each_server");
	cr_assert_eq(json_array_size(each), 4);
	for (size_t i = 0; i < 4; i++) {
		static const char *const names[] = {"S1", "S2", "S3", "S4"};

		cr_expect_str_eq(text_of(json_array_get(each, i), "server"), names[i]);
		cr_expect_str_eq(text_of(json_array_get(each, i), "status"), i < 2 ? "infeasible" : "optimal");
		expect_number(json_array_get(each, i), "tasks", i == 3 ? 0 : i == 0 ? 2 : 1);
		if (i < 2)
			cr_expect(json_is_null(json_object_get(json_array_get(each, i), "p")));
		else
			expect_number(json_array_get(each, i), "p", 4.0 / 15);
	}
	json_decref(root);
	text = print_text(s, EACH_SERVER);
	cr_expect_not_null(strstr(text, "\nS2                    1            - infeasible\n"), "%s", text);
	free(text);
	recovery_destroy(s);
}

/* y and u need a CPU each, and only S4 has one left. */
Test(recover, a_proof_names_tasks_and_servers)
{
	struct recovery_scenario *s = parse_hand();
	char *text, *proof;
	const json_t *object;
	json_t *root;

	s->servers[1].failed = s->tasks[0].failed = false;
	s->servers[2].cpu = s->servers[3].cpu = 1;
	recovery_fail_server(s, 0);
	text = print(s, RUN, false, false, &proof);
	cr_expect_str_eq(proof,
			 "infeasible: tasks A.y (CPU 1), B.u (CPU 1) cannot be placed: only server S4 may take any "
			 "of them, and cannot take all\n");
	cr_expect_eq(strncmp(text, "infeasible: 2 failed tasks, ", 28), 0, "%s", text);
	free(text);
	free(proof);
	root = print_json(s, RUN, false);
	object = json_object_get(root, "proof");
	cr_expect_str_eq(text_of(root, "status"), "infeasible");
	cr_expect_str_eq(text_of(object, "of"), "cpu");
	cr_assert_eq(json_array_size(json_object_get(object, "tasks")), 2);
	cr_expect_str_eq(json_string_value(json_array_get(json_object_get(object, "tasks"), 1)), "B.u");
	cr_assert_eq(json_array_size(json_object_get(object, "servers")), 1);
	cr_expect_str_eq(json_string_value(json_array_get(json_object_get(object, "servers"), 0)), "S4");
	cr_expect_null(json_object_get(root, "placement"));
	json_decref(root);
	recovery_destroy(s);
}
