/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <model/peers.h>

static int parse(const char *text, struct peers *peers, struct error *err)
{
	struct file_lines *lines = file_lines_from_memory("peers", text, strlen(text), err);
	int code = peers_parse(lines, peers, err);

	file_lines_close(lines);
	return code;
}

Test(peers, reads_all_forms_of_a_line)
{
	struct error err = {0};
	struct peers peers;

	cr_assert_eq(parse("# mesh\nh1 10.0.0.1\n\th2  10.0.0.2 02:00:00:00:00:02 # with MAC\n"
			   "h3 10.0.0.3 - r2\nh4 10.0.0.4 r2\nh5 10.0.0.5 02:00:00:00:00:05 r3\n",
			   &peers, &err),
		     0, "%s", err.text);
	cr_assert_eq(peers.count, 5);
	cr_assert(!peers.items[0].has_mac && peers.items[1].has_mac && !peers.items[2].has_mac);
	cr_assert_str_eq(peers.items[2].rack, "r2");
	cr_assert_str_eq(peers.items[3].rack, "r2");
	cr_assert_str_eq(peers.items[4].rack, "r3");
	cr_assert_eq(peers.items[4].mac[5], 5);
	cr_assert_str_eq(peers_find(&peers, 0x0a000003)->name, "h3");
	cr_assert_null(peers_find(&peers, 0x0a000009));
	peers_free(&peers);
}

/* Hosts of two subnets often have the same last 64 bits. */
Test(peers, addresses_that_differ_in_their_first_bits)
{
	struct error err = {0};
	struct peers peers;

	cr_assert_eq(parse("h1 fd00::2\nh2 fd01::2\nh3 fd00:0:0:1::2\n", &peers, &err), 0, "%s", err.text);
	cr_assert_eq(peers.count, 3);
	peers_free(&peers);
	cr_assert_neq(parse("h1 fd00::2\nh2 fd01::2\nh3 fd00::2\n", &peers, &err), 0);
	cr_assert_str_eq(err.text, "peers:3: address: 'h1' and 'h3' have the same address");
}

struct bad_file {
	char text[96], expected[48];
};

static const struct bad_file bad_files[] = {
	{"", "peers: expected lines"},
	{"# nothing\n\n", "peers: expected lines"},
	{"h1\n", "peers:1: address"},
	{"h1 10.0.0\n", "peers:1: address"},
	{"h1 0.0.0.0\n", "peers:1: address"},
	{"h1 224.0.0.1\n", "peers:1: address"},
	{"h1 127.0.0.1\n", "peers:1: address"},
	{"h1 10.0.0.1 zz r1\n", "peers:1: mac"},
	{"h1 10.0.0.1 01:00:00:00:00:01\n", "peers:1: mac"},
	{"h1 10.0.0.1 - r1 more\n", "peers:1: rack"},
	{"h,1 10.0.0.1\n", "peers:1: name"},
	{"h\x01 10.0.0.1\n", "peers:1: name"},
	{"h\xff 10.0.0.1\n", "peers:1: name"},
	{"h1 10.0.0.1\nh1 10.0.0.2\n", "peers:2: name: duplicate host name 'h1'"},
	{"h1 10.0.0.1\nh2 10.0.0.1\n", "peers:2: address: 'h1' and 'h2'"},
	{"h1 10.0.0.1 02:00:00:00:00:01\nh2 10.0.0.2 02:00:00:00:00:01\n", "peers:2: mac"},
};

Test(peers, refuses_bad_files_with_their_place)
{
	for (size_t i = 0; i < sizeof bad_files / sizeof bad_files[0]; i++) {
		struct error err = {0};
		struct peers peers;

		cr_assert_lt(parse(bad_files[i].text, &peers, &err), 0, "%s", bad_files[i].text);
		cr_assert(strncmp(err.text, bad_files[i].expected, strlen(bad_files[i].expected)) == 0,
			  "'%s' gave '%s'", bad_files[i].text, err.text);
		cr_assert_null(peers.items);
	}
}

Test(peers, what_is_written_reads_back_the_same)
{
	char path[] = "/tmp/nomora-peers-XXXXXX";
	struct peers peers, again;
	struct error err = {0};

	close(mkstemp(path));
	cr_assert_eq(parse("h1 10.0.0.1 02:00:00:00:00:01 r1\nh2 10.0.0.2\nh3 10.0.0.3 - r2\n", &peers, &err), 0);
	cr_assert_eq(peers_write(&peers, path, &err), 0, "%s", err.text);
	cr_assert_eq(peers_read(path, &again, &err), 0, "%s", err.text);
	cr_assert_eq(again.count, peers.count);
	for (size_t i = 0; i < peers.count; i++)
		cr_assert_eq(memcmp(&again.items[i], &peers.items[i], sizeof(struct peer)), 0, "peer %zu", i);
	unlink(path);
	peers_free(&peers);
	peers_free(&again);
}
