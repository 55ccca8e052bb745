/* SPDX-License-Identifier: BSD-3-Clause */
#include <model/peers.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/hash_table.h>
#include <base/name.h>

enum { FIELDS_MAXIMUM = 4 };

struct peer_line {
	struct file_lines *lines;
	struct error *err;
	struct hash_table *names, *addresses, *macs; /* of the peers read so far */
};

static struct error_place place(const struct peer_line *at, const char *field)
{
	return (struct error_place){file_lines_name(at->lines), file_lines_number(at->lines), field};
}

/* Splits the line at blanks, in place. Stores at most FIELDS_MAXIMUM words, but returns the number of all words. */
static size_t split_words(char *line, char **words)
{
	size_t count = 0;
	char *rest = NULL;

	for (char *word = strtok_r(line, " \t\r", &rest); word; word = strtok_r(NULL, " \t\r", &rest))
		if (count++ < FIELDS_MAXIMUM)
			words[count - 1] = word;
	return count;
}

static int copy_name(const struct peer_line *at, const char *field, const char *word, char *name)
{
	if (!name_is_valid(word, PEER_NAME_BYTES))
		return error_at(at->err, place(at, field), EINVAL,
				"expected up to %d bytes of UTF-8 without commas or quotes, found '%.80s'",
				PEER_NAME_BYTES - 1, word);
	strcpy(name, word);
	return 0;
}

static int read_peer(const struct peer_line *at, char **words, size_t count, struct peer *peer)
{
	size_t rack_at = 3;
	int code = copy_name(at, "name", words[0], peer->name);

	if (code)
		return code;
	if (count < 2)
		return error_at(at->err, place(at, "address"), EINVAL, "expected 'name address [mac] [rack]'");
	if (count > FIELDS_MAXIMUM)
		return error_at(at->err, place(at, "rack"), EINVAL, "expected at most %d words, found %zu",
				FIELDS_MAXIMUM, count);
	if (address_parse(words[1], &peer->address) || !address_is_host(peer->address))
		return error_at(at->err, place(at, "address"), EINVAL,
				"expected a host's address such as 10.0.0.1 or 2001:db8::1, found '%.80s'", words[1]);
	if (count < 3)
		return 0;
	peer->has_mac = address_parse_mac(words[2], peer->mac) == 0;
	if (!peer->has_mac && strcmp(words[2], "-") != 0) {
		if (count == 4)
			return error_at(at->err, place(at, "mac"), EINVAL,
					"expected a MAC such as 52:54:00:00:00:01 or '-', found '%.80s'", words[2]);
		rack_at = 2;
	}
	if (peer->has_mac && peer->mac[0] & 1)
		return error_at(at->err, place(at, "mac"), EINVAL, "expected one host's MAC, '%s' is a multicast MAC",
				words[2]);
	return count > rack_at ? copy_name(at, "rack", words[rack_at], peer->rack) : 0;
}

static uint64_t mac_key(const struct peer *peer)
{
	return hash_fnv_bytes(HASH_FNV_START, peer->mac, ADDRESS_MAC_BYTES);
}

static int refuse_duplicate(const struct peer_line *at, const struct peers *peers, const struct peer *peer)
{
	HASH_TABLE_EACH (at->names, hash_text(peer->name), slot)
		if (strcmp(peers->items[hash_table_value(at->names, slot)].name, peer->name) == 0)
			return error_at(at->err, place(at, "name"), EEXIST, "duplicate host name '%s'", peer->name);
	HASH_TABLE_EACH (at->addresses, address_hash(peer->address), slot) {
		const struct peer *other = &peers->items[hash_table_value(at->addresses, slot)];

		if (other->address == peer->address)
			return error_at(at->err, place(at, "address"), EEXIST, "'%s' and '%s' have the same address",
					other->name, peer->name);
	}
	if (!peer->has_mac)
		return 0;
	HASH_TABLE_EACH (at->macs, mac_key(peer), slot) {
		const struct peer *other = &peers->items[hash_table_value(at->macs, slot)];

		if (memcmp(other->mac, peer->mac, ADDRESS_MAC_BYTES) == 0)
			return error_at(at->err, place(at, "mac"), EEXIST, "'%s' and '%s' have the same MAC",
					other->name, peer->name);
	}
	return 0;
}

static int note(const struct peer_line *at, const struct peer *peer, uint32_t number)
{
	int code = hash_table_insert(at->names, hash_text(peer->name), number);

	if (!code)
		code = hash_table_insert(at->addresses, address_hash(peer->address), number);
	if (!code && peer->has_mac)
		code = hash_table_insert(at->macs, mac_key(peer), number);
	return code;
}

static int add_line(const struct peer_line *at, char *line, struct peers *peers)
{
	char *words[FIELDS_MAXIMUM] = {0};
	struct peer peer = {0};
	struct peer *items;
	size_t count;
	int code;

	line[strcspn(line, "#")] = '\0';
	count = split_words(line, words);
	if (count == 0)
		return 0;
	if ((code = read_peer(at, words, count, &peer)) || (code = refuse_duplicate(at, peers, &peer)))
		return code;
	if (peers->count == PEERS_MAXIMUM)
		return error_at(at->err, place(at, "name"), E2BIG, "more than %d hosts", PEERS_MAXIMUM);
	items = array_grow(peers->items, peers->count, &peers->capacity, sizeof *items);
	if (items)
		peers->items = items;
	if (!items || note(at, &peer, (uint32_t)peers->count))
		return error_set(at->err, ENOMEM, "out of memory");
	peers->items[peers->count++] = peer;
	return 0;
}

int peers_parse(struct file_lines *lines, struct peers *peers, struct error *err)
{
	struct hash_table names = {0}, addresses = {0}, macs = {0};
	struct peer_line at = {lines, err, &names, &addresses, &macs};
	char *line;
	int code;

	*peers = (struct peers){0};
	while ((code = file_lines_next(lines, &line, err)) > 0)
		if ((code = add_line(&at, line, peers)))
			break;
	if (code == 0 && peers->count == 0)
		code = error_at(err, (struct error_place){file_lines_name(lines), 0, NULL}, EINVAL,
				"expected lines 'name address [mac] [rack]', found no host");
	if (code)
		peers_free(peers);
	hash_table_free(&names);
	hash_table_free(&addresses);
	hash_table_free(&macs);
	return code;
}

int peers_read(const char *path, struct peers *peers, struct error *err)
{
	struct file_lines *lines = file_lines_open(path, err);
	int code;

	*peers = (struct peers){0};
	if (!lines)
		return error_code(err, EIO);
	code = peers_parse(lines, peers, err);
	file_lines_close(lines);
	return code;
}

void peers_free(struct peers *peers)
{
	free(peers->items);
	*peers = (struct peers){0};
}

int peers_write(const struct peers *peers, const char *path, struct error *err)
{
	struct file_writer *writer = file_writer_open(path, err);
	FILE *out;

	if (!writer)
		return error_code(err, EIO);
	out = file_writer_stream(writer);
	fputs("# name address mac rack\n", out);
	for (size_t i = 0; i < peers->count; i++) {
		const struct peer *peer = &peers->items[i];
		char address[ADDRESS_TEXT_BYTES], mac[ADDRESS_MAC_TEXT_BYTES] = "-";

		address_print(peer->address, address);
		if (peer->has_mac)
			address_print_mac(peer->mac, mac);
		fprintf(out, "%s %s %s%s%s\n", peer->name, address, mac, peer->rack[0] ? " " : "", peer->rack);
	}
	return file_writer_commit(writer, err);
}

const struct peer *peers_find(const struct peers *peers, ip_address address)
{
	for (size_t i = 0; i < peers->count; i++)
		if (peers->items[i].address == address)
			return &peers->items[i];
	return NULL;
}
