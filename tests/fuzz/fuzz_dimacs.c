/* SPDX-License-Identifier: BSD-3-Clause */
/* Every accepted problem passes the solvers' own check and survives writing and reading. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sched/mcf/dimacs.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_same(const struct mcf_problem *a, const struct mcf_problem *b)
{
	size_t arcs = (size_t)a->arc_count, nodes = (size_t)a->node_count;

	return a->node_count == b->node_count && a->arc_count == b->arc_count && !a->lower == !b->lower &&
	       (arcs == 0 || (memcmp(a->tail, b->tail, arcs * sizeof *a->tail) == 0 &&
			      memcmp(a->head, b->head, arcs * sizeof *a->head) == 0 &&
			      memcmp(a->capacity, b->capacity, arcs * sizeof *a->capacity) == 0 &&
			      memcmp(a->cost, b->cost, arcs * sizeof *a->cost) == 0)) &&
	       memcmp(a->supply, b->supply, nodes * sizeof *a->supply) == 0;
}

/* A file may declare 2^26 nodes without naming them: under ASan, 50 million take seconds. */
static bool is_huge(const uint8_t *data, size_t size)
{
	size_t digits = 0;
	bool begins = true, declares = false;

	for (size_t i = 0; i < size && digits < 8; i++) {
		if (begins && data[i] != ' ')
			declares = data[i] == 'p';
		begins = data[i] == '\n' || (begins && data[i] == ' ');
		digits = declares && data[i] >= '0' && data[i] <= '9' ? digits + 1 : 0;
	}
	return digits >= 8;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mcf_network network, again;
	struct error err = {0};
	char *text = NULL;
	size_t bytes = 0;
	FILE *out;

	if (is_huge(data, size))
		return 0;
	if (mcf_dimacs_parse("fuzz", (const char *)data, size, &network, &err) < 0) {
		if (!err.text[0])
			abort();
		return 0;
	}
	if (mcf_problem_check(&network.problem) != MCF_OPTIMAL)
		abort();
	out = network.problem.node_count < 100000 ? open_memstream(&text, &bytes) : NULL;
	if (out) {
		mcf_dimacs_write(&network.problem, "fuzz", out);
		fclose(out);
		if (mcf_dimacs_parse("again", text, bytes, &again, &err) < 0 ||
		    !is_same(&network.problem, &again.problem))
			abort();
		mcf_network_free(&again);
		free(text);
	}
	mcf_network_free(&network);
	return 0;
}
