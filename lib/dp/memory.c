/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include <dp/eal.h>
#include <dp/port.h>

/* Buffers cached per lcore, so that most bursts need not use the shared ring. */
enum { CACHED = 256 };

#define POOL_DRIVER "ring_mp_mc"

static void free_chunk(struct rte_mempool_memhdr *chunk, void *zone)
{
	(void)chunk;
	rte_memzone_free(zone);
}

/*
 * Places buffers side by side. On pages of 4 KiB, DPDK would start each buffer on a page of its own, for DMA by
 * physical address. Then the buffers would compete for the same few lines of the L1 cache, and each would take a TLB
 * entry.
 */
static int populate_densely(struct rte_mempool *pool)
{
	const struct rte_memzone *zone;
	size_t chunk, align;
	ssize_t bytes = rte_mempool_op_calc_mem_size_default(pool, pool->size, 0, &chunk, &align);
	int count;

	if (bytes < 0)
		return (int)bytes;
	zone = rte_memzone_reserve_aligned(pool->name, (size_t)bytes, (int)rte_socket_id(), 0, (unsigned int)align);
	if (!zone)
		return -rte_errno;
	count = rte_mempool_populate_iova(pool, zone->addr, (rte_iova_t)(uintptr_t)zone->addr, zone->len, free_chunk,
					  (void *)(uintptr_t)zone);
	if (count > 0)
		return 0;
	rte_memzone_free(zone);
	return count < 0 ? count : -ENOMEM;
}

/* Returns true if the pool driver is loaded: it is a DPDK plug-in, which may not be installed. */
static bool has_pool_driver(void)
{
	for (uint32_t i = 0; i < rte_mempool_ops_table.num_ops; i++)
		if (strcmp(rte_mempool_ops_table.ops[i].name, POOL_DRIVER) == 0)
			return true;
	return false;
}

/* Like rte_pktmbuf_pool_create(), but places the buffers densely. */
static struct rte_mempool *create_dense_pool(const char *name, unsigned int count, uint16_t room_bytes)
{
	struct rte_pktmbuf_pool_private private = {.mbuf_data_room_size = room_bytes};
	struct rte_mempool *pool =
		rte_mempool_create_empty(name, count, (unsigned int)sizeof(struct rte_mbuf) + room_bytes, CACHED,
					 sizeof private, (int)rte_socket_id(), RTE_MEMPOOL_F_NO_IOVA_CONTIG);
	int status;

	if (!pool)
		return NULL;
	status = rte_mempool_set_ops_byname(pool, POOL_DRIVER, NULL);
	if (!status) {
		rte_pktmbuf_pool_init(pool, &private);
		status = populate_densely(pool);
	}
	if (status) {
		rte_mempool_free(pool);
		rte_errno = -status;
		return NULL;
	}
	rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
	return pool;
}

struct dp_pool *dp_pool_create(const char *name, unsigned int count, uint16_t data_bytes, struct error *err)
{
	uint16_t room_bytes = (uint16_t)(data_bytes + RTE_PKTMBUF_HEADROOM);
	struct rte_mempool *pool;

	if (!has_pool_driver()) {
		error_set(err, ENOENT,
			  "DPDK's mempool driver " POOL_DRIVER " is not installed (Debian: librte-mempool-ring23)");
		return NULL;
	}
	if (!rte_eal_has_hugepages() && rte_eal_iova_mode() == RTE_IOVA_VA)
		pool = create_dense_pool(name, count, room_bytes);
	else
		pool = rte_pktmbuf_pool_create(name, count, CACHED, 0, room_bytes, (int)rte_socket_id());
	if (!pool)
		error_set(err, rte_errno,
			  "no memory for %u packet buffers (%u MiB): %s; give fewer slots, or more memory or hugepages",
			  count, (unsigned int)(((uint64_t)count * (data_bytes + 512U)) >> 20),
			  rte_strerror(rte_errno));
	return (struct dp_pool *)pool;
}

void dp_pool_free(struct dp_pool *pool)
{
	rte_mempool_free((struct rte_mempool *)pool);
}

void *dp_memory(size_t bytes)
{
	return rte_zmalloc(NULL, bytes, RTE_CACHE_LINE_SIZE);
}

void dp_memory_free(void *memory)
{
	rte_free(memory);
}
