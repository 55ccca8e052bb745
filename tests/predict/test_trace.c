/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of nomora trace, made of records: what counts as computation, communicators, any source, refusals. */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <predict/calls/calls.h>
#include <predict/graph/graph.h>

enum { RECORDS = 20, RANKS = 2 };

static const struct loggps model = {.latency_ns = 1000, .overhead_ns = 10, .gap_ns = 0, .eager_bytes = 100};

struct file {
	struct trace_header header;
	char rest[TRACE_HEADER_BYTES - sizeof(struct trace_header)];
	struct trace_record records[RECORDS];
};

static struct file files[RANKS];

static void begin(void)
{
	memset(files, 0, sizeof files);
	for (uint32_t rank = 0; rank < RANKS; rank++)
		files[rank].header = (struct trace_header){
			.magic = TRACE_MAGIC, .version = TRACE_VERSION, .rank = rank, .ranks = RANKS};
}

static void add(uint32_t rank, struct trace_record record)
{
	files[rank].records[files[rank].header.records++] = record;
}

static void add_pair(uint32_t rank, uint32_t a, uint32_t b, uint16_t number)
{
	uint32_t members[TRACE_MEMBERS] = {a, b};
	struct trace_record raw;

	memcpy(&raw, members, sizeof raw);
	add(rank, (struct trace_record){.kind = TRACE_COMMUNICATOR, .communicator = number, .bytes = 2});
	add(rank, raw);
}

static int read_run(struct mpi_run *run, size_t cut, struct error *err)
{
	int code = mpi_run_init(run, RANKS);

	for (uint32_t rank = 0; rank < RANKS && code == 0; rank++)
		code = mpi_parse_trace(run, rank ? "one" : "zero", (const char *)&files[rank], sizeof files[rank] - cut,
				       err);
	return code;
}

/* T(L) = a + b L in the interval. */
static void check(double a_ns, double b)
{
	struct execution_graph graph;
	struct runtime runtime;
	struct error err = {0};
	struct mpi_run run;

	cr_assert_eq(read_run(&run, 0, &err), 0, "%s", err.text);
	cr_assert_eq(mpi_build(&run, &model, &graph, &err), 0, "%s", err.text);
	cr_assert_eq(runtime_find(&graph, 1000, 2000, &runtime, &err), 0, "%s", err.text);
	cr_assert_float_eq(runtime_at(&runtime, 1000), a_ns + 1000 * b, 1e-6, "%.9g, expected %.9g + 1000 * %g",
			   runtime_at(&runtime, 1000), a_ns, b);
	cr_assert_eq(runtime.pieces[0].messages, b);
	runtime_free(&runtime);
	execution_graph_free(&graph);
	mpi_run_free(&run);
}

static void barrier(uint32_t rank, uint32_t gap_ns)
{
	add(rank, (struct trace_record){.kind = CALL_BARRIER, .gap_ns = gap_ns, .duration_ns = 500});
}

/* Rank 0 is the last at each barrier, so that it passes in 20 ns, and rank 1 leaves the last one L later. */
Test(trace, gaps_and_pauses_are_computation_unless_they_say_no)
{
	begin();
	add(0, (struct trace_record){.kind = TRACE_PAUSE, .bytes = 7000000000});
	barrier(0, 300);
	barrier(1, 0);
	/* a poll of which the time is that of the message, and one whose time counts */
	add(0, (struct trace_record){
		       .kind = TRACE_OTHER, .flags = TRACE_NO_TIME, .peer = OTHER_MPI_Probe, .duration_ns = 70000});
	add(0, (struct trace_record){.kind = TRACE_OTHER, .peer = OTHER_MPI_Put, .duration_ns = 4000});
	barrier(0, 50);
	barrier(1, 0);
	check(7000000300 + 20 + 4050 + 20, 1);
	/* a call that lasted longer than fits */
	add(0, (struct trace_record){.kind = TRACE_PAUSE, .flags = TRACE_NO_TIME, .bytes = 9000000000});
	barrier(0, 5000);
	barrier(1, 0);
	check(7000000300 + 20 + 4050 + 20 + 5000 + 20, 1);
}

/*
 * Two communicators of the same ranks: what is sent on one is not received on the other. Rank 0 sends, computes and
 * sends on the second; rank 1 receives the second first.
 */
Test(trace, communicators_of_the_same_ranks_are_told_apart)
{
	begin();
	for (uint32_t rank = 0; rank < RANKS; rank++)
		for (uint16_t number = 2; number < 4; number++)
			add_pair(rank, 0, 1, number);
	add(0, (struct trace_record){.kind = CALL_SEND, .communicator = 2, .peer = 1, .bytes = 8});
	add(0, (struct trace_record){.kind = CALL_SEND, .communicator = 3, .peer = 1, .bytes = 8, .gap_ns = 90000});
	add(1, (struct trace_record){.kind = CALL_RECEIVE, .communicator = 3, .peer = 0});
	add(1, (struct trace_record){.kind = CALL_RECEIVE, .communicator = 2, .peer = 0, .gap_ns = 6000});
	check(10 + 90000 + 10 + 10 + 6000 + 10, 1);
}

/* Member 0 is rank 1: the broadcast begins when this rank has computed for 700 ns. */
Test(trace, members_need_not_be_in_the_order_of_their_ranks)
{
	begin();
	for (uint32_t rank = 0; rank < RANKS; rank++) {
		add_pair(rank, 1, 0, 2);
		add(rank, (struct trace_record){
				  .kind = CALL_BROADCAST, .communicator = 2, .bytes = 8, .gap_ns = rank ? 700 : 0});
	}
	check(700 + 10 + 10, 1);
}

/* A receive from any source belongs to the message that its wait names. */
Test(trace, any_source_is_what_the_wait_says)
{
	begin();
	add(0, (struct trace_record){.kind = CALL_RECEIVE, .peer = -1, .tag = -1, .request = 1});
	add(0, (struct trace_record){.kind = CALL_WAIT, .peer = 1, .tag = 9, .request = 1});
	add(1, (struct trace_record){.kind = CALL_SEND, .peer = 0, .tag = 9, .bytes = 8, .gap_ns = 700});
	check(700 + 10 + 10, 1);
}

static void expect(size_t cut, const char *expected)
{
	struct error err = {0};
	struct mpi_run run;

	cr_assert_lt(read_run(&run, cut, &err), 0, "%s", expected);
	cr_assert(strstr(err.text, expected), "'%s', expected '%s'", err.text, expected);
	mpi_run_free(&run);
}

Test(trace, ranks_in_different_collectives_are_named_with_their_records)
{
	struct execution_graph graph;
	struct error err = {0};
	struct mpi_run run;

	begin();
	for (uint32_t rank = 0; rank < RANKS; rank++) {
		barrier(rank, 0);
		add(rank, (struct trace_record){.kind = rank ? CALL_BROADCAST : CALL_BARRIER});
	}
	cr_assert_eq(read_run(&run, 0, &err), 0, "%s", err.text);
	cr_assert_eq(mpi_build(&run, &model, &graph, &err), -EINVAL);
	cr_assert_str_eq(err.text,
			 "zero:2: MPI_Barrier: rank 0: rank 1 is in MPI_Bcast with root 0 at that point (line 2)");
	execution_graph_free(&graph);
	mpi_run_free(&run);
}

Test(trace, refusals)
{
	begin();
	barrier(0, 0);
	barrier(1, 0);
	files[1].header.records = RECORDS;
	expect(sizeof(struct trace_record), "one: cut: it should have 20 records");
	files[1].header.records = 1;
	files[1].header.version = 2;
	expect(0, "one: version 2, expected 1");
	files[1].header.version = 1;
	files[1].header.rank = 0;
	expect(0, "one: rank 0 was in zero already");
	files[1].header.rank = 1;
	files[1].header.ranks = 3;
	expect(0, "one: rank 1 of 3, but 2 files were given");
	files[1].header.ranks = 2;
	files[1].header.several_threads = 1;
	expect(0, "one: several threads called MPI");
	files[1].header.several_threads = 0;
	add(1, (struct trace_record){.kind = CALL_KINDS});
	expect(0, "one: record 2: kind: found 13");
	files[1].records[1] = (struct trace_record){.kind = CALL_SEND, .peer = 2};
	expect(0, "one: record 2: peer: found 2, expected a rank");
	files[1].records[1] = (struct trace_record){.kind = CALL_BARRIER, .communicator = 2};
	expect(0, "one: record 2: communicator: found 2");
	files[1].header.records = 1;
	add_pair(1, 0, 0, 2);
	expect(0, "one: record 2: communicator: found 2, expected members that are ranks, and this rank among them");
	files[1].records[1].bytes = 3;
	expect(0, "one: record 2: communicator: found 3, expected at most all ranks as members");
	files[1].records[1].bytes = 2;
	files[1].header.records = 2;
	expect(0, "one: record 2: communicator: found 2, expected at most all ranks as members");
	files[1].header.records = 1;
	add(1, (struct trace_record){.kind = CALL_RECEIVE, .peer = -1, .tag = -1, .request = 1});
	expect(0, "one: 1 receive from any source did not end");
	memcpy(files[1].header.magic, "NOTTHIS!", 8);
	expect(0, "one: not a file of nomora trace");
}
