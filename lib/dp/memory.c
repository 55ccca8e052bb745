/* SPDX-License-Identifier: BSD-3-Clause */
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include <dp/eal.h>
#include <dp/port.h>

struct dp_pool *dp_pool_create(const char *name, unsigned int count, uint16_t data_bytes, struct error *err)
{
	/* 256 buffers cached per lcore keep bursts off the shared ring. */
	struct rte_mempool *pool = rte_pktmbuf_pool_create(
		name, count, 256, 0, (uint16_t)(data_bytes + RTE_PKTMBUF_HEADROOM), (int)rte_socket_id());

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
