/* SPDX-License-Identifier: BSD-3-Clause */
/* Traces of MPI calls: the first byte is the number of ranks, whose texts are separated by NUL. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <predict/calls/calls.h>
#include <predict/graph/graph.h>

static void check(struct mpi_run *run)
{
	static const struct loggps model = {1000, 10, 2, 64};
	struct execution_graph graph;
	struct runtime runtime = {0};
	struct error err = {0};

	if (mpi_build(run, &model, &graph, &err) < 0) {
		if (err.code == 0 || err.text[0] == '\0')
			abort();
	} else if (runtime_find(&graph, 0, 2000, &runtime, &err) == 0) {
		if (runtime_at(&runtime, 0) > runtime_at(&runtime, 2000))
			abort();
	}
	runtime_free(&runtime);
	execution_graph_free(&graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t ranks = size ? 1 + data[0] % 5 : 1;
	const char *at = (const char *)data + 1, *end = (const char *)data + size;
	struct error err = {0};
	struct mpi_run run;
	int code = mpi_run_init(&run, ranks);

	for (uint32_t rank = 0; rank < ranks && size > 0 && code == 0; rank++) {
		const char *stop = memchr(at, '\0', (size_t)(end - at));
		size_t bytes = (size_t)((stop ? stop : end) - at);

		code = mpi_parse_allprof(&run, rank, "fuzz", at, bytes, &err);
		if (code < 0 && err.text[0] == '\0')
			abort();
		at = stop ? stop + 1 : end;
	}
	if (code == 0 && size > 0)
		check(&run);
	mpi_run_free(&run);
	return 0;
}
