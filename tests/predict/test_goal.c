/* SPDX-License-Identifier: BSD-3-Clause */
/* GOAL schedules: cases worked out by hand, random ones against a plain simulation, refusals. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/rng.h>
#include <predict/goal/goal.h>
#include <predict/graph/graph.h>

#include "../support/fail_in_turn.h"

static const struct loggps model = {.latency_ns = 1000, .overhead_ns = 10, .gap_ns = 2, .eager_bytes = 100};

static double time_of(const char *text, double latency_ns)
{
	struct execution_graph graph;
	struct error err = {0};
	struct runtime runtime;
	double time;

	cr_assert_eq(goal_read(file_lines_from_memory("test", text, strlen(text), &err), &model, &graph, &err), 0, "%s",
		     err.text);
	cr_assert_eq(runtime_find(&graph, 0, 10000, &runtime, &err), 0, "%s", err.text);
	time = runtime_at(&runtime, latency_ns);
	runtime_free(&runtime);
	execution_graph_free(&graph);
	return time;
}

static void check(const char *text, double latency_ns, double expected)
{
	double time = time_of(text, latency_ns);

	cr_assert_float_eq(time, expected, 1e-6, "T(%g) = %g, expected %g", latency_ns, time, expected);
}

/* calc 1000; send o 10; 8 bytes: 7 G = 14; recv o 10; or, at the receiver: calc 5000 and then the receive. */
Test(goal, a_message_in_one_direction)
{
	const char *text = "num_ranks 2\n"
			   "rank 0 {\nl1: calc 1000\nl2: send 8b to 1 tag 5\nl2 requires l1\n}\n"
			   "rank 1 {\nl1: calc 5000\nl2: recv 8b from 0 tag 5\nl2 requires l1\n}\n";

	check(text, 1000, 5010);
	check(text, 3976, 5010); /* 1010 + 3976 + 14 = 5000 */
	check(text, 4976, 6010);
}

/* All on one line, as the format allows; a reply: two latencies. */
Test(goal, there_and_back)
{
	check("num_ranks 2 rank 0 { l1: send 1b to 1 l2: recv 1b from 1 l2 requires l1 l3: calc 7 l3 requires l2 } "
	      "rank 1 { l1: recv 1b from 0 l2: send 1b to 0 l2 requires l1 }",
	      500, 10 + 500 + 10 + 10 + 500 + 10 + 7);
}

/* The receive is only started before the calc, which runs while the message travels. */
Test(goal, irequires_waits_for_the_start)
{
	const char *overlapped = "num_ranks 2 rank 0 { send 1b to 1 } /* a comment\n over two lines */ rank 1 {\n"
				 "l1: recv 1b from 0 // and one more\nl2: calc 800\nl2 irequires l1\n"
				 "l3: calc 50\nl3 requires l1\nl3 requires l2 }";

	check(overlapped, 1000, 10 + 1000 + 10 + 50);
	check(overlapped, 100, 800 + 10 + 50 - 0); /* the overhead waits for the cpu: 110 < 800 */
}

/* 101 bytes are more than eager_bytes: request, answer, bytes. The sender is done when the bytes have left. */
Test(goal, a_long_message_is_a_rendezvous)
{
	const char *text = "num_ranks 2 rank 0 { l1: send 101b to 1 l2: calc 10000 l2 requires l1 }"
			   "rank 1 { l1: calc 2500 l2: recv 101b from 0 l2 requires l1 }";

	check(text, 100, 2500 + 100 + 200 + 10000);
	check(text, 2490, 2500 + 2490 + 200 + 10000);
	check(text, 3000, 10 + 3000 + 3000 + 200 + 10000);
}

Test(goal, an_operation_waits_for_all_that_it_requires)
{
	static const char *const orders[] = {"1 2 3 4", "4 3 2 1", "2 4 1 3"};

	for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
		char text[256];
		int n[4];

		sscanf(orders[i], "%d %d %d %d", &n[0], &n[1], &n[2], &n[3]);
		snprintf(
			text, sizeof text,
			"num_ranks 1 rank 0 { l1: calc 10 cpu 1 l2: calc 20 cpu 2 l3: calc 30 cpu 3 l4: calc 500 cpu 4 "
			"l5: calc 7 l5 requires l%d l5 requires l%d l5 requires l%d l5 requires l%d }",
			n[0], n[1], n[2], n[3]);
		check(text, 0, 507);
	}
}

Test(goal, operations_of_one_cpu_follow_each_other)
{
	check("num_ranks 1 rank 0 { calc 100 calc 30 calc 5 cpu 1 }", 0, 130);
}

/*
 * The example of LogGOPSim's documentation, dissemination over 16 ranks, for which it states 22,000 ns at its default
 * parameters: written here by its rule, with receives that require nothing, as in its file.
 */
Test(goal, dissemination_takes_as_long_as_in_LogGOPSim)
{
	static const struct loggps defaults = {
		.latency_ns = 2500, .overhead_ns = 1500, .gap_ns = 6, .eager_bytes = 65535};
	struct execution_graph graph;
	struct error err = {0};
	struct runtime runtime;
	size_t bytes;
	char *text;
	FILE *out = open_memstream(&text, &bytes);

	fputs("num_ranks 16\n", out);
	for (int rank = 0; rank < 16; rank++) {
		fprintf(out, "\nrank %d {\n", rank);
		for (int i = 0, n = 1; i < 4; i++, n += 2) {
			fprintf(out, "l%d: send 1b to %d tag 0\n", n, (rank + (1 << i)) % 16);
			if (i > 0)
				fprintf(out, "l%d requires l%d\n", n, n - 1);
			fprintf(out, "l%d: recv 1b from %d tag 0\n", n + 1, (rank + 16 - (1 << i)) % 16);
		}
		fputs("}\n", out);
	}
	fclose(out);
	cr_assert_eq(goal_read(file_lines_from_memory("test", text, bytes, &err), &defaults, &graph, &err), 0, "%s",
		     err.text);
	cr_assert_eq(runtime_find(&graph, 2500, 5000, &runtime, &err), 0, "%s", err.text);
	cr_assert_float_eq(runtime_at(&runtime, 2500), 22000, 1e-6);
	cr_assert_float_eq(runtime_at(&runtime, 5000), 22000 + 4 * 2500, 1e-6);
	runtime_free(&runtime);
	execution_graph_free(&graph);
	free(text);
}

/* Random programs of ranks that do one operation after the other. */
enum { RANKS = 4, MESSAGES = 60, STEPS_MOST = 400 };

struct step {
	char kind; /* c, s, r */
	unsigned amount, peer;
};

struct program {
	struct step steps[RANKS][STEPS_MOST];
	size_t count[RANKS];
};

static void add_step(struct program *program, size_t rank, struct step step)
{
	program->steps[rank][program->count[rank]++] = step;
}

/* Messages in a global order, each sent and received at that place of both ranks: no deadlock. */
static void make_program(struct rng *rng, struct program *program)
{
	*program = (struct program){0};
	for (int m = 0; m < MESSAGES; m++) {
		unsigned from = (unsigned)rng_below(rng, RANKS),
			 to = (from + 1 + (unsigned)rng_below(rng, RANKS - 1)) % RANKS;
		unsigned bytes = 1 + (unsigned)rng_below(rng, 200);

		add_step(program, from, (struct step){'c', (unsigned)rng_below(rng, 2000), 0});
		add_step(program, from, (struct step){'s', bytes, to});
		add_step(program, to, (struct step){'c', (unsigned)rng_below(rng, 2000), 0});
		add_step(program, to, (struct step){'r', bytes, from});
	}
}

static char *program_text(const struct program *program)
{
	char *text;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	fprintf(out, "num_ranks %d\n", RANKS);
	for (size_t rank = 0; rank < RANKS; rank++) {
		fprintf(out, "rank %zu {\n", rank);
		for (size_t i = 0; i < program->count[rank]; i++) {
			const struct step *step = &program->steps[rank][i];

			if (step->kind == 'c')
				fprintf(out, "l%zu: calc %u\n", i, step->amount);
			else
				fprintf(out, "l%zu: %s %ub %s %u tag 1\n", i, step->kind == 's' ? "send" : "recv",
					step->amount, step->kind == 's' ? "to" : "from", step->peer);
			if (i > 0)
				fprintf(out, "l%zu requires l%zu\n", i, i - 1);
		}
		fprintf(out, "}\n");
	}
	fclose(out);
	return text;
}

/* Runs the ranks by turns, each as far as it gets. Messages of a pair are in their order. */
static double simulate(const struct program *program, double latency_ns)
{
	struct {
		double sent, posted; /* NAN = not yet */
	} queue[RANKS][RANKS][MESSAGES];
	size_t at[RANKS] = {0}, sends[RANKS][RANKS] = {0}, receives[RANKS][RANKS] = {0};
	double clock[RANKS] = {0}, end = 0;
	bool begun[RANKS] = {0}, progress = true;

	for (size_t i = 0; i < sizeof queue / sizeof queue[0][0][0]; i++)
		(&queue[0][0][0])[i].sent = (&queue[0][0][0])[i].posted = NAN;
	while (progress) {
		progress = false;
		for (size_t r = 0; r < RANKS; r++) {
			while (at[r] < program->count[r]) {
				const struct step *step = &program->steps[r][at[r]];
				bool is_long = step->amount > model.eager_bytes;
				double bytes_ns = model.gap_ns * (step->amount - 1.0);

				if (step->kind == 'c') {
					clock[r] += step->amount;
				} else if (step->kind == 's') {
					size_t k = sends[r][step->peer];

					if (!begun[r])
						queue[r][step->peer][k].sent = clock[r] += model.overhead_ns;
					progress |= !begun[r];
					begun[r] = true;
					if (is_long && isnan(queue[r][step->peer][k].posted))
						break;
					if (is_long)
						clock[r] = fmax(clock[r] + latency_ns, queue[r][step->peer][k].posted) +
							   latency_ns + bytes_ns;
					sends[r][step->peer]++;
				} else {
					size_t k = receives[step->peer][r];

					queue[step->peer][r][k].posted = clock[r];
					progress |= !begun[r];
					begun[r] = true;
					if (isnan(queue[step->peer][r][k].sent))
						break;
					if (is_long)
						clock[r] = fmax(clock[r], queue[step->peer][r][k].sent + latency_ns) +
							   2 * latency_ns + bytes_ns;
					else
						clock[r] = fmax(clock[r],
								queue[step->peer][r][k].sent + latency_ns + bytes_ns);
					clock[r] += model.overhead_ns;
					receives[step->peer][r]++;
				}
				begun[r] = false;
				at[r]++;
				progress = true;
			}
			end = fmax(end, clock[r]);
		}
	}
	for (size_t r = 0; r < RANKS; r++)
		cr_assert_eq(at[r], program->count[r]);
	return end;
}

Test(goal, equals_a_plain_simulation_at_every_latency)
{
	static struct program program;
	struct rng rng;

	rng_seed(&rng, 1);
	for (int g = 0; g < 200; g++) {
		struct execution_graph graph;
		struct error err = {0};
		struct runtime runtime;
		char *text;

		make_program(&rng, &program);
		text = program_text(&program);
		cr_assert_eq(goal_read(file_lines_from_memory("test", text, strlen(text), &err), &model, &graph, &err),
			     0, "%s", err.text);
		cr_assert_eq(runtime_find(&graph, 0, 5000, &runtime, &err), 0, "%s", err.text);
		for (int i = 0; i < 20; i++) {
			double latency_ns = 5000.0 * i / 19, expected = simulate(&program, latency_ns);

			cr_assert_float_eq(runtime_at(&runtime, latency_ns), expected, 1e-9 * expected);
		}
		runtime_free(&runtime);
		execution_graph_free(&graph);
		free(text);
	}
}

Test(goal, refusals_name_line_and_reason)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{"", "expected num_ranks, found the end of the file"},
		{"ranks 2", "expected 'num_ranks', found 'ranks'"},
		{"num_ranks 0", "test:1: num_ranks: expected at least 1"},
		{"num_ranks 1\nrank 1 { }", "test:2: rank: '1': expected a whole number from 0 to 0"},
		{"num_ranks 2\nrank 0 { }\n", "rank: rank 1 of num_ranks 2 is missing"},
		{"num_ranks 1\nrank 0 { }\nrank 0 { }", "test:3: rank: rank 0 comes twice"},
		{"num_ranks 1\nrank 0 {\nl1: calc x\n}", "test:3: calc: 'x': expected a whole number"},
		{"num_ranks 1\nrank 0 {\nl1: calc 1\nl1: calc 2\n}", "test:4: label: 'l1' is defined twice in rank 0"},
		{"num_ranks 1\nrank 0 {\nl1: calc 1\nl1 requires l2\n}", "test:4: requires: label 'l2' is not defined"},
		{"num_ranks 1\nrank 0 {\nl1: calc 1\n", "expected '}' at the end of rank 0, found the end of the file"},
		{"num_ranks 2\nrank 0 {\nsend 8 to 1\n}", "test:3: bytes: '8': expected a number with b at its end"},
		{"num_ranks 2\nrank 0 {\nrecv 8b from -1\n}", "wildcards are not supported"},
		{"num_ranks 2\nrank 0 {\nrecv 8b to 1\n}", "test:3: expected 'from', found 'to'"},
		{"num_ranks 1\nrank 0 {\nl1: go 8\n}", "test:3: expected calc, send or recv, found 'go'"},
		{"num_ranks 2\nrank 0 {\ncalc 1\nsend 8b to 1 tag 3\n}\nrank 1 {\n}",
		 "test:4: rank 0: send to rank 1, tag 3: the other end is missing"},
		{"num_ranks 1\nrank 0 {\nl1: calc 1\nl2: calc 1\nl1 requires l2\nl2 requires l1\n}",
		 "test:3: rank 0: its requirements form a circle"},
		{"num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 7b from 0\n}",
		 "test:6: receives at most 7 bytes, but the matching send (line 3) has 8"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct execution_graph graph;
		struct error err = {0};

		cr_assert_lt(goal_read(file_lines_from_memory("test", cases[i].text, strlen(cases[i].text), &err),
				       &model, &graph, &err),
			     0);
		cr_assert(strstr(err.text, cases[i].expected), "'%s', expected '%s'", err.text, cases[i].expected);
		execution_graph_free(&graph);
	}
}

static int tell(const void *text, char *answer, size_t bytes)
{
	struct execution_graph graph = {0};
	struct runtime runtime = {0};
	struct error err = {0};
	int code = goal_read(file_lines_from_memory("test", text, strlen(text), &err), &model, &graph, &err);

	if (code == 0)
		code = runtime_find(&graph, 0, 10000, &runtime, &err);
	if (code == 0)
		snprintf(answer, bytes, "%g %g %g", runtime_at(&runtime, 0), runtime_at(&runtime, 3000),
			 runtime_at(&runtime, 10000));
	runtime_free(&runtime);
	execution_graph_free(&graph);
	return code;
}

Test(goal, lack_of_memory_changes_no_answer)
{
	allocations_fail(
		tell,
		"num_ranks 2 rank 0 { l1: send 1b to 1 l2: recv 1b from 1 l2 requires l1 l3: calc 7 l3 requires l2 "
		"l4: send 200b to 1 l4 requires l3 } "
		"rank 1 { l1: recv 1b from 0 l2: send 1b to 0 l2 requires l1 l3: recv 200b from 0 }",
		"a schedule");
}
