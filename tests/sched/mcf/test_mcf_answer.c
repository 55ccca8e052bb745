/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <sched/mcf/algorithms.h>
#include <sched/mcf/dimacs.h>

static struct mcf_network network;
static struct mcf_solution solution;
static struct mcf_answer answer;

static void solve(const char *text)
{
	struct error err = {0};

	cr_assert_eq(mcf_dimacs_parse("net", text, strlen(text), &network, &err), 0, "%s", err.text);
	mcf_solve(&mcf_algorithms[0], &network.problem, &solution);
	answer = (struct mcf_answer){.name = "net", .problem = &network.problem, .solution = &solution};
	if (solution.status == MCF_INFEASIBLE)
		cr_assert_eq(mcf_cut_find(&network.problem, solution.potential, &answer.cut), 0);
}

static void release(void)
{
	mcf_solution_free(&solution);
	mcf_network_free(&network);
}

TestSuite(answer, .fini = release);

static json_t *printed_json(bool flow)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	json_t *root;

	cr_assert_eq(mcf_answer_print_json(&answer, flow, out), 0);
	fclose(out);
	root = json_loads(text, 0, NULL);
	cr_assert(root, "%s", text);
	free(text);
	return root;
}

Test(answer, a_cut_is_named_in_words_and_in_json)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	json_t *root;

	solve("p min 2 1\nn 1 5\nn 2 -5\na 1 2 0 4 1\n");
	cr_assert_eq(solution.status, MCF_INFEASIBLE);
	mcf_answer_print_cut(&answer, out);
	fclose(out);
	cr_assert_str_eq(text, "c infeasible: net: 5 units have to leave 1 of the 2 nodes (1), but the 1 arc out of "
			       "them can carry 4\n");
	free(text);
	root = printed_json(true);
	cr_assert_eq(json_integer_value(json_object_get(json_object_get(root, "cut"), "capacity")), 4);
	cr_assert_null(json_object_get(root, "flow"));
	json_decref(root);
}

Test(answer, the_flow_is_listed_where_it_is_wanted)
{
	json_t *root, *arc;

	solve("p min 3 3\nn 1 2\nn 3 -2\na 1 2 0 2 1\na 2 3 0 2 1\na 1 3 0 2 5\n");
	root = printed_json(true);
	cr_assert_eq(json_integer_value(json_object_get(root, "cost")), 4);
	cr_assert_eq(json_array_size(json_object_get(root, "flow")), 2);
	arc = json_array_get(json_object_get(root, "flow"), 1);
	cr_assert_eq(json_integer_value(json_array_get(arc, 0)), 2);
	cr_assert_eq(json_integer_value(json_array_get(arc, 3)), 2);
	json_decref(root);
	root = printed_json(false);
	cr_assert_null(json_object_get(root, "flow"));
	json_decref(root);
}
