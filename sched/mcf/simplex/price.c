/* SPDX-License-Identifier: BSD-3-Clause */
/* Pricing of the network simplex: block search, going round the arcs. */
#include "simplex_price_priv.h"

void simplex_price_wide(const struct mcf_simplex *simplex, int32_t begin, int32_t end, struct entering_arc *best)
{
	const struct priced_arcs *priced = &simplex->priced;
	const int64_t *potential = simplex->potential;

	for (int32_t a = begin; a < end; a++) {
		int64_t reduced = (int64_t)((uint64_t)priced->cost[a] + (uint64_t)potential[priced->tail[a]] -
					    (uint64_t)potential[priced->head[a]]);

		if (reduced < best->reduced)
			*best = (struct entering_arc){a, reduced};
	}
}

int32_t simplex_attractive_arcs(const struct mcf_simplex *simplex)
{
	int32_t count = 0;

	for (int32_t a = 0; a < simplex->arc_count; a++) {
		struct entering_arc arc = {0};

		if (simplex->narrow)
			simplex_price_portable(simplex, a, a + 1, &arc);
		else
			simplex_price_wide(simplex, a, a + 1, &arc);
		count += arc.reduced < 0;
	}
	return count;
}

static void price_range(const struct mcf_simplex *simplex, int32_t begin, int32_t end, struct entering_arc *best)
{
	if (simplex->narrow)
		simplex_price_narrow(simplex, begin, end, best);
	else
		simplex_price_wide(simplex, begin, end, best);
}

bool simplex_price(struct mcf_simplex *simplex, int32_t block, struct entering_arc *best)
{
	int32_t cursor = simplex->cursor, left = simplex->arc_count;

	best->reduced = 0;
	while (left > 0) {
		int32_t size = block < left ? block : left;
		int32_t first = simplex->arc_count - cursor < size ? simplex->arc_count - cursor : size;

		price_range(simplex, cursor, cursor + first, best);
		cursor += first;
		if (first < size) {
			price_range(simplex, 0, size - first, best);
			cursor = size - first;
		}
		if (cursor == simplex->arc_count)
			cursor = 0;
		left -= size;
		if (best->reduced < 0) {
			simplex->work += (simplex->arc_count - left) / SIMPLEX_ARCS_A_NODE;
			simplex->cursor = cursor;
			return true;
		}
	}
	return false;
}
