/* SPDX-License-Identifier: BSD-3-Clause */
/* What runs have sent to each other, from the ends of their connections. */
#include <criterion/criterion.h>

#include "machine.h"

static json_t *names_of(const char *const runs[])
{
	json_t *names = json_object();

	for (int i = 0; runs[i]; i++)
		json_object_set_new(names, runs[i], json_pack("[s%, s]", runs[i], (size_t)1, runs[i] + 2));
	return names;
}

/* A turn: lines of machine m1, of m2 (NULL: it does not answer). Returns the flows as text, for the caller to free. */
static char *turn(struct run_flows *flows, const char *const one[], const char *const two[])
{
	static const char *const runs[] = {"j.a.1", "j.b.2", "k.c.3", NULL};
	json_t *names = names_of(runs), *list;
	char *text;

	run_flows_begin(flows);
	for (int i = 0; one[i]; i++)
		run_flows_add(flows, "m1", one[i]);
	for (int i = 0; two && two[i]; i++)
		run_flows_add(flows, "m2", two[i]);
	if (!two)
		run_flows_keep(flows, "m2");
	list = run_flows_end(flows, names);
	text = json_dumps(list, JSON_REAL_PRECISION(9));
	json_decref(list);
	json_decref(names);
	return text;
}

#define LINES(...)                                                                                                     \
	(const char *const[])                                                                                          \
	{                                                                                                              \
		__VA_ARGS__, NULL                                                                                      \
	}

static void expect(struct run_flows *flows, const char *const one[], const char *const two[], const char *expected)
{
	char *text = turn(flows, one, two);

	cr_expect_str_eq(text, expected);
	free(text);
}

Test(local_flows, both_ends_are_counted_over_several_connections)
{
	struct run_flows flows = {0};

	expect(&flows, LINES("j.a.1 10.0.0.1:50 10.0.0.2:80 1000000"), LINES("j.b.2 10.0.0.2:80 10.0.0.1:50 250000"),
	       "[{\"job\": \"j\", \"from\": \"a.1\", \"to\": \"b.2\", \"MB\": 1.0}, "
	       "{\"job\": \"j\", \"from\": \"b.2\", \"to\": \"a.1\", \"MB\": 0.25}]");
	/* The same connection goes on; then it is closed, and another one has the same addresses. */
	expect(&flows, LINES("j.a.1 10.0.0.1:50 10.0.0.2:80 3000000"), LINES("j.b.2 10.0.0.2:80 10.0.0.1:50 250000"),
	       "[{\"job\": \"j\", \"from\": \"a.1\", \"to\": \"b.2\", \"MB\": 3.0}, "
	       "{\"job\": \"j\", \"from\": \"b.2\", \"to\": \"a.1\", \"MB\": 0.25}]");
	expect(&flows, LINES("j.a.1 10.0.0.1:50 10.0.0.2:80 500000"), LINES("j.b.2 10.0.0.2:80 10.0.0.1:50 0"),
	       "[{\"job\": \"j\", \"from\": \"a.1\", \"to\": \"b.2\", \"MB\": 3.5}, "
	       "{\"job\": \"j\", \"from\": \"b.2\", \"to\": \"a.1\", \"MB\": 0.25}]");
	run_flows_free(&flows);
}

Test(local_flows, a_machine_that_does_not_answer_keeps_its_ends)
{
	struct run_flows flows = {0};

	expect(&flows, LINES("j.a.1 x:1 y:2 0"), LINES("j.b.2 y:2 x:1 2000000"),
	       "[{\"job\": \"j\", \"from\": \"a.1\", \"to\": \"b.2\", \"MB\": 0.0}, "
	       "{\"job\": \"j\", \"from\": \"b.2\", \"to\": \"a.1\", \"MB\": 2.0}]");
	free(turn(&flows, LINES("j.a.1 x:1 y:2 0"), NULL));
	expect(&flows, LINES("j.a.1 x:1 y:2 0"), LINES("j.b.2 y:2 x:1 3000000"),
	       "[{\"job\": \"j\", \"from\": \"a.1\", \"to\": \"b.2\", \"MB\": 0.0}, "
	       "{\"job\": \"j\", \"from\": \"b.2\", \"to\": \"a.1\", \"MB\": 3.0}]");
	run_flows_free(&flows);
}

/* Loopback addresses of two machines are not the ends of one connection, nor are runs of two jobs a job's flow. */
Test(local_flows, only_a_jobs_own_connections_count)
{
	struct run_flows flows = {0};

	expect(&flows, LINES("j.a.1 127.0.0.1:50 127.0.0.1:80 7"), LINES("j.b.2 127.0.0.1:80 127.0.0.1:50 7"), "[]");
	expect(&flows, LINES("j.a.1 ::1:50 ::1:80 1000000", "j.b.2 ::1:80 ::1:50 0"), LINES("k.c.3 y:1 z:2 8"),
	       "[{\"job\": \"j\", \"from\": \"a.1\", \"to\": \"b.2\", \"MB\": 1.0}, "
	       "{\"job\": \"j\", \"from\": \"b.2\", \"to\": \"a.1\", \"MB\": 0.0}]");
	run_flows_free(&flows);
	flows = (struct run_flows){0};
	expect(&flows, LINES("j.a.1 x:1 y:2 9"), LINES("k.c.3 y:2 x:1 9"), "[]");
	expect(&flows, LINES("j.a.1 x:1 y:2", "j.a.1 x:1 y:2 -4", "", "j.a.1 x:1 y:2 9 9"), LINES("z"), "[]");
	/* A run that is no longer wanted is forgotten. */
	expect(&flows, LINES("old.x.9 x:5 y:6 9"), LINES("j.b.2 y:6 x:5 9"), "[]");
	run_flows_free(&flows);
}
