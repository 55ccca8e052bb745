/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When to leave the simplex for the cost scaling. On most networks the simplex is the faster, by up to four times; it
 * is several times slower where the tree is deep, as on long paths, stars and grids between one source and one sink.
 * The choice is a bet on signs that show early, so that little is lost where it is left: what the simplex has done
 * after it has touched so many nodes an arc of the network, its start apart. Measured on some forty networks, on which
 * it is done after 10 to 1000 of them where it is the faster one and the scaling takes as long as 100 to 2000 of them
 * would.
 *
 *    12: it has made fewer pivots than a tenth of the nodes: each goes through much of the tree (a tenth to a half of
 *        that on long paths, long grids and stars, where the scaling is 1.5 to 12 times as fast; a fifth and more
 *        elsewhere).
 *   100: more than half of the units that came over artificial arcs still do. Where it is the faster one, 0 to 15 %
 *        do (more on thick parallel arcs, where the two are alike, and on networks of days); where it is the slower,
 *        70 to 100 %.
 *   256: more than a fifth of all arcs are still attractive, as on layered networks (22 to 30 %, even at 1500).
 *        Elsewhere 0 to 15 % are.
 *  2500: it takes longer than it does anywhere where it is the faster one.
 */
#include "simplex_priv.h"

/* In nodes touched an arc of the network. */
static const int64_t looks[] = {12, 100, 256, 2500};
enum { LOOK_PIVOTS, LOOK_MISSING, LOOK_ATTRACTIVE, LOOK_LAST };
/* With fewer nodes than these the first sign, or the two after it, mean nothing: as many are slower as are faster. */
enum { FIRST_LOOK_NODES = 2000, LOOK_NODES = 12000 };
enum { PIVOTS_PART = 10, ATTRACTIVE_PART = 5 };

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
	simplex->look = LOOK_PIVOTS;
	simplex->patience = looks[LOOK_PIVOTS] * simplex->arc_count;
}

static bool shows_slowness(const struct mcf_simplex *simplex, int look)
{
	switch (look) {
	case LOOK_PIVOTS:
		return simplex->node_count >= FIRST_LOOK_NODES &&
		       simplex->pivots < (uint64_t)simplex->node_count / PIVOTS_PART;
	case LOOK_MISSING:
		return simplex->node_count >= LOOK_NODES && simplex_missing_units(simplex) > simplex->missing_first / 2;
	case LOOK_ATTRACTIVE:
		return simplex->node_count >= LOOK_NODES &&
		       simplex_attractive_arcs(simplex) > simplex->arc_count / ATTRACTIVE_PART;
	default:
		return true;
	}
}

bool simplex_is_slow(struct mcf_simplex *simplex)
{
	while (simplex->work > looks[simplex->look] * simplex->arc_count) {
		if (shows_slowness(simplex, simplex->look))
			return true;
		simplex->look++;
	}
	simplex->patience = looks[simplex->look] * simplex->arc_count;
	return false;
}
