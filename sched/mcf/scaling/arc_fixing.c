/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Speculative arc fixing (Goldberg 1997): fixes arcs whose reduced cost is far from 0. A phase does not scan fixed
 * arcs.
 */
#include "scaling_priv.h"

/* Exchanges two arcs out of the same node. */
static void exchange(struct scaling *scaling, int32_t i, int32_t j)
{
	struct residual arc = scaling->arcs[i];
	int32_t reverse = scaling->reverse[i], origin = scaling->origin[i], whole = scaling->whole[i];

	scaling->arcs[i] = scaling->arcs[j];
	scaling->reverse[i] = scaling->reverse[j];
	scaling->origin[i] = scaling->origin[j];
	scaling->whole[i] = scaling->whole[j];
	scaling->arcs[j] = arc;
	scaling->whole[j] = whole;
	scaling->reverse[j] = reverse;
	scaling->origin[j] = origin;
	scaling->reverse[scaling->reverse[i]] = i;
	scaling->reverse[scaling->reverse[j]] = j;
}

void scaling_begin_phase(struct scaling *scaling, int64_t limit)
{
	scaling->has_fixed = false;
	for (int32_t v = 0; v < scaling->node_count; v++) {
		int32_t end = scaling->first[v + 1];

		for (int32_t i = scaling->first[v]; i < end;) {
			int64_t reduced = scaling_reduced(scaling, v, &scaling->arcs[i]);

			if (reduced < -scaling->epsilon && scaling->arcs[i].residual > 0)
				scaling_push(scaling, v, i, scaling->arcs[i].residual);
			if (reduced > limit || reduced < -limit)
				exchange(scaling, i, --end);
			else
				i++;
		}
		scaling->end[v] = end;
		scaling->has_fixed = scaling->has_fixed || end < scaling->first[v + 1];
	}
}

void scaling_release_fixed(struct scaling *scaling)
{
	for (int32_t v = 0; v < scaling->node_count; v++)
		scaling->end[v] = scaling->first[v + 1];
	scaling->has_fixed = false;
}

bool scaling_is_optimal(const struct scaling *scaling)
{
	for (int32_t v = 0; v < scaling->node_count; v++) {
		for (int32_t i = scaling->first[v]; i < scaling->first[v + 1]; i++) {
			if (scaling->arcs[i].residual > 0 &&
			    scaling_reduced(scaling, v, &scaling->arcs[i]) < -scaling->epsilon)
				return false;
		}
	}
	return true;
}
