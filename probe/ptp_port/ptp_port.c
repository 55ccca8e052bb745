/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/ptp_port/ptp_port.h>

#include <errno.h>
#include <string.h>
#include <time.h>

#include <base/address.h>
#include <base/log.h>
#include <dp/eal.h>
#include <dp/packet.h>
#include <dp/timesync.h>
#include <probe/rtt/frame.h>

enum { BUFFERS = 2047, BUFFER_BYTES = 2048, BURST = 32, INBOX = 2 * BURST, MEMORY_MIB = 32, ETHERTYPE_AT = 12 };

/* A copper port takes several seconds to negotiate the link. */
static const struct ns link_patience = {10 * NS_PER_S}, link_look = {100 * NS_PER_MS};
/*
 * Maximum wait for the stamp of a departure; ptp4l has the same limit (tx_timestamp_timeout). Messages that arrive
 * meanwhile are kept.
 */
static const struct ns stamp_patience = {10 * NS_PER_MS};
static const struct ns longest_wait = {10 * NS_PER_MS}; /* between two checks of the stop flag */

struct arrival {
	struct ptp_message message;
	struct ptp_moment arrived;
};

struct port {
	const char *name;
	struct dp_port *port;
	struct dp_pool *pool;
	uint16_t id;
	uint8_t mac[FRAME_MAC_BYTES];
	struct stamp received, sent; /* the newest stamps of the NIC */
	struct arrival inbox[INBOX];
	size_t first, count;
	struct ptp_link link;
};

static struct stamp wall_now(void)
{
	return stamp_at(CLOCK_WALL, ns_now_wall().v);
}

static void take_packet(struct port *port, const struct dp_packet *packet, struct stamp looked_at)
{
	struct arrival *arrival = &port->inbox[(port->first + port->count) % INBOX];
	struct frame frame;

	frame_read(dp_packet_bytes(packet), dp_packet_contiguous(packet), dp_packet_length(packet), &frame);
	arrival->arrived = (struct ptp_moment){.by[PTP_SOFTWARE] = looked_at};
	if (port->link.has_hardware) { /* for every packet: reading the stamp allows the NIC to stamp the next packet */
		struct stamp stamp = dp_timesync_received(port->port, packet, port->received);

		arrival->arrived.by[PTP_HARDWARE] = stamp;
		port->received = stamp.valid ? stamp : port->received;
	}
	if (frame.kind == FRAME_PTP && port->count < INBOX &&
	    ptp_read(frame.payload, frame.payload_bytes, &arrival->message) == 0)
		port->count++;
}

static void look(struct port *port)
{
	struct dp_packet *burst[BURST];
	uint16_t count = dp_receive(port->id, 0, burst, BURST);
	struct stamp now = wall_now();

	for (uint16_t i = 0; i < count; i++)
		take_packet(port, burst[i], now);
	dp_packets_free(burst, count);
}

static int receive_message(void *context, struct ns timeout, struct ptp_message *message, struct ptp_moment *arrived)
{
	struct port *port = context;
	struct ns deadline = ns_add(ns_now_monotonic(), timeout.v < longest_wait.v ? timeout : longest_wait);

	do {
		look(port);
	} while (!port->count && ns_now_monotonic().v < deadline.v);
	if (!port->count)
		return 0;
	*message = port->inbox[port->first].message;
	*arrived = port->inbox[port->first].arrived;
	port->first = (port->first + 1) % INBOX;
	port->count--;
	return 1;
}

static struct dp_packet *write_request(const struct port *port, const struct ptp_message *request)
{
	struct dp_packet *packet = dp_packet_alloc(port->pool);
	uint8_t *bytes = packet ? dp_packet_bytes(packet) : NULL;
	size_t length;

	if (!packet)
		return NULL;
	memcpy(bytes, ptp_group_mac(request->type == PTP_PEER_REQUEST), FRAME_MAC_BYTES);
	memcpy(bytes + FRAME_MAC_BYTES, port->mac, FRAME_MAC_BYTES);
	bytes[ETHERTYPE_AT] = PTP_ETHERTYPE >> 8;
	bytes[ETHERTYPE_AT + 1] = PTP_ETHERTYPE & 0xff;
	length = FRAME_ETHERNET_BYTES + ptp_write_request(request, bytes + FRAME_ETHERNET_BYTES);
	for (; length < FRAME_MINIMUM; length++)
		bytes[length] = 0;
	dp_packet_set_length(packet, length);
	if (port->link.has_hardware)
		dp_timesync_mark(packet);
	return packet;
}

static int send_request(void *context, const struct ptp_message *request, struct ptp_moment *left, struct error *err)
{
	struct port *port = context;
	struct dp_packet *packet = write_request(port, request);
	struct ns deadline = ns_add(ns_now_monotonic(), stamp_patience);
	struct stamp stamp = {.valid = false};

	if (!packet)
		return error_set(err, ENOMEM, "%s: no buffer for a request", port->name);
	if (port->link.has_hardware) /* discards a late stamp of the previous request */
		dp_timesync_transmitted(port->port);
	left->by[PTP_SOFTWARE] = wall_now();
	if (dp_transmit(port->id, 0, &packet, 1) == 0) {
		dp_packet_free(packet);
		return error_set(err, EIO, "%s: cannot send", port->name);
	}
	while (port->link.has_hardware && !stamp.valid && ns_now_monotonic().v < deadline.v) {
		look(port);
		stamp = dp_timesync_transmitted(port->port);
	}
	if (!stamp.valid || (port->sent.valid && stamp.ns == port->sent.ns)) /* an unchanged stamp is not a new one */
		return 0;
	left->by[PTP_HARDWARE] = port->sent = stamp;
	return 0;
}

static int open_port(struct port *port, const struct option_operands *operands, struct error *err)
{
	const char *const names[] = {port->name};
	const struct dp_eal_options eal = {
		.program = "nomora-probe",
		.ports = names,
		.port_count = 1,
		.memory_MiB = MEMORY_MIB,
		.extra = operands->rest,
		.extra_count = operands->rest_count,
	};
	struct dp_port_options options = {.name = port->name, .promiscuous = true}; /* for PTP's multicast groups */
	int code = dp_eal_start(&eal, err);

	if (code)
		return code;
	port->pool = dp_pool_create("ptp", BUFFERS, dp_pool_bytes(0), err);
	if (!port->pool)
		return error_code(err, ENOMEM);
	options.pool = port->pool;
	port->port = dp_port_open(&options, err);
	if (!port->port)
		return error_code(err, EIO);
	return dp_port_start(port->port, err);
}

static int wait_for_link(const struct port *port, const volatile sig_atomic_t *stop, struct error *err)
{
	const struct timespec nap = {.tv_nsec = link_look.v};
	struct ns deadline = ns_add(ns_now_monotonic(), link_patience);
	struct dp_port_report report;

	dp_port_report(port->port, &report);
	while (!report.link_up && !*stop && ns_now_monotonic().v < deadline.v) {
		nanosleep(&nap, NULL);
		dp_port_report(port->port, &report);
	}
	return report.link_up || *stop ? 0 : error_set(err, ENETDOWN, "%s: its link is down", port->name);
}

/*
 * Discards packets that arrived before we polled: their software stamps would be wrong. They are at most as many as
 * there are buffers; on a busy port, others arrive meanwhile.
 */
static void discard_old(struct port *port)
{
	for (uint32_t looks = 0; looks < BUFFERS; looks++) {
		port->first = port->count = 0;
		look(port);
		if (port->count == 0)
			return;
	}
	port->first = port->count = 0;
}

static int set_up(struct port *port, struct dp_port_report *report, struct error *err)
{
	struct error none = {0};

	dp_port_report(port->port, report);
	port->id = dp_port_id(port->port);
	port->link.send = send_request;
	port->link.receive = receive_message;
	port->link.context = port;
	if (address_parse_mac(report->mac, port->mac))
		return error_set(err, ENODEV, "%s has no MAC address", port->name);
	port->link.identity = ptp_identity_of_mac(port->mac);
	port->link.has_hardware = dp_timesync_enable(port->port, &none) == 0;
	if (!port->link.has_hardware)
		log_warning("%s: driver %s has no PTP clock: stamps by software alone", port->name, report->driver);
	return 0;
}

static int measure(struct port *port, const struct ptp_options *options, struct ptp_result *result,
		   const volatile sig_atomic_t *stop, struct error *err)
{
	struct dp_port_report report;
	int code = set_up(port, &report, err);

	if (!code)
		code = wait_for_link(port, stop, err);
	if (!code)
		discard_old(port);
	if (!code)
		code = ptp_measure(options, &port->link, result, stop, err);
	if (port->link.has_hardware)
		dp_timesync_disable(port->port);
	if (!code && result->unstamped && result->unstamped == result->by[PTP_SOFTWARE].count)
		log_warning(
			"%s: driver %s did not stamp both messages of any exchange: DPDK was built without IEEE 1588, "
			"or the NIC does not stamp these messages; stamps by software alone",
			port->name, report.driver);
	return code;
}

int ptp_port_measure(const struct ptp_options *options, const struct option_operands *operands,
		     struct ptp_result *result, const volatile sig_atomic_t *stop, struct error *err)
{
	struct port port = {.name = options->interface};
	int code;

	*result = (struct ptp_result){0};
	if (options->transport != PTP_L2)
		return error_set(err, EINVAL, "%s: a DPDK port supports PTP over Ethernet only", options->interface);
	code = open_port(&port, operands, err);
	if (!code)
		code = measure(&port, options, result, stop, err);
	dp_port_close(port.port);
	dp_pool_free(port.pool);
	dp_eal_stop();
	return code;
}
