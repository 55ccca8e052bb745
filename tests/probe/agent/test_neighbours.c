/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <base/ns.h>

#include "neighbours_priv.h"

static const uint8_t given[FRAME_MAC_BYTES] = {2, 0, 0, 0, 0, 9};

Test(neighbours, asks_less_and_less_often_until_it_knows)
{
	struct neighbours neighbours = {0};
	struct frame arp = {.kind = FRAME_ARP_REPLY, .source_address = 1, .source_mac = {2, 0, 0, 0, 0, 1}};
	unsigned int asked = 0;

	cr_assert_eq(neighbours_add(&neighbours, 1, NULL), 0);
	cr_assert_eq(neighbours_add(&neighbours, 2, given), 1);
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
	neighbours_learn(&neighbours, &arp);
	cr_assert(neighbours.items[0].known);
	cr_assert_null(neighbours_ask(&neighbours, (struct ns){INT64_C(100) * NS_PER_MS * 1000}));
	neighbours_free(&neighbours);
}

Test(neighbours, believes_the_file_more_than_the_wire)
{
	struct neighbours neighbours = {0};
	struct frame arp = {.kind = FRAME_ARP_REPLY, .source_address = 2, .source_mac = {2, 0, 0, 0, 0, 1}};

	neighbours_add(&neighbours, 2, given);
	neighbours_learn(&neighbours, &arp);
	cr_assert_arr_eq(neighbours.items[0].mac, given, FRAME_MAC_BYTES);
	neighbours_add(&neighbours, 3, NULL);
	arp.source_address = 3;
	arp.source_mac[0] = 3; /* a group's */
	neighbours_learn(&neighbours, &arp);
	cr_assert(!neighbours.items[1].known);
	neighbours_free(&neighbours);
}
