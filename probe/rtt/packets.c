/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/rtt/frame.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pcap/pcap.h>

#include "rtt_priv.h"

enum { SLL_BYTES = 16, SLL2_BYTES = 20 };

/* Ethernet, VLAN, IPv6, TCP with options. */
enum { LIVE_SNAP_BYTES = 128, LIVE_BUFFER_BYTES = 64 << 20, LIVE_TIMEOUT_MS = 100 };

struct packets {
	pcap_t *pcap;
	const char *name;
	int link;
	unsigned long long count;
	struct ns end;                     /* on an interface: when reading ends */
	const volatile sig_atomic_t *stop; /* on an interface; NULL: a file */
};

/* Takes ownership of `pcap`. */
static struct packets *open_pcap(pcap_t *pcap, const char *name, struct error *err)
{
	struct packets *packets = calloc(1, sizeof *packets);
	const char *found;

	if (!packets) {
		pcap_close(pcap);
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	packets->name = name;
	packets->pcap = pcap;
	packets->link = pcap_datalink(pcap);
	if (packets->link == DLT_EN10MB || packets->link == DLT_LINUX_SLL || packets->link == DLT_LINUX_SLL2)
		return packets;
	found = pcap_datalink_val_to_name(packets->link);
	error_set(err, EINVAL,
		  "%s: expected a capture on an Ethernet interface (EN10MB) or on the interface 'any' (LINUX_SLL, "
		  "LINUX_SLL2), found link type %s",
		  name, found ? found : "unknown");
	packets_close(packets);
	return NULL;
}

/* Takes ownership of `file`. */
static struct packets *open_stream(FILE *file, const char *name, struct error *err)
{
	char text[PCAP_ERRBUF_SIZE];
	pcap_t *pcap = pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, text);

	if (pcap)
		return open_pcap(pcap, name, err);
	fclose(file);
	error_set(err, EINVAL, "%s: not a capture that libpcap can read: %s", name, text);
	return NULL;
}

struct packets *packets_open(const char *path, struct error *err)
{
	FILE *file = strcmp(path, "-") == 0 ? fdopen(dup(STDIN_FILENO), "rb") : fopen(path, "rb");

	if (file)
		return open_stream(file, path, err);
	error_set(err, errno, "%s: cannot open: %s", path, strerror(errno));
	return NULL;
}

struct packets *packets_open_memory(const char *name, const void *bytes, size_t length, struct error *err)
{
	FILE *file = fmemopen((void *)(uintptr_t)bytes, length, "rb");

	if (file)
		return open_stream(file, name, err);
	error_set(err, errno, "%s: cannot read from memory: %s", name, strerror(errno));
	return NULL;
}

struct packets *packets_open_live(const char *interface, double seconds, const volatile sig_atomic_t *stop,
				  struct error *err)
{
	char text[PCAP_ERRBUF_SIZE];
	pcap_t *pcap = pcap_create(interface, text);
	struct packets *packets;
	int code;

	if (!pcap) {
		error_set(err, ENODEV, "%s: %s", interface, text);
		return NULL;
	}
	pcap_set_snaplen(pcap, LIVE_SNAP_BYTES);
	pcap_set_buffer_size(pcap, LIVE_BUFFER_BYTES);
	pcap_set_timeout(pcap, LIVE_TIMEOUT_MS);
	pcap_set_tstamp_precision(pcap, PCAP_TSTAMP_PRECISION_NANO); /* each interface of Linux has it */
	code = pcap_activate(pcap);
	if (code >= 0)
		code = pcap_setnonblock(pcap, 1, text); /* else libpcap waits for a packet without end */
	if (code < 0) {
		error_set(err, code == PCAP_ERROR_PERM_DENIED ? EPERM : EINVAL, "%s: cannot capture: %s%s", interface,
			  *pcap_geterr(pcap) ? pcap_geterr(pcap) : pcap_statustostr(code),
			  code == PCAP_ERROR_PERM_DENIED ? " (a capture needs CAP_NET_RAW: run it as root)" : "");
		pcap_close(pcap);
		return NULL;
	}
	packets = open_pcap(pcap, interface, err);
	if (packets) {
		packets->end.v = ns_now_monotonic().v + (int64_t)(seconds * 1e9);
		packets->stop = stop;
	}
	return packets;
}

void packets_close(struct packets *packets)
{
	if (packets)
		pcap_close(packets->pcap);
	free(packets);
}

/* In cooked captures, a Linux header (SLL) replaces the Ethernet header. */
static void read_frame(int link, const uint8_t *bytes, size_t captured, size_t length, struct frame *frame)
{
	size_t head = link == DLT_LINUX_SLL ? SLL_BYTES : SLL2_BYTES;

	if (link == DLT_EN10MB)
		frame_read(bytes, captured, length, frame);
	else if (captured < head || length < captured)
		*frame = (struct frame){.kind = FRAME_BROKEN};
	else
		*frame = frame_read_packet(get16(link == DLT_LINUX_SLL ? bytes + 14 : bytes), bytes + head,
					   captured - head, length - head);
}

/* Of an interface: true when its time is over, or at a signal. */
static bool is_over(const struct packets *packets)
{
	return packets->stop && (*packets->stop || ns_now_monotonic().v >= packets->end.v);
}

int packets_read(struct packets *packets, packet_visit visit, void *context, struct error *err)
{
	struct pcap_pkthdr *header;
	const uint8_t *bytes;
	struct frame frame;
	int got = 0, code = 0;

	while (!code && !is_over(packets) && (got = pcap_next_ex(packets->pcap, &header, &bytes)) >= 0) {
		if (got == 0) { /* an interface: no packet yet */
			poll(&(struct pollfd){pcap_get_selectable_fd(packets->pcap), POLLIN, 0}, 1, LIVE_TIMEOUT_MS);
			continue;
		}
		/*
		 * The capture was opened with nanosecond precision: tv_usec counts nanoseconds. A malicious file may
		 * have any number there, so the sum is unsigned, which may wrap around.
		 */
		struct ns at = {(int64_t)((uint64_t)header->ts.tv_sec * NS_PER_S + (uint64_t)header->ts.tv_usec)};

		read_frame(packets->link, bytes, header->caplen, header->len, &frame);
		packets->count++;
		code = visit(context, &frame, at);
	}
	if (!code && got == PCAP_ERROR)
		code = error_set(err, EBADMSG, "%s: after packet %llu: %s", packets->name, packets->count,
				 pcap_geterr(packets->pcap));
	return code;
}
