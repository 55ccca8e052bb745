/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/nats/bus.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/json.h>
#include <base/name.h>

static const char join_schema[] = "nomora.mesh_join/1", peers_schema[] = "nomora.mesh_peers/1", join_word[] = ".%join",
		  peers_word[] = ".%peers";

bool mesh_membership_is(const char *subject)
{
	return mesh_subject_ends(subject, join_word) || mesh_subject_ends(subject, peers_word);
}

char *mesh_join_encode(const struct mesh_join *join, const char *prefix, char subject[MESH_SUBJECT_BYTES])
{
	char address[ADDRESS_TEXT_BYTES], hash[24];
	json_t *root;
	char *text;

	mesh_subject_of_host(prefix, join->host.name, join_word, subject);
	address_print(join->host.address, address);
	snprintf(hash, sizeof hash, "%016" PRIx64, join->list_hash);
	root = json_pack("{s:s, s:s, s:s, s:s, s:b}", "schema", join_schema, "address", address, "rack",
			 join->host.rack, "list", hash, "leaves", join->leaves);
	text = root ? json_dumps(root, JSON_COMPACT) : NULL;
	json_decref(root);
	return text;
}

/* Names of a list of peers: '#' begins a comment there. */
static bool is_peer_name(const char *name)
{
	return name_is_valid(name, PEER_NAME_BYTES) && !strchr(name, '#');
}

static void read_join(struct json_reader *reader, const json_t *root, struct mesh_join *join)
{
	const char *address, *rack, *hash;
	int end = 0;

	json_need_schema(reader, root, join_schema);
	address = json_need_string(reader, root, "", "address");
	rack = json_may_string(reader, root, "", "rack", "");
	hash = json_need_string(reader, root, "", "list");
	join->leaves = json_may_boolean(reader, root, "", "leaves", false);
	if (reader->failed)
		return;
	if (address_parse(address, &join->host.address) || !address_is_host(join->host.address))
		json_fail(reader, "", "address", "expected a host's address, found '%.80s'", address);
	if (rack[0] && !is_peer_name(rack))
		json_fail(reader, "", "rack", "expected a name without blanks, commas, quotes or '#'");
	else
		snprintf(join->host.rack, sizeof join->host.rack, "%s", rack);
	if (strlen(hash) != 16 || sscanf(hash, "%16" SCNx64 "%n", &join->list_hash, &end) != 1 || end != 16)
		json_fail(reader, "", "list", "expected 16 hexadecimal digits");
}

enum mesh_refusal mesh_join_decode(const char *prefix, const char *subject, const char *payload, size_t bytes,
				   struct mesh_join *join, struct error *err)
{
	struct error scratch = {0};
	struct json_reader reader = {.file = "join", .err = err ? err : &scratch};
	json_t *root;

	*join = (struct mesh_join){0};
	if (!mesh_host_of_subject(prefix, subject, join_word, join->host.name) || !is_peer_name(join->host.name)) {
		error_set(err, EINVAL, "expected the subject %s.HOST%s", prefix, join_word);
		return MESH_REFUSAL_SUBJECT;
	}
	root = json_read_text("join", 0, payload, bytes, reader.err);
	if (!root)
		return MESH_REFUSAL_PAYLOAD;
	read_join(&reader, root, join);
	json_decref(root);
	return reader.failed ? MESH_REFUSAL_PAYLOAD : MESH_REFUSAL_NONE;
}

char *mesh_peers_encode(const char *host, const char *list, const char *prefix, char subject[MESH_SUBJECT_BYTES])
{
	json_t *root = json_pack("{s:s, s:s}", "schema", peers_schema, "peers", list);
	char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;

	mesh_subject_of_host(prefix, host, peers_word, subject);
	json_decref(root);
	return text;
}

enum mesh_refusal mesh_peers_decode(const char *prefix, const char *subject, const char *payload, size_t bytes,
				    char host[LATENCY_NAME_BYTES], char **list, struct error *err)
{
	struct error scratch = {0};
	struct json_reader reader = {.file = "peers", .err = err ? err : &scratch};
	const char *text;
	json_t *root;

	*list = NULL;
	if (!mesh_host_of_subject(prefix, subject, peers_word, host)) {
		error_set(err, EINVAL, "expected the subject %s.HOST%s", prefix, peers_word);
		return MESH_REFUSAL_SUBJECT;
	}
	root = json_read_text("peers", 0, payload, bytes, reader.err);
	if (!root)
		return MESH_REFUSAL_PAYLOAD;
	json_need_schema(&reader, root, peers_schema);
	text = json_need_string(&reader, root, "", "peers");
	*list = reader.failed ? NULL : strdup(text);
	if (!reader.failed && !*list)
		json_no_memory(&reader);
	json_decref(root);
	return reader.failed ? MESH_REFUSAL_PAYLOAD : MESH_REFUSAL_NONE;
}

int mesh_members_take(struct peers *members, const struct mesh_join *join, struct error *err)
{
	const struct peer *other = peers_find(members, join->host.address);
	struct peer *items;
	size_t at = 0;

	while (at < members->count && strcmp(members->items[at].name, join->host.name) != 0)
		at++;
	if (join->leaves) {
		if (at == members->count)
			return 0;
		members->count--;
		memmove(members->items + at, members->items + at + 1, (members->count - at) * sizeof *items);
		return 1;
	}
	if (other && strcmp(other->name, join->host.name) != 0)
		return error_set(err, EEXIST, "%s has the address of %s", join->host.name, other->name);
	if (at < members->count) {
		struct peer *member = &members->items[at];

		if (member->address == join->host.address && strcmp(member->rack, join->host.rack) == 0)
			return 0;
		*member = join->host;
		return 1;
	}
	if (members->count == PEERS_MAXIMUM)
		return error_set(err, E2BIG, "more than %d hosts", PEERS_MAXIMUM);
	items = array_grow(members->items, members->count, &members->capacity, sizeof *items);
	if (!items)
		return error_set(err, ENOMEM, "out of memory");
	members->items = items;
	items[members->count++] = join->host;
	return 1;
}
