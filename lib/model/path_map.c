/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of a path map: a header; first[] and ports[] of each switch, in the order of their numbers; a checksum. */
#include <model/path_map.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>
#include <base/hash.h>

static const char magic[8] = "NOMPATH1";
#define BYTE_ORDER_MARK UINT32_C(0x01020304)
#define FILE_BYTES_MAXIMUM ((size_t)1 << 34)

/* The header of the file. It has no padding, so that its layout is the same on every machine. */
struct header {
	char magic[8];
	uint32_t byte_order;
	uint32_t node_count;
	uint64_t topology; /* fingerprint of the topology */
	uint64_t seed;
	uint32_t k, detour;
};

int path_map_init(struct path_map *map, const struct topology *topology, uint32_t k, uint32_t detour, uint64_t seed)
{
	*map = (struct path_map){.k = k, .detour = detour, .seed = seed, .node_count = topology->node_count};
	map->to = calloc(map->node_count + 1, sizeof *map->to);
	return map->to ? 0 : -ENOMEM;
}

static void forget(struct path_map *map)
{
	for (uint32_t n = 0; map->to && n < map->node_count; n++) {
		free(map->to[n].first);
		free(map->to[n].ports);
		map->to[n] = (struct path_map_to){0};
	}
}

void path_map_clear(struct path_map *map)
{
	forget(map);
	free(map->to);
	*map = (struct path_map){0};
}

/* Adds eight bytes at a time to the hash, then the remaining bytes. */
uint64_t path_map_checksum(const char *bytes, size_t count)
{
	uint64_t hash = HASH_FNV_START, word;
	size_t at = 0;

	for (; at + sizeof word <= count; at += sizeof word) {
		memcpy(&word, bytes + at, sizeof word);
		hash = hash_mix(hash_fnv_add(hash, word));
	}
	return hash_fnv_bytes(hash, bytes + at, count - at);
}

static uint64_t fingerprint(const struct topology *topology)
{
	uint64_t hash = HASH_FNV_START;

	for (uint32_t n = 0; n < topology->node_count; n++)
		hash = hash_fnv_add(hash, topology->nodes[n].kind);
	for (uint32_t l = 0; l < topology->link_count; l++)
		hash = hash_fnv_add(hash_fnv_add(hash, topology->links[l].a), topology->links[l].b);
	return hash_mix(hash);
}

static struct header header_of(const struct path_map *map, const struct topology *topology)
{
	struct header header = {.byte_order = BYTE_ORDER_MARK,
				.node_count = map->node_count,
				.topology = fingerprint(topology),
				.seed = map->seed,
				.k = map->k,
				.detour = map->detour};

	memcpy(header.magic, magic, sizeof magic);
	return header;
}

/* ---- writing ---- */

static size_t add(char *bytes, size_t at, const void *item, size_t count)
{
	if (bytes && count > 0)
		memcpy(bytes + at, item, count);
	return at + count;
}

/* Writes the file's contents to bytes[]; if `bytes` is NULL, only counts them. Returns the number of bytes. */
static size_t format(const struct path_map *map, const struct topology *topology, char *bytes)
{
	struct header header = header_of(map, topology);
	size_t at = add(bytes, 0, &header, sizeof header);
	uint64_t checksum;

	for (uint32_t t = 0; t < map->node_count; t++) {
		const struct path_map_to *to = &map->to[t];

		if (topology->nodes[t].kind != TOPOLOGY_SWITCH)
			continue;
		at = add(bytes, at, to->first, ((size_t)t + 1) * sizeof *to->first);
		at = add(bytes, at, to->ports, to->first[t] * sizeof *to->ports);
	}
	checksum = bytes ? path_map_checksum(bytes, at) : 0;
	return add(bytes, at, &checksum, sizeof checksum);
}

int path_map_save(const struct path_map *map, const struct topology *topology, const char *path, struct error *err)
{
	size_t count = format(map, topology, NULL);
	char *bytes = malloc(count);
	struct file_writer *writer = bytes ? file_writer_open(path, err) : NULL;

	if (!bytes)
		return error_set(err, ENOMEM, "out of memory");
	if (!writer) {
		free(bytes);
		return error_code(err, EIO);
	}
	format(map, topology, bytes);
	fwrite(bytes, 1, count, file_writer_stream(writer));
	free(bytes);
	return file_writer_commit(writer, err);
}

/* ---- reading ---- */

struct path_map_reader {
	struct path_map *map;
	const struct topology *topology;
	const struct topology_adjacency *adjacency;
	const char *name, *bytes;
	size_t count, at; /* count: length of bytes[] without the checksum; at: position of the next byte to read */
	uint64_t *passed; /* by node: the value of `path` when a path last passed it */
	uint64_t path;    /* number of the path that is checked, from 1 */
	struct error *err;
};

static int bad(struct path_map_reader *reader, uint32_t from, uint32_t to, const char *what)
{
	return error_set(reader->err, EINVAL, "%s: paths from switch '%s' to '%s': %s", reader->name,
			 reader->topology->nodes[from].name, reader->topology->nodes[to].name, what);
}

static bool take(struct path_map_reader *reader, void *item, size_t count)
{
	if (count > reader->count - reader->at)
		return false;
	if (count > 0)
		memcpy(item, reader->bytes + reader->at, count);
	reader->at += count;
	return true;
}

/*
 * Returns true if a path with these ports leads from switch `from` to switch `to`, only through switches and without a
 * loop.
 */
static bool leads(struct path_map_reader *reader, uint32_t from, uint32_t to, const uint16_t *ports, uint32_t links)
{
	const struct topology_adjacency *adjacency = reader->adjacency;

	reader->path++;
	for (uint32_t i = 0; i < links; i++) {
		if (ports[i] >= adjacency->first[from + 1] - adjacency->first[from])
			return false;
		reader->passed[from] = reader->path;
		from = adjacency->to[adjacency->first[from] + ports[i]];
		if (reader->passed[from] == reader->path || reader->topology->nodes[from].kind != TOPOLOGY_SWITCH)
			return false;
	}
	return from == to;
}

/* Checks all paths of one pair. */
static int check_pair(struct path_map_reader *reader, uint32_t from, uint32_t to)
{
	const struct path_map_to *stored = &reader->map->to[to];
	const uint16_t *ports = stored->ports + stored->first[from], *end = stored->ports + stored->first[from + 1];
	uint32_t shortest = ports < end ? *ports : 0, longest = shortest, paths = 0;

	for (; ports < end; ports += 1 + longest) {
		uint32_t links = *ports;

		if (links >= reader->map->node_count || links < longest || links > shortest + reader->map->detour)
			return bad(reader, from, to, "a length out of order or out of range");
		if (links >= end - ports || !leads(reader, from, to, ports + 1, links))
			return bad(reader, from, to, "links that do not join the two switches, or have a loop");
		if (++paths > reader->map->k)
			return bad(reader, from, to, "too many paths");
		longest = links;
	}
	return 0;
}

static int read_to(struct path_map_reader *reader, uint32_t to)
{
	struct path_map_to *stored = &reader->map->to[to];
	size_t first_bytes = ((size_t)to + 1) * sizeof *stored->first;
	int code = 0;

	if (first_bytes > reader->count - reader->at)
		return error_set(reader->err, EINVAL, "%s: ends within the paths to switch '%s'", reader->name,
				 reader->topology->nodes[to].name);
	stored->first = malloc(first_bytes);
	if (!stored->first)
		return error_set(reader->err, ENOMEM, "out of memory");
	take(reader, stored->first, first_bytes);
	for (uint32_t s = 0; s < to; s++)
		if (stored->first[s] > stored->first[s + 1] || (s == 0 && stored->first[0] != 0))
			return bad(reader, s, to, "offsets out of order");
	if (stored->first[to] > (reader->count - reader->at) / sizeof *stored->ports)
		return error_set(reader->err, EINVAL, "%s: ends within the paths to switch '%s'", reader->name,
				 reader->topology->nodes[to].name);
	stored->ports = malloc(stored->first[to] * sizeof *stored->ports + 1);
	if (!stored->ports)
		return error_set(reader->err, ENOMEM, "out of memory");
	take(reader, stored->ports, stored->first[to] * sizeof *stored->ports);
	for (uint32_t s = 0; s < to && code == 0; s++)
		code = check_pair(reader, s, to);
	return code;
}

static int check_header(struct path_map_reader *reader)
{
	struct header wanted = header_of(reader->map, reader->topology), found;
	uint64_t checksum;

	if (reader->count < sizeof found || !take(reader, &found, sizeof found) ||
	    memcmp(found.magic, magic, sizeof magic) != 0)
		return error_set(reader->err, EINVAL, "%s: not a map of paths; expected a file that begins with %.8s",
				 reader->name, magic);
	if (found.byte_order != wanted.byte_order)
		return error_set(reader->err, EINVAL, "%s: written on a machine of the other byte order", reader->name);
	memcpy(&checksum, reader->bytes + reader->count, sizeof checksum);
	if (checksum != path_map_checksum(reader->bytes, reader->count))
		return error_set(reader->err, EINVAL, "%s: damaged or cut: the checksum does not match", reader->name);
	if (found.node_count != wanted.node_count || found.topology != wanted.topology)
		return error_set(reader->err, EINVAL,
				 "%s: belongs to another network (%u nodes, fingerprint %016llx); expected %u, %016llx",
				 reader->name, found.node_count, (unsigned long long)found.topology, wanted.node_count,
				 (unsigned long long)wanted.topology);
	if (found.k != wanted.k || found.detour != wanted.detour || found.seed != wanted.seed)
		return error_set(reader->err, EINVAL,
				 "%s: computed with k %u, detour %u, seed %llu; expected %u, %u, %llu", reader->name,
				 found.k, found.detour, (unsigned long long)found.seed, wanted.k, wanted.detour,
				 (unsigned long long)wanted.seed);
	return 0;
}

int path_map_parse(struct path_map *map, const struct topology *topology, const struct topology_adjacency *adjacency,
		   const char *name, const char *bytes, size_t count, struct error *err)
{
	struct path_map_reader reader = {.map = map,
					 .topology = topology,
					 .adjacency = adjacency,
					 .name = name,
					 .bytes = bytes,
					 .count = count < sizeof(uint64_t) ? 0 : count - sizeof(uint64_t),
					 .err = err};
	int code = check_header(&reader);

	reader.passed = calloc(map->node_count + 1, sizeof *reader.passed);
	if (code == 0 && !reader.passed)
		code = error_set(err, ENOMEM, "out of memory");
	for (uint32_t t = 0; t < map->node_count && code == 0; t++)
		if (topology->nodes[t].kind == TOPOLOGY_SWITCH)
			code = read_to(&reader, t);
	if (code == 0 && reader.at != reader.count)
		code = error_set(err, EINVAL, "%s: %zu unexpected bytes at the end", name, reader.count - reader.at);
	if (code < 0)
		forget(map);
	free(reader.passed);
	return code;
}

int path_map_load(struct path_map *map, const struct topology *topology, const struct topology_adjacency *adjacency,
		  const char *path, struct error *err)
{
	size_t count;
	char *bytes = file_read_all(path, FILE_BYTES_MAXIMUM, &count, err);
	int code = bytes ? path_map_parse(map, topology, adjacency, path, bytes, count, err) : error_code(err, EIO);

	free(bytes);
	return code;
}
