/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <base/ns.h>

#include "agent_priv.h"

#include "../../support/fail_in_turn.h"

static const uint8_t given[FRAME_MAC_BYTES] = {2, 0, 0, 0, 0, 9};

Test(neighbours, asks_less_and_less_often_until_it_knows)
{
	struct neighbours neighbours = {0};
	struct frame arp = {.kind = FRAME_IS_AT, .source_address = 1, .source_mac = {2, 0, 0, 0, 0, 1}};
	unsigned int asked = 0;

	cr_assert_eq(neighbours_add(&neighbours, 1, NULL), 0);
	cr_assert_eq(neighbours_add(&neighbours, 2, given), 1);
	cr_assert_eq(neighbours.questions.count, 1, "100,000 given MACs would be gone through in one turn of the loop");
	cr_assert_eq(neighbours_add(&neighbours, 1, NULL), 0, "known already");
	for (int64_t ms = 0; ms < 10000; ms++) {
		const struct neighbour *neighbour = neighbours_ask(&neighbours, (struct ns){ms * NS_PER_MS});

		if (neighbour) {
			cr_assert_eq(neighbour->address, 1);
			asked++;
		}
	}
	cr_assert(asked >= 10 && asked <= 16, "%u times in 10 s", asked);
	cr_assert(!neighbours.items[0].known && neighbours.items[1].known);
	neighbours_learn(&neighbours, &arp, (struct ns){10 * NS_PER_S});
	cr_assert(neighbours.items[0].known);
	cr_assert_null(neighbours_ask(&neighbours, (struct ns){39 * NS_PER_S}));
	neighbours_free(&neighbours);
}

Test(neighbours, believes_the_file_more_than_the_wire)
{
	struct neighbours neighbours = {0};
	struct frame arp = {.kind = FRAME_IS_AT, .source_address = 2, .source_mac = {2, 0, 0, 0, 0, 1}};

	neighbours_add(&neighbours, 2, given);
	neighbours_learn(&neighbours, &arp, (struct ns){0});
	cr_assert_arr_eq(neighbours.items[0].mac, given, FRAME_MAC_BYTES);
	neighbours_add(&neighbours, 3, NULL);
	arp.source_address = 3;
	arp.source_mac[0] = 3; /* a group's */
	neighbours_learn(&neighbours, &arp, (struct ns){0});
	cr_assert(!neighbours.items[1].known);
	neighbours_free(&neighbours);
}

/* A host may be replaced by another with the same address. */
Test(neighbours, a_learned_mac_is_asked_for_again_and_replaced)
{
	struct neighbours neighbours = {0};
	struct frame arp = {.kind = FRAME_IS_AT, .source_address = 1, .source_mac = {2, 0, 0, 0, 0, 1}};

	neighbours_add(&neighbours, 1, NULL);
	neighbours_learn(&neighbours, &arp, (struct ns){0});
	cr_assert_null(neighbours_ask(&neighbours, (struct ns){29 * NS_PER_S}));
	cr_assert_not_null(neighbours_ask(&neighbours, (struct ns){30 * NS_PER_S}));
	cr_assert(neighbours.items[0].known, "probes go on meanwhile");
	arp.source_mac[5] = 7;
	neighbours_learn(&neighbours, &arp, (struct ns){30 * NS_PER_S});
	cr_assert_eq(neighbours.items[0].mac[5], 7);
	cr_assert_null(neighbours_ask(&neighbours, (struct ns){31 * NS_PER_S}));
	neighbours_free(&neighbours);
}

Test(neighbours, one_without_users_is_not_asked_for_and_gives_its_place_away)
{
	struct neighbours neighbours = {0};

	cr_assert_eq(neighbours_add(&neighbours, 1, given), 0);
	cr_assert_eq(neighbours_add(&neighbours, 1, NULL), 0);
	neighbours_drop(&neighbours, 0);
	cr_assert_eq(neighbours_add(&neighbours, 1, NULL), 0, "the other user is still there");
	neighbours_drop(&neighbours, 0);
	neighbours_drop(&neighbours, 0);
	cr_assert_null(neighbours_ask(&neighbours, (struct ns){NS_PER_S}));
	cr_assert_eq(neighbours_add(&neighbours, 2, NULL), 0);
	cr_assert(!neighbours.items[0].known, "the MAC was the other's");
	cr_assert_eq(neighbours_ask(&neighbours, (struct ns){NS_PER_S})->address, 2);
	neighbours_free(&neighbours);
}

/* Adds 50 neighbours, and prints those that are asked. */
static int add_all(const void *context, char *answer, size_t bytes)
{
	struct neighbours neighbours = {0};
	size_t used = 0;
	int code = 0;

	(void)context;
	for (uint32_t i = 1; i <= 50 && code >= 0; i++)
		code = (int)neighbours_add(&neighbours, i, i % 5 ? NULL : given);
	for (int64_t ms = 0; code >= 0 && ms < 100; ms++) {
		const struct neighbour *neighbour = neighbours_ask(&neighbours, (struct ns){ms * NS_PER_MS});

		if (neighbour)
			used += (size_t)snprintf(answer + used, bytes - used, "%u ", (unsigned)neighbour->address);
	}
	neighbours_free(&neighbours);
	return code < 0 ? code : 0;
}

Test(neighbours, lack_of_memory_loses_none)
{
	allocations_fail(add_all, NULL, "50 neighbours");
}
