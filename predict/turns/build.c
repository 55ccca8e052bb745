/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns to an execution graph. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "turns_priv.h"

/*
 * An end that works on one request at a time changes their order hardly ever; parallel ones do so for a tenth of
 * requests that overlap and more. So does an end that takes all requests that are there and answers the newest first,
 * such as Redis: it counts as parallel.
 */
static const double overtaken_maximum = 0.05;

enum moment_kind { MOMENT_SENT, MOMENT_ANSWERED, MOMENT_ARRIVED };

/* A moment of a turn, by the clock of the capture, less the way to the capture point. */
struct moment {
	double ns;
	uint32_t turn;
	enum moment_kind kind;
};

/* When a request came to an end, and left it. */
struct stay {
	uint32_t host;
	double came_ns, left_ns;
};

/* The newest node of a resource. */
struct done {
	uint32_t node;
	double ns;
};

struct building {
	struct turns *turns;
	struct execution_graph *graph;
	double latency_ns;
	double (*times)[3];             /* of each turn: a time for each kind of moment */
	uint32_t (*nodes)[3];           /* EXECUTION_START: not yet */
	struct done *hosts;             /* of each host: its newest request or response */
	struct done *clients, *servers; /* of each connection */
	struct done *arrivals;          /* of each client: its newest response */
};

static const struct turns_connection *connection_of(const struct turns *turns, uint32_t turn)
{
	return &turns->connections[turns->turns[turn].connection];
}

/* Half of the round trip from the capture point to the client, or to the server. */
static double way_ns(const struct turns *turns, uint32_t turn, bool to_server)
{
	const struct turns_host *client = &turns->hosts[connection_of(turns, turn)->client];
	double rtt_ns = to_server ? client->server_ns : client->client_ns;

	return isfinite(rtt_ns) ? rtt_ns / 2 : 0;
}

/* One way from client to server, ns. */
static double distance_ns(const struct turns *turns, uint32_t turn)
{
	return way_ns(turns, turn, true) + way_ns(turns, turn, false);
}

double turns_rtt_ns(const struct turns *turns)
{
	double least_ns = INFINITY;

	for (uint32_t i = 0; i < turns->turn_count; i++)
		least_ns = fmin(least_ns, 2 * distance_ns(turns, i));
	return isfinite(least_ns) ? least_ns : 0;
}

/* When the request is complete at the server, if it left at its recorded time. */
static double came_ns(const struct building *building, uint32_t turn)
{
	const struct turn *t = &building->turns->turns[turn];

	return building->times[turn][MOMENT_SENT] + (t->request_ns[1] - t->request_ns[0]) +
	       distance_ns(building->turns, turn);
}

/* A round trip that was seen too short would make a cause later than its effect: the effect is moved. */
static void set_times(struct building *building)
{
	const struct turns *turns = building->turns;
	double start_ns = INFINITY; /* when the first request left its client */

	for (uint32_t i = 0; i < turns->turn_count; i++)
		start_ns = fmin(start_ns, turns->turns[i].request_ns[0] - way_ns(turns, i, false));
	for (uint32_t i = 0; i < turns->turn_count; i++) {
		const struct turn *turn = &turns->turns[i];
		double *times = building->times[i], trigger_ns = 0;

		if (turn->trigger != TURNS_NONE)
			trigger_ns = building->times[turn->trigger][MOMENT_ARRIVED];
		times[MOMENT_SENT] = fmax(turn->request_ns[0] - way_ns(turns, i, false) - start_ns, trigger_ns);
		times[MOMENT_ANSWERED] =
			fmax(turn->response_ns[0] - way_ns(turns, i, true) - start_ns, came_ns(building, i));
		times[MOMENT_ARRIVED] =
			times[MOMENT_ANSWERED] + (turn->response_ns[1] - turn->response_ns[0]) + distance_ns(turns, i);
	}
}

static int compare_moments(const void *a, const void *b)
{
	const struct moment *p = a, *q = b;

	if (p->ns != q->ns)
		return p->ns < q->ns ? -1 : 1;
	if (p->turn != q->turn)
		return p->turn < q->turn ? -1 : 1;
	return (int)p->kind - (int)q->kind;
}

static int compare_stays(const void *a, const void *b)
{
	const struct stay *p = a, *q = b;

	if (p->host != q->host)
		return p->host < q->host ? -1 : 1;
	if (p->came_ns != q->came_ns)
		return p->came_ns < q->came_ns ? -1 : 1;
	return p->left_ns < q->left_ns ? -1 : p->left_ns > q->left_ns;
}

/* Counts, for each host, requests that overlap with one that came before, and those that overtake it. */
static void count_overtaken(struct turns *turns, struct stay *stays, size_t count)
{
	double left_ns = -INFINITY;

	qsort(stays, count, sizeof *stays, compare_stays);
	for (size_t i = 0; i < count; i++) {
		struct turns_host *host = &turns->hosts[stays[i].host];

		if (i > 0 && stays[i].host != stays[i - 1].host)
			left_ns = -INFINITY;
		host->overlapping += stays[i].came_ns < left_ns;
		host->overtaken += stays[i].left_ns < left_ns;
		left_ns = fmax(left_ns, stays[i].left_ns);
	}
}

static int find_serial(struct building *building)
{
	struct turns *turns = building->turns;
	struct stay *stays = calloc(2 * (size_t)turns->turn_count + 1, sizeof *stays);
	size_t count = 0;

	if (!stays)
		return -ENOMEM;
	for (uint32_t i = 0; i < turns->turn_count; i++) {
		const struct turn *turn = &turns->turns[i];
		const double *times = building->times[i];

		if (turn->handshake)
			continue;
		stays[count++] =
			(struct stay){connection_of(turns, i)->server, came_ns(building, i), times[MOMENT_ANSWERED]};
		if (turn->trigger != TURNS_NONE)
			stays[count++] =
				(struct stay){connection_of(turns, i)->client,
					      building->times[turn->trigger][MOMENT_ARRIVED], times[MOMENT_SENT]};
	}
	count_overtaken(turns, stays, count);
	free(stays);
	for (size_t i = 0; i < turns->host_count; i++)
		turns->hosts[i].serial =
			(double)turns->hosts[i].overtaken <= overtaken_maximum * (double)turns->hosts[i].overlapping;
	return 0;
}

/*
 * Adds the node of a resource at `ns`: it comes after `cause`, which was there at there_ns, and after the resource's
 * newest node, if the recording has a wait for that.
 */
static uint32_t add_work(struct building *building, uint32_t rank, struct execution_edge cause, double there_ns,
			 double ns, const struct done *before)
{
	double begin_ns = there_ns;
	struct execution_edge wait = {0};

	if (before->node != EXECUTION_START && before->ns > there_ns) {
		begin_ns = before->ns;
		wait = (struct execution_edge){.from = before->node, .ns = ns - begin_ns};
	}
	cause.ns += ns - begin_ns;
	return execution_add(building->graph, rank, cause, wait);
}

static const struct done *newest(const struct building *building, uint32_t host, const struct done *connection)
{
	return building->turns->hosts[host].serial ? &building->hosts[host] : connection;
}

static uint32_t add_sent(struct building *building, uint32_t i, double ns)
{
	const struct turns *turns = building->turns;
	const struct turn *turn = &turns->turns[i];
	uint32_t client = connection_of(turns, i)->client, node;
	struct done cause = {EXECUTION_START, 0}, *mine = &building->clients[turn->connection];

	if (turn->trigger != TURNS_NONE)
		cause = (struct done){building->nodes[turn->trigger][MOMENT_ARRIVED],
				      building->times[turn->trigger][MOMENT_ARRIVED]};
	else if (turn->handshake)
		cause = building->arrivals[client];
	if (turns->loop == TURNS_OPEN && !turn->handshake)
		return execution_after(building->graph, client, EXECUTION_START, ns);
	if (turn->handshake || cause.node == EXECUTION_START) /* by the kernel; at a recorded time */
		return execution_after(building->graph, client, cause.node, ns - cause.ns);
	node = add_work(building, client, (struct execution_edge){.from = cause.node}, cause.ns, ns,
			newest(building, client, mine));
	building->hosts[client] = *mine = (struct done){node, ns};
	return node;
}

static uint32_t add_answered(struct building *building, uint32_t i, double ns)
{
	const struct turns *turns = building->turns;
	const struct turn *turn = &turns->turns[i];
	uint32_t server = connection_of(turns, i)->server, node;
	double there_ns = came_ns(building, i);
	struct execution_edge cause = {
		.from = building->nodes[i][MOMENT_SENT],
		.messages = 1,
		.ns = there_ns - building->times[i][MOMENT_SENT] - building->latency_ns,
	};
	struct done *mine = &building->servers[turn->connection];
	const struct done none = {0}, *before = turn->handshake ? &none : newest(building, server, mine);

	node = add_work(building, server, cause, there_ns, ns, before);
	if (turn->handshake)
		return node;
	turns->hosts[server].busy_ns += ns - fmax(there_ns, before->ns);
	building->hosts[server] = *mine = (struct done){node, ns};
	return node;
}

static uint32_t add_arrived(struct building *building, uint32_t i, double ns)
{
	const struct turn *turn = &building->turns->turns[i];
	uint32_t client = connection_of(building->turns, i)->client, node;

	node = execution_add(
		building->graph, client,
		(struct execution_edge){.from = building->nodes[i][MOMENT_ANSWERED],
					.messages = 1,
					.ns = ns - building->times[i][MOMENT_ANSWERED] - building->latency_ns},
		(struct execution_edge){0});
	if (!turn->handshake)
		building->arrivals[client] = (struct done){node, ns};
	return node;
}

static int add_nodes(struct building *building)
{
	static uint32_t (*const add[])(struct building *, uint32_t, double) = {
		[MOMENT_SENT] = add_sent, [MOMENT_ANSWERED] = add_answered, [MOMENT_ARRIVED] = add_arrived};
	size_t count = 3 * (size_t)building->turns->turn_count;
	struct moment *moments = calloc(count + 1, sizeof *moments);
	int code = moments ? 0 : -ENOMEM;

	for (size_t i = 0; moments && i < count; i++)
		moments[i] =
			(struct moment){building->times[i / 3][i % 3], (uint32_t)(i / 3), (enum moment_kind)(i % 3)};
	if (moments)
		qsort(moments, count, sizeof *moments, compare_moments);
	for (size_t i = 0; i < count && code == 0; i++) {
		const struct moment *moment = &moments[i];
		uint32_t node = add[moment->kind](building, moment->turn, moment->ns);

		building->nodes[moment->turn][moment->kind] = node;
		code = node == EXECUTION_START ? -ENOMEM : 0;
	}
	free(moments);
	return code;
}

int turns_build(struct turns *turns, struct execution_graph *graph, struct error *err)
{
	struct building building = {
		.turns = turns,
		.graph = graph,
		.latency_ns = turns_rtt_ns(turns) / 2,
		.times = calloc(turns->turn_count + 1, sizeof *building.times),
		.nodes = calloc(turns->turn_count + 1, sizeof *building.nodes),
		.hosts = calloc(turns->host_count + 1, sizeof *building.hosts),
		.arrivals = calloc(turns->host_count + 1, sizeof *building.arrivals),
		.clients = calloc(turns->connection_count + 1, sizeof *building.clients),
		.servers = calloc(turns->connection_count + 1, sizeof *building.servers),
	};
	int code = execution_graph_init(graph, (uint32_t)turns->host_count);

	if (!building.times || !building.nodes || !building.hosts || !building.arrivals || !building.clients ||
	    !building.servers)
		code = -ENOMEM;
	if (code == 0) {
		set_times(&building);
		code = find_serial(&building);
	}
	if (code == 0)
		code = add_nodes(&building);
	free(building.times);
	free(building.nodes);
	free(building.hosts);
	free(building.arrivals);
	free(building.clients);
	free(building.servers);
	return code < 0 ? error_set(err, ENOMEM, "out of memory") : 0;
}
