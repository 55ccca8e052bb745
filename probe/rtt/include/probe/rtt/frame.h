/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The Ethernet frames of the prober: reads and writes UDP over IPv4 and IPv6, ARP and neighbour discovery as bytes,
 * with their checksums; only reads ICMP echo, TCP time stamps and PTP. Addresses and ports are in host byte order.
 * Pure. RFC 894, 826, 791, 768, 1071, 8200, 4861.
 */
#ifndef RTT_FRAME_H
#define RTT_FRAME_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <base/address.h>
#include <base/error.h>
#include <base/ns.h>

enum {
	FRAME_MAC_BYTES = 6,
	FRAME_ETHERNET_BYTES = 14,
	FRAME_MINIMUM = 60,                           /* minimum length of an Ethernet frame, without the FCS */
	FRAME_NEIGHBOUR_BYTES = 14 + 2 * 4 + 40 + 32, /* maximum length of a neighbour query or answer */
	FRAME_TAGS = 2,                               /* maximum number of tags read and written */
	FRAME_TAG_BYTES = 4,
	FRAME_TAG_TYPE = 0x8100, /* 802.1Q */
	FRAME_VLAN_MASK = 0xfff, /* the VLAN in a tag's control; 0 = the tag has only a priority */
	FRAME_CONGESTED = 3,     /* ECN: congestion experienced (RFC 3168) */
};

enum frame_kind {
	FRAME_OTHER,  /* another protocol: ignored */
	FRAME_BROKEN, /* cut short, fragmented, or a checksum is wrong */
	FRAME_UDP,
	FRAME_WHO_HAS,      /* ARP request, neighbour solicitation */
	FRAME_IS_AT,        /* ARP reply, neighbour advertisement */
	FRAME_ECHO_REQUEST, /* ICMP: source_port is the identifier, sequence the number */
	FRAME_ECHO_REPLY,
	FRAME_PTP, /* PTP over Ethernet: padding may follow the message in the payload */
	FRAME_TCP, /* payload_bytes: length on the wire, plus one for a SYN. With time stamps (RFC 7323), unless these
		      were cut off, `sequence` is TSval and `echoed` is TSecr */
};

enum { FRAME_TCP_FIN = 1, FRAME_TCP_SYN = 2, FRAME_TCP_RST = 4, FRAME_TCP_PSH = 8, FRAME_TCP_ACK = 16 };

/* A tag of 802.1Q or 802.1ad; tag[0] of a frame is the outer one. */
struct frame_tag {
	uint16_t type, control; /* control: priority (3 bits), DEI, VLAN (12) */
};

struct frame {
	enum frame_kind kind;
	uint8_t source_mac[FRAME_MAC_BYTES], destination_mac[FRAME_MAC_BYTES];
	ip_address source_address, destination_address; /* in neighbour queries and answers: sender, target */
	uint16_t source_port, destination_port;
	uint8_t ttl, dscp, ecn;
	bool may_fragment; /* true: the DF bit is clear */
	uint8_t tags;
	struct frame_tag tag[FRAME_TAGS];
	bool unchecked; /* the UDP checksum was 0 (none), or `captured` was too short to tell */
	/*
	 * The frame is FRAME_BROKEN only because its UDP checksum covers just the pseudo-header: a local sender's
	 * kernel left the rest to a NIC (transmit checksum offload).
	 */
	bool unfinished;
	uint32_t sequence, echoed;
	uint32_t tcp_sequence, tcp_acknowledged; /* of the first byte; of the first byte not yet received */
	uint8_t tcp_flags;
	bool has_stamps;        /* TCP */
	const uint8_t *payload; /* points into the frame */
	size_t payload_bytes;
};

/*
 * Reads the first `captured` bytes of a frame that had `length` bytes on the wire (equal if nothing was cut off), with
 * at most FRAME_TAGS tags. *frame points into `bytes`; it is an output parameter, because copying a returned struct
 * would stall on the narrower stores to it.
 */
void frame_read(const uint8_t *bytes, size_t captured, size_t length, struct frame *frame);

/*
 * Like frame_read(), for the bytes after an Ethernet header with this type; used for cooked captures, which have
 * another header. Returns the frame.
 */
struct frame frame_read_packet(uint16_t type, const uint8_t *bytes, size_t captured, size_t length);

/* Returns the number of bytes before the payload of a UDP frame with these tags and addresses. */
size_t frame_headers(const struct frame *frame);

/*
 * Writes headers, tags, payload and checksums. frame->payload may already be at its place in `out`. Pads to
 * FRAME_MINIMUM. Returns the frame's length, or 0 if `capacity` is too small.
 */
size_t frame_write_udp(const struct frame *frame, uint8_t *out, size_t capacity);

/*
 * A template for frames of equal length that differ only in destination, source port and payload. Everything else is
 * written, and added up for the checksums, only once.
 */
enum { FRAME_TEMPLATE_BYTES = 80 }; /* at least the longest headers; constant, so that copying takes few instructions */
struct frame_template {
	uint8_t bytes[FRAME_TEMPLATE_BYTES];
	size_t headers, payload_bytes;
	uint64_t ip_sum, udp_sum; /* checksum sums over the parts that are equal in all frames */
	bool four;
};

/* Uses only the address family of the frame's destination, and does not read the payload. */
void frame_template_make(const struct frame *frame, struct frame_template *template);
/* First step of writing a frame. Also overwrites the beginning of the payload: write the payload after this step. */
static inline void frame_template_copy(const struct frame_template *template, uint8_t *out)
{
	memcpy(out, template->bytes, FRAME_TEMPLATE_BYTES);
}
/* Last step, when the payload is in place after the headers. Returns the frame's length. */
size_t frame_template_finish(const struct frame_template *template, const uint8_t *mac, ip_address destination,
			     uint16_t source_port, uint8_t *out);

/*
 * Writes a neighbour query or answer, by frame->kind:
 *   - FRAME_WHO_HAS: "who has destination_address?", to all hosts (ARP) or to the solicited-node group (ND)
 *   - FRAME_IS_AT: "source_address is at source_mac", to destination_address, which asked
 *
 * Returns the length, or 0 if `capacity` is below FRAME_NEIGHBOUR_BYTES.
 */
size_t frame_write_neighbour(const struct frame *frame, uint8_t *out, size_t capacity);

/*
 * The packets of a capture: pcap or pcapng, with microsecond or nanosecond stamps; Ethernet frames, or "cooked" ones as
 * captured on the interface 'any'. One thread.
 */

struct packets;

/*
 * Open a capture: a file ("-" = stdin), or bytes in memory, which are borrowed; `name` (borrowed) is for messages.
 * Return NULL with err set if there is no such file, if it is not a capture, or if it has another link type.
 */
struct packets *packets_open(const char *path, struct error *err);
struct packets *packets_open_memory(const char *name, const void *bytes, size_t length, struct error *err);
void packets_close(struct packets *packets); /* NULL is legal */

/*
 * Opens an interface, for `seconds` from now, or until *stop is not 0. `interface` and `stop` are borrowed. The kernel
 * keeps the heads of packets in 64 MB until they are read. Returns NULL with err set: no such interface, no right to
 * capture, another link type.
 */
struct packets *packets_open_live(const char *interface, double seconds, const volatile sig_atomic_t *stop,
				  struct error *err);

/* Called for each packet in its order. packets_read() stops at a result other than 0, and returns it. */
typedef int (*packet_visit)(void *context, const struct frame *frame, struct ns at);

/* Reads all packets. Returns 0, or -EBADMSG with err set if the capture ends within a packet. */
int packets_read(struct packets *packets, packet_visit visit, void *context, struct error *err);

#endif
