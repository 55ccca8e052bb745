/* SPDX-License-Identifier: BSD-3-Clause */
#include <predict/graph/graph.h>

#include <errno.h>
#include <stdlib.h>

#include <base/array.h>

struct match_entry {
	uint32_t item, next; /* next: number of an entry + 1, 0 = none */
};

struct match_channel {
	struct envelope envelope;
	uint32_t first, last; /* numbers of entries + 1 */
	bool sends;           /* the entries are sends; all ends that wait are of one kind */
};

static uint64_t hash_envelope(const struct envelope *e)
{
	return hash_mix(hash_mix(((uint64_t)e->from << 32 | e->to)) ^ (uint64_t)e->tag * 0x9e3779b97f4a7c15u ^
			e->communicator);
}

static bool is_equal(const struct envelope *a, const struct envelope *b)
{
	return a->from == b->from && a->to == b->to && a->tag == b->tag && a->communicator == b->communicator;
}

static struct match_channel *find_channel(struct matcher *matcher, const struct envelope *envelope)
{
	uint64_t key = hash_envelope(envelope);
	struct match_channel *channels;

	HASH_TABLE_EACH (&matcher->table, key, at) {
		struct match_channel *channel = &matcher->channels[hash_table_value(&matcher->table, at)];

		if (is_equal(&channel->envelope, envelope))
			return channel;
	}
	channels = array_grow(matcher->channels, matcher->channel_count, &matcher->channel_capacity, sizeof *channels);
	if (!channels)
		return NULL;
	matcher->channels = channels;
	if (hash_table_insert(&matcher->table, key, (uint32_t)matcher->channel_count) < 0)
		return NULL;
	channels[matcher->channel_count] = (struct match_channel){.envelope = *envelope};
	return &channels[matcher->channel_count++];
}

static int wait_in(struct matcher *matcher, struct match_channel *channel, bool send, uint32_t item)
{
	uint32_t entry = matcher->unused;

	if (entry) {
		matcher->unused = matcher->entries[entry - 1].next;
	} else {
		struct match_entry *entries =
			array_grow(matcher->entries, matcher->entry_count, &matcher->entry_capacity, sizeof *entries);

		if (!entries)
			return -ENOMEM;
		matcher->entries = entries;
		entry = (uint32_t)++matcher->entry_count;
	}
	matcher->entries[entry - 1] = (struct match_entry){.item = item};
	if (channel->first)
		matcher->entries[channel->last - 1].next = entry;
	else
		channel->first = entry;
	channel->last = entry;
	channel->sends = send;
	return 0;
}

int matcher_meet(struct matcher *matcher, struct envelope envelope, bool send, uint32_t item, uint32_t *other)
{
	struct match_channel *channel = find_channel(matcher, &envelope);
	struct match_entry *entry;
	uint32_t first;

	if (!channel)
		return -ENOMEM;
	if (!channel->first || channel->sends == send)
		return wait_in(matcher, channel, send, item);
	first = channel->first;
	entry = &matcher->entries[first - 1];
	*other = entry->item;
	channel->first = entry->next;
	entry->next = matcher->unused;
	matcher->unused = first;
	return 1;
}

void matcher_free(struct matcher *matcher)
{
	hash_table_free(&matcher->table);
	free(matcher->channels);
	free(matcher->entries);
	*matcher = (struct matcher){0};
}

int message_transfer(struct execution_graph *graph, const struct loggps *model, const struct envelope *envelope,
		     uint64_t bytes, uint32_t sent, uint32_t posted, struct message_ends *ends)
{
	double bytes_ns = loggps_bytes_ns(model, bytes);
	struct execution_edge receive = {.from = posted};
	uint16_t hop = loggps_is_remote(model, envelope->from, envelope->to);
	struct execution_edge arrive = {.from = sent, .messages = hop, .ns = bytes_ns};
	uint32_t asked, cleared;

	ends->sender_done = sent;
	if (bytes > model->eager_bytes) {
		asked = execution_add(graph, envelope->to, (struct execution_edge){.from = sent, .messages = hop},
				      receive);
		cleared = execution_add(graph, envelope->from, (struct execution_edge){.from = asked, .messages = hop},
					(struct execution_edge){0});
		ends->sender_done = execution_after(graph, envelope->from, cleared, bytes_ns);
		if (!asked || !cleared || !ends->sender_done)
			return -ENOMEM;
		arrive.from = cleared;
	}
	ends->arrived = execution_add(graph, envelope->to, receive, arrive);
	return ends->arrived ? 0 : -ENOMEM;
}
