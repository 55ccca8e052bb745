/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages to turns, and whether clients wait for responses. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <base/array.h>
#include <base/quantile.h>

#include "turns_priv.h"

static int find_host(struct turns *turns, ip_address address, bool server, uint32_t *host)
{
	struct turns_host *hosts;

	for (*host = 0; *host < turns->host_count; ++*host)
		if (turns->hosts[*host].address == address && turns->hosts[*host].server == server)
			return 0;
	hosts = array_grow(turns->hosts, turns->host_count, &turns->host_capacity, sizeof *hosts);
	if (!hosts)
		return -ENOMEM;
	turns->hosts = hosts;
	hosts[turns->host_count++] =
		(struct turns_host){.address = address, .server = server, .server_ns = INFINITY, .client_ns = INFINITY};
	return 0;
}

static struct turn *add_turn(struct turns *turns, struct turn turn)
{
	struct turn *items = array_grow(turns->turns, turns->turn_count, &turns->turn_capacity, sizeof *items);

	if (!items || turns->turn_count >= TURNS_NONE)
		return NULL;
	turns->turns = items;
	items[turns->turn_count] = turn;
	return &items[turns->turn_count++];
}

/*
 * The client's messages and the server's have the same number, but for requests at the end without response, and every
 * response comes after its request was received.
 */
static bool fit_one_to_one(const struct side *client, const struct side *server)
{
	if (server->count > client->count || server->count == 0)
		return false;
	for (size_t i = 0; i < server->count; i++)
		if (server->messages[i].first_ns < client->messages[i].last_ns ||
		    server->messages[i].acknowledged < client->messages[i].end)
			return false;
	return true;
}

/* A turn in the making: messages of the client from `request` on, and of the server from `response` on. */
struct pairing {
	struct turns *turns;
	const struct side *client, *server;
	size_t request, response;
	size_t seen;                /* messages of the server that the newest request acknowledges */
	uint32_t connection, first; /* first: turn of the connection, without handshake and greeting */
	uint32_t *turn_of;          /* the turn of each message of the server */
};

static size_t run_length(const struct side *side, size_t from, double until_ns)
{
	size_t count = 0;

	while (from + count < side->count && side->messages[from + count].first_ns < until_ns)
		count++;
	return count;
}

/* The newest response that the client had when it sent this message. */
static uint32_t find_trigger(struct pairing *pairing, const struct message *request, uint32_t first)
{
	const struct side *server = pairing->server;

	while (pairing->seen < pairing->response && server->messages[pairing->seen].end <= request->acknowledged)
		pairing->seen++;
	return pairing->seen ? pairing->turn_of[pairing->seen - 1] : first;
}

/* Adds the turn of the next `requests` and `responses` messages. Returns 0 or -ENOMEM. */
static int take_turn(struct pairing *pairing, size_t requests, size_t responses, uint32_t before)
{
	const struct message *asked = &pairing->client->messages[pairing->request],
			     *answered = &pairing->server->messages[pairing->response];
	struct turn turn = {
		.connection = pairing->connection,
		.trigger = find_trigger(pairing, asked, before),
		.request_ns = {asked[0].first_ns, asked[requests - 1].last_ns},
		.response_ns = {answered[0].first_ns, answered[responses - 1].last_ns},
	};

	for (size_t i = 0; i < responses; i++)
		pairing->turn_of[pairing->response + i] = (uint32_t)pairing->turns->turn_count;
	pairing->request += requests;
	pairing->response += responses;
	return add_turn(pairing->turns, turn) ? 0 : -ENOMEM;
}

static int pair_messages(struct pairing *pairing, uint32_t before)
{
	int code = 0;

	while (code == 0 && pairing->response < pairing->server->count)
		code = take_turn(pairing, 1, 1, before);
	return code;
}

/* A server that speaks first answers the end of the handshake. Returns the turn before the first request. */
static uint32_t pair_greeting(struct pairing *pairing, size_t messages, double established_ns, uint32_t before)
{
	const struct message *greeting = pairing->server->messages;
	const struct turn turn = {
		.connection = pairing->connection,
		.trigger = before,
		.request_ns = {established_ns, established_ns},
		.response_ns = {greeting[0].first_ns, greeting[messages - 1].last_ns},
	};

	pairing->response = messages;
	for (size_t i = 0; i < messages; i++)
		pairing->turn_of[i] = (uint32_t)pairing->turns->turn_count;
	return add_turn(pairing->turns, turn) ? (uint32_t)pairing->turns->turn_count - 1 : TURNS_NONE;
}

static int pair_runs(struct pairing *pairing, double established_ns, uint32_t before)
{
	const struct side *client = pairing->client, *server = pairing->server;
	size_t greeting = run_length(server, 0, client->count ? client->messages[0].first_ns : INFINITY);
	int code = 0;

	if (greeting > 0 && isfinite(established_ns))
		before = pair_greeting(pairing, greeting, established_ns, before);
	else /* answers to what came before the capture */
		for (; pairing->response < greeting; pairing->response++)
			pairing->turn_of[pairing->response] = before;
	while (code == 0 && pairing->request < client->count && pairing->response < server->count) {
		size_t requests = run_length(client, pairing->request, server->messages[pairing->response].first_ns);
		size_t next = pairing->request + requests;
		size_t responses = run_length(server, pairing->response,
					      next < client->count ? client->messages[next].first_ns : INFINITY);

		if (requests == 0 || responses == 0) /* stamps that are equal */
			requests = responses = 1;
		code = take_turn(pairing, requests, responses, before);
	}
	return code;
}

/* Requests without a response that the client knew of when it sent turn i, with i. */
static uint32_t outstanding_at(const struct turns *turns, uint32_t first, uint32_t i)
{
	uint32_t trigger = turns->turns[i].trigger;

	return trigger == TURNS_NONE || trigger < first ? i + 1 - first : i - trigger;
}

static uint32_t most_outstanding(const struct turns *turns, uint32_t first)
{
	uint32_t most = 0;

	for (uint32_t i = first; i < turns->turn_count; i++) {
		uint32_t outstanding = outstanding_at(turns, first, i);

		most = outstanding > most ? outstanding : most;
	}
	return most;
}

static void count_messages(const struct flow *flow, size_t answered, struct turns *turns)
{
	turns->segments += flow->segments;
	turns->repeated += flow->repeated;
	turns->missing += flow->missing;
	turns->partial += !isfinite(flow->established_ns);
	turns->unanswered += flow->sides[flow->client].count - answered;
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < flow->sides[side].count; i++)
			turns->long_messages += flow->sides[side].messages[i].bytes > TURNS_LONG_BYTES;
}

static int add_connection(const struct flow *flow, struct turns *turns)
{
	const struct side *client = &flow->sides[flow->client], *server = &flow->sides[!flow->client];
	struct turns_connection *connections = array_grow(turns->connections, turns->connection_count,
							  &turns->connection_capacity, sizeof *connections);
	struct turns_connection *connection;
	struct turns_host *host;

	if (!connections)
		return -ENOMEM;
	turns->connections = connections;
	connection = &connections[turns->connection_count++];
	*connection = (struct turns_connection){0};
	if (find_host(turns, server->address, true, &connection->server) < 0 ||
	    find_host(turns, client->address, false, &connection->client) < 0)
		return -ENOMEM;
	host = &turns->hosts[connection->client];
	host->server_ns = fmin(host->server_ns, client->rtt_ns);
	host->client_ns = fmin(host->client_ns, server->rtt_ns);
	return 0;
}

static int pair_flow(const struct flow *flow, struct turns *turns)
{
	const struct side *client = &flow->sides[flow->client], *server = &flow->sides[!flow->client];
	struct pairing pairing = {.turns = turns, .client = client, .server = server};
	uint32_t before = TURNS_NONE;
	struct turns_connection *connection = NULL;
	int code = add_connection(flow, turns);

	if (code < 0)
		return code;
	pairing.connection = (uint32_t)turns->connection_count - 1;
	pairing.turn_of = calloc(server->count + 1, sizeof *pairing.turn_of);
	if (!pairing.turn_of)
		return -ENOMEM;
	if (isfinite(flow->established_ns) && client->greeted_ns <= server->greeted_ns) {
		before = (uint32_t)turns->turn_count;
		if (!add_turn(turns, (struct turn){.connection = pairing.connection,
						   .trigger = TURNS_NONE,
						   .handshake = true,
						   .request_ns = {client->greeted_ns, client->greeted_ns},
						   .response_ns = {server->greeted_ns, server->greeted_ns}}))
			code = -ENOMEM;
	}
	pairing.first = (uint32_t)turns->turn_count;
	connection = &turns->connections[pairing.connection];
	connection->by_messages = fit_one_to_one(client, server);
	if (code == 0)
		code = connection->by_messages ? pair_messages(&pairing, before)
					       : pair_runs(&pairing, flow->established_ns, before);
	free(pairing.turn_of);
	connection->outstanding = most_outstanding(turns, pairing.first);
	count_messages(flow, pairing.request, turns);
	return code;
}

/* Sums over turns of a closed or an open loop; see is_open(). */
struct loop_sums {
	uint64_t sends, full; /* ends of the client's bursts; of those, with as many outstanding as ever */
	double turns, response, think, response2, product;
};

static void add_think(struct loop_sums *sums, double response_ns, double think_ns)
{
	sums->turns++;
	sums->response += response_ns;
	sums->think += think_ns;
	sums->response2 += response_ns * response_ns;
	sums->product += response_ns * think_ns;
}

/* Adds the turns of one connection, from `first` to before `end`. */
static void add_loop(const struct turns *turns, uint32_t first, uint32_t end, struct loop_sums *sums)
{
	const struct turns_connection *connection = &turns->connections[turns->turns[first].connection];
	bool several = connection->by_messages && connection->outstanding > 1;

	for (uint32_t i = first; i + 1 < end; i++) {
		const struct turn *turn = &turns->turns[i], *next = turn + 1;
		if (next->trigger == turn->trigger) /* the client goes on sending */
			continue;
		sums->sends += several;
		sums->full += several && outstanding_at(turns, first, i) == connection->outstanding;
		if (!several)
			add_think(sums, turn->response_ns[1] - turn->request_ns[0],
				  next->request_ns[0] - turn->response_ns[1]);
	}
}

/*
 * A closed loop refills what is outstanding to the same number after each response. With one outstanding request, its
 * think time does not depend on the response time before. In an open loop, their sum is given, so that the slope of
 * think time by response time is -1. Connections that are used at the same time and wait in one saturated server or
 * client have such a slope in a closed loop too: with one outstanding request each, they are taken as closed.
 */
static bool is_open(const struct loop_sums *sums)
{
	double variance = sums->response2 - sums->response * sums->response / fmax(sums->turns, 1);
	double covariance = sums->product - sums->response * sums->think / fmax(sums->turns, 1);

	if ((double)sums->sends > sums->turns)
		return sums->full * 2 < sums->sends;
	return sums->turns > 10 && covariance < -variance / 2;
}

static enum turns_loop find_loop(const struct turns *turns)
{
	struct loop_sums sums = {0};
	double until_ns = 0;
	bool together = false; /* connections at the same time */

	for (uint32_t first = 0, end; first < turns->turn_count; first = end) {
		uint32_t begin = first + turns->turns[first].handshake;

		for (end = first;
		     end < turns->turn_count && turns->turns[end].connection == turns->turns[first].connection;)
			end++;
		if (begin >= end)
			continue;
		add_loop(turns, begin, end, &sums);
		together = together || turns->turns[begin].request_ns[0] < until_ns;
		until_ns = fmax(until_ns, turns->turns[end - 1].response_ns[1]);
	}
	if (together)
		sums.turns = 0;
	return is_open(&sums) ? TURNS_OPEN : TURNS_CLOSED;
}

static int find_medians(struct turns *turns)
{
	double *values = calloc(turns->turn_count + 1, sizeof *values), end_ns = 0, start_ns = INFINITY;
	size_t count = 0;

	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < turns->turn_count; i++) {
		const struct turn *turn = &turns->turns[i];

		start_ns = fmin(start_ns, turn->request_ns[0]);
		end_ns = fmax(end_ns, turn->response_ns[1]);
		if (!turn->handshake && turn->trigger != TURNS_NONE)
			values[count++] = turn->request_ns[0] - turns->turns[turn->trigger].response_ns[1];
	}
	turns->run_ns = end_ns - fmin(start_ns, end_ns);
	turns->think_ns = quantile_median(values, count);
	count = 0;
	for (size_t i = 0; i < turns->turn_count; i++)
		if (!turns->turns[i].handshake)
			values[count++] = turns->turns[i].response_ns[0] - turns->turns[i].request_ns[1];
	turns->service_ns = quantile_median(values, count);
	free(values);
	return 0;
}

int flows_pair(const struct flows *flows, uint16_t port, struct turns *turns)
{
	int code = 0;

	turns->port = port;
	for (size_t i = 0; i < flows->count && code == 0; i++) {
		const struct flow *flow = &flows->items[i];
		bool wanted = flow->sides[!flow->client].port == port;

		turns->others += !wanted;
		if (wanted && flow->sides[!flow->client].count > 0)
			code = pair_flow(flow, turns);
	}
	if (code == 0)
		turns->loop = find_loop(turns);
	return code == 0 ? find_medians(turns) : code;
}
