/* SPDX-License-Identifier: BSD-3-Clause */
#include "routes_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <net/if.h>

struct opening {
	unsigned groups;
	struct mnl_socket *routing;
	int ethertype, priority, packet;
};

/* Opens a routing socket in the present namespace of the thread. Returns 0 or -errno. */
static int open_routing(struct opening *opening)
{
	int code;

	opening->routing = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (!opening->routing)
		return -errno;
	if (mnl_socket_bind(opening->routing, opening->groups, MNL_SOCKET_AUTOPID) == 0)
		return 0;
	code = -errno;
	mnl_socket_close(opening->routing);
	opening->routing = NULL;
	return code;
}

static int open_packet(struct opening *opening)
{
	opening->packet =
		socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, htons((uint16_t)opening->ethertype));
	if (opening->packet < 0)
		return -errno;
	return setsockopt(opening->packet, SOL_SOCKET, SO_PRIORITY, &opening->priority, sizeof(int)) == 0 ? 0 : -errno;
}

/*
 * Moves the thread to another namespace, calls open_one() there, and moves the thread back to its own namespace.
 * Returns 0, or -errno with err set.
 */
static int open_in(const char *netns, int (*open_one)(struct opening *opening), struct opening *opening,
		   struct error *err)
{
	char path[64];
	int own = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC), there, code = 0;

	snprintf(path, sizeof path, "/run/netns/%s", netns);
	there = open(path, O_RDONLY | O_CLOEXEC);
	if (own >= 0 && there >= 0 && setns(there, CLONE_NEWNET) == 0) {
		code = open_one(opening);
		if (setns(own, CLONE_NEWNET) != 0)
			code = -errno;
	} else {
		code = -errno;
	}
	if (own >= 0)
		close(own);
	if (there >= 0)
		close(there);
	return code == 0 ? 0
			 : error_set(err, -code, "cannot open a socket in namespace %s: %s", netns, strerror(-code));
}

struct mnl_socket *socket_open(const char *netns, unsigned groups, struct error *err)
{
	struct opening opening = {.groups = groups};

	if (open_in(netns, open_routing, &opening, err) == 0)
		return opening.routing;
	if (opening.routing)
		mnl_socket_close(opening.routing);
	return NULL;
}

int socket_open_packet(const char *netns, int ethertype, int priority, struct error *err)
{
	struct opening opening = {.ethertype = ethertype, .priority = priority, .packet = -1};
	int code = open_in(netns, open_packet, &opening, err);

	if (code == 0)
		return opening.packet;
	if (opening.packet >= 0)
		close(opening.packet);
	return code;
}

int socket_port(int socket, const char *name)
{
	struct ifreq request = {0};

	snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
	return ioctl(socket, SIOCGIFINDEX, &request) == 0 ? request.ifr_ifindex : -errno;
}

int socket_request(struct mnl_socket *socket, void *buffer, mnl_cb_t take, void *context)
{
	static unsigned last;
	struct nlmsghdr *message = buffer;
	unsigned sequence = ++last, port = mnl_socket_get_portid(socket);
	int status;

	message->nlmsg_seq = sequence;
	if (mnl_socket_sendto(socket, message, message->nlmsg_len) < 0)
		return -errno;
	do {
		ssize_t bytes = mnl_socket_recvfrom(socket, buffer, SOCKET_BUFFER_BYTES);

		if (bytes < 0 && errno == EINTR)
			status = MNL_CB_OK;
		else
			status = bytes < 0 ? MNL_CB_ERROR
					   : mnl_cb_run(buffer, (size_t)bytes, sequence, port, take, context);
	} while (status == MNL_CB_OK);
	return status < 0 ? -errno : 0;
}
