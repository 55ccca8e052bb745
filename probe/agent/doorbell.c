/* SPDX-License-Identifier: BSD-3-Clause */
#include "doorbell_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <probe/rtt/stamp.h>

enum {
	BATCH = 32,
	COPY_BYTES = 128,     /* headers and the STAMP base packet */
	STAMP_SLOT_BITS = 16, /* a stall lets hundreds of packets wait: few of them may share a slot */
	STAMP_SLOTS = 1 << STAMP_SLOT_BITS,
	HELD_MAXIMUM = 512,
	SOCKET_BUFFER_BYTES = 4 << 20,
};

/* Copies of a packet come close behind it. A new run may number like an old one, but not so soon. */
static const struct ns copy_gap = {50 * NS_PER_MS};

struct stamp_slot {
	uint64_t key;
	int64_t wall_ns;
};

struct doorbell {
	int socket_fd, driver_socket;
	int held[HELD_MAXIMUM];
	size_t held_count;
	struct stamp_slot stamps[STAMP_SLOTS];
	uint8_t copies[BATCH][COPY_BYTES];
	uint8_t controls[BATCH][CMSG_SPACE(sizeof(struct timespec))];
};

/*
 * Accepts incoming IPv4 UDP packets from or to `port`, and ARP when told; nothing that leaves. Offsets count from the
 * Ethernet header (SOCK_RAW); fragments but the first have no ports and are refused.
 */
static int attach_filter(int socket_fd, uint16_t port, bool arp)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, 13, 0),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, arp ? ETHERTYPE_ARP : ETHERTYPE_IP, arp ? 10 : 0, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETHERTYPE_IP, 0, 10),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 23),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 8),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 20),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x1fff, 6, 0),
		BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 14),
		BPF_STMT(BPF_LD | BPF_H | BPF_IND, 14),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, 2, 0),
		BPF_STMT(BPF_LD | BPF_H | BPF_IND, 16),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0xffff),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = {sizeof code / sizeof code[0], code};

	return setsockopt(socket_fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

static int open_copies(struct doorbell *doorbell, const char *interface, uint16_t udp_port, struct error *err)
{
	struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	int on = 1, bytes = SOCKET_BUFFER_BYTES;

	address.sll_ifindex = (int)if_nametoindex(interface);
	/* Protocol 0: nothing comes in before the filter is on. */
	doorbell->socket_fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (!address.sll_ifindex || doorbell->socket_fd < 0 || attach_filter(doorbell->socket_fd, udp_port, false) ||
	    setsockopt(doorbell->socket_fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) ||
	    bind(doorbell->socket_fd, (struct sockaddr *)&address, sizeof address))
		return error_set(err, errno, "%s: cannot open a packet socket for the kernel's stamps: %s", interface,
				 strerror(errno));
	/* Beyond net.core.rmem_max only root may go; a smaller buffer merely loses stamps in a storm. */
	setsockopt(doorbell->socket_fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
	return 0;
}

struct doorbell *doorbell_open(const char *interface, uint16_t udp_port, int driver_socket, struct error *err)
{
	struct doorbell *doorbell = calloc(1, sizeof *doorbell);

	if (!doorbell) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	doorbell->socket_fd = -1;
	doorbell->driver_socket = driver_socket;
	if (open_copies(doorbell, interface, udp_port, err)) {
		doorbell_close(doorbell);
		return NULL;
	}
	if (driver_socket >= 0)
		attach_filter(driver_socket, udp_port, true); /* without it there is only more to look at */
	return doorbell;
}

void doorbell_close(struct doorbell *doorbell)
{
	if (!doorbell)
		return;
	if (doorbell->socket_fd >= 0)
		close(doorbell->socket_fd);
	for (size_t i = 0; i < doorbell->held_count; i++)
		close(doorbell->held[i]);
	free(doorbell);
}

int doorbell_hold_port(struct doorbell *doorbell, uint32_t address, uint16_t port, struct error *err)
{
	struct sock_filter drop[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
	struct sock_fprog program = {1, drop};
	struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons(port)};
	int socket_fd, code;

	place.sin_addr.s_addr = htonl(address);
	if (doorbell->held_count == HELD_MAXIMUM)
		return error_set(err, ENOSPC, "more than %d UDP ports to hold", HELD_MAXIMUM);
	socket_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (socket_fd < 0)
		return error_set(err, errno, "cannot open a UDP socket: %s", strerror(errno));
	setsockopt(socket_fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
	if (bind(socket_fd, (struct sockaddr *)&place, sizeof place) == 0) {
		doorbell->held[doorbell->held_count++] = socket_fd;
		return 1;
	}
	code = errno;
	close(socket_fd);
	if (code == EADDRNOTAVAIL)
		return 0;
	return error_set(err, code, "UDP port %u of this host: %s%s", port, strerror(code),
			 code == EADDRINUSE ? "; another program has it: stop that, or give --udp-port" : "");
}

void doorbell_wait(struct doorbell *doorbell, struct ns timeout)
{
	struct pollfd descriptors[] = {{doorbell->socket_fd, POLLIN, 0}, {doorbell->driver_socket, POLLIN, 0}};
	struct timespec limit = {timeout.v / NS_PER_S, timeout.v % NS_PER_S};

	if (timeout.v > 0)
		ppoll(descriptors, doorbell->driver_socket >= 0 ? 2 : 1, &limit, NULL);
}

/* Addresses and ports name the path, the packet's own figures the rest: two sessions may number alike on one path. */
static uint64_t stamp_key(const struct frame *frame)
{
	uint64_t ports = (uint64_t)frame->source_port << 16 | frame->destination_port;
	uint64_t key = ((uint64_t)frame->source_address << 32 | ports) * UINT64_C(0x9e3779b97f4a7c15);

	key ^= (stamp_identity(frame->payload) + 1) * UINT64_C(0xc2b2ae3d27d4eb4f);
	key ^= key >> 29;
	return key ? key : 1;
}

static size_t stamp_place(uint64_t key)
{
	return (size_t)((key * UINT64_C(0xff51afd7ed558ccd)) >> (64 - STAMP_SLOT_BITS));
}

static void keep_stamp(struct doorbell *doorbell, const uint8_t *copy, struct msghdr *message, size_t length)
{
	size_t captured = length < COPY_BYTES ? length : COPY_BYTES;
	struct frame frame = frame_read(copy, captured, length);
	struct cmsghdr *control = CMSG_FIRSTHDR(message);
	struct stamp_slot *slot;
	struct timespec at;
	int64_t at_ns;
	uint64_t key;

	if (frame.kind != FRAME_UDP || frame.payload_bytes < STAMP_BYTES || !control ||
	    control->cmsg_level != SOL_SOCKET || control->cmsg_type != SO_TIMESTAMPNS)
		return;
	memcpy(&at, CMSG_DATA(control), sizeof at);
	key = stamp_key(&frame);
	at_ns = at.tv_sec * NS_PER_S + at.tv_nsec;
	slot = &doorbell->stamps[stamp_place(key)];
	/* a copy that the network made: what counts is when the first one came */
	if (slot->key != key || at_ns < slot->wall_ns || at_ns - slot->wall_ns > copy_gap.v)
		*slot = (struct stamp_slot){key, at_ns};
}

void doorbell_drain(struct doorbell *doorbell)
{
	struct mmsghdr messages[BATCH];
	struct iovec vectors[BATCH];
	int got;

	do {
		memset(messages, 0, sizeof messages);
		for (size_t i = 0; i < BATCH; i++) {
			vectors[i] = (struct iovec){doorbell->copies[i], COPY_BYTES};
			messages[i].msg_hdr.msg_iov = &vectors[i];
			messages[i].msg_hdr.msg_iovlen = 1;
			messages[i].msg_hdr.msg_control = doorbell->controls[i];
			messages[i].msg_hdr.msg_controllen = sizeof doorbell->controls[i];
		}
		got = recvmmsg(doorbell->socket_fd, messages, BATCH, MSG_DONTWAIT | MSG_TRUNC, NULL);
		for (int i = 0; i < got; i++)
			keep_stamp(doorbell, doorbell->copies[i], &messages[i].msg_hdr, messages[i].msg_len);
	} while (got == BATCH);
}

bool doorbell_stamp(const struct doorbell *doorbell, const struct frame *frame, struct ns *arrived_at)
{
	const struct stamp_slot *slot;
	uint64_t key;

	if (frame->payload_bytes < STAMP_BYTES)
		return false;
	key = stamp_key(frame);
	slot = &doorbell->stamps[stamp_place(key)];
	if (slot->key != key)
		return false;
	arrived_at->v = slot->wall_ns;
	return true;
}
