/* SPDX-License-Identifier: BSD-3-Clause */
#include "ptp_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <linux/if_packet.h>
#include <linux/net_tstamp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	MESSAGE_BYTES_MAXIMUM = 1500,
	STAMP_PATIENCE_MS = 1000,
};

/* IEEE 1588-2008 annexes D, E, F: the group of all messages except those of peer delay, and the group of peer delay. */
static const char *const groups4[] = {"224.0.1.129", "224.0.0.107"}, *const groups6[] = {"ff0e::181", "ff02::6b"};

static int failed(const struct ptp_options *options, const char *what, struct error *err)
{
	return error_set(err, errno, "%s: %s: %s", options->interface, what, strerror(errno));
}

static int ask_stamps(int fd)
{
	int flags = SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE |
		    SOF_TIMESTAMPING_OPT_TSONLY;

	return setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof flags);
}

static int join_groups(const struct ptp_socket *socket, int fd)
{
	bool six = socket->options->transport == PTP_UDP6;
	int off = 0, one = 1, code = 0;

	for (int i = 0; i < 2 && code == 0; i++) {
		struct ipv6_mreq request6 = {.ipv6mr_interface = (unsigned)socket->interface};
		struct ip_mreqn request4 = {.imr_ifindex = socket->interface};

		inet_pton(AF_INET6, groups6[i], &request6.ipv6mr_multiaddr);
		inet_pton(AF_INET, groups4[i], &request4.imr_multiaddr);
		code = six ? setsockopt(fd, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &request6, sizeof request6)
			   : setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request4, sizeof request4);
	}
	if (code)
		return code;
	if (six)
		return setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, &socket->interface, sizeof socket->interface) ||
				       setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, &off, sizeof off) ||
				       setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &one, sizeof one)
			       ? -1
			       : 0;
	struct ip_mreqn out = {.imr_ifindex = socket->interface};

	return setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &out, sizeof out) ||
			       setsockopt(fd, IPPROTO_IP, IP_MULTICAST_LOOP, &off, sizeof off) ||
			       setsockopt(fd, IPPROTO_IP, IP_MULTICAST_TTL, &one, sizeof one)
		       ? -1
		       : 0;
}

static int open_udp(const struct ptp_socket *ptp, uint16_t port)
{
	struct sockaddr_in6 any6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	struct sockaddr_in any4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	bool six = ptp->options->transport == PTP_UDP6;
	int one = 1, fd = socket(six ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) ||
	    (six && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one)) ||
	    setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, ptp->options->interface,
		       (socklen_t)strlen(ptp->options->interface)) ||
	    bind(fd, six ? (struct sockaddr *)&any6 : (struct sockaddr *)&any4, six ? sizeof any6 : sizeof any4) ||
	    join_groups(ptp, fd) || ask_stamps(fd)) {
		int code = errno;

		if (fd >= 0)
			close(fd);
		errno = code;
		return -1;
	}
	return fd;
}

static int open_ethernet(const struct ptp_socket *ptp)
{
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET, .sll_protocol = htons(PTP_ETHERTYPE), .sll_ifindex = ptp->interface};
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(PTP_ETHERTYPE)), code = fd < 0 ? -1 : 0;

	for (int i = 0; i < 2 && !code; i++) {
		struct packet_mreq request = {
			.mr_ifindex = ptp->interface, .mr_type = PACKET_MR_MULTICAST, .mr_alen = PTP_MAC_BYTES};

		memcpy(request.mr_address, ptp_group_mac(i), PTP_MAC_BYTES);
		code = setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request, sizeof request);
	}
	if (!code && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && ask_stamps(fd) == 0)
		return fd;
	code = errno;
	if (fd >= 0)
		close(fd);
	errno = code;
	return -1;
}

static int read_identity(struct ptp_socket *ptp)
{
	struct ifreq request = {0};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), code;

	strncpy(request.ifr_name, ptp->options->interface, IFNAMSIZ - 1);
	code = fd < 0 ? -1 : ioctl(fd, SIOCGIFHWADDR, &request);
	if (fd >= 0)
		close(fd);
	ptp->link.identity = ptp_identity_of_mac((const uint8_t *)request.ifr_hwaddr.sa_data);
	return code;
}

static ssize_t receive(int fd, int flags, uint8_t *bytes, size_t room, struct stamp *stamp)
{
	union {
		struct cmsghdr header;
		uint8_t bytes[512];
	} control;
	struct iovec part = {bytes, room};
	struct msghdr header = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	ssize_t length = recvmsg(fd, &header, flags | MSG_DONTWAIT);

	*stamp = (struct stamp){.clock = CLOCK_WALL};
	for (struct cmsghdr *item = length < 0 ? NULL : CMSG_FIRSTHDR(&header); item; item = CMSG_NXTHDR(&header, item))
		if (item->cmsg_level == SOL_SOCKET && item->cmsg_type == SCM_TIMESTAMPING) {
			struct scm_timestamping stamps;

			memcpy(&stamps, CMSG_DATA(item), sizeof stamps);
			stamp->ns = stamps.ts[0].tv_sec * NS_PER_S + stamps.ts[0].tv_nsec;
			stamp->valid = stamp->ns != 0; /* 0: the kernel has no stamp */
		}
	return length;
}

static int send_bytes(const struct ptp_socket *ptp, const uint8_t *bytes, size_t length, bool peer)
{
	struct sockaddr_ll link = {.sll_family = AF_PACKET,
				   .sll_protocol = htons(PTP_ETHERTYPE),
				   .sll_ifindex = ptp->interface,
				   .sll_halen = PTP_MAC_BYTES};
	struct sockaddr_in6 to6 = {
		.sin6_family = AF_INET6, .sin6_port = htons(PTP_EVENT_PORT), .sin6_scope_id = (uint32_t)ptp->interface};
	struct sockaddr_in to4 = {.sin_family = AF_INET, .sin_port = htons(PTP_EVENT_PORT)};
	const struct sockaddr *to = (struct sockaddr *)&link;
	socklen_t bytes_of_address = sizeof link;

	memcpy(link.sll_addr, ptp_group_mac(peer), PTP_MAC_BYTES);
	inet_pton(AF_INET6, groups6[peer], &to6.sin6_addr);
	inet_pton(AF_INET, groups4[peer], &to4.sin_addr);
	if (ptp->options->transport == PTP_UDP6) {
		to = (struct sockaddr *)&to6;
		bytes_of_address = sizeof to6;
	} else if (ptp->options->transport == PTP_UDP4) {
		to = (struct sockaddr *)&to4;
		bytes_of_address = sizeof to4;
	}
	return sendto(ptp->event, bytes, length, 0, to, bytes_of_address) == (ssize_t)length ? 0 : -1;
}

static int send_request(void *context, const struct ptp_message *request, struct ptp_moment *left, struct error *err)
{
	const struct ptp_socket *ptp = context;
	uint8_t bytes[PTP_MESSAGE_BYTES], unused[MESSAGE_BYTES_MAXIMUM];
	size_t length = ptp_write_request(request, bytes);
	struct pollfd error_queue = {.fd = ptp->event};
	struct stamp *stamp = &left->by[PTP_SOFTWARE];

	/* Discards a stamp of the previous request that arrived too late. */
	while (receive(ptp->event, MSG_ERRQUEUE, unused, sizeof unused, stamp) >= 0)
		;
	if (send_bytes(ptp, bytes, length, request->type == PTP_PEER_REQUEST))
		return failed(ptp->options, "cannot send", err);
	/* poll() reports POLLERR unrequested. POLLIN is not requested: received packets remain queued. */
	for (int waited_ms = 0; waited_ms < STAMP_PATIENCE_MS; waited_ms += 100) {
		if (poll(&error_queue, 1, 100) > 0 &&
		    receive(ptp->event, MSG_ERRQUEUE, unused, sizeof unused, stamp) >= 0 && stamp->valid)
			return 0;
	}
	return error_set(err, ENOTSUP, "%s: the driver does not timestamp sent packets", ptp->options->interface);
}

static int receive_message(void *context, struct ns timeout, struct ptp_message *message, struct ptp_moment *arrived)
{
	const struct ptp_socket *ptp = context;
	struct pollfd ready[] = {{.fd = ptp->event, .events = POLLIN}, {.fd = ptp->general, .events = POLLIN}};
	struct timespec patience = {timeout.v / NS_PER_S, timeout.v % NS_PER_S};
	uint8_t bytes[MESSAGE_BYTES_MAXIMUM];

	*arrived = (struct ptp_moment){0};
	if (ppoll(ready, 2, &patience, NULL) < 0)
		return errno == EINTR ? 0 : -errno;
	for (int i = 0; i < 2; i++) {
		ssize_t length = -1;

		if (ready[i].revents & POLLIN)
			length = receive(ready[i].fd, 0, bytes, sizeof bytes, &arrived->by[PTP_SOFTWARE]);
		if (length >= 0 && ptp_read(bytes, (size_t)length, message) == 0)
			return 1;
	}
	return 0;
}

int ptp_socket_open(struct ptp_socket *ptp, const struct ptp_options *options, struct error *err)
{
	*ptp = (struct ptp_socket){.event = -1,
				   .general = -1,
				   .options = options,
				   .link = {.context = ptp, .send = send_request, .receive = receive_message}};
	ptp->interface = (int)if_nametoindex(options->interface);
	if (!ptp->interface)
		return error_set(err, ENODEV, "there is no interface '%s'", options->interface);
	if (read_identity(ptp))
		return failed(options, "cannot read its MAC address", err);
	if (options->transport == PTP_L2) {
		ptp->event = open_ethernet(ptp);
	} else {
		ptp->event = open_udp(ptp, PTP_EVENT_PORT);
		ptp->general = ptp->event < 0 ? -1 : open_udp(ptp, PTP_GENERAL_PORT);
	}
	if (ptp->event >= 0 && (options->transport == PTP_L2 || ptp->general >= 0))
		return 0;
	failed(options, "cannot open sockets for PTP", err);
	ptp_socket_close(ptp);
	return error_code(err, EIO);
}

void ptp_socket_close(struct ptp_socket *ptp)
{
	if (ptp->event >= 0)
		close(ptp->event);
	if (ptp->general >= 0)
		close(ptp->general);
	ptp->event = ptp->general = -1;
}
