/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the answer, group by group. */
#include "structured_priv.h"

static bool group_exists(const struct structured *state, int32_t group)
{
	return group >= 0 && group < state->group_count && state->groups[group].exists;
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

int32_t structured_aggregator_price(const struct structured *state)
{
	return state->aggregator_price;
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

int32_t structured_read(const struct structured *state, int32_t group, struct structured_share *shares, int32_t room)
{
	int32_t count = 0;

	if (!group_exists(state, group))
		return 0;
	const struct group *g = &state->groups[group];

	if (g->share_count > room)
		return g->share_count;
	for (int32_t i = 0; i < g->share_count; i++) {
		const struct structured_share *share = &g->shares[i];

		if (count > 0 && shares[count - 1].column == share->column) {
			shares[count - 1].units += share->units;
			shares[count - 1].cost = share->cost; /* a column's shares ascend by cost */
		} else {
			shares[count++] = *share;
		}
	}
	return count;
}
