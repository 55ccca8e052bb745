/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The dialogue with two OpenFlow switches: connect, features, flows, barriers. The switches keep flows and answer like
 * real ones unless the input says otherwise: answers in parts, late, lost, twice, changed, with errors, or a closed
 * connection. An update that succeeds has set each flow and removed those of other generations, and every request for
 * an echo has one answer. The functions are static, hence the include.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <base/ns.h>

#include "fuzz_events.h"

static int fake_socket(int family, int type, int protocol);
static int fake_connect(int fd, const struct sockaddr *address, socklen_t bytes);
static ssize_t fake_send(int fd, const void *bytes, size_t count, int flags);
static ssize_t fake_recv(int fd, void *bytes, size_t count, int flags);
static int fake_poll(struct pollfd *polled, nfds_t count, int timeout_ms);
static int fake_close(int fd);
static struct ns fake_now(void);

#define socket fake_socket
#define connect fake_connect
#define send fake_send
#define recv fake_recv
#define poll fake_poll
#define close fake_close
#define setsockopt(fd, level, name, value, bytes) ((void)(value), 0)
#define ns_now_monotonic fake_now
#include "../../lab/openflow/switches.c"
#undef socket
#undef connect
#undef send
#undef recv
#undef poll
#undef close
#undef setsockopt
#undef ns_now_monotonic

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SWITCHES = 2, FLOWS = 64, FD = 1000, FIRST = 0x0a000001, FLOW_STATS = 48, FLOW_MATCH_AT = 48 };

/* A flow as its flow mod: cookie, priority, and match with instruction. */
struct fake_flow {
	uint8_t cookie[8], priority[2], rest[80];
	size_t rest_bytes;
};

struct fake_switch {
	bool open, closed;
	uint8_t out[1 << 14]; /* to the controller */
	size_t out_head, out_tail;
	struct fake_flow flows[FLOWS];
	size_t flow_count;
	uint64_t echoes_asked, echoes_answered;
};

static struct {
	struct fake_switch switches[SWITCHES];
	struct events events;
	int64_t now_ns;
	bool hostile; /* a switch did not do what it confirmed */
} world;

static uint64_t number(const uint8_t *bytes, size_t count)
{
	uint64_t value = 0;

	for (size_t i = 0; i < count; i++)
		value = value << 8 | bytes[i];
	return value;
}

static struct fake_switch *switch_of(int fd)
{
	law(fd >= FD && fd < FD + SWITCHES);
	return &world.switches[fd - FD];
}

static struct ns fake_now(void)
{
	return (struct ns){world.now_ns += 1000};
}

static int fake_socket(int family, int type, int protocol)
{
	law(family == AF_UNIX && type & SOCK_STREAM && protocol == 0);
	for (int i = 0; i < SWITCHES; i++)
		if (!world.switches[i].open) {
			world.switches[i].open = true;
			world.switches[i].closed = false;
			world.switches[i].out_head = world.switches[i].out_tail = 0;
			return FD + i;
		}
	abort();
}

/* The controller opens its channels in the order of the switches. */
static int fake_connect(int fd, const struct sockaddr *address, socklen_t bytes)
{
	law(bytes == sizeof(struct sockaddr_un) &&
	    strcmp(((const struct sockaddr_un *)address)->sun_path, fd == FD ? "/f/s0.mgmt" : "/f/s1.mgmt") == 0);
	if ((events_byte(&world.events) & 63) != 63)
		return 0;
	errno = ECONNREFUSED;
	return -1;
}

static int fake_close(int fd)
{
	law(switch_of(fd)->open);
	switch_of(fd)->open = false;
	return 0;
}

static void answer(struct fake_switch *to, const void *bytes, size_t count)
{
	if (to->out_tail + count > sizeof to->out)
		return;
	memcpy(to->out + to->out_tail, bytes, count);
	to->out_tail += count;
}

static void answer_header(struct fake_switch *to, int type, size_t length, const uint8_t *transaction)
{
	uint8_t header[8] = {4, (uint8_t)type, (uint8_t)(length >> 8), (uint8_t)length};

	memcpy(header + 4, transaction, 4);
	answer(to, header, sizeof header);
}

static void take_flow_mod(struct fake_switch *to, const uint8_t *bytes, size_t count)
{
	uint64_t cookie = number(bytes + 8, 8), mask = number(bytes + 16, 8);
	struct fake_flow flow = {.rest_bytes = count - FLOW_MATCH_AT};
	size_t at = 0;

	law(count >= 56 && flow.rest_bytes <= sizeof flow.rest);
	memcpy(flow.cookie, bytes + 8, 8);
	memcpy(flow.priority, bytes + 30, 2);
	memcpy(flow.rest, bytes + FLOW_MATCH_AT, flow.rest_bytes);
	if (bytes[25] == 3) { /* delete */
		for (size_t i = 0; i < to->flow_count; i++)
			if ((number(to->flows[i].cookie, 8) & mask) != (cookie & mask))
				to->flows[at++] = to->flows[i];
		to->flow_count = at;
		return;
	}
	while (at < to->flow_count && memcmp(to->flows[at].rest, flow.rest, 32) != 0)
		at++;
	law(at < FLOWS);
	to->flows[at] = flow;
	to->flow_count += at == to->flow_count;
}

static void answer_flows(struct fake_switch *to, const uint8_t *transaction)
{
	static const uint8_t head[8] = {0, 1};
	size_t length = 16;

	for (size_t i = 0; i < to->flow_count; i++)
		length += FLOW_STATS + to->flows[i].rest_bytes;
	answer_header(to, 19, length, transaction);
	answer(to, head, sizeof head);
	for (size_t i = 0; i < to->flow_count; i++) {
		const struct fake_flow *flow = &to->flows[i];
		uint8_t stats[FLOW_STATS] = {0, (uint8_t)(FLOW_STATS + flow->rest_bytes)};

		memcpy(stats + 12, flow->priority, 2);
		memcpy(stats + 24, flow->cookie, 8);
		answer(to, stats, sizeof stats);
		answer(to, flow->rest, flow->rest_bytes);
	}
}

static void answer_message(struct fake_switch *to, const uint8_t *bytes, size_t count, int node)
{
	uint8_t features[24] = {0, 0, 0, 0, 0, 0, 0, (uint8_t)(node + 1)};

	switch (bytes[1]) {
	case 0:
		answer_header(to, 0, 8, bytes + 4);
		break;
	case 3:
		to->echoes_answered++;
		break;
	case 5:
		answer_header(to, 6, 32, bytes + 4);
		answer(to, features, sizeof features);
		break;
	case 14:
		take_flow_mod(to, bytes, count);
		break;
	case 18:
		answer_flows(to, bytes + 4);
		break;
	case 20:
		answer_header(to, 21, 8, bytes + 4);
		break;
	default:
		abort();
	}
}

/* Before it answers: what a slow, broken or foreign switch does. */
static void misbehave(struct fake_switch *to, uint8_t kind)
{
	static const uint8_t echo[] = {4, 2, 0, 12, 0, 0, 0, 9, 'p', 'i', 'n', 'g'},
			     refusal[] = {4, 1, 0, 12, 0, 0, 0, 9, 0, 5, 0, 1}, old[] = {1, 2, 0, 8, 0, 0, 0, 9};
	const uint8_t *bytes;
	size_t count;

	switch (kind & 7) {
	case 0:
	case 1:
	case 2:
		answer(to, echo, sizeof echo);
		to->echoes_asked++;
		break;
	case 3:
		answer(to, refusal, sizeof refusal);
		break;
	case 4:
		to->closed = true;
		break;
	case 5:
		answer(to, old, sizeof old);
		break;
	case 6:
		world.hostile = true;
		to->flow_count = 0;
		break;
	case 7:
		world.hostile = true;
		bytes = events_bytes(&world.events, events_byte(&world.events), &count);
		answer(to, bytes, count);
		break;
	}
}

/* Each call of send() has one message. */
static ssize_t fake_send(int fd, const void *bytes, size_t count, int flags)
{
	struct fake_switch *to = switch_of(fd);
	uint8_t kind = events_byte(&world.events);

	law(to->open && flags & MSG_NOSIGNAL);
	law(count >= 8 && number((const uint8_t *)bytes + 2, 2) == count);
	if (kind >= 224)
		misbehave(to, kind);
	if (to->closed) {
		errno = EPIPE;
		return -1;
	}
	if (kind == 223) /* an answer is lost, or the message is not handled */
		world.hostile = true;
	else
		answer_message(to, bytes, count, fd - FD);
	return (ssize_t)count;
}

static ssize_t fake_recv(int fd, void *bytes, size_t count, int flags)
{
	struct fake_switch *from = switch_of(fd);
	size_t waiting = from->out_tail - from->out_head, part = waiting < count ? waiting : count;
	uint8_t kind = events_byte(&world.events);

	law(from->open && flags == 0 && count > 0);
	if (kind > 200 && part > 1)
		part = 1 + part * (size_t)(kind - 200) / 64;
	if (!part && from->closed)
		return 0;
	if (!part) {
		errno = EAGAIN;
		return -1;
	}
	memcpy(bytes, from->out + from->out_head, part);
	from->out_head += part;
	if (from->out_head == from->out_tail)
		from->out_head = from->out_tail = 0;
	return (ssize_t)part;
}

static int fake_poll(struct pollfd *polled, nfds_t count, int timeout_ms)
{
	const struct fake_switch *of = count ? switch_of(polled->fd) : NULL;

	if (of && (of->closed || of->out_tail > of->out_head))
		return 1;
	world.now_ns += (int64_t)timeout_ms * 1000000;
	return 0;
}

/* Both switches have the two flows, for IPv4 and for ARP, of each direction, and none of another generation. */
static void check_flows(uint32_t generation)
{
	for (int i = 0; i < SWITCHES; i++) {
		const struct fake_switch *one = &world.switches[i];

		law(one->flow_count == 4);
		for (size_t f = 0; f < one->flow_count; f++)
			law(number(one->flows[f].cookie, 8) == (MARK | generation));
		law(one->echoes_answered <= one->echoes_asked);
	}
}

static int failures;

static void note(void *context, const struct openflow_done *done, const struct error *failure)
{
	(void)context;
	law(!done != !failure);
	law(!failure || failure->text[0]);
	failures += failure != NULL;
}

static int64_t first_route(void *context, uint32_t from, uint32_t to)
{
	(void)context;
	(void)from;
	(void)to;
	return 0;
}

static const char text[] =
	"{\"schema\": \"nomora.dataflow/1\", \"slots\": 2, \"topology\": {\"schema\": \"nomora.topology/1\","
	"\"switches\": [{\"name\": \"s0\"}, {\"name\": \"s1\"}], \"hosts\": [{\"name\": \"a\"}, {\"name\": \"b\"}],"
	"\"links\": [{\"a\": \"a\", \"b\": \"s0\", \"MBps\": 10}, {\"a\": \"b\", \"b\": \"s1\", \"MBps\": 10},"
	"{\"a\": \"s0\", \"b\": \"s1\", \"MBps\": 4}]}, \"jobs\": [{\"name\": \"one\", \"components\": [{\"name\": "
	"\"s\"},"
	"{\"name\": \"k\"}], \"edges\": [{\"from\": \"s\", \"to\": \"k\"}], \"placement\": {\"s.0\": \"a\", \"k.0\": "
	"\"b\"}}]}";

static struct network *make_network(void)
{
	struct topology_paths_options paths = {.k = 2, .detour = 2, .seed = 1};
	struct error err = {0};
	static struct dataflow *dataflow; /* the network borrows it */
	struct network *network;

	dataflow = dataflow_parse("fuzz", text, strlen(text), &err);
	network = dataflow ? network_create(dataflow->topology, dataflow->slots, dataflow->cpu, &paths, &err) : NULL;

	law(network && network_start(network, &dataflow->jobs[0], dataflow_graph_create(&dataflow->jobs[0], &err),
				     first_route, NULL, &err) == 0);
	return network;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct network *network; /* kept, with its dataflow */
	struct openflow_fabric fabric = {.folder = "/f", .first = FIRST, .timeout_ms = 50, .event = note};

	if (!network)
		network = make_network();
	memset(&world, 0, sizeof world);
	world.events = (struct events){data, size};
	for (uint32_t update = 1; update <= 3 && (update == 1 || events_left(&world.events)); update++) {
		struct error err = {0};
		int code;

		fabric.generation = update;
		failures = 0;
		code = openflow_set_routes(network, &fabric, &err);
		law(code <= 0 && (code == 0 || err.text[0]));
		law(failures < OPENFLOW_ATTEMPTS);
		if (code == 0 && !world.hostile)
			check_flows(update);
		for (int i = 0; i < SWITCHES; i++)
			law(!world.switches[i].open);
	}
	return 0;
}
