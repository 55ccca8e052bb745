/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When to leave the simplex for the cost scaling. On most networks the simplex is the faster, by up to four times; it
 * is several times slower where the tree is deep, as on long paths and grids between one source and one sink. What
 * tells them apart early is how much still comes over artificial arcs. Measured on some twenty networks, once
 * it has touched 100 nodes an arc: where it is the faster one, 0 to 15 % of all units (69 % on thick parallel arcs,
 * where the two are alike, 80 % on a network of days), where it is the slower, 70 to 100 %.
 */
#include "simplex_priv.h"

/* Nodes touched an arc. With fewer nodes than this the first look is left out: as many are slower as are faster. */
enum { FIRST_LOOK = 100, FIRST_LOOK_NODES = 12000 };
/* Where it is the faster of the two it takes up to 1800; longer than this it is not waited for. */
enum { LAST_LOOK = 2500 };

int64_t simplex_missing_units(const struct mcf_simplex *simplex)
{
	int64_t units = 0;

	for (int32_t v = 1; v <= simplex->node_count; v++) {
		if (simplex->tree[v].arc == ARTIFICIAL_DOWN)
			units += simplex->tree[v].room_up;
	}
	return units;
}

void simplex_be_impatient(struct mcf_simplex *simplex)
{
	int64_t look = simplex->node_count < FIRST_LOOK_NODES ? LAST_LOOK : FIRST_LOOK;

	simplex->patience = look * simplex->arc_count;
}

bool simplex_is_slow(struct mcf_simplex *simplex)
{
	int64_t last = (int64_t)LAST_LOOK * simplex->arc_count;

	if (simplex->patience >= last || simplex_missing_units(simplex) > simplex->missing_first / 2)
		return true;
	simplex->patience = last;
	return false;
}
