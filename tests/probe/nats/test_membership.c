/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/rng.h>
#include <probe/nats/bus.h>

static struct mesh_join announcement(const char *name, const char *address, const char *rack)
{
	struct mesh_join join = {0};

	strcpy(join.host.name, name);
	strcpy(join.host.rack, rack);
	cr_assert_eq(address_parse(address, &join.host.address), 0);
	return join;
}

Test(membership, announcement_round_trip)
{
	struct mesh_join in = announcement("h.1", "fd00::1", "r1"), out;
	char subject[MESH_SUBJECT_BYTES], *payload;
	struct error err = {0};

	in.list_hash = 0xfedcba9876543210;
	in.leaves = true;
	payload = mesh_join_encode(&in, "nomora.mesh", subject);
	cr_assert_not_null(payload);
	cr_expect_str_eq(subject, "nomora.mesh.h%2E1.%join");
	cr_expect_str_eq(payload, "{\"schema\":\"nomora.mesh_join/1\",\"address\":\"fd00::1\",\"rack\":\"r1\","
				  "\"list\":\"fedcba9876543210\",\"leaves\":true}");
	cr_assert(mesh_membership_is(subject) && !mesh_membership_is("nomora.mesh.h1.%status"));
	cr_assert_eq(mesh_join_decode("nomora.mesh", subject, payload, strlen(payload), &out, &err), 0, "%s", err.text);
	cr_expect_str_eq(out.host.name, "h.1");
	cr_expect_str_eq(out.host.rack, "r1");
	cr_expect(out.host.address == in.host.address);
	cr_expect_eq(out.list_hash, in.list_hash);
	cr_expect(out.leaves);
	free(payload);
}

Test(membership, list_round_trip)
{
	static const char list[] = "# a list\nh1 10.0.0.1 - r1\n";
	char subject[MESH_SUBJECT_BYTES], *payload = mesh_peers_encode("h1", list, "m", subject), *again;
	char host[LATENCY_NAME_BYTES];
	struct error err = {0};

	cr_assert_not_null(payload);
	cr_expect_str_eq(subject, "m.h1.%peers");
	cr_assert_eq(mesh_peers_decode("m", subject, payload, strlen(payload), host, &again, &err), 0, "%s", err.text);
	cr_expect_str_eq(again, list);
	cr_expect_str_eq(host, "h1");
	free(again);
	free(payload);
}

Test(membership, refusals)
{
#define HEAD "{\"schema\":\"nomora.mesh_join/1\","
	static const struct {
		const char *subject, *payload, *reason;
	} cases[] = {
		{"m.h1.h2", HEAD "}", "expected the subject m.HOST.%join"},
		{"n.h1.%join", HEAD "}", "expected the subject m.HOST.%join"},
		{"m.a%23b.%join", HEAD "\"address\":\"10.0.0.1\",\"list\":\"0000000000000000\"}",
		 "expected the subject"},
		{"m..%join", HEAD "}", "expected the subject"},
		{"m.%join", HEAD "}", "expected the subject"},
		{"m.h1.%join", "{}", "schema"},
		{"m.h1.%join", HEAD "\"list\":\"0000000000000000\"}", "address"},
		{"m.h1.%join", HEAD "\"address\":\"224.0.0.1\",\"list\":\"0000000000000000\"}", "address"},
		{"m.h1.%join", HEAD "\"address\":\"10.0.0.1\",\"list\":\"000000000000000\"}", "16 hexadecimal"},
		{"m.h1.%join", HEAD "\"address\":\"10.0.0.1\",\"list\":\"000000000000000g\"}", "16 hexadecimal"},
		{"m.h1.%join", HEAD "\"address\":\"10.0.0.1\",\"rack\":\"a b\",\"list\":\"0000000000000000\"}", "rack"},
		{"m.h1.%join", HEAD "\"address\":\"10.0.0.1\",\"rack\":\"#\",\"list\":\"0000000000000000\"}", "rack"},
		{"m.h1.%join", HEAD "\"address\":\"10.0.0.1\",\"leaves\":1,\"list\":\"0000000000000000\"}", "leaves"},
	};

	for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
		struct mesh_join join;
		struct error err = {0};

		cr_expect(mesh_join_decode("m", cases[c].subject, cases[c].payload, strlen(cases[c].payload), &join,
					   &err) != 0,
			  "%s", cases[c].payload);
		cr_expect(strstr(err.text, cases[c].reason), "'%s' for %s", err.text, cases[c].payload);
	}
#undef HEAD
}

/* What the list should be, by number of the host: its address and rack, or 0. */
struct model {
	unsigned address[8], rack[8];
};

static bool is_taken(const struct model *model, unsigned host, unsigned address)
{
	for (unsigned h = 0; h < 8; h++)
		if (h != host && model->address[h] == address)
			return true;
	return false;
}

static size_t count_of(const struct model *model)
{
	size_t count = 0;

	for (unsigned h = 0; h < 8; h++)
		count += model->address[h] != 0;
	return count;
}

static void check_list(const struct model *model, const struct peers *members)
{
	cr_assert_eq(members->count, count_of(model));
	for (size_t i = 0; i < members->count; i++) {
		char name[PEER_NAME_BYTES], rack[PEER_NAME_BYTES];
		unsigned host = (unsigned)(members->items[i].name[1] - '0');

		snprintf(name, sizeof name, "h%u", host);
		snprintf(rack, sizeof rack, "r%u", model->rack[host]);
		cr_assert_str_eq(members->items[i].name, name);
		cr_assert_str_eq(members->items[i].rack, rack);
	}
}

Test(membership, any_sequence_of_announcements)
{
	struct rng rng;
	struct model model = {0};
	struct peers members = {0};

	rng_seed(&rng, 7);
	for (int step = 0; step < 20000; step++) {
		unsigned host = (unsigned)rng_below(&rng, 8), address = 1 + (unsigned)rng_below(&rng, 10),
			 rack = (unsigned)rng_below(&rng, 3);
		char name[8], ip[16], rack_name[8];
		struct mesh_join join;
		struct error err = {0};
		int wanted, got;

		snprintf(name, sizeof name, "h%u", host);
		snprintf(ip, sizeof ip, "10.0.0.%u", address);
		snprintf(rack_name, sizeof rack_name, "r%u", rack);
		join = announcement(name, ip, rack_name);
		join.leaves = rng_below(&rng, 4) == 0;
		if (join.leaves)
			wanted = model.address[host] != 0;
		else if (is_taken(&model, host, address))
			wanted = -EEXIST;
		else
			wanted = model.address[host] != address || model.rack[host] != rack;
		got = mesh_members_take(&members, &join, &err);
		cr_assert_eq(got, wanted, "step %d: %s", step, err.text);
		if (wanted == 1) {
			model.address[host] = join.leaves ? 0 : address;
			model.rack[host] = rack;
		}
		check_list(&model, &members);
	}
	peers_free(&members);
}
