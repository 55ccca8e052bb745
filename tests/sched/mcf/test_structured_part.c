/* SPDX-License-Identifier: BSD-3-Clause */
/* The vectors part a row as the portable way does: ragged ends, arcs to blocks, columns that are gone. */
#include <string.h>

#include <criterion/criterion.h>

#include <base/rng.h>

#include "structured_part.h"

enum { COLUMNS = 400, BLOCKS = 8, ARCS = 150, DRAWS = 20000 };

struct row {
	struct arc arcs[ARCS];
	struct tie ties[ARCS];
	int32_t wanted[COLUMNS];
	struct block blocks[BLOCKS];
	struct parted_arc left[ARCS + PART_SLACK];
	struct parting parting;
};

static int32_t draw_cost(struct rng *rng)
{
	return 100 + (int32_t)rng_below(rng, 6);
}

/* Each target at most once. */
static int32_t draw_row(struct rng *rng, struct row *row)
{
	int32_t most = (int32_t)rng_below(rng, ARCS + 1), count = 0;
	uint64_t changing = 1 + rng_below(rng, 12), over_blocks = rng_below(rng, 2);

	memset(row, 0, sizeof(*row));
	for (int32_t b = 0; b < BLOCKS; b++)
		row->blocks[b].row_cost = rng_below(rng, 3)   ? INT32_MAX
					  : rng_below(rng, 2) ? draw_cost(rng)
							      : ARC_ABSENT;
	for (int32_t c = (int32_t)rng_below(rng, 3); c < COLUMNS; c += 1 + (int32_t)rng_below(rng, 4)) {
		row->wanted[c] = rng_below(rng, changing) ? 0 : rng_below(rng, 3) ? draw_cost(rng) + 1 : NONE;
		if (count == most)
			continue;
		row->arcs[count] = (struct arc){c, draw_cost(rng)};
		if (over_blocks && c % 50 < 3 && c / 50 < BLOCKS && (count == 0 || row->arcs[count - 1].target >= 0))
			row->arcs[count].target = ~(c / 50);
		row->ties[count].place = rng_below(rng, 20) ? (int32_t)rng_below(rng, 1000) : NONE;
		count++;
	}
	return count;
}

static struct parting *begin(struct row *row)
{
	row->parting = (struct parting){
		.arcs = row->arcs, .ties = row->ties, .wanted = row->wanted, .blocks = row->blocks, .left = row->left};
	return &row->parting;
}

#if defined(__x86_64__)
static void assert_same(const struct row *row, const struct row *wanted, int32_t count, int32_t draw)
{
	int32_t kept = wanted->parting.kept, left = wanted->parting.left_count;

	cr_assert_eq(row->parting.kept, kept, "draw %d", draw);
	cr_assert_eq(row->parting.left_count, left, "draw %d", draw);
	cr_assert_eq(kept + left, count);
	cr_assert_eq(memcmp(row->arcs, wanted->arcs, (size_t)kept * sizeof(*row->arcs)), 0, "draw %d", draw);
	cr_assert_eq(memcmp(row->ties, wanted->ties, (size_t)kept * sizeof(*row->ties)), 0, "draw %d", draw);
	cr_assert_eq(memcmp(row->left, wanted->left, (size_t)left * sizeof(*row->left)), 0, "draw %d", draw);
	cr_assert_eq(memcmp(row->wanted, wanted->wanted, sizeof(row->wanted)), 0, "draw %d", draw);
	for (int32_t b = 0; b < BLOCKS; b++)
		cr_assert_eq(row->blocks[b].row_cost, wanted->blocks[b].row_cost, "draw %d: block %d", draw, b);
}

Test(structured_part, vectors_part_as_the_portable_way_does)
{
	static struct row row, wanted;
	struct arc behind[ARCS];
	int64_t left = 0, kept = 0;
	struct rng rng;

	if (!__builtin_cpu_supports("avx512f"))
		cr_skip_test("this processor has no AVX-512");
	rng_seed(&rng, 12);
	for (int32_t draw = 0; draw < DRAWS; draw++) {
		int32_t count = draw_row(&rng, &wanted);

		for (int32_t i = count; i < ARCS; i++) /* of another: not to be written */
			wanted.arcs[i] = (struct arc){i, i};
		row = wanted;
		memcpy(behind, row.arcs, sizeof(behind));
		part_portable(begin(&wanted), 0, count);
		part_avx512(begin(&row), count);
		assert_same(&row, &wanted, count, draw);
		cr_assert_eq(memcmp(row.arcs + count, behind + count, (size_t)(ARCS - count) * sizeof(*behind)), 0);
		left += row.parting.left_count;
		kept += row.parting.kept;
	}
	cr_assert_gt(left, DRAWS);
	cr_assert_gt(kept, DRAWS);
}
#endif

Test(structured_part, an_arc_leaves_when_another_cost_is_wanted_or_none)
{
	static struct row row = {
		.arcs = {{4, 100}, {~1, 101}, {1, 102}, {2, 102}, {~0, 103}, {3, 104}},
		.ties = {{.place = 10}, {.place = 11}, {.place = 12}, {.place = 13}, {.place = 14}, {.place = 15}},
		.wanted = {[1] = 103, [2] = 105, [3] = NONE},
		.blocks = {{.row_cost = 104}, {.row_cost = INT32_MAX}},
	};

	part_arcs(begin(&row), 6);
	cr_assert_eq(row.parting.kept, 3);
	cr_assert_eq(row.arcs[0].target, 4);
	cr_assert_eq(row.arcs[1].target, ~1);
	cr_assert_eq(row.arcs[2].target, 1);
	cr_assert_eq(row.ties[2].place, 12);
	cr_assert_eq(row.wanted[1], NONE, "it is there");
	cr_assert_eq(row.parting.left_count, 3);
	cr_assert_eq(row.left[0].target, 2);
	cr_assert_eq(row.left[1].target, ~0);
	cr_assert_eq(row.left[1].back, 14);
	cr_assert_eq(row.left[2].target, 3);
	cr_assert_eq(row.left[2].back, 15);
	cr_assert_eq(row.wanted[2], 105);
	cr_assert_eq(row.blocks[0].row_cost, 104);
}
