/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matching of sends and receives as MPI does it: of one sender, receiver, tag and communicator, the first send belongs
 * to the first receive, and so on (MPI 4.0, section 3.5: non-overtaking). Also the nodes that a matched message adds to
 * an execution graph. One thread. A zeroed matcher is empty.
 */
#ifndef PREDICT_MATCH_H
#define PREDICT_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/hash_table.h>
#include <predict/graph/graph.h>

struct envelope {
	uint32_t from, to; /* ranks */
	int64_t tag;
	uint32_t communicator;
};

struct matcher {
	struct hash_table table; /* hash of an envelope to its channel */
	struct match_channel *channels;
	size_t channel_count, channel_capacity;
	struct match_entry *entries; /* waiting sends or receives; unused ones are in a list */
	size_t entry_count, entry_capacity;
	uint32_t unused;
};

/*
 * Brings in one end of a message, of which `item` is the caller's number (below UINT32_MAX). Returns 1 and in *other
 * the number of the other end that waited, 0 if this end now waits, or -ENOMEM.
 */
int matcher_meet(struct matcher *matcher, struct envelope envelope, bool send, uint32_t item, uint32_t *other);
void matcher_free(struct matcher *matcher);

struct message_ends {
	uint32_t sender_done; /* the sender may use its buffer again */
	uint32_t arrived;     /* the last byte is at the receiver, which has asked for it */
};

/*
 * Adds the nodes of a message. sent: the sender's CPU has given it to the network; posted: the receiver has asked for
 * it. Up to model->eager_bytes, the sender is done at `sent`. A longer one is a rendezvous: a request to the receiver,
 * its answer once the receive is posted, then the bytes; three latencies.
 * A message within a host has none. Returns 0 or -ENOMEM.
 */
int message_transfer(struct execution_graph *graph, const struct loggps *model, const struct envelope *envelope,
		     uint64_t bytes, uint32_t sent, uint32_t posted, struct message_ends *ends);

#endif
