/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two agents on a fake link with a fake clock: neighbour cache, prober, path discovery and reflector, from greetings to
 * the results of windows. The input chooses the options and then the events: time passes, an agent runs, a frame is
 * delivered, lost, duplicated, overtaken or changed, a router answers, the transmit ring is full, peers come and go.
 */
#include <string.h>

#include <dp/packet.h>

#include "agent_priv.h"
#include "fuzz_events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WIRE = 64, US = 0x0a000001, PEER = 0x0a000002, SILENT = 0x0a000003 };

static const int64_t epoch_ns = INT64_C(1795188663000000000);

uint64_t fake_cycles;
size_t fake_packets;
bool fake_pool_is_empty;

/* The frames on the way to a port, and those that arrived and wait to be received. */
struct dp_port {
	struct dp_packet *way[WIRE], *arrived[WIRE];
	size_t on_way, waiting;
	uint32_t full; /* transmit calls that still fail */
	uint64_t requests;
};

static struct dp_port ports[2];

/* Sum of the windows of a peer, and figures that no window may exceed. */
struct world {
	struct agent *agents[2];
	struct dp_clock clocks[2];
	struct agent_row *rows[2];
	bool hostile; /* a frame was made up or changed */
	struct events events;
};

struct ns __wrap_ns_now_monotonic(void);
struct reflector *__wrap_reflector_create(uint32_t capacity, const struct reflector_rules *rules);
struct reflector *__real_reflector_create(uint32_t capacity, const struct reflector_rules *rules);

struct ns __wrap_ns_now_monotonic(void)
{
	return (struct ns){(int64_t)fake_cycles};
}

/* An agent's table of sessions takes 25 MB. */
struct reflector *__wrap_reflector_create(uint32_t capacity, const struct reflector_rules *rules)
{
	return __real_reflector_create(capacity < 4 ? capacity : 4, rules);
}

void dp_clock_update(struct dp_clock *clock)
{
	uint64_t passed = fake_cycles - clock->latest.cycles;

	clock->latest.cycles += passed;
	clock->latest.counter_ns += (int64_t)passed;
	clock->latest.monotonic_ns += (int64_t)passed;
	clock->latest.wall_ns += (int64_t)passed;
}

uint16_t dp_port_id(const struct dp_port *port)
{
	return (uint16_t)(port - ports);
}

const char *dp_port_interface(const struct dp_port *port)
{
	(void)port;
	return "";
}

bool dp_port_is_gone(const struct dp_port *port)
{
	(void)port;
	return false;
}

int dp_port_socket(const struct dp_port *port)
{
	(void)port;
	return -1;
}

void dp_port_report(const struct dp_port *port, struct dp_port_report *report)
{
	*report = (struct dp_port_report){.driver = "fake", .sends_by_system_call = port->full & 1};
	strcpy(report->mac, port == ports ? "02:00:00:00:00:01" : "02:00:00:00:00:02");
}

void dp_port_statistics(struct dp_port *port, struct dp_port_statistics *statistics)
{
	(void)port;
	*statistics = (struct dp_port_statistics){0};
}

int dp_port_stamps(const struct dp_port *port, struct dp_stamps *stamps)
{
	(void)port;
	(void)stamps;
	return -1;
}

int dp_port_read_clock(const struct dp_port *port, uint64_t *nic, uint64_t *tsc)
{
	(void)port;
	(void)nic;
	(void)tsc;
	return -1;
}

uint16_t dp_receive(uint16_t port, uint16_t queue, struct dp_packet **packets, uint16_t count)
{
	struct dp_port *at = &ports[port];
	uint16_t taken = (uint16_t)(at->waiting < count ? at->waiting : count);

	law(queue == 0);
	memcpy(packets, at->arrived, taken * sizeof(struct dp_packet *));
	memmove(at->arrived, at->arrived + taken, (at->waiting - taken) * sizeof(struct dp_packet *));
	at->waiting -= taken;
	return taken;
}

/* A frame that finds the way full is lost. */
uint16_t dp_transmit(uint16_t port, uint16_t queue, struct dp_packet **packets, uint16_t count)
{
	struct dp_port *to = &ports[!port];

	law(queue == 0);
	if (ports[port].full) {
		ports[port].full--;
		return 0;
	}
	for (uint16_t i = 0; i < count; i++) {
		law(packets[i]->length >= FRAME_MINIMUM && packets[i]->length <= FAKE_ROOM);
		if (to->on_way < WIRE)
			to->way[to->on_way++] = packets[i];
		else
			dp_packet_free(packets[i]);
	}
	return count;
}

static void put(struct dp_port *port, struct dp_packet *packet)
{
	if (packet && port->waiting < WIRE) {
		port->arrived[port->waiting++] = packet;
		port->requests++;
	} else {
		dp_packet_free(packet);
	}
}

static struct dp_packet *take(struct dp_port *port)
{
	struct dp_packet *oldest;

	if (!port->on_way)
		return NULL;
	oldest = port->way[0];
	port->on_way--;
	memmove(port->way, port->way + 1, port->on_way * sizeof(struct dp_packet *));
	return oldest;
}

static struct dp_packet *made_up(struct events *events)
{
	struct dp_packet *packet = dp_packet_alloc(NULL);
	size_t count;
	const uint8_t *bytes = events_bytes(events, 1 + events_byte(events), &count);

	if (!packet)
		return NULL;
	memcpy(packet->bytes, bytes, count);
	packet->length = (uint32_t)count;
	return packet;
}

static void put16(uint8_t *at, size_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void finish_checksum(uint8_t *at, const uint8_t *bytes, size_t length)
{
	uint32_t sum = 0;

	put16(at, 0);
	for (size_t i = 0; i + 1 < length; i += 2)
		sum += (uint32_t)(bytes[i] << 8 | bytes[i + 1]);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	put16(at, ~sum & 0xffff);
}

/* A router drops the oldest frame on its way to the port and tells the sender so: ICMP time exceeded. */
static void expire(struct dp_port *port, struct dp_port *back, uint8_t router)
{
	enum { ETHERNET = 14, IP = 20, ICMP = 8, QUOTED = 28 };
	struct dp_packet *dropped = take(port), *message = dropped ? dp_packet_alloc(NULL) : NULL;
	uint8_t *ip, *icmp;

	if (message) {
		ip = message->bytes + ETHERNET;
		icmp = ip + IP;
		memset(message->bytes, 0, FAKE_ROOM);
		memcpy(message->bytes, dropped->bytes, ETHERNET);
		ip[0] = 0x45;
		put16(ip + 2, IP + ICMP + QUOTED);
		ip[8] = 64;
		ip[9] = 1;
		memcpy(ip + 12, (uint8_t[]){10, 9, 9, router}, 4);
		memcpy(ip + 16, dropped->bytes + ETHERNET + 12, 4);
		finish_checksum(ip + 10, ip, IP);
		icmp[0] = 11;
		memcpy(icmp + ICMP, dropped->bytes + ETHERNET, QUOTED);
		finish_checksum(icmp + 2, icmp, ICMP + QUOTED);
		message->length = ETHERNET + IP + ICMP + QUOTED;
		put(back, message);
	}
	dp_packet_free(dropped);
}

static void check_path(const struct prober *prober, const struct prober_path *path)
{
	struct session_counters counters = session_counters(path->session);

	/* A probe that was discarded at a change of routes counts as neither. */
	law(counters.sent >= counters.fresh + counters.lost + session_outstanding(path->session));
	law(prober->options->find_paths ||
	    counters.sent == counters.fresh + counters.lost + session_outstanding(path->session));
	law(counters.late <= counters.lost);
	law(counters.reordered <= counters.fresh + counters.late);
	law(path->sample_count <= PROBER_SAMPLES);
}

static void check_agent(const struct world *world, const struct agent *agent)
{
	const struct prober *prober = &agent->prober;
	struct reflector_counters reflected = reflector_counters(agent->reflector);

	law(agent->answers.count == 0);
	law(reflected.answered <= agent->port->requests);
	law(agent_wake_at(agent).valid);
	law(world->hostile || prober->bad_hmac == 0);
	law(world->hostile || agent->broken_frames == 0);
	for (size_t i = 0; i < prober->target_count; i++) {
		const struct prober_target *target = prober->targets[i];

		law(prober_find(prober, target->address) == target);
		law(agent->neighbours.items[target->neighbour].users > 0);
		law(target->path_count <= prober->options->paths);
		for (uint32_t path = 0; path < prober->options->paths; path++)
			check_path(prober, &target->paths[path]);
	}
}

/* Every fresh answer is a sample or was impossible. */
static void check_window(struct agent *agent, struct agent_row *row, size_t index)
{
	uint64_t fresh = 0;

	if (index >= agent_peer_count(agent))
		return;
	agent_window(agent, index, row);
	for (uint32_t path = 0; path < row->path_count; path++)
		fresh += row->paths[path].counters.fresh;
	law(fresh == row->counters.fresh);
	law(row->disturbed + histogram_count(row->undisturbed) == histogram_count(row->rtt));
	law(agent->options.find_paths || row->counters.fresh == histogram_count(row->rtt) + row->impossible);
	law(histogram_count(row->forward) == histogram_count(row->backward));
	law(!row->lost_forward_known || row->lost_forward <= agent->prober.targets[index]->sent);
	law(row->ended.ns >= row->began.ns);
}

static void turn_peer(struct world *world, struct agent *agent, ip_address address, bool has_mac)
{
	struct peer peer = {.name = "peer", .address = address, .has_mac = has_mac, .mac = {2, 0, 0, 0, 0, 9}};
	struct error err = {0};

	/* The answers to the old sessions still arrive. */
	if (agent_remove_peer(agent, address) == 0)
		world->hostile = true;
	else if (agent_add_peer(agent, &peer, &err))
		law(address == agent->options.address && err.text[0]);
}

static void happen(struct world *world)
{
	uint8_t event = events_byte(&world->events);
	int who = event & 1;
	struct agent *agent = world->agents[who];
	struct dp_port *port = &ports[who];
	static const uint32_t waits[] = {1000, 20000, 1000000, 3000000, 50000000, 101000000, 2000000000, 40000};

	switch (event >> 1 & 15) {
	case 0:
	case 1:
		fake_cycles += waits[event >> 5];
		(void)agent_step(agent, agent_now(agent));
		break;
	case 2:
	case 3:
	case 4:
		put(port, take(port));
		(void)agent_step(agent, agent_now(agent));
		break;
	case 5:
		dp_packet_free(take(port));
		break;
	case 6:
		if (port->on_way)
			put(port, dp_packet_copy(port->way[0]));
		break;
	case 7:
		if (port->on_way > 1) {
			struct dp_packet *first = port->way[0];

			port->way[0] = port->way[port->on_way - 1];
			port->way[port->on_way - 1] = first;
		}
		break;
	case 8:
		world->hostile = true;
		if (port->on_way)
			port->way[0]->bytes[events_byte(&world->events) % port->way[0]->length] ^=
				events_byte(&world->events);
		break;
	case 9:
		world->hostile = true;
		put(port, made_up(&world->events));
		break;
	case 10:
		check_window(agent, world->rows[who], event >> 5 & 1);
		break;
	case 11:
		agent_set_mode(agent, (enum agent_mode)((event >> 5) % 3));
		break;
	case 12:
		turn_peer(world, agent, event & 32 ? SILENT : event & 64 ? US : PEER, event & 128);
		break;
	case 13:
		port->full = event >> 5 ? 1U << (event >> 4) : 0;
		break;
	case 14:
		fake_pool_is_empty = event & 32;
		break;
	case 15:
		expire(port, &ports[!who], event >> 5);
		break;
	}
	check_agent(world, world->agents[0]);
	check_agent(world, world->agents[1]);
}

static struct agent *make_agent(struct world *world, int who, const struct stamp_keys *keys)
{
	uint8_t first = events_byte(&world->events), second = events_byte(&world->events);
	struct agent_options options = {
		.address = who ? PEER : US,
		.udp_port = 862,
		.reflect = true,
		.paths = 1 + (first & 3),
		.find_paths = first & 4,
		.interval = {3 * NS_PER_MS},
		.timeout = {100 * NS_PER_MS},
		.count = first & 8 ? 5 : 0,
		.slots = first & 16 ? 2 : 1,
		.slot_length = {10 * NS_PER_MS},
		.format = first & 32 ? STAMP_PTP : STAMP_NTP,
		.stateless = first & 64,
		.poisson = first & 128,
		.tlvs = second & 1   ? 1U << TLV_FOLLOW_UP
			: second & 2 ? 0xabc & ~(1U << TLV_HMAC)
				     : 0,
		.member = second & 4 ? 7 : 0,
		.keys = second & 8 ? keys : NULL,
		.key = second & 8 ? keys->items : NULL,
		.packet_bytes = second & 16 ? 400 : 0,
		.clock_error = {second & 32 ? 1000 : 0},
		.digits = 2,
		.samples = second & 64 ? 16 : 0,
		.frames = second & 128 ? 16 : 0,
		.seed = 1 + (uint64_t)who,
	};
	struct error err = {0};
	struct agent *agent;

	world->clocks[who] = (struct dp_clock){.ns_per_cycle = 1,
					       .latest = {fake_cycles, epoch_ns, epoch_ns, epoch_ns + who * 5000, 100}};
	agent = agent_create(&options, &ports[who], NULL, &world->clocks[who], &err);
	law(agent);
	world->rows[who] = agent_row_create(agent);
	law(world->rows[who]);
	turn_peer(world, agent, who ? US : PEER, false);
	return agent;
}

static void end_agent(struct world *world, int who)
{
	struct agent_sample sample;
	struct agent_frame frame;

	while (agent_take_sample(world->agents[who], &sample))
		law(sample.rtt.v >= 0 && sample.residence.v >= 0);
	while (agent_take_frame(world->agents[who], &frame))
		law(frame.captured <= AGENT_FRAME_BYTES && frame.captured <= frame.length);
	agent_abandon(world->agents[who]);
	law(!prober_has_outstanding(&world->agents[who]->prober));
	agent_row_destroy(world->rows[who]);
	agent_destroy(world->agents[who]);
	dp_packets_free(ports[who].way, (unsigned int)ports[who].on_way);
	dp_packets_free(ports[who].arrived, (unsigned int)ports[who].waiting);
	ports[who] = (struct dp_port){0};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stamp_key key = {.session = 9, .length = 16};
	struct stamp_keys keys = {.count = 1, .items = &key};
	struct world world = {.events = {data, size}};

	fake_cycles = 1000000;
	for (int who = 0; who < 2; who++)
		world.agents[who] = make_agent(&world, who, &keys);
	for (int i = 0; i < 500 && events_left(&world.events); i++)
		happen(&world);
	fake_pool_is_empty = false;
	for (int who = 0; who < 2; who++)
		end_agent(&world, who);
	law(fake_packets == 0);
	return 0;
}
