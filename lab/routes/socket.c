/* SPDX-License-Identifier: BSD-3-Clause */
#include "socket_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct mnl_socket *open_here(unsigned groups)
{
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	int code;

	if (!socket || mnl_socket_bind(socket, groups, MNL_SOCKET_AUTOPID) == 0)
		return socket;
	code = errno;
	mnl_socket_close(socket);
	errno = code;
	return NULL;
}

struct mnl_socket *socket_open(const char *netns, unsigned groups, struct error *err)
{
	char path[64];
	int own = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC), there, code = 0;
	struct mnl_socket *socket = NULL;

	snprintf(path, sizeof path, "/run/netns/%s", netns);
	there = open(path, O_RDONLY | O_CLOEXEC);
	if (own >= 0 && there >= 0 && setns(there, CLONE_NEWNET) == 0) {
		socket = open_here(groups);
		code = errno;
		if (setns(own, CLONE_NEWNET) != 0) {
			code = errno;
			if (socket)
				mnl_socket_close(socket);
			socket = NULL;
		}
	} else {
		code = errno;
	}
	if (own >= 0)
		close(own);
	if (there >= 0)
		close(there);
	if (!socket)
		error_set(err, code, "cannot open a routing socket in namespace %s: %s", netns, strerror(code));
	return socket;
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
