/* SPDX-License-Identifier: BSD-3-Clause */
#include <lab/routes/links.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <linux/if.h>
#include <linux/rtnetlink.h>

#include "routes_priv.h"

struct watch {
	const struct lab *lab;
	int epoll;
	struct mnl_socket *sockets[LAB_SWITCHES_MAXIMUM];
	bool (*down)[2]; /* by link: whether its end a, and its end b, is down or without a carrier */
	char buffer[SOCKET_BUFFER_BYTES];
};

struct reader {
	struct watch *watch;
	int at;
};

static int take_port(const struct nlmsghdr *message, void *context)
{
	const struct reader *reader = context;
	const struct lab *lab = reader->watch->lab;
	const struct ifinfomsg *port = mnl_nlmsg_get_payload(message);
	const struct nlattr *attribute;
	const char *name = NULL;

	if (message->nlmsg_type != RTM_NEWLINK)
		return MNL_CB_OK;
	mnl_attr_for_each(attribute, message, sizeof *port)
	{
		if (mnl_attr_get_type(attribute) == IFLA_IFNAME)
			name = mnl_attr_get_str(attribute);
	}
	for (int l = 0; l < lab->link_count && name; l++) {
		const struct lab_link *link = &lab->links[l];
		int other = link->a == reader->at ? link->b : link->a;

		if ((link->a == reader->at || link->b == reader->at) && strcmp(lab_node_name(lab, other), name) == 0)
			reader->watch->down[l][link->b == reader->at] =
				!(port->ifi_flags & IFF_UP) || !(port->ifi_flags & IFF_LOWER_UP);
	}
	return MNL_CB_OK;
}

/* Subscribes to changes of a switch's interfaces first and then queries their state, so that no change is missed. */
static int open_switch(struct watch *watch, int s, struct error *err)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)s};
	struct reader reader = {watch, watch->lab->host_count + s};
	struct mnl_socket *asks;
	struct nlmsghdr *message;
	int code;

	watch->sockets[s] = socket_open(watch->lab->switches[s].netns, RTMGRP_LINK, err);
	asks = watch->sockets[s] ? socket_open(watch->lab->switches[s].netns, 0, err) : NULL;
	if (!asks)
		return error_code(err, EIO);
	message = mnl_nlmsg_put_header(watch->buffer);
	message->nlmsg_type = RTM_GETLINK;
	message->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	mnl_nlmsg_put_extra_header(message, sizeof(struct ifinfomsg));
	code = socket_request(asks, watch->buffer, take_port, &reader);
	mnl_socket_close(asks);
	if (code == 0 && epoll_ctl(watch->epoll, EPOLL_CTL_ADD, mnl_socket_get_fd(watch->sockets[s]), &event) != 0)
		code = -errno;
	return code == 0 ? 0
			 : error_set(err, -code, "cannot watch the links of switch %s: %s",
				     watch->lab->switches[s].name, strerror(-code));
}

struct watch *watch_open(const struct lab *lab, struct error *err)
{
	struct watch *watch = calloc(1, sizeof *watch);
	int code = 0;

	if (!watch) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	watch->lab = lab;
	watch->epoll = epoll_create1(EPOLL_CLOEXEC);
	watch->down = calloc((size_t)lab->link_count + 1, sizeof *watch->down);
	if (watch->epoll < 0 || !watch->down)
		code = error_set(err, errno, "cannot watch links: %s", strerror(errno));
	for (int s = 0; s < lab->switch_count && code == 0; s++)
		code = open_switch(watch, s, err);
	if (code == 0)
		return watch;
	watch_close(watch);
	return NULL;
}

void watch_close(struct watch *watch)
{
	if (!watch)
		return;
	for (int s = 0; s < watch->lab->switch_count; s++)
		if (watch->sockets[s])
			mnl_socket_close(watch->sockets[s]);
	if (watch->epoll >= 0)
		close(watch->epoll);
	free(watch->down);
	free(watch);
}

int watch_descriptor(const struct watch *watch)
{
	return watch->epoll;
}

int watch_update(struct watch *watch, struct error *err)
{
	struct epoll_event events[16];
	int count;

	while ((count = epoll_wait(watch->epoll, events, 16, 0)) > 0)
		for (int i = 0; i < count; i++) {
			int s = (int)events[i].data.u32;
			struct reader reader = {watch, watch->lab->host_count + s};
			ssize_t bytes = mnl_socket_recvfrom(watch->sockets[s], watch->buffer, sizeof watch->buffer);

			if (bytes < 0 || mnl_cb_run(watch->buffer, (size_t)bytes, 0, 0, take_port, &reader) < 0)
				return error_set(err, errno, "switch %s: cannot read the changes of its links: %s",
						 watch->lab->switches[s].name, strerror(errno));
		}
	return count < 0 && errno != EINTR ? error_set(err, errno, "cannot watch links: %s", strerror(errno)) : 0;
}

bool watch_is_up(const struct watch *watch, int link)
{
	return !watch->down[link][0] && !watch->down[link][1];
}
