/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files of nomora trace: the input is the records of the ranks, 40 each, behind a byte that says how many ranks there
 * are; their headers are made here.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <predict/calls/calls.h>
#include <predict/graph/graph.h>

enum { RECORDS = 40 };

static int add_rank(struct mpi_run *run, uint32_t rank, const uint8_t *data, size_t size, struct error *err)
{
	struct trace_header header = {
		.magic = TRACE_MAGIC,
		.version = TRACE_VERSION,
		.rank = rank,
		.ranks = run->rank_count,
		.records = size / sizeof(struct trace_record),
	};
	char file[TRACE_HEADER_BYTES + RECORDS * sizeof(struct trace_record)] = {0};

	memcpy(file, &header, sizeof header);
	memcpy(file + TRACE_HEADER_BYTES, data, size);
	return mpi_parse_trace(run, "fuzz", file, TRACE_HEADER_BYTES + size, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct loggps model = {1000, 10, 2, 64};
	struct execution_graph graph = {0};
	struct runtime runtime = {0};
	struct error err = {0};
	struct mpi_run run;
	uint32_t ranks = size ? 1 + data[0] % 4 : 1;
	size_t part = RECORDS * sizeof(struct trace_record);
	int code = mpi_run_init(&run, ranks);

	for (uint32_t rank = 0; rank < ranks && code == 0; rank++) {
		size_t from = 1 + rank * part, bytes = size > from ? size - from : 0;

		code = add_rank(&run, rank, data + from, bytes > part ? part : bytes, &err);
	}
	if (code == 0)
		code = mpi_build(&run, &model, &graph, &err);
	if (code < 0 && err.text[0] == '\0')
		abort(); /* a refusal says why */
	if (code == 0 && runtime_find(&graph, 0, 2000, &runtime, &err) == 0 &&
	    runtime_at(&runtime, 0) > runtime_at(&runtime, 2000))
		abort();
	runtime_free(&runtime);
	execution_graph_free(&graph);
	mpi_run_free(&run);
	return 0;
}
