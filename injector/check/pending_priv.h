/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arrivals of packets whose departure has not been found yet. An arrival is found by its digest; of arrivals with equal
 * digests, the oldest is taken first.
 */
#ifndef CHECK_PENDING_PRIV_H
#define CHECK_PENDING_PRIV_H

#include <stdbool.h>
#include <stdint.h>

struct arrival {
	int64_t time_ns;
	uint64_t sequence; /* order of arrival */
};

struct pending;

struct pending *pending_create(void);          /* NULL if out of memory */
void pending_destroy(struct pending *pending); /* NULL is legal */

/* Returns 0 or -ENOMEM. */
int pending_put(struct pending *pending, uint64_t digest, struct arrival arrival);
/* Removes the oldest arrival with this digest. Returns false if there is none. */
bool pending_take(struct pending *pending, uint64_t digest, struct arrival *arrival);

#endif
