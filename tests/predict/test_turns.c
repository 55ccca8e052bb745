/* SPDX-License-Identifier: BSD-3-Clause */
/* Captures written here by a simulation of clients and servers, whose run time at other latencies is thus known. */
#include <criterion/criterion.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <predict/graph/graph.h>
#include <predict/turns/turns.h>

#include "../support/fail_in_turn.h"

enum { CAPACITY = 1 << 20, EVENTS = 4096, CONNECTIONS = 8, SYN = 2, PSH = 8, ACK = 16, PORT = 6379 };

/* What is simulated: times in us. The server works on one request after the other, or on each at once. */
struct world {
	int connections, depth, turns; /* turns: of each connection */
	double think, service, latency, jitter;
	double every; /* > 0: an open loop with this period */
	double where; /* of the capture: 0 at the client, 1 at the server */
	bool parallel, no_handshake, twice, one_way, six, tagged;
	bool greets;             /* the server speaks first */
	bool halves;             /* a message of the server is two segments, of which the second has PSH */
	int tickets;             /* further messages of the server after each response */
	uint32_t snap;           /* bytes captured; 0 = all */
	uint32_t response_bytes; /* 0 = RESPONSE_BYTES */
	uint32_t start;
};

struct packet {
	double at;
	int connection, order;
	bool from_server;
	uint8_t flags;
	uint32_t sequence, acknowledged, length;
};

struct event {
	double at;
	int connection;
	enum { AT_SERVER, SERVED, AT_CLIENT, SEND } kind;
	uint32_t acknowledged;
};

struct run {
	struct world world;
	struct event events[EVENTS];
	int event_count;
	struct packet packets[EVENTS];
	int packet_count;
	double server_free, end;
	int sent[CONNECTIONS], served[CONNECTIONS], arrived[CONNECTIONS], received[CONNECTIONS];
	uint64_t random;
};

enum { REQUEST_BYTES = 50, RESPONSE_BYTES = 100 };

static uint8_t bytes[CAPACITY];
static size_t length;

static void put(const void *data, size_t size)
{
	memcpy(bytes + length, data, size);
	length += size;
}

static void put32(uint32_t value)
{
	put(&value, 4);
}

static void be16(uint8_t *out, uint32_t value)
{
	out[0] = (uint8_t)(value >> 8);
	out[1] = (uint8_t)value;
}

static void be32(uint8_t *out, uint32_t value)
{
	be16(out, value >> 16);
	be16(out + 2, value);
}

static size_t write_ip(const struct world *world, const struct packet *packet, uint8_t *ip, int copy)
{
	uint32_t client = 0x0a000002 + (uint32_t)copy * 256, server = 0x0a000001, sum = 0;

	if (world->six) {
		ip[0] = 0x60;
		be16(ip + 4, 20 + packet->length);
		ip[6] = 6;
		ip[8] = ip[24] = 0xfd;
		ip[23] = packet->from_server ? 1 : 2;
		ip[39] = packet->from_server ? 2 : 1;
		return 40;
	}
	ip[0] = 0x45;
	be16(ip + 2, 40 + packet->length);
	ip[8] = 64;
	ip[9] = 6;
	be32(ip + 12, packet->from_server ? server : client);
	be32(ip + 16, packet->from_server ? client : server);
	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)(ip[i] << 8 | ip[i + 1]);
	be16(ip + 10, ~((sum & 0xffff) + (sum >> 16)));
	return 20;
}

static void write_packet(const struct world *world, const struct packet *packet, int copy)
{
	uint8_t frame[256] = {[12] = 8, [13] = 0};
	size_t at = 14;
	uint32_t captured;
	uint64_t ns = (uint64_t)(packet->at * 1000 + 0.5) + 1000000000;

	if (world->tagged) {
		be16(frame + 12, 0x8100);
		be16(frame + 14, 7);
		at = 18;
	}
	be16(frame + at - 2, world->six ? 0x86dd : 0x0800);
	at += write_ip(world, packet, frame + at, copy);
	be16(frame + at, packet->from_server ? PORT : 40000 + (uint32_t)packet->connection);
	be16(frame + at + 2, packet->from_server ? 40000 + (uint32_t)packet->connection : PORT);
	be32(frame + at + 4, packet->sequence);
	be32(frame + at + 8, packet->acknowledged);
	frame[at + 12] = 0x50;
	frame[at + 13] = packet->flags;
	at += 20 + packet->length;
	captured = world->snap && world->snap < at ? world->snap : (uint32_t)at;
	put32((uint32_t)(ns / 1000000000));
	put32((uint32_t)(ns % 1000000000));
	put32(captured);
	put32((uint32_t)at);
	put(frame, captured);
}

static void record(struct run *run, double at, int connection, bool from_server, uint8_t flags, uint32_t sequence,
		   uint32_t acknowledged, uint32_t size)
{
	const struct world *world = &run->world;
	double way = world->latency * (from_server ? 1 - world->where : world->where);
	uint32_t start = world->start + (uint32_t)connection * 1000;

	run->packets[run->packet_count] = (struct packet){at + way, connection,       run->packet_count,    from_server,
							  flags,    start + sequence, start + acknowledged, size};
	run->packet_count++;
}

static void later(struct run *run, double at, int connection, int kind, uint32_t acknowledged)
{
	run->events[run->event_count++] = (struct event){at, connection, kind, acknowledged};
}

static double jitter(struct run *run)
{
	run->random = run->random * 6364136223846793005u + 1442695040888963407u;
	return run->world.jitter * (double)(run->random >> 40) / (double)(1 << 24);
}

static uint32_t response_bytes(const struct world *world)
{
	return world->response_bytes ? world->response_bytes : RESPONSE_BYTES;
}

static void client_sends(struct run *run, double at, int c)
{
	const struct world *world = &run->world;

	if (run->sent[c] >= world->turns)
		return;
	record(run, at, c, false, PSH | ACK, 1 + (uint32_t)(run->sent[c] * REQUEST_BYTES),
	       1 + (uint32_t)run->received[c] * response_bytes(world), REQUEST_BYTES);
	run->sent[c]++;
	later(run, at + world->latency, c, AT_SERVER, 0);
	if (world->every > 0)
		later(run, at + world->every, c, SEND, 0);
}

static void server_answers(struct run *run, double at, int c)
{
	const struct world *world = &run->world;

	for (int i = 0; i <= world->tickets; i++) {
		uint32_t sequence = 1 + (uint32_t)run->served[c]++ * response_bytes(world),
			 acknowledged = 1 + (uint32_t)(run->arrived[c] * REQUEST_BYTES),
			 first = world->halves ? response_bytes(world) / 2 : 0;

		if (first)
			record(run, at, c, true, ACK, sequence, acknowledged, first);
		record(run, at, c, true, PSH | ACK, sequence + first, acknowledged, response_bytes(world) - first);
	}
	later(run, at + world->latency, c, AT_CLIENT, 0);
}

static void take(struct run *run, struct event event)
{
	const struct world *world = &run->world;
	int c = event.connection;
	double begin = world->parallel ? event.at : fmax(event.at, run->server_free);

	if (event.kind == SEND) {
		client_sends(run, event.at, c);
	} else if (event.kind == AT_SERVER) {
		run->arrived[c]++;
		run->server_free = begin + world->service + jitter(run);
		later(run, run->server_free, c, SERVED, 0);
	} else if (event.kind == SERVED) {
		server_answers(run, event.at, c);
	} else {
		run->received[c] += 1 + world->tickets;
		run->end = event.at;
		if (world->every == 0)
			later(run, event.at + world->think, c, SEND, 0);
	}
}

static int compare_packets(const void *a, const void *b)
{
	const struct packet *p = a, *q = b;

	return p->at != q->at ? (p->at < q->at ? -1 : 1) : p->order - q->order;
}

/* Connection c opens at 3 us times c. Returns the time from the first SYN to the last response, us. */
static double simulate(struct world world)
{
	static struct run run;

	run = (struct run){.world = world, .random = 1};
	for (int c = 0; c < world.connections; c++) {
		double at = 3 * c, there = at + world.latency, back = there + world.latency;

		if (!world.no_handshake) {
			record(&run, at, c, false, SYN, 0, 0, 0);
			record(&run, there, c, true, SYN | ACK, 0, 1, 0);
			record(&run, back, c, false, ACK, 1, 1, 0);
		}
		if (world.greets) {
			run.arrived[c] = -1; /* what it answers is no request */
			later(&run, back + world.latency, c, AT_SERVER, 0);
			continue;
		}
		for (int i = 0; i < world.depth; i++)
			later(&run, back + world.think, c, SEND, 0);
	}
	while (run.event_count > 0) {
		int first = 0;
		struct event event;

		for (int i = 1; i < run.event_count; i++)
			if (run.events[i].at < run.events[first].at)
				first = i;
		event = run.events[first];
		memmove(&run.events[first], &run.events[first + 1],
			(size_t)(run.event_count - first - 1) * sizeof event);
		run.event_count--;
		take(&run, event);
	}
	length = 0;
	put32(0xa1b23c4d);
	put32(2 | 4 << 16);
	put32(0);
	put32(0);
	put32(65535);
	put32(1);
	qsort(run.packets, (size_t)run.packet_count, sizeof *run.packets, compare_packets);
	for (int i = 0; i < run.packet_count; i++) {
		if (world.one_way && run.packets[i].from_server)
			continue;
		write_packet(&world, &run.packets[i], 0);
		if (world.twice)
			write_packet(&world, &run.packets[i], 1);
	}
	return run.end;
}

static struct error err;
static struct turns turns;
static struct execution_graph graph;
static struct runtime runtime;

/* Simulates and reads the capture. The run time at an added round trip is then predicted(). */
static double read_world(struct world world)
{
	double end = simulate(world);

	cr_assert_eq(turns_read(packets_open_memory("test", bytes, length, &err), "test", 0, &turns, &err), 0, "%s",
		     err.text);
	cr_assert_eq(turns_build(&turns, &graph, &err), 0);
	cr_assert_eq(runtime_find(&graph, turns_rtt_ns(&turns) / 2, turns_rtt_ns(&turns) / 2 + 1e6, &runtime, &err), 0);
	return end;
}

static double predicted(double added_us)
{
	return runtime_at(&runtime, turns_rtt_ns(&turns) / 2 + added_us * 500) / 1000;
}

static void forget(void)
{
	turns_free(&turns);
	execution_graph_free(&graph);
	runtime_free(&runtime);
}

static void refuse(struct world world, const char *text)
{
	simulate(world);
	cr_assert_lt(turns_read(packets_open_memory("test", bytes, length, &err), "test", 0, &turns, &err), 0);
	cr_assert(strstr(err.text, text), "%s", err.text);
	turns_free(&turns);
}

/* The same world with an added round trip. */
static double truth(struct world world, double added_us)
{
	world.latency += added_us / 2;
	return simulate(world);
}

static const double added[] = {0, 10, 50, 100, 200, 500, 2000};
enum { ADDED = sizeof added / sizeof added[0] };

/* Run times agree at every added round trip, wherever the capture was. */
static void agree(struct world world)
{
	for (int where = 0; where <= 2; where++) {
		world.where = where / 2.0;
		read_world(world);
		for (int i = 0; i < ADDED; i++)
			cr_expect_float_eq(predicted(added[i]), truth(world, added[i]), 0.1,
					   "%g us, capture at %g: %g, not %g", added[i], world.where,
					   predicted(added[i]), truth(world, added[i]));
		forget();
	}
}

static const struct world one = {.connections = 1, .depth = 1, .turns = 20, .think = 10, .service = 30, .latency = 20};

Test(turns, a_connection_is_a_chain)
{
	struct world world = one;

	read_world(world);
	cr_expect_eq(turns.turn_count, 21, "and the handshake");
	cr_expect_float_eq(turns_rtt_ns(&turns), 40000, 1);
	cr_expect_eq(turns.loop, TURNS_CLOSED);
	cr_expect_eq(turns.port, PORT);
	cr_expect_float_eq(turns.think_ns, 10000, 1);
	cr_expect_eq(turns.hosts[1].client_ns, 0);
	cr_expect_float_eq(predicted(100) - predicted(0), 21 * 100, 1e-6);
	forget();
	agree(world);
	world.start = UINT32_MAX - 300; /* sequence numbers wrap */
	agree(world);
}

Test(turns, a_saturated_server_hides_latency)
{
	const struct world world = {
		.connections = 6, .depth = 1, .turns = 30, .think = 10, .service = 30, .latency = 20};

	read_world(world);
	cr_expect(turns.hosts[0].serial);
	cr_expect_gt(turns.hosts[0].busy_ns, 0.9 * turns.run_ns);
	cr_expect_lt(predicted(50), predicted(0) * 1.02, "50 us are hidden");
	cr_expect_gt(predicted(500), predicted(0) * 2.5);
	forget();
	agree(world);
}

Test(turns, pipelining)
{
	struct world world = {.connections = 1, .depth = 4, .turns = 40, .think = 2, .service = 10, .latency = 60};

	read_world(world);
	cr_expect_eq(turns.connections[0].outstanding, 4);
	cr_expect(turns.connections[0].by_messages);
	cr_expect_eq(turns.loop, TURNS_CLOSED);
	forget();
	agree(world);
	world.halves = true;
	read_world(world);
	cr_expect_eq(turns.turn_count, 41, "%zu turns", turns.turn_count);
	cr_expect(turns.connections[0].by_messages);
	forget();
	agree(world);
}

Test(turns, an_open_loop_is_not_slowed)
{
	struct world world = one;

	world.every = 200;
	world.turns = 100;
	world.jitter = 50;
	read_world(world);
	cr_expect_eq(turns.loop, TURNS_OPEN);
	cr_expect_float_eq(predicted(500) - predicted(0), 250 + 250, 1e-6, "the last request and its response");
	forget();
	world.every = 60;
	world.connections = 3;
	world.parallel = true;
	world.latency = 100;
	world.jitter = 400;
	read_world(world);
	cr_expect_eq(turns.loop, TURNS_OPEN, "several are outstanding");
	forget();
	world.every = 0;
	world.connections = 1;
	read_world(world);
	cr_expect_eq(turns.loop, TURNS_CLOSED);
	forget();
}

Test(turns, more_messages_than_requests)
{
	struct world world = one;

	world.tickets = 2;
	read_world(world);
	cr_expect_not(turns.connections[0].by_messages);
	cr_expect_eq(turns.turn_count, 21);
	forget();
	agree(world);
}

/* Its greeting waits for the end of the handshake: the client's first request, for the greeting. */
Test(turns, a_server_that_speaks_first)
{
	struct world world = one;

	world.greets = true;
	read_world(world);
	cr_expect_eq(turns.turn_count, 22, "and the handshake and the greeting");
	cr_expect_float_eq(predicted(100) - predicted(0), 22 * 100, 1e-6);
	forget();
	agree(world);
	world.halves = true;
	agree(world);
	world.no_handshake = true; /* the greeting answers what came before the capture */
	read_world(world);
	cr_expect_eq(turns.turn_count, 20);
	cr_expect_float_eq(predicted(100) - predicted(0), 20 * 100, 1e-6);
	forget();
}

Test(turns, long_messages_are_counted)
{
	struct world world = one;

	world.snap = 54;
	world.response_bytes = TURNS_LONG_BYTES;
	read_world(world);
	cr_expect_eq(turns.long_messages, 0);
	forget();
	world.response_bytes = TURNS_LONG_BYTES + 1;
	read_world(world);
	cr_expect_eq(turns.long_messages, 20);
	forget();
}

Test(turns, a_parallel_server)
{
	const struct world world = {.connections = 4,
				    .depth = 1,
				    .turns = 100,
				    .think = 10,
				    .service = 100,
				    .jitter = 200,
				    .latency = 20,
				    .parallel = true};
	double share;

	read_world(world);
	cr_expect_not(turns.hosts[0].serial);
	share = (predicted(200) - predicted(0)) / (200 * 101);
	cr_expect(share > 0.9 && share < 1.1, "every turn of a connection costs a round trip: %g", share);
	forget();
}

Test(turns, headers_alone_suffice)
{
	struct world world = one;

	world.snap = 54;
	agree(world);
	world.tagged = true;
	world.snap = 64;
	agree(world);
	world = one;
	world.six = true;
	world.snap = 74;
	agree(world);
	world.snap = 64;
	refuse(world, "packets are cut short or fragmented: capture at least 54 bytes of each (IPv6: 74)");
}

Test(turns, a_capture_that_begins_late)
{
	struct world world = one;

	world.no_handshake = true;
	read_world(world);
	cr_expect_eq(turns.partial, 1);
	cr_expect_float_eq(predicted(100) - predicted(0), 20 * 100, 1e-6);
	forget();
}

Test(turns, a_capture_of_one_turn)
{
	struct world world = one;

	world.no_handshake = true;
	world.turns = 1;
	read_world(world);
	cr_expect_eq(turns.turn_count, 1);
	cr_expect_float_eq(predicted(100) - predicted(0), 100, 1e-6);
	forget();
}

/* Of three connections, two are to another port. */
Test(turns, connections_to_other_ports_are_counted)
{
	enum { PORTS_AT = 16 + 14 + 20, OTHER = 80 };
	struct world world = one;

	world.connections = 3;
	simulate(world);
	for (size_t at = 24; at < length;) {
		uint8_t *ports = bytes + at + PORTS_AT;
		int from_server = ports[0] == PORT >> 8;
		uint32_t size;

		if (ports[from_server ? 3 : 1] != (40000 & 0xff))
			be16(ports + (from_server ? 0 : 2), OTHER);
		memcpy(&size, bytes + at + 8, 4);
		at += 16 + size;
	}
	cr_assert_eq(turns_read(packets_open_memory("test", bytes, length, &err), "test", PORT, &turns, &err), 0, "%s",
		     err.text);
	cr_expect_eq(turns.others, 2);
	cr_expect_eq(turns.connection_count, 1);
	turns_free(&turns);
	cr_assert_eq(turns_read(packets_open_memory("test", bytes, length, &err), "test", 0, &turns, &err), 0, "%s",
		     err.text);
	cr_expect_eq(turns.port, OTHER, "the port of most messages");
	cr_expect_eq(turns.others, 1);
	turns_free(&turns);
}

Test(turns, refused)
{
	struct world world = one;

	world.one_way = true;
	refuse(world, "1 of 1 connections have packets in one direction only");
	world = one;
	world.twice = true;
	refuse(world, "1 connection is in the capture twice, with other addresses");
	world = one;
	simulate(world);
	cr_assert_lt(turns_read(packets_open_memory("test", bytes, length, &err), "test", 80, &turns, &err), 0);
	cr_assert(strstr(err.text, "no request to port 80 has a response"), "%s", err.text);
	turns_free(&turns);
	cr_assert_lt(turns_read(packets_open_memory("test", bytes, 24, &err), "test", 0, &turns, &err), 0);
	cr_assert(strstr(err.text, "no TCP packets among 0 packets"), "%s", err.text);
	turns_free(&turns);
	cr_assert_lt(turns_read(packets_open_memory("test", bytes, length - 1, &err), "test", 0, &turns, &err), 0,
		     "cut");
	turns_free(&turns);
}

/* Each packet twice, as on two interfaces; and one retransmission. */
Test(turns, a_retransmission_is_counted_and_changes_nothing)
{
	size_t last = 24, turn_count;

	simulate(one);
	for (size_t at = 24; at < length;) {
		uint32_t size;

		memcpy(&size, bytes + at + 8, 4);
		if (size > 14 + 40)
			last = at;
		at += 16 + size;
	}
	cr_assert_eq(turns_read(packets_open_memory("test", bytes, length, &err), "test", 0, &turns, &err), 0);
	turn_count = turns.turn_count;
	turns_free(&turns);
	put(bytes + last,
	    length - last > 16 + 14 + 40 + RESPONSE_BYTES ? 16 + 14 + 40 + RESPONSE_BYTES : length - last);
	cr_assert_eq(turns_read(packets_open_memory("test", bytes, length, &err), "test", 0, &turns, &err), 0);
	cr_expect_eq(turns.repeated, 1);
	cr_expect_eq(turns.turn_count, turn_count);
	cr_expect_eq(turns.unanswered, 0);
	turns_free(&turns);
}

Test(turns, a_segment_that_was_not_captured_is_counted)
{
	struct world world = one;
	int data = 0;

	world.halves = true;
	simulate(world);
	for (size_t at = 24; at < length;) {
		uint32_t size;

		memcpy(&size, bytes + at + 8, 4);
		if (size == 14 + 40 + RESPONSE_BYTES / 2 && ++data == 5) { /* the first half of the third response */
			length -= 16 + size;
			memmove(bytes + at, bytes + at + 16 + size, length - at);
			break;
		}
		at += 16 + size;
	}
	cr_assert_eq(data, 5);
	cr_assert_eq(turns_read(packets_open_memory("test", bytes, length, &err), "test", 0, &turns, &err), 0);
	cr_expect_eq(turns.missing, 1);
	cr_expect_eq(turns.turn_count, 21, "%zu turns", turns.turn_count);
	turns_free(&turns);
}

Test(turns, repeated_segments)
{
	size_t one_copy;

	simulate(one);
	one_copy = length;
	for (size_t at = 24; at < one_copy;) {
		uint32_t size;

		memcpy(&size, bytes + at + 8, 4);
		put(bytes + at, 16 + size);
		at += 16 + size;
	}
	cr_assert_lt(turns_read(packets_open_memory("test", bytes, length, &err), "test", 0, &turns, &err), 0);
	cr_assert(strstr(err.text, "are in the capture more than once"), "%s", err.text);
	turns_free(&turns);
	cr_assert_eq(turns_read(packets_open_memory("test", bytes, one_copy, &err), "test", 0, &turns, &err), 0);
	cr_expect_eq(turns.repeated, 0);
	turns_free(&turns);
}

static void expect_printed(struct world world, const char *expected)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	read_world(world);
	turns_print(&turns, out);
	fclose(out);
	cr_expect(strstr(text, expected), "%s", text);
	free(text);
	forget();
}

Test(turns, the_report)
{
	struct world world = one;

	/* 40 us of handshake, 20 turns of 10 + 30 + 2 * 20 us: the server works for 600 us of 1640. */
	expect_printed(
		world,
		"Port 6379: 1 connection, 21 turns (1 connection by single messages), at most 1 outstanding on one\n"
		"Closed loop: requests wait for responses; think time 10 us, response time 70 us (medians)\n"
		"Server 10.0.0.1: requests never overlap; busy 36.6 % of the run\n"
		"Client 10.0.0.2: requests never overlap; round trip from the capture point 0 us to the client, "
		"40 us to the server\n");
	world.no_handshake = true;
	expect_printed(world, "\n1 connection began before the capture\n");
	world.connections = 2;
	expect_printed(world, "\n2 connections began before the capture\n");
	world = one;
	world.connections = 4;
	world.parallel = true;
	world.jitter = 200;
	expect_printed(world, " overlapping requests leave in another order than they came; ");
	expect_printed(world, " requests there on average\n");
	world = one;
	world.every = 200;
	world.turns = 100;
	world.jitter = 50;
	expect_printed(world, "\nOpen loop: requests do not wait for responses");
}

Test(turns, the_report_as_json)
{
	const char *loop;
	int connections, count, outstanding, server;
	double think_us, response_us, busy, client_us, server_us;
	json_t *json, *null;

	read_world(one);
	json = turns_json(&turns);
	cr_assert_eq(json_unpack(json, "{s:s, s:i, s:i, s:i, s:F, s:F, s:[{s:b, s:F, s:o}, {s:F, s:F}]}", "loop", &loop,
				 "connections", &connections, "turns", &count, "outstanding", &outstanding, "think_us",
				 &think_us, "response_us", &response_us, "hosts", "server", &server, "busy_share",
				 &busy, "client_rtt_us", &null, "client_rtt_us", &client_us, "server_rtt_us",
				 &server_us),
		     0);
	cr_expect(strcmp(loop, "closed") == 0 && connections == 1 && count == 21 && outstanding == 1);
	cr_expect(server && json_is_null(null), "a server has no round trip of its own");
	cr_expect_float_eq(think_us, 10, 1e-3);
	cr_expect_float_eq(response_us, 70, 1e-3);
	cr_expect_float_eq(busy, 600.0 / 1640, 1e-6);
	cr_expect_float_eq(client_us, 0, 1e-3);
	cr_expect_float_eq(server_us, 40, 1e-3);
	json_decref(json);
	forget();
}

Test(turns, captures_are_known_by_their_first_bytes)
{
	static const struct {
		const char *first;
		bool is;
	} files[] = {{"\xa1\xb2\xc3\xd4", true}, {"\xd4\xc3\xb2\xa1", true},
		     {"\xa1\xb2\x3c\x4d", true}, {"\x4d\x3c\xb2\xa1", true},
		     {"\x0a\x0d\x0d\x0a", true}, {"\x0a\x0d\x0d\x0d", false},
		     {"\xa1\xb2\xc3", false},    {"", false}};

	cr_expect_not(turns_is_capture("/nonexistent"));
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		char path[] = "/tmp/nomora-turns-XXXXXX";
		int fd = mkstemp(path);

		cr_assert(fd >= 0);
		cr_assert_eq(write(fd, files[i].first, strlen(files[i].first)), (ssize_t)strlen(files[i].first));
		close(fd);
		cr_expect_eq(turns_is_capture(path), files[i].is, "file %zu", i);
		unlink(path);
	}
}

/* Prints the run time at some latencies, and what was found. */
static int tell(const void *context, char *answer, size_t size)
{
	int code;

	(void)context;
	graph = (struct execution_graph){0};
	runtime = (struct runtime){0};
	code = turns_read(packets_open_memory("test", bytes, length, &err), "test", 0, &turns, &err);
	if (code == 0)
		code = turns_build(&turns, &graph, &err);
	if (code == 0)
		code = runtime_find(&graph, 0, 1e6, &runtime, &err);
	if (code == 0)
		snprintf(answer, size, "%g %g %g, %zu turns, %zu hosts, think %g, busy %g, loop %d, %" PRIu64,
			 runtime_at(&runtime, 0), runtime_at(&runtime, 1e5), runtime_at(&runtime, 1e6),
			 turns.turn_count, turns.host_count, turns.think_ns, turns.hosts[0].busy_ns, turns.loop,
			 turns.segments);
	forget();
	return code;
}

Test(turns, lack_of_memory_changes_no_answer)
{
	struct world world = one;

	world.connections = 3;
	world.greets = true;
	simulate(world);
	allocations_fail(tell, NULL, "runs of messages");
	world.greets = false;
	world.depth = 3;
	simulate(world);
	allocations_fail(tell, NULL, "pairs of messages");
}
