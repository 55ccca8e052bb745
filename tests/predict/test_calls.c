/* SPDX-License-Identifier: BSD-3-Clause */
/* Recorded MPI calls: collectives and messages worked out by hand, random programs against a plain simulation,
 * refusals. */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/rng.h>
#include <predict/calls/calls.h>
#include <predict/graph/graph.h>

#include "../support/fail_in_turn.h"

enum { RANKS = 4, TEXT_BYTES = 1 << 20 };

static const struct loggps model = {.latency_ns = 1000, .overhead_ns = 10, .gap_ns = 2, .eager_bytes = 100};

static int parse(struct mpi_run *run, const char *const *texts, uint32_t ranks, struct error *err)
{
	int code = mpi_run_init(run, ranks);

	for (uint32_t rank = 0; rank < ranks && code == 0; rank++) {
		char name[16];

		snprintf(name, sizeof name, "rank%u", rank);
		code = mpi_parse_allprof(run, rank, name, texts[rank], strlen(texts[rank]), err);
	}
	return code;
}

static struct runtime find_with(const char *algorithm, const char *const *texts, uint32_t ranks)
{
	struct execution_graph graph;
	struct runtime runtime;
	struct error err = {0};
	struct mpi_run run;

	cr_assert_eq(parse(&run, texts, ranks, &err), 0, "%s", err.text);
	cr_assert(!algorithm || collective_choose(&run.choice, algorithm, &err) == 0, "%s", err.text);
	cr_assert_eq(mpi_build(&run, &model, &graph, &err), 0, "%s", err.text);
	cr_assert_eq(runtime_find(&graph, 0, 10000, &runtime, &err), 0, "%s", err.text);
	execution_graph_free(&graph);
	mpi_run_free(&run);
	return runtime;
}

static struct runtime find(const char *const *texts, uint32_t ranks)
{
	return find_with(NULL, texts, ranks);
}

/* All ranks make one call, whose line lacks its communicator. T(L) must be a + b L for every L. */
static void check_algorithm(const char *algorithm, const char *call, uint32_t ranks, double a_ns, double b)
{
	char *texts[64];
	struct runtime runtime;

	for (uint32_t rank = 0; rank < ranks; rank++)
		if (asprintf(&texts[rank], "%s:7,%u,%u:0.5\n", call, rank, ranks) < 0)
			abort();
	runtime = find_with(algorithm, (const char *const *)texts, ranks);
	for (int i = 0; i <= 10; i++)
		cr_assert_float_eq(runtime_at(&runtime, 1000.0 * i), a_ns + b * 1000 * i, 1e-6,
				   "%s, %u ranks: T(%d us) = %g, expected %g + %g L", call, ranks, i,
				   runtime_at(&runtime, 1000.0 * i), a_ns, b);
	runtime_free(&runtime);
	for (uint32_t rank = 0; rank < ranks; rank++)
		free(texts[rank]);
}

static void check_collective(const char *call, uint32_t ranks, double a_ns, double b)
{
	check_algorithm(NULL, call, ranks, a_ns, b);
}

/* A round of small messages takes o + L + G (bytes - 1) + o. */
Test(calls, collectives_take_their_rounds)
{
	check_collective("MPI_Barrier:0", 2, 20, 1);
	check_collective("MPI_Barrier:0", 8, 3 * 20, 3);
	check_collective("MPI_Barrier:0", 9, 4 * 20, 4);
	/* The root sends to the farthest first; each of the others passes on at once. */
	check_collective("MPI_Bcast:0:1:1:1,8,8:0", 2, 20 + 14, 1);
	check_collective("MPI_Bcast:0:1:1:1,8,8:1", 8, 3 * (20 + 14), 3);
	check_collective("MPI_Allreduce:0:1:2:1:1,8,8:3", 8, 3 * (20 + 14), 3);
	/* 6 ranks: 2 give their part to ranks 0 and 1, which find the others waiting in the second round. */
	check_collective("MPI_Allreduce:0:1:2:1:1,8,8:3", 6, 3 * (20 + 14) + 20, 3);
	/* 20,000 bytes go around a ring of 4 in 6 steps of 5,000, each a rendezvous. */
	check_collective("MPI_Allreduce:0:1:2:20000:1,1,1:3", 4, 6 * (20 + 2.0 * 4999), 18);
	check_collective("MPI_Alltoall:0:1:1:1,8,8:2:1:1,8,8", 4, 3 * (20 + 14), 3);
	check_collective("MPI_Allgather:0:1:1:1,8,8:2:1:1,8,8", 4, (20 + 14) + (20 + 30), 2);
	check_collective("MPI_Scan:0:1:2:1:1,8,8:3", 5, 4 * (20 + 14), 4);
	check_collective("MPI_Gather:0:1:1:1,8,8:2:1:1,8,8:0", 2, 20 + 14, 1);
}

/* 4 ranks and 8 bytes, the root is rank 1; as above, and one end of a linear algorithm pays 3 o. */
Test(calls, chosen_algorithms_take_their_rounds)
{
	static const char bcast[] = "MPI_Bcast:0:1:1:1,8,8:1", reduce[] = "MPI_Reduce:0:1:2:1:1,8,8:3:1",
			  allreduce[] = "MPI_Allreduce:0:1:2:1:1,8,8:3",
			  gather[] = "MPI_Gather:0:1:1:1,8,8:2:1:1,8,8:1",
			  scatter[] = "MPI_Scatter:0:1:1:1,8,8:2:1:1,8,8:1";

	check_algorithm("barrier=doubling", "MPI_Barrier:0", 4, 2 * 20, 2);
	check_algorithm("barrier=tree", "MPI_Barrier:0", 4, 4 * 20, 4);
	check_algorithm("bcast=chain", bcast, 4, 3 * (20 + 14), 3);
	check_algorithm("bcast=linear", bcast, 4, 3 * 10 + 14 + 10, 1);
	check_algorithm("reduce=tree", reduce, 4, 2 * (20 + 14), 2);
	check_algorithm("reduce=chain", reduce, 4, 3 * (20 + 14), 3);
	check_algorithm("reduce=linear", reduce, 4, 10 + 14 + 3 * 10, 1);
	check_algorithm("allreduce=tree", allreduce, 4, 4 * (20 + 14), 4);
	check_algorithm("gather=linear", gather, 4, 10 + 14 + 3 * 10, 1);
	check_algorithm("scatter=tree", scatter, 4, (20 + 30) + (20 + 14), 2);
	check_algorithm("scatter=linear", scatter, 4, 3 * 10 + 14 + 10, 1);
	check_algorithm("allgather=ring", "MPI_Allgather:0:1:1:1,8,8:2:1:1,8,8", 4, 3 * (20 + 14), 3);
	/* 3 ranks: no message has a part for ranks that are not there. */
	check_collective("MPI_Allgather:0:1:1:1,8,8:2:1:1,8,8", 3, 2 * (20 + 14), 2);
	check_algorithm("scatter=tree", scatter, 3, 10 + (20 + 14), 1);
	check_algorithm("gather=tree", gather, 3, (20 + 14) + 10, 1);
	/* Without a choice, the ring from 10,000 bytes of the whole result on. */
	check_collective("MPI_Allgather:0:1:2499:1,1,1:2:2499:1,1,1", 4, (20 + 2 * 2498) + (20 + 2 * 4997), 6);
	check_collective("MPI_Allgather:0:1:2500:1,1,1:2:2500:1,1,1", 4, 3 * (20 + 2 * 2499), 9);
}

Test(calls, an_unknown_algorithm_is_refused_with_those_known)
{
	struct collective_choice choice = {0};
	struct error err = {0};
	const char *call;

	cr_assert_eq(collective_choose(&choice, "scan=ring", &err), -EINVAL);
	cr_assert(strstr(err.text, "'scan=ring' is no algorithm") && strstr(err.text, ", scan=chain"), "%s", err.text);
	cr_assert_eq(collective_choose(&choice, "allreduce:ring", &err), -EINVAL);
	cr_assert_eq(collective_choose(&choice, "allreduce=ring", &err), 0);
	cr_assert_str_eq(collective_name(choice.chosen[CALL_ALLREDUCE] - 1U, &call), "ring");
	cr_assert_str_eq(call, "allreduce");
}

/* A rank may name a request again without having waited for it: the wait is then for the second message. */
Test(calls, a_request_that_is_used_again)
{
	const char *texts[] = {"MPI_Isend:0:1:1:1,8,8:1:0:7,0,2:800:0\nMPI_Isend:0:1:1:1,8,8:1:1:7,0,2:800:0\n"
			       "MPI_Wait:0:800:3:0\n",
			       "MPI_Recv:0:1:1:1,8,8:0:0:7,1,2:9:0\nMPI_Recv:0:1:1:1,8,8:0:1:7,1,2:9:0\n"};
	struct runtime runtime = find(texts, 2);

	cr_assert_float_eq(runtime_at(&runtime, 5000), 2 * 10 + 5000 + 14 + 10, 1e-6);
	runtime_free(&runtime);
}

/* Two messages that cross: the waiting overlaps. A blocking pair, by MPI_Sendrecv and by MPI_Waitall. */
Test(calls, requests_overlap)
{
	const char *sendrecv[] = {"MPI_Sendrecv:0:1:1:1,8,8:1:0:2:1:1,8,8:1:0:7,0,2:3:1\n",
				  "MPI_Sendrecv:0:1:1:1,8,8:0:0:2:1:1,8,8:0:0:7,1,2:3:1\n"};
	const char *waitall[] = {"MPI_Irecv:0:1:1:1,8,8:1:0:7,0,2:800:0\nMPI_Isend:0:1:1:1,8,8:1:0:7,0,2:808:0\n"
				 "MPI_Waitall:0:2:800:3:0\nMPI_Wait:0:800:3:0\n",
				 "MPI_Irecv:0:1:1:1,8,8:0:0:7,1,2:800:0\nMPI_Isend:0:1:1:1,8,8:0:0:7,1,2:808:0\n"
				 "MPI_Waitall:0:2:800:3:0\n"};

	for (int i = 0; i < 2; i++) {
		struct runtime runtime = find(i ? waitall : sendrecv, 2);

		cr_assert_eq(runtime.count, 1);
		cr_assert_float_eq(runtime_at(&runtime, 5000), 10 + 5000 + 14 + 10, 1e-6);
		runtime_free(&runtime);
	}
}

/* A synchronous send of any size waits for the receiver, a short one of the standard mode does not. */
Test(calls, synchronous_sends_wait)
{
	for (int synchronous = 0; synchronous < 2; synchronous++) {
		const char *texts[] = {synchronous
					       ? "MPI_Init:0:0\nMPI_Ssend:0:1:1:1,8,8:1:0:7,0,2:0\nMPI_Finalize:100:-\n"
					       : "MPI_Init:0:0\nMPI_Send:0:1:1:1,8,8:1:0:7,0,2:0\nMPI_Finalize:100:-\n",
				       "MPI_Init:0:0\nMPI_Recv:50:1:1:1,8,8:0:0:7,1,2:9:50\nMPI_Finalize:50:-\n"};
		struct runtime runtime = find(texts, 2);

		/* the receive is posted at 50 us; the answer takes L, the bytes 14, and then 100 us are computed */
		cr_assert_float_eq(runtime_at(&runtime, 1000), synchronous ? 50000 + 1000 + 14 + 100000 : 10 + 100000,
				   1e-6);
		runtime_free(&runtime);
	}
}

/*
 * Random programs: rounds in which pairs of ranks exchange messages without waiting and then wait, with barriers
 * between. The simulation below keeps a clock a rank.
 */
struct world {
	char *texts[RANKS];
	FILE *out[RANKS];
	double us[RANKS];    /* time of the trace */
	double clock[RANKS]; /* ns of the simulation */
};

static void compute(struct world *world, uint32_t rank, double us)
{
	world->us[rank] += us;
	world->clock[rank] += us * 1000;
}

static void print_call(struct world *world, uint32_t rank, const char *name, const char *arguments)
{
	/* the recorded duration must not matter */
	fprintf(world->out[rank], "%s:%.3f:%s:%.3f\n", name, world->us[rank], arguments, world->us[rank] + 7);
	world->us[rank] += 7;
}

/* Both ranks post a receive, send, compute, and wait for both. */
static void exchange(struct world *world, struct rng *rng, uint32_t a, uint32_t b, double latency_ns)
{
	double sent[2], posted[2], done[2], arrived[2];
	uint32_t ranks[2] = {a, b}, bytes[2];
	char arguments[100];

	for (int i = 0; i < 2; i++)
		bytes[i] = 1 + (uint32_t)rng_below(rng, 200);
	for (int i = 0; i < 2; i++) {
		uint32_t rank = ranks[i], other = ranks[!i];

		compute(world, rank, (double)rng_below(rng, 50));
		posted[i] = world->clock[rank];
		snprintf(arguments, sizeof arguments, "1:%u:1,1,1:%u:5:7,%u,%d:800", bytes[!i], other, rank, RANKS);
		print_call(world, rank, "MPI_Irecv", arguments);
		compute(world, rank, (double)rng_below(rng, 50));
		sent[i] = world->clock[rank] += model.overhead_ns;
		snprintf(arguments, sizeof arguments, "1:%u:1,1,1:%u:5:7,%u,%d:808", bytes[i], other, rank, RANKS);
		print_call(world, rank, "MPI_Isend", arguments);
		compute(world, rank, (double)rng_below(rng, 50));
		print_call(world, rank, "MPI_Waitall", "2:800:9");
	}
	for (int i = 0; i < 2; i++) {
		double bytes_ns = model.gap_ns * (bytes[i] - 1.0);

		done[i] = sent[i];
		arrived[!i] = fmax(posted[!i], sent[i] + latency_ns + bytes_ns);
		if (bytes[i] > model.eager_bytes) {
			done[i] = fmax(posted[!i], sent[i] + latency_ns) + latency_ns + bytes_ns;
			arrived[!i] = fmax(posted[!i], done[i] + latency_ns);
		}
	}
	for (int i = 0; i < 2; i++) {
		double clock = fmax(world->clock[ranks[i]], arrived[i]) + model.overhead_ns;

		world->clock[ranks[i]] = fmax(clock, done[i]);
	}
}

static void barrier(struct world *world, double latency_ns)
{
	char arguments[40];
	double next[RANKS];

	for (uint32_t step = 1; step < RANKS; step *= 2) {
		for (uint32_t rank = 0; rank < RANKS; rank++)
			world->clock[rank] += model.overhead_ns;
		for (uint32_t rank = 0; rank < RANKS; rank++)
			next[rank] =
				fmax(world->clock[rank], world->clock[(rank + RANKS - step) % RANKS] + latency_ns) +
				model.overhead_ns;
		memcpy(world->clock, next, sizeof next);
	}
	for (uint32_t rank = 0; rank < RANKS; rank++) {
		snprintf(arguments, sizeof arguments, "7,%u,%d", rank, RANKS);
		print_call(world, rank, "MPI_Barrier", arguments);
	}
}

static struct world play(uint64_t seed, double latency_ns)
{
	struct world world = {0};
	size_t bytes[RANKS];
	struct rng rng;

	rng_seed(&rng, seed);
	for (uint32_t rank = 0; rank < RANKS; rank++) {
		world.out[rank] = open_memstream(&world.texts[rank], &bytes[rank]);
		fputs("# collprof 0.9\nMPI_Init:-:0\n", world.out[rank]);
	}
	for (int round = 0; round < 40; round++) {
		uint32_t a = (uint32_t)rng_below(&rng, RANKS),
			 b = (a + 1 + (uint32_t)rng_below(&rng, RANKS - 1)) % RANKS;

		if (rng_below(&rng, 6) == 0)
			barrier(&world, latency_ns);
		else
			exchange(&world, &rng, a, b, latency_ns);
	}
	for (uint32_t rank = 0; rank < RANKS; rank++)
		fclose(world.out[rank]);
	return world;
}

Test(calls, random_programs_equal_a_plain_simulation)
{
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct world world = play(seed, 0);
		struct runtime runtime = find((const char *const *)world.texts, RANKS);

		for (int i = 0; i < 20; i++) {
			struct world again = play(seed, 500.0 * i);
			double expected = 0;

			for (uint32_t rank = 0; rank < RANKS; rank++) {
				expected = fmax(expected, again.clock[rank]);
				free(again.texts[rank]);
			}
			cr_assert_float_eq(runtime_at(&runtime, 500.0 * i), expected, 1e-6 * expected);
		}
		runtime_free(&runtime);
		for (uint32_t rank = 0; rank < RANKS; rank++)
			free(world.texts[rank]);
	}
}

Test(calls, refusals_name_file_line_and_field)
{
	static const struct {
		const char *texts[2], *expected;
	} cases[] = {
		{{"", ""}, "rank0: no MPI calls"},
		{{"MPI_Barrier:0:7,0,2:1\n", "hello\n"}, "rank1:1: found 'hello', expected MPI_NAME"},
		{{"MPI_Barrier:0:7,0,2:1\n", "# x\nMPI_Barrier:x:7,1,2:1\n"}, "rank1:2: begin: found 'x'"},
		{{"MPI_Barrier:5:7,0,2:1\n", ""}, "rank0:1: end: found '1', expected a time after the begin"},
		{{"MPI_Barrier:0:7,0,3:1\n", ""}, "rank0:1: communicator: rank 0 of 3, expected rank 0 of 2"},
		{{"MPI_Barrier:0:7,0:1\n", ""}, "rank0:1: communicator: found '7', expected number,rank,size"},
		{{"MPI_Barrier:0:7,1,2:1\n", ""}, "in the order of the ranks"},
		{{"MPI_Send:0:1:1:1,8:1:0:7,0,2:1\n", ""}, "rank0:1: type: found '1', expected number,size,extent"},
		{{"MPI_Send:0:1:1:1,8,8:2:0:7,0,2:1\n", ""},
		 "rank0:1: rank: found '2', expected a whole number from 0 to 1"},
		{{"MPI_Recv:0:1:1:1,8,8:-1:0:7,0,2:9:1\n", ""}, "MPI_ANY_SOURCE and MPI_PROC_NULL"},
		{{"MPI_Barrier:0:1\n", ""}, "rank0:1: MPI_Barrier: found 'fewer', expected as many arguments"},
		{{"MPI_Send:0:1:1:1,8,8:1:0:7,0,2:1\n", "MPI_Barrier:0:7,1,2:1\n"}, "waits for ever"},
		{{"MPI_Send:0:1:1:1,8,8:1:0:7,0,2:1\n", "MPI_Comm_rank:0:7,1,2:2:3\nMPI_Wait:0:8:9:1\n"},
		 "rank0:1: rank 0: the other end of this message is missing"},
		{{"MPI_Barrier:0:7,0,2:1\n", "MPI_Allreduce:0:1:2:1:1,8,8:3:7,1,2:1\n"},
		 "MPI_Allreduce: rank 1: rank 0 is in MPI_Barrier"},
		{{"MPI_Barrier:9:7,0,2:19\nMPI_Barrier:3:7,0,2:20\n", "MPI_Barrier:0:7,1,2:1\nMPI_Barrier:3:7,1,2:4\n"},
		 "rank0:2: MPI_Barrier: rank 0: begins before the end of the call before it"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct execution_graph graph = {0};
		struct error err = {0};
		struct mpi_run run;
		int code = parse(&run, cases[i].texts, 2, &err);

		if (code == 0)
			code = mpi_build(&run, &model, &graph, &err);
		cr_assert_lt(code, 0, "%s", cases[i].expected);
		cr_assert(strstr(err.text, cases[i].expected), "'%s', expected '%s'", err.text, cases[i].expected);
		execution_graph_free(&graph);
		mpi_run_free(&run);
	}
}

/* What cannot be modelled is counted by name. */
Test(calls, other_calls_are_named)
{
	const char *texts[] = {"MPI_Test:0:1:2:3:4\nMPI_Put:4:1:6\nMPI_Test:7:1:2:3:8\nMPI_Barrier:8:7,0,1:9\n"};
	struct error err = {0};
	struct mpi_run run;

	cr_assert_eq(parse(&run, texts, 1, &err), 0, "%s", err.text);
	cr_assert_eq(run.other_count, 2);
	cr_assert_str_eq(run.others[0].name, "MPI_Put");
	cr_assert_eq(run.others[1].calls, 2);
	cr_assert_float_eq(run.others[1].us, 5, 1e-9);
	mpi_run_free(&run);
}

static int tell(const void *texts, char *answer, size_t bytes)
{
	struct execution_graph graph = {0};
	struct runtime runtime = {0};
	struct error err = {0};
	struct mpi_run run;
	int code = parse(&run, texts, 2, &err);

	if (code == 0)
		code = mpi_build(&run, &model, &graph, &err);
	if (code == 0)
		code = runtime_find(&graph, 0, 10000, &runtime, &err);
	if (code == 0)
		snprintf(answer, bytes, "%g %g %g", runtime_at(&runtime, 0), runtime_at(&runtime, 3000),
			 runtime_at(&runtime, 10000));
	runtime_free(&runtime);
	execution_graph_free(&graph);
	mpi_run_free(&run);
	return code;
}

Test(calls, lack_of_memory_changes_no_answer)
{
	static const char *const texts[] = {"MPI_Barrier:0:7,0,2:0.5\nMPI_Bcast:1:1:1:1,8,8:1:7,0,2:1.5\nMPI_Allreduce:"
					    "2:1:2:20000:1,1,1:3:7,0,2:4\n",
					    "MPI_Barrier:0:7,1,2:0.5\nMPI_Bcast:1:1:1:1,8,8:1:7,1,2:1.5\nMPI_Allreduce:"
					    "2:1:2:20000:1,1,1:3:7,1,2:4\n"};

	allocations_fail(tell, texts, "collectives");
}
