/* SPDX-License-Identifier: BSD-3-Clause */
#include <lab/openflow/switches.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <base/array.h>
#include <base/hash_table.h>
#include <base/ns.h>
#include <lab/openflow/message.h>

enum { PRIORITY = 32000, GENERATION_BITS = 16, PAUSE_MS = 200, KEEP_MS = 500 };
#define MARK 0x4e4f4d4f52410000U /* in our flows' cookies: "NOMORA"; 16 bits for the generation */
#define MARK_MASK 0xffffffffffff0000U

struct channel {
	int socket; /* -1: not connected */
	uint8_t in[OPENFLOW_LENGTH_MAXIMUM];
	size_t in_bytes;
	uint32_t barrier; /* transaction number of the barrier whose reply is awaited; 0: none */
	bool described;   /* the switch's features, with `datapath`, have arrived */
	uint64_t datapath;
};

/* An entry: at switch `node`, packets from host `from` to host `to` leave over `link`. */
struct entry {
	uint32_t node, from, to, link, rank; /* rank: number of switches behind this one on the route */
	bool has[2];                         /* the switch has reported the flow for IPv4; for ARP */
};

struct update {
	struct network *network;
	const struct openflow_fabric *fabric;
	struct channel **channels; /* by node; NULL for hosts */
	uint32_t *number;          /* by node: for a host, its number among the hosts, from 0 */
	struct entry *entries;
	size_t entry_count, entry_capacity;
	struct hash_table index; /* of entries[], by entry_key() */
	bool is_set;             /* the update was made */
	uint32_t transaction;
	struct error *err;
};

static const char *name_of(const struct update *update, uint32_t node)
{
	return network_topology(update->network)->nodes[node].name;
}

static int add_entry(struct update *update, const struct entry *entry)
{
	struct entry *entries =
		array_grow(update->entries, update->entry_count, &update->entry_capacity, sizeof *entries);

	if (!entries)
		return error_set(update->err, ENOMEM, "out of memory");
	update->entries = entries;
	entries[update->entry_count++] = *entry;
	return 0;
}

/* Adds the entries of the route between two hosts, in both directions. */
static int add_route(struct update *update, uint32_t low, uint32_t high, const struct network_route *route)
{
	const struct topology *topology = network_topology(update->network);
	uint32_t node = low;
	int code = 0;

	for (uint32_t r = 0; r + 1 < route->count && code == 0; r++) {
		uint32_t in = network_route_link(route, r) / 2, out = network_route_link(route, r + 1) / 2;
		struct entry there = {.from = low, .to = high, .link = out, .rank = route->count - 2 - r};
		struct entry back = {.from = high, .to = low, .link = in, .rank = r};

		node = topology->links[in].a == node ? topology->links[in].b : topology->links[in].a;
		there.node = back.node = node;
		code = add_entry(update, &there);
		if (code == 0)
			code = add_entry(update, &back);
	}
	return code;
}

static int list_entries(struct update *update)
{
	const struct topology *topology = network_topology(update->network);
	int code = 0;

	for (uint32_t low = 0; low < topology->node_count; low++)
		for (uint32_t high = low + 1; high < topology->node_count && code == 0; high++) {
			int64_t number = network_route_of(update->network, low, high);
			struct network_route route;

			if (number >= 0 && network_route(update->network, low, high, (uint32_t)number, &route) == 0)
				code = add_route(update, low, high, &route);
		}
	return code;
}

static uint64_t entry_key(const struct update *update, uint32_t node, uint64_t from, uint64_t to)
{
	uint64_t hosts = network_topology(update->network)->host_count;

	return (node * hosts + from) * hosts + to;
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *left = a, *right = b;

	return (left->rank > right->rank) - (left->rank < right->rank);
}

/* Sorts the entries by rank and indexes them. */
static int index_entries(struct update *update)
{
	int code = 0;

	if (update->entry_count > 0)
		qsort(update->entries, update->entry_count, sizeof *update->entries, compare_entries);
	for (size_t i = 0; i < update->entry_count && code == 0; i++) {
		const struct entry *entry = &update->entries[i];

		code = hash_table_insert(
			&update->index,
			entry_key(update, entry->node, update->number[entry->from], update->number[entry->to]),
			(uint32_t)i);
	}
	return code < 0 ? error_set(update->err, ENOMEM, "out of memory") : 0;
}

/* Returns our entry with the match of a flow of switch `node`, or NULL. */
static struct entry *find_entry(const struct update *update, uint32_t node, const struct openflow_flow *flow)
{
	uint32_t hosts = network_topology(update->network)->host_count, at;
	uint32_t from = flow->source - update->fabric->first, to = flow->destination - update->fabric->first;

	if (flow->priority != PRIORITY || from >= hosts || to >= hosts)
		return NULL;
	at = hash_table_find(&update->index, entry_key(update, node, from, to));
	return at == HASH_TABLE_NONE ? NULL : &update->entries[at];
}

static uint64_t our_cookie(const struct update *update)
{
	return MARK | (update->fabric->generation & ~MARK_MASK);
}

/*
 * Records which of our flows a switch has. Returns an error for a flow with the same match and priority that is not
 * ours: setting ours would replace it. Flows of earlier updates are ours until the update is made.
 */
static int take_flows(struct update *update, uint32_t node, const struct openflow_message *message)
{
	struct openflow_flow flow;
	size_t offset = 0;
	int more;

	while ((more = openflow_next_flow(message, &offset, &flow)) > 0) {
		struct entry *entry = find_entry(update, node, &flow);
		bool earlier = (flow.cookie & MARK_MASK) == MARK && !update->is_set;

		if (!entry || (earlier && flow.cookie != our_cookie(update)))
			continue;
		if (flow.cookie != our_cookie(update))
			return error_set(
				update->err, EEXIST,
				"switch '%s' has a flow of %s, with cookie 0x%llx, for the %spackets from '%s' "
				"to '%s' at our priority %d",
				name_of(update, node),
				(flow.cookie & MARK_MASK) == MARK ? "another update" : "another controller",
				(unsigned long long)flow.cookie, flow.arp ? "ARP " : "", name_of(update, entry->from),
				name_of(update, entry->to), PRIORITY);
		entry->has[flow.arp] = flow.port == entry->link + 1;
	}
	return more < 0 ? error_set(update->err, EBADMSG, "switch '%s' sent flows of a wrong length",
				    name_of(update, node))
			: 0;
}

static int send_bytes(struct update *update, uint32_t node, const uint8_t *bytes, size_t count)
{
	while (count > 0) {
		ssize_t sent = send(update->channels[node]->socket, bytes, count, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return error_set(update->err, errno, "switch '%s': %s", name_of(update, node),
					 errno == EAGAIN ? "accepts no messages" : strerror(errno));
		bytes += sent;
		count -= (size_t)sent;
	}
	return 0;
}

/*
 * Handles a received message: returns an error of the switch, answers an echo request, records features and a barrier's
 * reply.
 */
static int take_message(struct update *update, uint32_t node, const struct openflow_message *message)
{
	uint8_t out[OPENFLOW_MESSAGE_BYTES];
	char text[96];

	if (message->type != OPENFLOW_HELLO && message->version != OPENFLOW_VERSION)
		return error_set(update->err, EPROTO, "switch '%s' answers in OpenFlow version %u, expected %d (1.3)",
				 name_of(update, node), message->version, OPENFLOW_VERSION);
	if (message->type == OPENFLOW_ERROR) {
		openflow_error_text(message, text);
		return error_set(update->err, EREMOTEIO, "switch '%s' refuses: %s", name_of(update, node), text);
	}
	if (message->type == OPENFLOW_ECHO_REQUEST)
		return send_bytes(update, node, out, openflow_write_echo_reply(message, out));
	if (message->type == OPENFLOW_FEATURES_REPLY) {
		update->channels[node]->described = true;
		update->channels[node]->datapath = message->datapath;
	}
	if (message->type == OPENFLOW_MULTIPART_REPLY)
		return take_flows(update, node, message);
	if (message->type == OPENFLOW_BARRIER_REPLY && message->transaction == update->channels[node]->barrier)
		update->channels[node]->barrier = 0;
	return 0;
}

static int take_messages(struct update *update, uint32_t node)
{
	struct channel *channel = update->channels[node];
	struct openflow_message message;
	int bytes = 0, code = 0;

	while (code == 0 && (bytes = openflow_parse(channel->in, channel->in_bytes, &message)) > 0) {
		code = take_message(update, node, &message);
		channel->in_bytes -= (size_t)bytes;
		memmove(channel->in, channel->in + bytes, channel->in_bytes);
	}
	if (bytes < 0)
		return error_set(update->err, EBADMSG, "switch '%s' sent a message of a wrong length",
				 name_of(update, node));
	return code;
}

static int receive(struct update *update, uint32_t node)
{
	struct channel *channel = update->channels[node];
	ssize_t bytes =
		recv(channel->socket, channel->in + channel->in_bytes, sizeof channel->in - channel->in_bytes, 0);

	if (bytes < 0 && errno == EINTR)
		return 0;
	if (bytes < 0 && errno != ECONNRESET)
		return error_set(update->err, errno, "switch '%s': %s", name_of(update, node), strerror(errno));
	if (bytes <= 0)
		return error_set(update->err, ECONNRESET, "switch '%s' closed the connection", name_of(update, node));
	channel->in_bytes += (size_t)bytes;
	return take_messages(update, node);
}

static int wait_for_barrier(struct update *update, uint32_t node)
{
	struct channel *channel = update->channels[node];
	struct ns deadline = ns_add(ns_now_monotonic(), ns_from_us(update->fabric->timeout_ms * 1e3));
	int code = 0;

	while (channel->barrier != 0 && code == 0) {
		double left_ms = ns_to_us(ns_sub(deadline, ns_now_monotonic())) / 1e3;
		struct pollfd poll_in = {.fd = channel->socket, .events = POLLIN};

		if (left_ms <= 0)
			return error_set(update->err, ETIMEDOUT, "switch '%s' did not confirm within %d ms",
					 name_of(update, node), update->fabric->timeout_ms);
		if (poll(&poll_in, 1, (int)left_ms + 1) > 0)
			code = receive(update, node);
	}
	return code;
}

/* Sends a barrier to every switch, then waits for each reply. */
static int confirm(struct update *update)
{
	uint32_t nodes = network_topology(update->network)->node_count;
	uint8_t out[OPENFLOW_MESSAGE_BYTES];
	int code = 0;

	for (uint32_t n = 0; n < nodes && code == 0; n++) {
		if (!update->channels[n])
			continue;
		update->channels[n]->barrier = ++update->transaction;
		code = send_bytes(update, n, out, openflow_write(OPENFLOW_BARRIER_REQUEST, update->transaction, out));
	}
	for (uint32_t n = 0; n < nodes && code == 0; n++)
		if (update->channels[n])
			code = wait_for_barrier(update, n);
	return code;
}

static int open_channel(struct update *update, uint32_t node)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timeval patience = {.tv_sec = update->fabric->timeout_ms / 1000,
				   .tv_usec = update->fabric->timeout_ms % 1000 * 1000};
	struct channel *channel = update->channels[node] = calloc(1, sizeof *channel);
	uint8_t out[OPENFLOW_MESSAGE_BYTES];
	int length, code;

	if (!channel)
		return error_set(update->err, ENOMEM, "out of memory");
	length = snprintf(address.sun_path, sizeof address.sun_path, "%s/%s.mgmt", update->fabric->folder,
			  name_of(update, node));
	channel->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (channel->socket < 0 || length >= (int)sizeof address.sun_path)
		return error_set(update->err, ENAMETOOLONG, "switch '%s': the path of its socket is too long",
				 name_of(update, node));
	setsockopt(channel->socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	if (connect(channel->socket, (struct sockaddr *)&address, sizeof address) != 0)
		return error_set(update->err, errno, "switch '%s': cannot connect to %s: %s", name_of(update, node),
				 address.sun_path, strerror(errno));
	code = send_bytes(update, node, out, openflow_write(OPENFLOW_HELLO, ++update->transaction, out));
	if (code == 0)
		code = send_bytes(update, node, out,
				  openflow_write(OPENFLOW_FEATURES_REQUEST, ++update->transaction, out));
	return code;
}

/*
 * Returns an error if a switch has not described its features, or if two sockets belong to the same switch: the flows
 * of two switches would be mixed there.
 */
static int check_datapaths(const struct update *update)
{
	uint32_t nodes = network_topology(update->network)->node_count;

	for (uint32_t a = 0; a < nodes; a++)
		for (uint32_t b = 0; b <= a && update->channels[a]; b++) {
			if (!update->channels[a]->described)
				return error_set(update->err, EPROTO, "switch '%s' does not describe its features",
						 name_of(update, a));
			if (b < a && update->channels[b] &&
			    update->channels[a]->datapath == update->channels[b]->datapath)
				return error_set(
					update->err, EEXIST,
					"switches '%s' and '%s' are the same switch: both have datapath %016llx",
					name_of(update, b), name_of(update, a),
					(unsigned long long)update->channels[a]->datapath);
		}
	return 0;
}

/*
 * Opens a channel to every switch of the network, also to those that are on no route now, because flows of an earlier
 * plan are to be removed there.
 */
static int open_channels(struct update *update)
{
	const struct topology *topology = network_topology(update->network);
	uint32_t hosts = 0;
	int code = 0;

	update->channels = calloc(topology->node_count + 1u, sizeof(struct channel *));
	update->number = calloc(topology->node_count + 1u, sizeof *update->number);
	if (!update->channels || !update->number)
		return error_set(update->err, ENOMEM, "out of memory");
	for (uint32_t n = 0; n < topology->node_count && code == 0; n++) {
		if (topology->nodes[n].kind == TOPOLOGY_HOST)
			update->number[n] = hosts++;
		else
			code = open_channel(update, n);
	}
	if (code == 0)
		code = confirm(update);
	return code == 0 ? check_datapaths(update) : code;
}

static int send_flow(struct update *update, const struct entry *entry, bool arp)
{
	const struct openflow_fabric *fabric = update->fabric;
	const struct openflow_flow flow = {
		.cookie = our_cookie(update),
		.priority = PRIORITY,
		.arp = arp,
		.source = fabric->first + update->number[entry->from],
		.destination = fabric->first + update->number[entry->to],
		.port = entry->link + 1,
	};
	uint8_t out[OPENFLOW_MESSAGE_BYTES];

	return send_bytes(update, entry->node, out, openflow_write_add(&flow, ++update->transaction, out));
}

/*
 * Sets the flows of the last switch of every route and waits for the switches' confirmations. Then does the same for
 * the last switch but one of every route, and so on to the first switches.
 */
static int set_flows(struct update *update)
{
	int code = 0;

	for (size_t i = 0; i < update->entry_count && code == 0; i++) {
		if (i > 0 && update->entries[i].rank != update->entries[i - 1].rank)
			code = confirm(update);
		if (code == 0)
			code = send_flow(update, &update->entries[i], false);
		if (code == 0)
			code = send_flow(update, &update->entries[i], true);
	}
	return code == 0 ? confirm(update) : code;
}

/* Asks every switch for its flows and records which of ours it has. */
static int read_flows(struct update *update)
{
	uint32_t nodes = network_topology(update->network)->node_count;
	uint8_t out[OPENFLOW_MESSAGE_BYTES];
	int code = 0;

	for (size_t i = 0; i < update->entry_count; i++)
		update->entries[i].has[0] = update->entries[i].has[1] = false;
	for (uint32_t n = 0; n < nodes && code == 0; n++)
		if (update->channels[n])
			code = send_bytes(update, n, out, openflow_write_flows_request(++update->transaction, out));
	return code == 0 ? confirm(update) : code;
}

/* Sets the flows of one switch that it has not reported. Returns their number or an error. */
static int set_missing_of(struct update *update, uint32_t node)
{
	int count = 0, code = 0;

	for (size_t i = 0; i < update->entry_count; i++)
		for (int arp = 0; arp < 2 && update->entries[i].node == node && code == 0; arp++)
			if (!update->entries[i].has[arp]) {
				code = send_flow(update, &update->entries[i], arp);
				count++;
			}
	return code < 0 ? code : count;
}

static int set_missing(struct update *update)
{
	uint32_t nodes = network_topology(update->network)->node_count;
	int code = 0;

	for (uint32_t n = 0; n < nodes && code >= 0; n++) {
		struct openflow_done done = {.lost_by = name_of(update, n)};

		if (!update->channels[n] || (code = set_missing_of(update, n)) <= 0)
			continue;
		done.flows = (uint32_t)code;
		update->fabric->event(update->fabric->context, &done, NULL);
	}
	return code < 0 ? code : 0;
}

/*
 * Deletes our flows of other generations. The generation in their cookies differs from the present one in at least one
 * bit; so, for each bit, deletes our flows in which this bit differs.
 */
static int delete_old(struct update *update)
{
	uint32_t nodes = network_topology(update->network)->node_count;
	uint8_t out[OPENFLOW_MESSAGE_BYTES];
	int code = 0;

	for (uint32_t n = 0; n < nodes; n++)
		for (int bit = 0; update->channels[n] && bit < GENERATION_BITS && code == 0; bit++) {
			uint64_t other = (~(uint64_t)update->fabric->generation) & 1U << bit;

			code = send_bytes(
				update, n, out,
				openflow_write_delete(MARK | other, MARK_MASK | 1U << bit, ++update->transaction, out));
		}
	return code == 0 ? confirm(update) : code;
}

static void end(struct update *update)
{
	uint32_t nodes = network_topology(update->network)->node_count;

	for (uint32_t n = 0; update->channels && n < nodes; n++) {
		if (update->channels[n] && update->channels[n]->socket >= 0)
			close(update->channels[n]->socket);
		free(update->channels[n]);
	}
	free(update->channels);
	free(update->number);
	free(update->entries);
	hash_table_free(&update->index);
}

/* Makes one attempt of the update. The connections stay open. */
static int set_once(struct update *update, struct openflow_done *done)
{
	const struct topology *topology = network_topology(update->network);
	struct ns start;
	int code = open_channels(update);

	start = ns_now_monotonic();
	if (code == 0)
		code = list_entries(update);
	if (code == 0)
		code = index_entries(update);
	if (code == 0)
		code = read_flows(update);
	if (code == 0)
		code = set_flows(update);
	if (code == 0)
		code = delete_old(update);
	update->is_set = code == 0;
	*done = (struct openflow_done){.switches = topology->node_count - topology->host_count,
				       .flows = 2 * (uint32_t)update->entry_count,
				       .ms = ns_to_us(ns_sub(ns_now_monotonic(), start)) / 1e3};
	return code;
}

/* Returns true for errors of a switch that is slow, full or restarting and may accept the update later. */
static bool is_passing(int code)
{
	return code == -ETIMEDOUT || code == -EREMOTEIO || code == -ECONNRESET || code == -EPIPE ||
	       code == -ECONNREFUSED || code == -ENOENT || code == -EAGAIN;
}

static bool is_stopped(const struct openflow_fabric *fabric)
{
	return fabric->stop && *fabric->stop;
}

/*
 * Repeats the update until everything is confirmed, with at most `attempts` attempts (0: no limit). Setting a flow
 * again has no effect if the switch already has it.
 */
static int set_again(struct update *update, uint32_t attempts, struct error *err)
{
	const struct openflow_fabric *fabric = update->fabric;
	const struct update fresh = {.network = update->network, .fabric = fabric, .err = err};

	for (uint32_t attempt = 1;; attempt++) {
		struct openflow_done done;
		int code;

		*update = fresh;
		code = set_once(update, &done);
		if (code == 0)
			fabric->event(fabric->context, &done, NULL);
		if (code == 0 || !is_passing(code) || attempt == attempts || is_stopped(fabric))
			return code;
		fabric->event(fabric->context, NULL, err);
		end(update);
		*update = fresh;
		poll(NULL, 0, PAUSE_MS);
	}
}

int openflow_set_routes(struct network *network, const struct openflow_fabric *fabric, struct error *err)
{
	struct update update = {.network = network, .fabric = fabric};
	int code = set_again(&update, OPENFLOW_ATTEMPTS, err);

	end(&update);
	return code;
}

int openflow_keep_routes(struct network *network, const struct openflow_fabric *fabric, struct error *err)
{
	struct update update = {.network = network, .fabric = fabric};
	int code = set_again(&update, OPENFLOW_ATTEMPTS, err);

	while (code == 0 && !is_stopped(fabric)) {
		poll(NULL, 0, KEEP_MS);
		code = read_flows(&update);
		if (code == 0)
			code = set_missing(&update);
		if (code == 0 || !is_passing(code))
			continue;
		fabric->event(fabric->context, NULL, err);
		end(&update);
		code = set_again(&update, 0, err);
	}
	end(&update);
	return is_stopped(fabric) ? 0 : code;
}
