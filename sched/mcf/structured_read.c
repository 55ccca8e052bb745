/* SPDX-License-Identifier: BSD-3-Clause */
/* The answer, group by group. */
#include "structured_priv.h"

static bool group_exists(const struct structured *state, int32_t group)
{
	return group >= 0 && group < state->group_count && state->groups[group].exists;
}

int32_t structured_supply(const struct structured *state, int32_t group)
{
	return group_exists(state, group) ? state->groups[group].supply : 0;
}

int32_t structured_unscheduled(const struct structured *state, int32_t group)
{
	return group_exists(state, group) ? state->groups[group].unscheduled_flow : 0;
}

int32_t structured_unrouted(const struct structured *state, int32_t group)
{
	return group_exists(state, group) ? state->groups[group].unrouted : 0;
}

int32_t structured_column_price(const struct structured *state, int32_t column)
{
	return column >= 0 && column < state->column_count ? state->prices[column] : PRICE_CLOSED;
}

int32_t structured_group_price(const struct structured *state, int32_t group)
{
	return group_exists(state, group) ? state->groups[group].price : 0;
}

int32_t structured_changed(const struct structured *state, const int32_t **groups)
{
	*groups = state->changed_list.ids;
	return state->changed_list.count;
}

void structured_changed_clear(struct structured *state)
{
	for (int32_t i = 0; i < state->changed_list.count; i++)
		state->groups[state->changed_list.ids[i]].in_changed_list = false;
	state->changed_list.count = 0;
}

void structured_fetch_shares(const struct structured *state, int32_t group)
{
	enum { CACHE_LINE = 64, LINES = 4 };

	if (group < 0 || group >= state->group_count)
		return;
	const struct group *g = &state->groups[group];
	size_t bytes = (size_t)g->share_count * sizeof(*g->shares);

	for (size_t line = 0; line < LINES && line * CACHE_LINE < bytes; line++)
		__builtin_prefetch((const char *)g->shares + line * CACHE_LINE);
}

void structured_fetch_units(const struct structured *state, int32_t group)
{
	enum { MOST = 24 };

	if (group < 0 || group >= state->group_count)
		return;
	const struct group *g = &state->groups[group];

	for (int32_t i = 0; i < g->share_count && i < MOST; i++)
		__builtin_prefetch(&g->uses[g->shares[i].arc]);
}

/* Heapsort where a group has many columns: no scratch, no bad case. */
static void sift(struct structured_share *shares, int32_t root, int32_t count)
{
	struct structured_share share = shares[root];

	for (int32_t child; (child = 2 * root + 1) < count; root = child) {
		if (child + 1 < count && shares[child + 1].column > shares[child].column)
			child++;
		if (shares[child].column <= share.column)
			break;
		shares[root] = shares[child];
	}
	shares[root] = share;
}

static void sort_shares(struct structured_share *shares, int32_t count)
{
	enum { FEW = 48 };

	for (int32_t i = 1; i < count && count <= FEW; i++) {
		struct structured_share share = shares[i];
		int32_t place = i;

		for (; place > 0 && shares[place - 1].column > share.column; place--)
			shares[place] = shares[place - 1];
		shares[place] = share;
	}
	if (count <= FEW)
		return;
	for (int32_t root = count / 2 - 1; root >= 0; root--)
		sift(shares, root, count);
	for (int32_t last = count - 1; last > 0; last--) {
		struct structured_share share = shares[last];

		shares[last] = shares[0];
		shares[0] = share;
		sift(shares, 0, last);
	}
}

int32_t structured_read(const struct structured *state, int32_t group, struct structured_share *shares, int32_t room)
{
	int32_t count = 0, merged = 0;

	if (!group_exists(state, group))
		return 0;
	const struct group *g = &state->groups[group];

	if (g->share_count > room || g->share_count == 0)
		return g->share_count;
	for (; count < g->share_count; count++) {
		const struct share *share = &g->shares[count];

		shares[count] = (struct structured_share){share->column, g->uses[share->arc].flow, share->cost};
	}
	sort_shares(shares, count);
	for (int32_t i = 1; i < count; i++) {
		if (shares[i].column == shares[merged].column) {
			shares[merged].units += shares[i].units;
			if (shares[i].cost > shares[merged].cost)
				shares[merged].cost = shares[i].cost;
		} else {
			shares[++merged] = shares[i];
		}
	}
	return merged + 1;
}
