/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <linux/net_tstamp.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <base/address.h>
#include <probe/rtt/stamp.h>

enum {
	BATCH = 32,
	COPY_BYTES = 128,     /* bytes kept of each packet: its headers and the STAMP base packet */
	STAMP_SLOT_BITS = 16, /* hundreds of packets may wait after a stall: few of them should share a slot */
	STAMP_SLOTS = 1 << STAMP_SLOT_BITS,
	HELD_MAXIMUM = 512,
	SOCKET_BUFFER_BYTES = 4 << 20,
};

/*
 * If two packets with the same key arrive within this time, the network has duplicated a packet. A packet with the same
 * key that arrives later belongs to a new run, which may reuse the sequence numbers.
 */
static const struct ns copy_gap = {50 * NS_PER_MS};

struct stamp_slot {
	uint64_t key;
	int64_t wall_ns;
	bool no_checksum;
};

struct kernel_stamps {
	int socket_fd, driver_socket;
	bool stamps_departures;
	int held[HELD_MAXIMUM];
	size_t held_count;
	struct stamp_slot slots[STAMP_SLOTS];
	uint8_t copies[BATCH][COPY_BYTES];
	/*
	 * Control messages of one packet. After an arrival: a timespec and the auxiliary data; after a departure: three
	 * timespecs and an error.
	 */
	uint8_t controls[BATCH][CMSG_SPACE(3 * sizeof(struct timespec)) + CMSG_SPACE(sizeof(struct tpacket_auxdata)) +
				CMSG_SPACE(sizeof(struct sock_extended_err) + sizeof(struct sockaddr_storage))];
};

/*
 * Offsets in the filter count from the Ethernet header (SOCK_RAW). The filter drops IPv4 fragments other than the
 * first, because they have no ports. The driver's socket gets all IPv6 packets with extension headers that frame_read()
 * skips; the other one gets none. The first enum contains the indices of the filter's jump targets.
 */
int kernel_stamps_filter(int socket_fd, uint16_t port, bool driver)
{
	enum { ICMP = 14, IPV6 = 18, IPV6_PORTS = 26, EXTENDED = 30, ACCEPT = 33, DROP = 34 };
	enum { TIME_EXCEEDED = 11, TIME_EXCEEDED_6 = 3, SOLICITATION = 135, ADVERTISEMENT = 136 };
	const uint8_t asked = driver ? ACCEPT : DROP;
#define IF(at, what, value, yes, no)                                                                                   \
	BPF_JUMP(BPF_JMP | (what) | BPF_K, value, (uint8_t)((yes) - (at)-1), (uint8_t)((no) - (at)-1))
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE)),
		IF(1, BPF_JEQ, PACKET_OUTGOING, DROP, 2),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
		IF(3, BPF_JEQ, ETHERTYPE_ARP, asked, 4),
		IF(4, BPF_JEQ, ETHERTYPE_IP, 5, IPV6),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 23),
		IF(6, BPF_JEQ, IPPROTO_UDP, 7, ICMP),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 20),
		IF(8, BPF_JSET, 0x1fff, DROP, 9),
		BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 14),
		BPF_STMT(BPF_LD | BPF_H | BPF_IND, 14),
		IF(11, BPF_JEQ, port, ACCEPT, 12),
		BPF_STMT(BPF_LD | BPF_H | BPF_IND, 16),
		IF(13, BPF_JEQ, port, ACCEPT, DROP),
		IF(ICMP, BPF_JEQ, IPPROTO_ICMP, 15, DROP),
		BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 14),
		BPF_STMT(BPF_LD | BPF_B | BPF_IND, 14),
		IF(17, BPF_JEQ, TIME_EXCEEDED, asked, DROP),
		IF(IPV6, BPF_JEQ, ETHERTYPE_IPV6, 19, DROP),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 20),
		IF(20, BPF_JEQ, IPPROTO_UDP, IPV6_PORTS, 21),
		IF(21, BPF_JEQ, IPPROTO_ICMPV6, 22, EXTENDED),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 54),
		IF(23, BPF_JEQ, SOLICITATION, asked, 24),
		IF(24, BPF_JEQ, ADVERTISEMENT, asked, 25),
		IF(25, BPF_JEQ, TIME_EXCEEDED_6, asked, DROP),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 54),
		IF(27, BPF_JEQ, port, ACCEPT, 28),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 56),
		IF(29, BPF_JEQ, port, ACCEPT, DROP),
		IF(EXTENDED, BPF_JEQ, IPPROTO_HOPOPTS, asked, 31),
		IF(31, BPF_JEQ, IPPROTO_ROUTING, asked, 32),
		IF(32, BPF_JEQ, IPPROTO_DSTOPTS, asked, DROP),
		BPF_STMT(BPF_RET | BPF_K, 0xffff),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
#undef IF
	struct sock_fprog program = {sizeof code / sizeof code[0], code};

	return setsockopt(socket_fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

static int open_copies(struct kernel_stamps *stamps, const char *interface, uint16_t udp_port, struct error *err)
{
	struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	int on = 1, bytes = SOCKET_BUFFER_BYTES;

	address.sll_ifindex = (int)if_nametoindex(interface);
	/* Protocol 0: the socket receives nothing before the filter is attached. */
	stamps->socket_fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (!address.sll_ifindex || stamps->socket_fd < 0 || kernel_stamps_filter(stamps->socket_fd, udp_port, false) ||
	    setsockopt(stamps->socket_fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) ||
	    setsockopt(stamps->socket_fd, SOL_PACKET, PACKET_AUXDATA, &on, sizeof on) ||
	    bind(stamps->socket_fd, (struct sockaddr *)&address, sizeof address))
		return error_set(err, errno, "%s: cannot open a packet socket for the kernel's timestamps: %s",
				 interface, strerror(errno));
	/*
	 * May fail: only root may exceed net.core.rmem_max. A smaller buffer may overflow in a burst; the stamps that
	 * do not fit are lost.
	 */
	setsockopt(stamps->socket_fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
	return 0;
}

/* Makes the kernel put a copy of each sent packet, with its departure time, into the socket's error queue. */
static bool ask_for_departures(int driver_socket)
{
	const unsigned int flags = SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;

	return setsockopt(driver_socket, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof flags) == 0;
}

struct kernel_stamps *kernel_stamps_open(const char *interface, uint16_t udp_port, int driver_socket, bool departures,
					 struct error *err)
{
	struct kernel_stamps *stamps = calloc(1, sizeof *stamps);

	if (!stamps) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	stamps->socket_fd = -1;
	stamps->driver_socket = driver_socket;
	if (open_copies(stamps, interface, udp_port, err)) {
		kernel_stamps_close(stamps);
		return NULL;
	}
	if (driver_socket >= 0) {
		/* If this fails, the driver receives all packets, and we must examine more. */
		kernel_stamps_filter(driver_socket, udp_port, true);
		stamps->stamps_departures = departures && ask_for_departures(driver_socket);
	}
	return stamps;
}

void kernel_stamps_close(struct kernel_stamps *stamps)
{
	if (!stamps)
		return;
	if (stamps->socket_fd >= 0)
		close(stamps->socket_fd);
	for (size_t i = 0; i < stamps->held_count; i++)
		close(stamps->held[i]);
	free(stamps);
}

int kernel_stamps_hold_port(struct kernel_stamps *stamps, ip_address address, uint16_t port, struct error *err)
{
	struct sock_filter drop[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
	struct sock_fprog program = {1, drop};
	struct sockaddr_storage place = {0};
	socklen_t length = address_to_socket(address, port, &place);
	unsigned int interface = address_interface(address);
	int socket_fd, code;

	if (!interface)
		return 0;
	if (stamps->held_count == HELD_MAXIMUM)
		return error_set(err, ENOSPC, "too many UDP ports to reserve: the maximum is %d", HELD_MAXIMUM);
	socket_fd = socket(place.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (socket_fd < 0)
		return error_set(err, errno, "cannot open a UDP socket: %s", strerror(errno));
	setsockopt(socket_fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
	if (place.ss_family == AF_INET6) /* required for a link-local address */
		((struct sockaddr_in6 *)&place)->sin6_scope_id = interface;
	if (bind(socket_fd, (struct sockaddr *)&place, length) == 0) {
		stamps->held[stamps->held_count++] = socket_fd;
		return 1;
	}
	code = errno;
	close(socket_fd);
	if (code == EADDRNOTAVAIL)
		return 0;
	return error_set(err, code, "UDP port %u of this host: %s%s", port, strerror(code),
			 code == EADDRINUSE ? "; another program has it: stop that program, or set --udp-port" : "");
}

void kernel_stamps_wait(struct kernel_stamps *stamps, struct ns timeout)
{
	struct pollfd descriptors[] = {{stamps->socket_fd, POLLIN, 0}, {stamps->driver_socket, POLLIN, 0}};
	struct timespec limit = {timeout.v / NS_PER_S, timeout.v % NS_PER_S};

	if (timeout.v > 0)
		ppoll(descriptors, stamps->driver_socket >= 0 ? 2 : 1, &limit, NULL);
}

/*
 * Returns a hash that identifies a packet: of its source address, ports, sequence number and stamp. Without the stamp,
 * two sessions with the same address and ports could have packets with the same hash.
 */
static uint64_t stamp_key(const struct frame *frame)
{
	uint64_t ports = (uint64_t)frame->source_port << 16 | frame->destination_port;
	uint64_t host = (uint64_t)frame->source_address ^ (uint64_t)(frame->source_address >> 64);
	uint64_t key = (host << 32 ^ host >> 32 ^ ports) * UINT64_C(0x9e3779b97f4a7c15);

	key ^= (stamp_identity(frame->payload, frame->payload_bytes) + 1) * UINT64_C(0xc2b2ae3d27d4eb4f);
	key ^= key >> 29;
	return key ? key : 1;
}

static size_t stamp_place(uint64_t key)
{
	return (size_t)((key * UINT64_C(0xff51afd7ed558ccd)) >> (64 - STAMP_SLOT_BITS));
}

/* Returns the timestamp of a message and the kernel's information about its checksum. */
static struct kernel_arrival read_controls(struct msghdr *message)
{
	struct kernel_arrival arrival = {.at.clock = CLOCK_WALL};

	for (struct cmsghdr *control = CMSG_FIRSTHDR(message); control; control = CMSG_NXTHDR(message, control)) {
		if (control->cmsg_level == SOL_SOCKET && control->cmsg_type == SO_TIMESTAMPNS) {
			struct timespec at;

			memcpy(&at, CMSG_DATA(control), sizeof at);
			arrival.at = stamp_at(CLOCK_WALL, at.tv_sec * NS_PER_S + at.tv_nsec);
		} else if (control->cmsg_level == SOL_PACKET && control->cmsg_type == PACKET_AUXDATA) {
			struct tpacket_auxdata data;

			memcpy(&data, CMSG_DATA(control), sizeof data);
			arrival.no_checksum = data.tp_status & TP_STATUS_CSUMNOTREADY;
		}
	}
	return arrival;
}

static bool is_stamp_frame(const struct frame *frame)
{
	return (frame->kind == FRAME_UDP || frame->unfinished) && frame->payload_bytes >= STAMP_REQUEST_MINIMUM;
}

static void keep_stamp(struct kernel_stamps *stamps, const uint8_t *copy, struct msghdr *message, size_t length)
{
	size_t captured = length < COPY_BYTES ? length : COPY_BYTES;
	struct kernel_arrival arrival = read_controls(message);
	struct stamp_slot *slot;
	struct frame frame;
	uint64_t key;

	frame_read(copy, captured, length, &frame);
	if (!is_stamp_frame(&frame) || !arrival.at.valid)
		return;
	key = stamp_key(&frame);
	slot = &stamps->slots[stamp_place(key)];
	/* The network may duplicate a packet: only the first copy counts. */
	if (slot->key != key || arrival.at.ns < slot->wall_ns || arrival.at.ns - slot->wall_ns > copy_gap.v)
		*slot = (struct stamp_slot){key, arrival.at.ns, arrival.no_checksum};
}

/* Receives a batch of copies. Returns their number, or <= 0 if there are none. */
static int receive_copies(struct kernel_stamps *stamps, int socket_fd, int flags, struct mmsghdr *messages)
{
	struct iovec vectors[BATCH];

	memset(messages, 0, BATCH * sizeof *messages);
	for (size_t i = 0; i < BATCH; i++) {
		vectors[i] = (struct iovec){stamps->copies[i], COPY_BYTES};
		messages[i].msg_hdr.msg_iov = &vectors[i];
		messages[i].msg_hdr.msg_iovlen = 1;
		messages[i].msg_hdr.msg_control = stamps->controls[i];
		messages[i].msg_hdr.msg_controllen = sizeof stamps->controls[i];
	}
	return recvmmsg(socket_fd, messages, BATCH, MSG_DONTWAIT | MSG_TRUNC | flags, NULL);
}

void kernel_stamps_drain(struct kernel_stamps *stamps)
{
	struct mmsghdr messages[BATCH];
	int got;

	do {
		got = receive_copies(stamps, stamps->socket_fd, 0, messages);
		for (int i = 0; i < got; i++)
			keep_stamp(stamps, stamps->copies[i], &messages[i].msg_hdr, messages[i].msg_len);
	} while (got == BATCH);
}

bool kernel_stamps_has_departures(const struct kernel_stamps *stamps)
{
	return stamps->stamps_departures;
}

static struct stamp read_departure(struct msghdr *message)
{
	struct scm_timestamping times;

	for (struct cmsghdr *control = CMSG_FIRSTHDR(message); control; control = CMSG_NXTHDR(message, control)) {
		if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_TIMESTAMPING)
			continue;
		memcpy(&times, CMSG_DATA(control), sizeof times);
		return stamp_at(CLOCK_WALL, times.ts[0].tv_sec * NS_PER_S + times.ts[0].tv_nsec);
	}
	return (struct stamp){.clock = CLOCK_WALL};
}

/*
 * Describes a sent packet. The error queue does not report the full length of a truncated packet, so it is taken from
 * the UDP header, which is before the payload: frame_read() limits payload_bytes to what was captured.
 */
static struct kernel_departure read_copy(const uint8_t *copy, const struct mmsghdr *message, struct frame *frame)
{
	struct kernel_departure departure = {.frame = frame, .bytes = copy, .captured = message->msg_len};
	bool cut_off = message->msg_hdr.msg_flags & MSG_TRUNC;

	if (departure.captured > COPY_BYTES)
		departure.captured = COPY_BYTES;
	frame_read(copy, departure.captured, cut_off ? UINT16_MAX : departure.captured, frame);
	departure.length = departure.captured;
	if (cut_off && frame->kind == FRAME_UDP && frame->payload)
		departure.length =
			(size_t)(frame->payload - copy) - 8 + (size_t)(frame->payload[-4] << 8 | frame->payload[-3]);
	return departure;
}

void kernel_stamps_departures(struct kernel_stamps *stamps, kernel_stamps_left *left, void *context)
{
	struct mmsghdr messages[BATCH];
	int got;

	if (!stamps->stamps_departures)
		return;
	do {
		got = receive_copies(stamps, stamps->driver_socket, MSG_ERRQUEUE, messages);
		for (int i = 0; i < got; i++) {
			struct frame frame;
			struct kernel_departure departure = read_copy(stamps->copies[i], &messages[i], &frame);

			departure.at = read_departure(&messages[i].msg_hdr);
			if (is_stamp_frame(&frame) && departure.at.valid)
				left(context, &departure);
		}
	} while (got == BATCH);
}

struct kernel_arrival kernel_stamps_find(const struct kernel_stamps *stamps, const struct frame *frame)
{
	const struct stamp_slot *slot;
	uint64_t key;

	if (!is_stamp_frame(frame))
		return (struct kernel_arrival){.at.clock = CLOCK_WALL};
	key = stamp_key(frame);
	slot = &stamps->slots[stamp_place(key)];
	return (struct kernel_arrival){{slot->wall_ns, CLOCK_WALL, slot->key == key},
				       slot->key == key && slot->no_checksum};
}
