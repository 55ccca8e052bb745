/* SPDX-License-Identifier: BSD-3-Clause */
#include "worker_priv.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include <model/worker.h>

struct header {
	uint32_t bytes, source;
	uint64_t sequence, emitted;
};

_Static_assert(sizeof(struct header) == TUPLE_HEADER_BYTES, "no padding");

void tuple_write(const struct tuple *tuple, uint8_t *text)
{
	struct header header = {htobe32(tuple->bytes), htobe32(tuple->source), htobe64(tuple->sequence),
				htobe64((uint64_t)tuple->emitted.v)};

	memcpy(text, &header, sizeof header);
	memset(text + sizeof header, 0, tuple->bytes - sizeof header);
}

int tuple_read(const uint8_t *text, size_t bytes, struct tuple *tuple)
{
	struct header header;

	if (bytes < sizeof header)
		return 0;
	memcpy(&header, text, sizeof header);
	*tuple = (struct tuple){.bytes = be32toh(header.bytes),
				.source = be32toh(header.source),
				.sequence = be64toh(header.sequence),
				.emitted = {(int64_t)be64toh(header.emitted)}};
	if (tuple->bytes < WORKER_TUPLE_MINIMUM || tuple->bytes > WORKER_TUPLE_MAXIMUM)
		return -EBADMSG;
	return tuple->bytes <= bytes ? (int)tuple->bytes : 0;
}
