/* SPDX-License-Identifier: BSD-3-Clause */
#include "port_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

enum {
	SLOT_BYTES = 2048,
	SLOTS = 4096, /* enough for a stall of 0.4 s at 10 kpps, or of 4 ms at 1 Mpps */
	BLOCK_BYTES = 65536,
	SOCKET_BUFFER_BYTES = 16 << 20, /* for frames longer than a slot, and for frames in transmission */
	SEND_BURST = 64,
	VNET_BYTES = sizeof(struct virtio_net_hdr),
	TAG_BYTES = 4,
	TAG_AT = 2 * ETH_ALEN,
	BLOCKED_PER_S = 10000, /* a TX queue that is full has space after less than 100 us */
};

struct packet_port {
	const char *interface;
	unsigned int index;
	int fd;
	struct rte_mempool *pool;
	uint8_t *ring;
	uint32_t slot;
	struct segments segments;        /* of the super-packet that is being cut */
	struct packet_port_counts count; /* written by the polling lcore only */
	struct virtio_net_hdr none;      /* the header of each frame sent: no offloads */
	struct iovec parts[SEND_BURST][2];
	struct mmsghdr messages[SEND_BURST];
	uint64_t blocked_since; /* TSC: since then, each frame was refused with ENOBUFS; 0 = none */
	void *queue;            /* what DPDK hands to the burst functions: this structure */
	uint8_t large[VNET_BYTES + SEGMENTS_BYTES_MAXIMUM];
};

static struct tpacket2_hdr *slot_of(struct packet_port *port)
{
	return (struct tpacket2_hdr *)(void *)(port->ring + (size_t)port->slot * SLOT_BYTES);
}

/* Inserts the tag that the kernel or the NIC has taken out of the frame, with its own TPID. */
static void insert_tag(uint8_t *frame, const struct tpacket2_hdr *slot, uint32_t *bytes)
{
	uint16_t tpid = slot->tp_status & TP_STATUS_VLAN_TPID_VALID ? slot->tp_vlan_tpid : ETH_P_8021Q;
	uint16_t tag[] = {htons(tpid), htons(slot->tp_vlan_tci)};

	if (!(slot->tp_status & TP_STATUS_VLAN_VALID) || *bytes < ETH_HLEN)
		return;
	memmove(frame + TAG_AT + TAG_BYTES, frame + TAG_AT, *bytes - TAG_AT);
	memcpy(frame + TAG_AT, tag, TAG_BYTES);
	*bytes += TAG_BYTES;
}

/* Finishes the checksum that a host left to its NIC: without a NIC, the receiver would drop the frame. */
static void finish_checksum(uint8_t *frame, uint32_t bytes, const struct virtio_net_hdr *vnet, uint32_t shift)
{
	uint32_t start = vnet->csum_start + shift, at = start + vnet->csum_offset;
	uint16_t sum;

	if (!(vnet->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) || at + 2 > bytes)
		return;
	sum = segments_fold(segments_sum(frame + start, bytes - start, 0));
	sum = sum == UINT16_MAX ? sum : (uint16_t)~sum; /* 0 would mean "no checksum" to UDP */
	memcpy(frame + at, &sum, sizeof sum);
}

/*
 * Returns the frame of a slot, its header of offloads and its length. A frame longer than a slot is in the socket's
 * queue, if the queue has space; otherwise it is lost, and the return value NULL.
 */
static const uint8_t *frame_of(struct packet_port *port, const struct tpacket2_hdr *slot, struct virtio_net_hdr *vnet,
			       uint32_t *bytes)
{
	const uint8_t *frame = (const uint8_t *)slot + slot->tp_mac;
	ssize_t length;

	*bytes = slot->tp_len;
	if (slot->tp_snaplen == slot->tp_len) {
		memcpy(vnet, frame - VNET_BYTES, VNET_BYTES);
		return frame;
	}
	if (!(slot->tp_status & TP_STATUS_COPY))
		return NULL;
	length = recv(port->fd, port->large, sizeof port->large - TAG_BYTES, MSG_DONTWAIT | MSG_TRUNC);
	if (length != (ssize_t)(VNET_BYTES + slot->tp_len) || length > (ssize_t)sizeof port->large - TAG_BYTES)
		return NULL;
	memcpy(vnet, port->large, VNET_BYTES);
	return port->large + VNET_BYTES;
}

/* Fills the packet with the slot's frame. Returns false if there is none: it does not fit, or is to be cut first. */
static bool take_frame(struct packet_port *port, const struct tpacket2_hdr *slot, struct rte_mbuf *packet)
{
	bool tagged = slot->tp_status & TP_STATUS_VLAN_VALID;
	uint32_t bytes, room = rte_pktmbuf_tailroom(packet);
	struct virtio_net_hdr vnet;
	const uint8_t *frame = frame_of(port, slot, &vnet, &bytes);
	uint8_t *to = rte_pktmbuf_mtod(packet, uint8_t *);

	if (frame && (vnet.gso_type & ~VIRTIO_NET_HDR_GSO_ECN) != VIRTIO_NET_HDR_GSO_NONE) {
		if (frame != port->large + VNET_BYTES)
			memcpy(port->large + VNET_BYTES, frame, bytes);
		insert_tag(port->large + VNET_BYTES, slot, &bytes);
		if (!segments_begin(&port->segments, port->large + VNET_BYTES, bytes, vnet.gso_size, room))
			port->count.rx_errors++;
		return false;
	}
	if (!frame || bytes + (tagged ? TAG_BYTES : 0) > room) {
		port->count.rx_errors++;
		return false;
	}
	memcpy(to, frame, bytes);
	insert_tag(to, slot, &bytes);
	finish_checksum(to, bytes, &vnet, tagged ? TAG_BYTES : 0);
	packet->data_len = (uint16_t)bytes;
	packet->pkt_len = bytes;
	return true;
}

static uint16_t receive(void *queue, struct rte_mbuf **packets, uint16_t most)
{
	struct packet_port *port = queue;
	struct rte_mbuf *packet = NULL;
	uint16_t count = 0;

	while (count < most) {
		struct tpacket2_hdr *slot = slot_of(port);
		bool filled = false;

		if (!segments_left(&port->segments) &&
		    !(__atomic_load_n(&slot->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER))
			break;
		if (!packet && !(packet = rte_pktmbuf_alloc(port->pool)))
			break; /* the frame stays in its slot; the kernel counts those for which no slot is left */
		if (segments_left(&port->segments)) {
			packet->data_len = segments_next(&port->segments, rte_pktmbuf_mtod(packet, uint8_t *));
			packet->pkt_len = packet->data_len;
			filled = true;
		} else {
			filled = take_frame(port, slot, packet);
			__atomic_store_n(&slot->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
			port->slot = (port->slot + 1) % SLOTS;
			port->count.rx_frames++;
		}
		if (!filled)
			continue;
		port->count.rx_packets++;
		port->count.rx_bytes += packet->pkt_len;
		packets[count++] = packet;
		packet = NULL;
	}
	rte_pktmbuf_free(packet);
	return count;
}

/* Returns true if frames have been refused for too long to blame a queue that is full. */
static bool is_blocked(struct packet_port *port)
{
	uint64_t now = rte_rdtsc();

	if (!port->blocked_since)
		port->blocked_since = now;
	return now - port->blocked_since > rte_get_tsc_hz() / BLOCKED_PER_S;
}

/*
 * Counts a frame that the kernel refused with `code`. Returns false, and counts nothing, if the frame can be sent
 * later: a queue is full, or ENETDOWN is left from a link that is up again. ENOBUFS is also the code of a missing
 * carrier, and of a frame that the peer of a veth drops, for example because its MTU is smaller.
 */
static bool count_refused(struct packet_port *port, int code)
{
	if (code == EAGAIN || code == EINTR)
		return false;
	if (code == EMSGSIZE)
		port->count.tx_mtu++;
	else if (!dp_interface_running(port->interface, port->index))
		port->count.tx_link_down++;
	else if ((code == ENOBUFS || code == ENETDOWN) && !is_blocked(port))
		return false;
	else
		port->count.tx_errors++;
	return true;
}

/* Sends frames, and drops and counts those that the interface cannot send. Returns the number of both. */
static unsigned int send_frames(struct packet_port *port, struct rte_mbuf **packets, unsigned int count)
{
	unsigned int done = 0;

	for (unsigned int i = 0; i < count; i++)
		port->parts[i][1] = (struct iovec){rte_pktmbuf_mtod(packets[i], void *), packets[i]->data_len};
	while (done < count) {
		int sent = sendmmsg(port->fd, port->messages + done, count - done, MSG_DONTWAIT);

		if (sent < 0 && !count_refused(port, errno))
			break;
		for (int i = 0; i < sent; i++)
			port->count.tx_bytes += packets[done + (unsigned int)i]->data_len;
		if (sent > 0)
			port->blocked_since = 0;
		port->count.tx_packets += sent < 0 ? 0 : (unsigned int)sent;
		done += sent < 0 ? 1 : (unsigned int)sent;
	}
	return done;
}

static uint16_t transmit(void *queue, struct rte_mbuf **packets, uint16_t count)
{
	unsigned int done = 0, taken, burst;

	do {
		burst = RTE_MIN((unsigned int)SEND_BURST, count - done);
		taken = send_frames(queue, packets + done, burst);
		done += taken;
	} while (done < count && taken == burst);
	rte_pktmbuf_free_bulk(packets, done);
	return (uint16_t)done;
}

static int make_ring(struct packet_port *port)
{
	struct tpacket_req request = {BLOCK_BYTES, SLOTS / (BLOCK_BYTES / SLOT_BYTES), SLOT_BYTES, SLOTS};

	if (setsockopt(port->fd, SOL_PACKET, PACKET_RX_RING, &request, sizeof request))
		return -errno;
	port->ring =
		mmap(NULL, (size_t)SLOTS * SLOT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, port->fd, 0);
	if (port->ring == MAP_FAILED) {
		port->ring = NULL;
		return -errno;
	}
	return 0;
}

static int set_up_socket(struct packet_port *port, bool promiscuous)
{
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)port->index};
	struct packet_mreq member = {.mr_ifindex = (int)port->index, .mr_type = PACKET_MR_PROMISC};
	int on = 1, version = TPACKET_V2, bytes = SOCKET_BUFFER_BYTES;
	int status;

	if (setsockopt(port->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof version) ||
	    setsockopt(port->fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on) ||
	    setsockopt(port->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on) ||
	    setsockopt(port->fd, SOL_PACKET, PACKET_COPY_THRESH, &on, sizeof on) ||
	    setsockopt(port->fd, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof on))
		return -errno;
	/* Either may fail: only root may exceed the limits of net.core. */
	setsockopt(port->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
	setsockopt(port->fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes);
	status = make_ring(port);
	if (status)
		return status;
	if (promiscuous && setsockopt(port->fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &member, sizeof member))
		return -errno;
	return bind(port->fd, (struct sockaddr *)&address, sizeof address) ? -errno : 0;
}

struct packet_port *packet_port_open(const char *interface, struct dp_pool *pool, bool promiscuous, struct error *err)
{
	struct packet_port *port = calloc(1, sizeof *port);
	int status;

	if (!port) {
		error_set(err, ENOMEM, "%s: out of memory", interface);
		return NULL;
	}
	port->interface = interface;
	port->index = if_nametoindex(interface);
	port->pool = (struct rte_mempool *)pool;
	port->queue = port;
	for (unsigned int i = 0; i < SEND_BURST; i++) {
		port->parts[i][0] = (struct iovec){&port->none, VNET_BYTES};
		port->messages[i].msg_hdr = (struct msghdr){.msg_iov = port->parts[i], .msg_iovlen = 2};
	}
	port->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0); /* protocol 0: receives nothing before bind() */
	status = port->fd < 0 ? -errno : set_up_socket(port, promiscuous);
	if (!status)
		return port;
	error_set(err, -status, "%s: cannot set up a packet socket: %s", interface, strerror(-status));
	packet_port_close(port);
	return NULL;
}

void packet_port_install(struct packet_port *port, uint16_t id)
{
	rte_eth_fp_ops[id].rxq.data = &port->queue;
	rte_eth_fp_ops[id].txq.data = &port->queue;
	rte_eth_fp_ops[id].rx_pkt_burst = receive;
	rte_eth_fp_ops[id].tx_pkt_burst = transmit;
}

int packet_port_socket(const struct packet_port *port)
{
	return port->fd;
}

const struct packet_port_counts *packet_port_counts(const struct packet_port *port)
{
	return &port->count;
}

void packet_port_close(struct packet_port *port)
{
	if (!port)
		return;
	if (port->ring)
		munmap(port->ring, (size_t)SLOTS * SLOT_BYTES);
	if (port->fd >= 0)
		close(port->fd);
	free(port);
}
