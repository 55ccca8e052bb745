/* SPDX-License-Identifier: BSD-3-Clause */
#include <model/latency_live.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <base/log.h>
#include <base/name.h>
#include <model/cluster.h>

#include "latency_store_priv.h"

static const char magic[8] = "NOMORAL6";

enum {
	PAGE = 4096,
	HOPS_MAXIMUM = (1 << 24) - 1, /* the number of a row has 24 bits */
	HOSTS_MAXIMUM = 1 << 20,
	RACKS_MAXIMUM = 1 << 14,
};
static const uint64_t pairs_maximum = UINT64_C(1) << 28;

const char *const latency_host_status_names[] = {"active", "drained", "gone", NULL};

/* First page of the file. */
struct live_header {
	char magic[8];
	uint32_t host_bytes, rack_bytes, block_bytes, maximum_bytes; /* sizes of one record of each kind */
	uint32_t host_capacity, rack_capacity, pair_capacity, hop_bytes;
	struct latency_counts counts;
};

/* Offsets of the parts of a file, and its size in bytes; computed from its capacities. */
struct layout {
	size_t hosts, racks, blocks, hops, maxima, host_slots, pair_slots, bytes;
	size_t host_slot_count, pair_slot_count, hop_count;
};

static size_t table_size(size_t capacity)
{
	size_t size = 64;

	while (size < 2 * capacity)
		size *= 2;
	return size;
}

static size_t hop_count(size_t pairs)
{
	return pairs < HOPS_MAXIMUM ? pairs : HOPS_MAXIMUM;
}

static size_t place(size_t *end, size_t bytes)
{
	size_t at = *end;

	*end = (at + bytes + 63) & ~(size_t)63;
	return at;
}

static struct layout lay_out(const struct live_header *header)
{
	struct layout layout = {.host_slot_count = table_size(header->host_capacity),
				.pair_slot_count = table_size(header->pair_capacity),
				.hop_count = hop_count(header->pair_capacity)};
	size_t end = PAGE, racks = header->rack_capacity;

	layout.hosts = place(&end, header->host_capacity * sizeof(struct latency_host_record));
	layout.racks = place(&end, racks * sizeof(struct latency_rack_record));
	layout.maxima = place(&end, racks * racks * sizeof(struct latency_maximum_block));
	layout.host_slots = place(&end, layout.host_slot_count * sizeof(uint32_t));
	layout.pair_slots = place(&end, layout.pair_slot_count * sizeof(uint32_t));
	layout.blocks = place(&end, header->pair_capacity * latency_block_bytes(true));
	layout.hops = place(&end, layout.hop_count * sizeof(struct latency_hop_record));
	layout.bytes = end;
	return layout;
}

static struct live_header header_for(const struct latency_live_size *size)
{
	struct live_header header = {
		.host_bytes = sizeof(struct latency_host_record),
		.rack_bytes = sizeof(struct latency_rack_record),
		.block_bytes = (uint32_t)latency_block_bytes(true),
		.hop_bytes = sizeof(struct latency_hop_record),
		.maximum_bytes = sizeof(struct latency_maximum_block),
		.host_capacity = size->hosts,
		.rack_capacity = size->racks,
		.pair_capacity = (uint32_t)size->pairs,
	};

	memcpy(header.magic, magic, sizeof magic);
	return header;
}

/* Checks all fields of the header except the counts, which check_counts() checks. */
static int check_header(const char *path, const struct live_header *header, size_t file_bytes, struct error *err)
{
	const struct live_header ours = header_for(&(struct latency_live_size){0});

	if (memcmp(header->magic, magic, sizeof magic) != 0)
		return error_set(err, EINVAL, "%s: expected a live matrix ('%.8s'), found another file or version",
				 path, magic);
	if (header->host_bytes != ours.host_bytes || header->rack_bytes != ours.rack_bytes ||
	    header->block_bytes != ours.block_bytes || header->maximum_bytes != ours.maximum_bytes ||
	    header->hop_bytes != ours.hop_bytes)
		return error_set(err, EINVAL,
				 "%s: the file was written by another version: its records have another size", path);
	if (header->host_capacity > HOSTS_MAXIMUM || header->rack_capacity > RACKS_MAXIMUM ||
	    header->pair_capacity > pairs_maximum || lay_out(header).bytes != file_bytes)
		return error_set(err, EINVAL,
				 "%s: damaged: its size (%zu bytes) does not match its %u hosts, %u racks and %u pairs",
				 path, file_bytes, header->host_capacity, header->rack_capacity, header->pair_capacity);
	return 0;
}

static int check_counts(const char *path, struct live_header *header, struct error *err)
{
	if (atomic_load(&header->counts.hosts) <= header->host_capacity &&
	    atomic_load(&header->counts.racks) <= header->rack_capacity &&
	    atomic_load(&header->counts.pairs) <= header->pair_capacity)
		return 0;
	return error_set(err, EINVAL, "%s: damaged: more hosts, racks or pairs than its capacity", path);
}

static int check_names(const char *path, const struct latency_matrix *matrix, struct error *err)
{
	bool whole = true;

	for (size_t i = 0; i < latency_matrix_hosts(matrix); i++)
		whole = whole && memchr(matrix->hosts[i].name, '\0', LATENCY_NAME_BYTES);
	for (size_t i = 0; i < latency_live_racks(matrix); i++)
		whole = whole && memchr(matrix->racks[i].name, '\0', LATENCY_NAME_BYTES) &&
			memchr(matrix->racks[i].pod, '\0', LATENCY_NAME_BYTES);
	return whole ? 0 : error_set(err, EINVAL, "%s: damaged: a name is not terminated", path);
}

static int attach(struct latency_matrix *matrix, const char *path, struct error *err)
{
	struct live_header *header;
	struct layout layout;
	struct stat status;
	int code;

	if (fstat(matrix->fd, &status) != 0)
		return error_set(err, errno, "%s: %s", path, strerror(errno));
	if (status.st_size < PAGE)
		return error_set(err, EINVAL, "%s: expected a live matrix, found a file of only %lld bytes", path,
				 (long long)status.st_size);
	matrix->map_bytes = (size_t)status.st_size;
	matrix->map = mmap(NULL, matrix->map_bytes, PROT_READ | (matrix->writable ? PROT_WRITE : 0), MAP_SHARED,
			   matrix->fd, 0);
	if (matrix->map == MAP_FAILED) {
		matrix->map = NULL;
		return error_set(err, errno, "%s: cannot map it: %s", path, strerror(errno));
	}
	header = matrix->map;
	code = check_header(path, header, matrix->map_bytes, err);
	if (!code)
		code = check_counts(path, header, err);
	if (code)
		return code;
	layout = lay_out(header);
	matrix->counts = &header->counts;
	matrix->hosts = (void *)((char *)matrix->map + layout.hosts);
	matrix->racks = (void *)((char *)matrix->map + layout.racks);
	matrix->maxima = (void *)((char *)matrix->map + layout.maxima);
	matrix->blocks = (char *)matrix->map + layout.blocks;
	matrix->hops = (void *)((char *)matrix->map + layout.hops);
	matrix->hop_capacity = layout.hop_count;
	matrix->block_bytes = header->block_bytes;
	matrix->host_slots = (void *)((char *)matrix->map + layout.host_slots);
	matrix->pair_slots = (void *)((char *)matrix->map + layout.pair_slots);
	matrix->host_capacity = header->host_capacity;
	matrix->rack_capacity = header->rack_capacity;
	matrix->pair_capacity = header->pair_capacity;
	matrix->host_slot_count = layout.host_slot_count;
	matrix->pair_slot_count = layout.pair_slot_count;
	return check_names(path, matrix, err);
}

/*
 * Creates the complete file under a temporary name and then links it, so that nobody opens an incomplete one. Disk
 * space for the pairs is allocated when it is needed: most meshes have far fewer pairs than their files can hold.
 */
static int create_file(const char *path, const struct latency_live_size *size, struct error *err)
{
	struct live_header header = header_for(size);
	char temporary[4096];
	int fd, code;

	if (size->hosts > HOSTS_MAXIMUM || size->racks > RACKS_MAXIMUM || size->pairs > pairs_maximum)
		return error_set(err, E2BIG, "%s: a live matrix has at most %d hosts, %d racks and %llu pairs", path,
				 HOSTS_MAXIMUM, RACKS_MAXIMUM, (unsigned long long)pairs_maximum);
	snprintf(temporary, sizeof temporary, "%s.%ld", path, (long)getpid());
	fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return error_set(err, errno, "%s: cannot create: %s", temporary, strerror(errno));
	code = -latency_store_allocate(fd, 0, lay_out(&header).blocks);
	if (!code && (ftruncate(fd, (off_t)lay_out(&header).bytes) != 0 ||
		      pwrite(fd, &header, sizeof header, 0) != sizeof header || link(temporary, path) != 0))
		code = errno;
	close(fd);
	unlink(temporary);
	if (code && code != EEXIST) /* EEXIST: another process created the file first; use that one */
		return error_set(err, code, "%s: cannot create: %s", path, strerror(code));
	return 0;
}

static struct latency_matrix *open_file(const char *path, bool writable, struct error *err)
{
	struct latency_matrix *matrix = latency_matrix_create();

	if (!matrix) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	matrix->writable = writable;
	matrix->fd = latency_store_open(path, writable, err);
	if (matrix->fd >= 0 && writable)
		matrix->lock_fd = latency_store_open_lock(path, matrix->fd, err);
	if (matrix->fd >= 0 && (!writable || matrix->lock_fd >= 0) && attach(matrix, path, err) == 0)
		return matrix;
	if (matrix->fd >= 0)
		latency_store_unmap(matrix);
	free(matrix);
	return NULL;
}

struct latency_matrix *latency_live_open(const char *path, const struct latency_live_size *size, struct error *err)
{
	if (access(path, F_OK) != 0 && create_file(path, size, err) != 0)
		return NULL;
	return open_file(path, true, err);
}

struct latency_matrix *latency_live_map(const char *path, struct error *err)
{
	return open_file(path, false, err);
}

static bool is_missing(const char *path)
{
	return access(path, F_OK) != 0 && errno == ENOENT;
}

struct latency_matrix *latency_live_await(const char *path, const volatile sig_atomic_t *stop, struct error *err)
{
	static const struct timespec nap = {.tv_nsec = 100 * NS_PER_MS};

	if (is_missing(path))
		log_warning("%s does not exist yet; waiting for its first writer", path);
	while (!*stop && is_missing(path))
		nanosleep(&nap, NULL);
	return *stop ? NULL : latency_live_map(path, err);
}

bool latency_live_is(const char *path)
{
	char found[sizeof magic] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool is = fd >= 0 && read(fd, found, sizeof found) == sizeof found && memcmp(found, magic, sizeof magic) == 0;

	if (fd >= 0)
		close(fd);
	return is;
}

/*
 * Repairs what a killed writer may have left: a half-written pair, a host or pair that is missing from its table, or a
 * pair that is in its table twice.
 */
static void repair(struct latency_matrix *matrix)
{
	size_t hosts = latency_matrix_hosts(matrix), pairs = latency_matrix_count(matrix);

	for (uint32_t i = 0; i < hosts; i++)
		if (latency_matrix_find_host(matrix, matrix->hosts[i].name) < 0)
			latency_store_insert_host(matrix, i);
	for (uint32_t i = 0; i < pairs; i++) {
		struct latency_block *block = latency_store_block(matrix, i);

		if (atomic_load(&block->sequence) & 1) {
			struct latency_entry entry = {0};

			entry.state = LATENCY_STATE_NEVER;
			memcpy(&entry, (const void *)block->words, 2 * sizeof(uint32_t)); /* source and destination */
			entry.rtt_p50_us = entry.rtt_p99_us = entry.rtt_max_us = __builtin_nan("");
			latency_store_write(matrix, i, &entry);
		}
	}
	latency_store_repair_pairs(matrix);
}

int latency_live_begin(struct latency_matrix *matrix, struct error *err)
{
	int code = latency_store_lock(matrix->lock_fd, err);

	if (code)
		return code;
	if (atomic_exchange(&matrix->counts->dirty, 1))
		repair(matrix);
	return 0;
}

void latency_live_end(struct latency_matrix *matrix)
{
	atomic_store(&matrix->counts->written_at_ns, ns_now_wall().v);
	atomic_store(&matrix->counts->dirty, 0);
	flock(matrix->lock_fd, LOCK_UN);
}

uint32_t latency_live_racks(const struct latency_matrix *matrix)
{
	uint32_t racks = atomic_load_explicit(&matrix->counts->racks, memory_order_acquire);

	return racks < matrix->rack_capacity ? racks : (uint32_t)matrix->rack_capacity;
}

static int64_t find_or_add_rack(struct latency_matrix *matrix, const char *rack, const char *pod)
{
	uint32_t count = latency_live_racks(matrix);

	for (uint32_t i = 0; i < count; i++)
		if (strcmp(matrix->racks[i].name, rack) == 0)
			return i;
	if (!name_is_valid(rack, LATENCY_NAME_BYTES) || (pod[0] && !name_is_valid(pod, LATENCY_NAME_BYTES)))
		return -EINVAL;
	if (count == matrix->rack_capacity)
		return -ENOSPC;
	strcpy(matrix->racks[count].name, rack);
	strcpy(matrix->racks[count].pod, pod);
	atomic_store_explicit(&matrix->counts->racks, count + 1, memory_order_release);
	return count;
}

int64_t latency_live_add_host(struct latency_matrix *matrix, const char *name, const char *rack, const char *pod)
{
	int64_t host = latency_matrix_add_host(matrix, name), number;

	if (host < 0 || !rack[0])
		return host;
	number = find_or_add_rack(matrix, rack, pod);
	if (number < 0)
		return number;
	atomic_store_explicit(&matrix->hosts[host].rack, (uint32_t)number, memory_order_release);
	return host;
}

void latency_live_set_status(struct latency_matrix *matrix, uint32_t host, enum latency_host_status status)
{
	atomic_store_explicit(&matrix->hosts[host].status, status, memory_order_release);
}

enum latency_host_status latency_live_status(const struct latency_matrix *matrix, uint32_t host)
{
	uint32_t status = atomic_load_explicit(&matrix->hosts[host].status, memory_order_acquire);

	return status <= LATENCY_HOST_GONE ? (enum latency_host_status)status : LATENCY_HOST_ACTIVE;
}

int latency_live_mark(const char *path, const char *const *names, size_t count, enum latency_host_status status,
		      struct error *err)
{
	struct latency_matrix *live = open_file(path, true, err);
	int code = live ? latency_live_begin(live, err) : error_code(err, EIO);

	if (!code) {
		for (size_t i = 0; i < count && !code; i++)
			if (latency_matrix_find_host(live, names[i]) < 0)
				code = error_set(err, ENOENT, "%s: there is no host '%s'", path, names[i]);
		for (size_t i = 0; i < count && !code; i++)
			latency_live_set_status(live, (uint32_t)latency_matrix_find_host(live, names[i]), status);
		latency_live_end(live);
	}
	latency_matrix_destroy(live);
	return code;
}

const char *latency_live_rack_name(const struct latency_matrix *matrix, uint32_t rack)
{
	return rack < latency_live_racks(matrix) ? latency_store_name(matrix->racks[rack].name) : "";
}

const char *latency_live_pod_name(const struct latency_matrix *matrix, uint32_t rack)
{
	return rack < latency_live_racks(matrix) ? latency_store_name(matrix->racks[rack].pod) : "";
}

uint32_t latency_live_rack_of(const struct latency_matrix *matrix, uint32_t host)
{
	uint32_t rack = atomic_load_explicit(&matrix->hosts[host].rack, memory_order_acquire);

	return rack < latency_live_racks(matrix) ? rack : LATENCY_NO_RACK;
}

/* Measurements that are farther apart than this do not belong to the same maximum. */
static const struct ns apart = {60 * NS_PER_S};

static void raise_maximum(struct latency_maximum *maximum, const struct latency_maximum *by)
{
	int64_t later = by->updated_at.v - maximum->updated_at.v;

	/* What a dead prober measured last must not stay in the maximum of those that live. */
	if (!by->pairs || (maximum->pairs && later < -apart.v))
		return;
	if (later > apart.v)
		*maximum = (struct latency_maximum){0};
	maximum->rtt_p50_us = maximum->rtt_p50_us > by->rtt_p50_us ? maximum->rtt_p50_us : by->rtt_p50_us;
	maximum->rtt_p99_us = maximum->rtt_p99_us > by->rtt_p99_us ? maximum->rtt_p99_us : by->rtt_p99_us;
	maximum->rtt_max_us = maximum->rtt_max_us > by->rtt_max_us ? maximum->rtt_max_us : by->rtt_max_us;
	maximum->pairs += by->pairs;
	if (by->updated_at.v > maximum->updated_at.v)
		maximum->updated_at = by->updated_at;
}

int latency_live_update_maxima(struct latency_matrix *matrix)
{
	size_t racks = latency_live_racks(matrix), capacity = matrix->rack_capacity;
	struct latency_maximum *maxima = calloc(racks * racks + 1, sizeof *maxima);
	struct latency_entry entry;

	if (!maxima)
		return -ENOMEM;
	for (size_t i = 0; i < latency_matrix_count(matrix); i++) {
		uint32_t from, to;

		if (!latency_matrix_load(matrix, i, &entry) || entry.state != LATENCY_STATE_MEASURED ||
		    entry.source == entry.destination)
			continue;
		from = latency_live_rack_of(matrix, entry.source);
		to = latency_live_rack_of(matrix, entry.destination);
		if (from == LATENCY_NO_RACK || to == LATENCY_NO_RACK ||
		    latency_live_status(matrix, entry.source) == LATENCY_HOST_GONE ||
		    latency_live_status(matrix, entry.destination) == LATENCY_HOST_GONE)
			continue;
		raise_maximum(&maxima[from * racks + to],
			      &(struct latency_maximum){(float)entry.rtt_p50_us, (float)entry.rtt_p99_us,
							(float)entry.rtt_max_us, 0, 1, entry.updated_at});
	}
	for (size_t from = 0; from < racks; from++)
		for (size_t to = 0; to < racks; to++) {
			struct latency_maximum_block *block = &matrix->maxima[from * capacity + to];

			latency_block_write(&block->sequence, block->words, &maxima[from * racks + to],
					    LATENCY_MAXIMUM_WORDS);
		}
	free(maxima);
	return 0;
}

/* The file may be damaged. */
static bool maximum_is_valid(const struct latency_maximum *maximum)
{
	return maximum->pairs && maximum->updated_at.v >= 0 && maximum->rtt_p50_us >= 0 &&
	       maximum->rtt_p50_us <= maximum->rtt_p99_us && maximum->rtt_p99_us <= maximum->rtt_max_us &&
	       maximum->rtt_max_us <= (float)LATENCY_LONGEST_US;
}

bool latency_live_maximum(const struct latency_matrix *matrix, uint32_t from, uint32_t to,
			  struct latency_maximum *maximum)
{
	uint32_t racks = latency_live_racks(matrix);
	const struct latency_maximum_block *block;

	if (from >= racks || to >= racks)
		return false;
	block = &matrix->maxima[from * matrix->rack_capacity + to];
	return latency_block_read(&block->sequence, block->words, maximum, LATENCY_MAXIMUM_WORDS) &&
	       maximum_is_valid(maximum);
}

/* Finds the host in the live matrix, or adds it with its rack and pod. Returns its index, or -errno. */
static int64_t put_host(struct latency_matrix *live, const char *name, const struct cluster *cluster)
{
	int64_t machine = cluster ? cluster_find_machine(cluster, name) : -ENOENT;
	const struct cluster_rack *rack = machine >= 0 ? &cluster->racks[cluster->machines[machine].rack] : NULL;

	return latency_live_add_host(live, name, rack ? rack->name : "", rack ? cluster->pods[rack->pod] : "");
}

/*
 * Returns true if the file has space for more hosts and racks. If it has, an error -ENOSPC means that the disk is full.
 */
static bool has_places(const struct latency_matrix *live)
{
	return latency_matrix_hosts(live) < live->host_capacity && latency_live_racks(live) < live->rack_capacity;
}

static int put_batch(struct latency_matrix *live, const struct latency_matrix *from, const struct cluster *cluster,
		     struct error *err)
{
	struct latency_entry entry;
	int code = latency_live_begin(live, err);

	if (code)
		return code;
	for (size_t i = 0; !code && i < latency_matrix_count(from); i++) {
		int64_t source, destination;

		if (!latency_matrix_load(from, i, &entry))
			continue;
		source = put_host(live, latency_matrix_host(from, entry.source), cluster);
		destination = put_host(live, latency_matrix_host(from, entry.destination), cluster);
		code = source < 0 ? (int)source : destination < 0 ? (int)destination : 0;
		entry.source = (uint32_t)source;
		entry.destination = (uint32_t)destination;
		code = code ? code : latency_matrix_set(live, &entry);
	}
	code = code ? code : latency_live_update_maxima(live);
	latency_live_end(live);
	if (code == -ENOSPC && !has_places(live))
		return error_set(err, ENOSPC, "the live matrix is full: its capacity is %zu hosts and %zu racks",
				 live->host_capacity, live->rack_capacity);
	return code ? error_set(err, -code, "cannot put the pairs into the live matrix: %s", strerror(-code)) : 0;
}

/*
 * Returns the capacities of a new file:
 * - hosts: 64 more than `from` has
 * - racks: 64 more than the cluster has, but at least 256
 * - pairs: all pairs of these hosts, but at most 2^20, or the number of pairs in `from` if that is larger
 */
static struct latency_live_size size_for(const struct latency_matrix *from, const struct cluster *cluster)
{
	uint64_t hosts = latency_matrix_hosts(from) + 64, pairs = hosts * hosts, count = latency_matrix_count(from);
	uint32_t racks = cluster ? cluster->rack_count + 64 : 0;

	if (pairs > 1 << 20)
		pairs = count > 1 << 20 ? count : 1 << 20;
	return (struct latency_live_size){(uint32_t)hosts, racks > 256 ? racks : 256, pairs};
}

int latency_live_put(const char *path, const struct latency_matrix *from, const char *cluster_path, struct error *err)
{
	struct cluster *cluster = cluster_path ? cluster_read(cluster_path, err) : NULL;
	struct latency_matrix *live = NULL;
	struct latency_live_size size;
	int code;

	if (cluster_path && !cluster)
		return error_code(err, EIO);
	size = size_for(from, cluster);
	live = latency_live_open(path, &size, err);
	code = live ? put_batch(live, from, cluster, err) : error_code(err, EIO);
	latency_matrix_destroy(live);
	cluster_destroy(cluster);
	return code;
}

struct ns latency_live_written_at(const struct latency_matrix *matrix)
{
	int64_t at_ns = atomic_load_explicit(&matrix->counts->written_at_ns, memory_order_acquire);

	return (struct ns){at_ns > 0 ? at_ns : 0}; /* negative: the file is damaged */
}

uint64_t latency_live_hops_left_out(const struct latency_matrix *matrix)
{
	return atomic_load_explicit(&matrix->counts->hops_left_out, memory_order_relaxed);
}

uint64_t latency_live_evicted(const struct latency_matrix *matrix)
{
	return atomic_load_explicit(&matrix->counts->evicted, memory_order_relaxed);
}

struct latency_matrix *latency_live_snapshot(const struct latency_matrix *matrix)
{
	struct latency_matrix *copy = latency_matrix_create();

	if (copy && latency_matrix_merge(copy, matrix, LATENCY_MERGE_FRESHEST, NULL) == 0)
		return copy;
	latency_matrix_destroy(copy);
	return NULL;
}
