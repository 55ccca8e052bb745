/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of a shared matrix: its disk space and its mapping. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "latency_store_priv.h"

enum { RESERVED_AT_ONCE = 1 << 12 }; /* number of pairs whose disk space is allocated at once: 0.4 MB */

int latency_store_allocate(int fd, size_t offset, size_t bytes)
{
	int code;

	do {
		code = fallocate(fd, 0, (off_t)offset, (off_t)bytes) == 0 ? 0 : errno;
	} while (code == EINTR);
	return code == EOPNOTSUPP ? 0 : -code;
}

int latency_store_reserve(struct latency_matrix *matrix, uint32_t position)
{
	uint32_t count = RESERVED_AT_ONCE;
	int code;

	if (position < matrix->reserved)
		return 0;
	if (count > matrix->pair_capacity - position)
		count = (uint32_t)matrix->pair_capacity - position;
	code = latency_store_allocate(matrix->fd, (size_t)((char *)&matrix->blocks[position] - (char *)matrix->map),
				      count * sizeof *matrix->blocks);
	matrix->reserved = code ? 0 : position + count;
	return code;
}

void latency_store_unmap(struct latency_matrix *matrix)
{
	if (matrix->map)
		munmap(matrix->map, matrix->map_bytes);
	close(matrix->fd);
}
