/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides when to abandon the simplex for cost scaling. On most networks the simplex is faster, by up to four times; it
 * is several times slower where the tree is deep, as on long paths, stars and grids between one source and one sink.
 * The choice is based on early indicators, so that little time is lost if the simplex is abandoned. Each item below is
 * a check: first the work after which it is made, in nodes visited by pivots per arc of the network; then the
 * indicator. Measured on about forty networks: where the simplex is faster, its whole work is 10 to 1000 nodes per arc.
 * Cost scaling takes as long as the simplex takes for 100 to 2000 nodes per arc.
 *
 *    12: the number of pivots is less than a tenth of the number of nodes, because each pivot touches much of the tree.
 *        On long paths, long grids and stars, where scaling is 1.5 to 12 times as fast, the number of pivots is a tenth
 *        to a half of this limit. Elsewhere it is at least a fifth of the number of nodes.
 *   100: more than half of the units that started on artificial arcs are still there. Where the simplex is faster, 0 to
 *        15 % are (more on thick parallel arcs, where both are equally fast, and on time-expanded networks); where it
 *        is slower, 70 to 100 %.
 *   256: more than a fifth of all arcs are still attractive, as on layered networks (22 to 30 %, even at 1500);
 *        elsewhere 0 to 15 %.
 *  2500: no indicator: the simplex is abandoned. It has never needed this much work where it is faster.
 */
#include "simplex_priv.h"

/* The work at which the checks are made, in nodes visited per arc of the network. */
static const int64_t looks[] = {12, 100, 256, 2500};
enum { LOOK_PIVOTS, LOOK_MISSING, LOOK_ATTRACTIVE, LOOK_LAST };
/*
 * The first indicator predicts nothing on networks with fewer than FIRST_LOOK_NODES nodes; the next two predict nothing
 * on networks with fewer than LOOK_NODES.
 */
enum { FIRST_LOOK_NODES = 2000, LOOK_NODES = 12000 };
enum { PIVOTS_PART = 10, ATTRACTIVE_PART = 5 };

int64_t simplex_missing_units(const struct simplex *simplex)
{
	int64_t units = 0;

	for (int32_t v = 1; v <= simplex->node_count; v++) {
		if (simplex->tree[v].arc == ARTIFICIAL_DOWN)
			units += simplex->tree[v].up;
	}
	return units;
}

void simplex_be_impatient(struct simplex *simplex)
{
	simplex->look = LOOK_PIVOTS;
	simplex->patience = looks[LOOK_PIVOTS] * simplex->arc_count;
}

static int32_t attractive_arcs(const struct simplex *simplex)
{
	int32_t count = 0;

	for (int32_t a = 0; a < simplex->arc_count; a++)
		count += simplex_reduced_cost(simplex, a) < 0;
	return count;
}

static bool shows_slowness(const struct simplex *simplex, int look)
{
	switch (look) {
	case LOOK_PIVOTS:
		return simplex->node_count >= FIRST_LOOK_NODES &&
		       simplex->pivots < (uint64_t)simplex->node_count / PIVOTS_PART;
	case LOOK_MISSING:
		return simplex->node_count >= LOOK_NODES && simplex_missing_units(simplex) > simplex->missing_first / 2;
	case LOOK_ATTRACTIVE:
		return simplex->node_count >= LOOK_NODES &&
		       attractive_arcs(simplex) > simplex->arc_count / ATTRACTIVE_PART;
	default:
		return true;
	}
}

bool simplex_is_slow(struct simplex *simplex)
{
	while (simplex->work > looks[simplex->look] * simplex->arc_count) {
		if (shows_slowness(simplex, simplex->look))
			return true;
		simplex->look++;
	}
	simplex->patience = looks[simplex->look] * simplex->arc_count;
	return false;
}
