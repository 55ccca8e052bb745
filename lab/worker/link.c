/* SPDX-License-Identifier: BSD-3-Clause */
#include "worker_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

enum {
	/* Small: with the kernel's default buffers it would take seconds until a slow link slows down the sender. */
	SOCKET_BYTES = 32768,
	RETRY_MS = 20,
};

static socklen_t fill(struct sockaddr_storage *storage, ip_address address, uint16_t port)
{
	struct sockaddr_in *ipv4 = (struct sockaddr_in *)storage;
	struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)storage;

	memset(storage, 0, sizeof *storage);
	if (address_is_ipv4(address)) {
		ipv4->sin_family = AF_INET;
		ipv4->sin_port = htons(port);
		ipv4->sin_addr.s_addr = htonl((uint32_t)address);
		return sizeof *ipv4;
	}
	ipv6->sin6_family = AF_INET6;
	ipv6->sin6_port = htons(port);
	for (int i = 0; i < 16; i++)
		ipv6->sin6_addr.s6_addr[i] = (uint8_t)(address >> (120 - 8 * i));
	return sizeof *ipv6;
}

/*
 * Selects cubic, or reno: the default may be an algorithm that shares links unevenly (bbr), and inside a network
 * namespace the sysctl refuses algorithms that are restricted on this host.
 */
static void set_options(int fd)
{
	int size = SOCKET_BYTES, one = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5) != 0)
		setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
}

static int open_socket(ip_address address, uint16_t port)
{
	struct sockaddr_storage storage;
	socklen_t bytes = fill(&storage, address, port);
	int fd = socket(storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), code;

	if (fd < 0)
		return -errno;
	set_options(fd);
	if (bind(fd, (struct sockaddr *)&storage, bytes) == 0)
		return fd;
	code = -errno;
	close(fd);
	return code;
}

int link_listen(const struct worker_plan *plan, struct error *err)
{
	int fd = open_socket(plan->address, plan->port);

	if (fd >= 0 && listen(fd, SOMAXCONN) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return error_set(err, fd < 0 ? -fd : errno, "%s: cannot listen on port %u: %s", plan->task, plan->port,
			 strerror(fd < 0 ? -fd : errno));
}

int link_accept(int listener, struct input *input)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0)
		return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED ? 0 : -errno;
	input->fd = fd;
	return 1;
}

int link_read(struct input *input, struct error *err)
{
	struct tuple tuple;
	ssize_t count;

	if (tuple_read(input->bytes + input->head, input->count, &tuple) > 0)
		return 0;
	memmove(input->bytes, input->bytes + input->head, input->count);
	input->head = 0;
	count = recv(input->fd, input->bytes + input->count, sizeof input->bytes - input->count, 0);
	if (count < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (count < 0)
		return error_set(err, errno, "a sender's connection failed: %s", strerror(errno));
	if (count == 0 && input->count > 0)
		return error_set(err, EBADMSG, "a sender's connection ended in the middle of a tuple");
	if (count == 0) {
		close(input->fd);
		input->fd = -1;
	}
	input->count += (size_t)count;
	return 0;
}

int link_take(struct input *input, struct tuple *tuple, struct error *err)
{
	int bytes = tuple_read(input->bytes + input->head, input->count, tuple);

	if (bytes < 0)
		return error_set(err, EBADMSG,
				 "a sender's connection: expected a tuple, found a header with an invalid size");
	if (bytes == 0)
		return 0;
	input->head += (size_t)bytes;
	input->count -= (size_t)bytes;
	return 1;
}

static int fail_connect(const struct worker_plan *plan, const struct output *output, int code, struct error *err)
{
	char address[ADDRESS_TEXT_BYTES];

	address_print(output->target->address, address);
	return error_set(err, code, "%s: no connection to %s port %u: %s", plan->task, address, output->target->port,
			 strerror(code));
}

/* Returns true for errors that may occur while the receiver does not listen yet. */
static bool is_temporary(int code)
{
	return code == ECONNREFUSED || code == ETIMEDOUT || code == EHOSTUNREACH || code == ENETUNREACH ||
	       code == EADDRNOTAVAIL || code == EINTR;
}

static int try_again(const struct worker_plan *plan, struct output *output, struct ns now, int code, struct error *err)
{
	if (output->fd >= 0)
		close(output->fd);
	output->fd = -1;
	output->next_try = ns_add(now, (struct ns){RETRY_MS * NS_PER_MS});
	return is_temporary(code) ? 0 : fail_connect(plan, output, code, err);
}

int link_connect(const struct worker_plan *plan, struct output *output, struct ns now, struct error *err)
{
	struct sockaddr_storage storage;
	socklen_t bytes = fill(&storage, output->target->address, output->target->port);

	if (output->fd < 0) {
		int fd;

		if (now.v < output->next_try.v)
			return 0;
		fd = open_socket(plan->address, output->target->source_port);
		if (fd < 0)
			return fail_connect(plan, output, -fd, err);
		output->fd = fd;
	}
	/* A further call on the same socket returns the result of the first one. */
	if (connect(output->fd, (struct sockaddr *)&storage, bytes) == 0 || errno == EISCONN) {
		output->connected = true;
		return 0;
	}
	return errno == EINPROGRESS || errno == EALREADY ? 0 : try_again(plan, output, now, errno, err);
}

bool link_has_space(const struct output *output, size_t bytes)
{
	return output->capacity - (output->tail - output->head) >= bytes;
}

void link_append(struct output *output, struct tuple tuple)
{
	if (output->capacity - output->tail < tuple.bytes) {
		memmove(output->queue, output->queue + output->head, output->tail - output->head);
		output->tail -= output->head;
		output->head = 0;
	}
	tuple.sequence = output->sequence++;
	tuple_write(&tuple, output->queue + output->tail);
	output->tail += tuple.bytes;
}

int link_flush(struct output *output, struct error *err)
{
	while (output->head < output->tail) {
		ssize_t count =
			send(output->fd, output->queue + output->head, output->tail - output->head, MSG_NOSIGNAL);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0 && errno == EAGAIN)
			return 0;
		if (count < 0)
			return error_set(err, errno, "the connection to a receiver failed: %s", strerror(errno));
		output->head += (size_t)count;
	}
	output->head = 0;
	output->tail = 0;
	return 0;
}
