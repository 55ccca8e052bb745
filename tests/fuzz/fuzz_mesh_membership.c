/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <probe/nats/bus.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The list of members is one that every host can read. */
static void check_members(const struct peers *members)
{
	struct peers again = {0};
	struct file_lines *lines;
	struct error err = {0};
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		abort();
	for (size_t i = 0; i < members->count; i++) {
		char address[ADDRESS_TEXT_BYTES];

		address_print(members->items[i].address, address);
		fprintf(out, "%s %s - %s\n", members->items[i].name, address, members->items[i].rack);
	}
	if (fclose(out) != 0)
		abort();
	lines = file_lines_from_memory("members", text, bytes, &err);
	if (!lines || (members->count > 0 && peers_parse(lines, &again, &err) != 0) || again.count != members->count ||
	    (again.count > 0 && strcmp(again.items[0].rack, members->items[0].rack) != 0))
		abort();
	file_lines_close(lines);
	peers_free(&again);
	free(text);
}

static void take(const char *subject, const char *payload, struct peers *members)
{
	char host[LATENCY_NAME_BYTES], again[MESH_SUBJECT_BYTES], *list, *sent;
	struct mesh_join join, second;
	struct error err = {0};

	if (!mesh_join_decode("m", subject, payload, strlen(payload), &join, &err)) {
		sent = mesh_join_encode(&join, "m", again);
		if (!sent || strcmp(again, subject) != 0 ||
		    mesh_join_decode("m", again, sent, strlen(sent), &second, NULL) ||
		    second.host.address != join.host.address || second.list_hash != join.list_hash ||
		    second.leaves != join.leaves)
			abort();
		free(sent);
		mesh_members_take(members, &join, &err);
	}
	if (!mesh_peers_decode("m", subject, payload, strlen(payload), host, &list, &err)) {
		sent = mesh_peers_encode(host, list, "m", again);
		if (!sent || strcmp(again, subject) != 0)
			abort();
		free(sent);
		free(list);
	}
}

/* Lines: a subject, then a payload, and so on. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *rest = NULL, *subject, *payload;
	struct peers members = {0};

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	for (subject = strtok_r(text, "\n", &rest); subject; subject = strtok_r(NULL, "\n", &rest)) {
		payload = strtok_r(NULL, "\n", &rest);
		if (!payload)
			break;
		take(subject, payload, &members);
	}
	check_members(&members);
	peers_free(&members);
	free(text);
	return 0;
}
