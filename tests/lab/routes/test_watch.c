/* SPDX-License-Identifier: BSD-3-Clause */
/* The states of links, as the kernels of both ends report them; the sockets are the test's. */
#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <linux/if.h>
#include <linux/rtnetlink.h>

#include <lab/routes/links.h>

#include "routes_priv.h"

/* A switch's kernel: its socket for news is a pipe; a byte in it stands for a message. */
static struct kernel {
	int pipe[2];
	char news[16]; /* name of the port in the next message */
	unsigned flags;
	int type;
} kernels[LAB_SWITCHES_MAXIMUM];

static struct lab lab;
static struct watch *watch;
static int open_sockets;

int __wrap_mnl_socket_close(struct mnl_socket *socket);
int __wrap_mnl_socket_get_fd(const struct mnl_socket *socket);
ssize_t __wrap_mnl_socket_recvfrom(const struct mnl_socket *socket, void *buffer, size_t bytes);

int __wrap_mnl_socket_close(struct mnl_socket *socket)
{
	(void)socket;
	open_sockets--;
	return 0;
}

int __wrap_mnl_socket_get_fd(const struct mnl_socket *socket)
{
	return ((const struct kernel *)socket)->pipe[0];
}

static struct nlmsghdr *make_message(void *buffer, int type, const char *name, unsigned flags)
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
	struct ifinfomsg *port;

	message->nlmsg_type = (uint16_t)type;
	port = mnl_nlmsg_put_extra_header(message, sizeof *port);
	port->ifi_flags = flags;
	mnl_attr_put_u32(message, IFLA_MTU, 1500);
	mnl_attr_put_strz(message, IFLA_IFNAME, name);
	return message;
}

ssize_t __wrap_mnl_socket_recvfrom(const struct mnl_socket *socket, void *buffer, size_t bytes)
{
	const struct kernel *kernel = (const struct kernel *)socket;
	char byte;

	(void)bytes;
	cr_assert_eq(read(kernel->pipe[0], &byte, 1), 1);
	if (kernel->type == 0) {
		errno = ENOBUFS;
		return -1;
	}
	return make_message(buffer, kernel->type, kernel->news, kernel->flags)->nlmsg_len;
}

struct mnl_socket *socket_open(const char *netns, unsigned groups, struct error *err)
{
	(void)err;
	cr_assert(groups == 0 || groups == RTMGRP_LINK);
	for (int s = 0; s < lab.switch_count; s++)
		if (strcmp(lab.switches[s].netns, netns) == 0) {
			open_sockets++;
			if (groups)
				cr_assert_eq(pipe(kernels[s].pipe), 0);
			return (struct mnl_socket *)&kernels[s];
		}
	return NULL;
}

int socket_open_packet(const char *netns, int ethertype, int priority, struct error *err)
{
	(void)netns;
	(void)ethertype;
	(void)priority;
	(void)err;
	return -ENOSYS;
}

int socket_port(int socket, const char *name)
{
	(void)socket;
	(void)name;
	return -ENOSYS;
}

/* At the start, leaf2's port to spine1 is down. */
int socket_request(struct mnl_socket *socket, void *buffer, mnl_cb_t take, void *context)
{
	int s = (int)((struct kernel *)socket - kernels);

	cr_assert_eq(((struct nlmsghdr *)buffer)->nlmsg_type, RTM_GETLINK);
	for (int n = 0; n < lab.host_count + lab.switch_count; n++) {
		bool down = strcmp(lab.switches[s].name, "leaf2") == 0 && strcmp(lab_node_name(&lab, n), "spine1") == 0;

		take(make_message(buffer, RTM_NEWLINK, lab_node_name(&lab, n), down ? 0 : IFF_UP | IFF_LOWER_UP),
		     context);
	}
	return 0;
}

static void open_watch(void)
{
	struct lab_spec spec = {.name = "lab0", .hosts = 2, .racks = 2, .slots = 1, .mtu_bytes = 1500, .spines = 2};
	struct error err = {0};

	cr_assert_eq(lab_plan(&spec, &lab, &err), 0, "%s", err.text);
	watch = watch_open(&lab, &err);
	cr_assert(watch, "%s", err.text);
}

static void close_watch(void)
{
	watch_close(watch);
	cr_assert_eq(open_sockets, 0);
}

TestSuite(lab_watch, .init = open_watch, .fini = close_watch);

static void tell(const char *at, const char *port, int type, unsigned flags)
{
	for (int s = 0; s < lab.switch_count; s++)
		if (strcmp(lab.switches[s].name, at) == 0) {
			snprintf(kernels[s].news, sizeof kernels[s].news, "%s", port);
			kernels[s].type = type;
			kernels[s].flags = flags;
			cr_assert_eq(write(kernels[s].pipe[1], "x", 1), 1);
		}
}

/* Asserts that exactly the link of these two nodes is down; NULL: none. */
static void expect_down(const char *a, const char *b, int line)
{
	struct error err = {0};

	cr_assert_eq(watch_update(watch, &err), 0, "%s", err.text);
	for (int l = 0; l < lab.link_count; l++) {
		const char *one = lab_node_name(&lab, lab.links[l].a), *other = lab_node_name(&lab, lab.links[l].b);
		bool down = a && ((strcmp(one, a) == 0 && strcmp(other, b) == 0) ||
				  (strcmp(one, b) == 0 && strcmp(other, a) == 0));

		cr_assert_eq(watch_is_up(watch, l), !down, "line %d: %s-%s", line, one, other);
	}
}

#define DOWN(a, b) expect_down(a, b, __LINE__)

Test(lab_watch, a_link_is_up_if_both_its_ends_are)
{
	const unsigned up = IFF_UP | IFF_LOWER_UP;

	DOWN("spine1", "leaf2");
	tell("spine1", "leaf2", RTM_NEWLINK, up);
	DOWN("spine1", "leaf2");
	tell("leaf2", "spine1", RTM_NEWLINK, up);
	DOWN(NULL, NULL);
	tell("leaf1", "spine2", RTM_NEWLINK, IFF_UP); /* without a carrier */
	DOWN("leaf1", "spine2");
	tell("spine2", "leaf1", RTM_NEWLINK, IFF_LOWER_UP);
	tell("leaf1", "spine2", RTM_NEWLINK, up);
	DOWN("leaf1", "spine2");
	tell("spine2", "leaf1", RTM_NEWLINK, up);
	tell("leaf1", "h1", RTM_NEWLINK, 0);
	DOWN("h1", "leaf1");
	tell("leaf1", "h1", RTM_NEWLINK, up);
	tell("leaf2", "eth9", RTM_NEWLINK, 0); /* another port */
	DOWN(NULL, NULL);
	tell("leaf2", "spine1", RTM_NEWADDR, 0); /* no news of a port */
	DOWN(NULL, NULL);
}

Test(lab_watch, an_error_names_the_switch)
{
	struct error err = {0};

	tell("leaf1", "", 0, 0);
	cr_assert_eq(watch_update(watch, &err), -ENOBUFS);
	cr_assert_str_eq(err.text, "switch leaf1: cannot read the changes of its links: No buffer space available");
}
