/* SPDX-License-Identifier: BSD-3-Clause */
#include "load_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <base/array.h>

enum { CONNECT_PATIENCE_MS = 5000 };

/* Connects; waits at most CONNECT_PATIENCE_MS for the server. Returns a descriptor or -errno. */
static int connect_to(const struct addrinfo *address)
{
	int one = 1, problem = 0;
	socklen_t bytes = sizeof problem;
	int descriptor = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (descriptor < 0)
		return -errno;
	if (connect(descriptor, address->ai_addr, address->ai_addrlen) != 0) {
		struct pollfd ready = {.fd = descriptor, .events = POLLOUT};
		int count = 0;

		problem = errno;
		if (problem == EINPROGRESS) {
			count = poll(&ready, 1, CONNECT_PATIENCE_MS);
			problem = count == 0 ? ETIMEDOUT : count < 0 ? errno : 0;
		}
		if (!problem && getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &problem, &bytes) != 0)
			problem = errno;
	}
	if (!problem && setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0)
		problem = errno;
	if (problem) {
		close(descriptor);
		return -problem;
	}
	return descriptor;
}

static int open_socket(const char *host, const char *port, struct error *err)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *addresses;
	int descriptor = -EADDRNOTAVAIL;
	int code = getaddrinfo(host, port, &hints, &addresses);

	if (code)
		return error_set(err, EHOSTUNREACH, "cannot find the server '%s' port '%s': %s", host, port,
				 gai_strerror(code));
	for (struct addrinfo *address = addresses; address && descriptor < 0; address = address->ai_next)
		descriptor = connect_to(address);
	freeaddrinfo(addresses);
	if (descriptor < 0)
		return error_set(err, -descriptor, "cannot connect to %s port %s: %s", host, port,
				 strerror(-descriptor));
	return descriptor;
}

int connection_open(struct connection *connection, const char *host, const char *port, uint32_t requests_maximum,
		    struct error *err)
{
	uint32_t slots = 1;

	while (slots < requests_maximum)
		slots *= 2;
	reply_parser_init(&connection->parser);
	connection->mask = slots - 1;
	connection->requests = calloc(slots, sizeof *connection->requests);
	if (!connection->requests)
		return error_set(err, ENOMEM, "out of memory");
	connection->socket = open_socket(host, port, err);
	return connection->socket < 0 ? connection->socket : 0;
}

void connection_close(struct connection *connection)
{
	if (connection->socket >= 0)
		close(connection->socket);
	free(connection->requests);
	free(connection->out);
}

static int make_room(struct connection *connection, size_t bytes)
{
	size_t waiting = connection->out_end - connection->out_begin;
	char *out;

	if (connection->out_begin > 0) {
		memmove(connection->out, connection->out + connection->out_begin, waiting);
		connection->out_begin = 0;
		connection->out_end = waiting;
	}
	out = array_reserve(connection->out, waiting + bytes, &connection->out_capacity, 1);
	if (!out)
		return -ENOMEM;
	connection->out = out;
	return 0;
}

static void append(struct connection *connection, const char *bytes, size_t count)
{
	memcpy(connection->out + connection->out_end, bytes, count);
	connection->out_end += count;
}

int connection_queue(struct connection *connection, const struct workload *workload, uint64_t key, bool is_set,
		     size_t value_bytes, struct request request)
{
	size_t key_bytes = (size_t)(workload->offsets[key + 1] - workload->offsets[key]);
	size_t need = key_bytes + 48 + (is_set ? value_bytes : 0);

	if (connection->out_end + need > connection->out_capacity && make_room(connection, need) != 0)
		return -ENOMEM;
	append(connection, is_set ? "set " : "get ", 4);
	append(connection, workload->text + workload->offsets[key], key_bytes);
	if (is_set) {
		char tail[32];
		int length = snprintf(tail, sizeof tail, " 0 0 %zu\r\n", value_bytes);

		append(connection, tail, (size_t)length);
		append(connection, workload->block + key % (VALUE_BYTES_MAXIMUM - value_bytes + 1), value_bytes);
	}
	append(connection, "\r\n", 2);
	request.is_set = is_set;
	connection->requests[connection->head++ & connection->mask] = request;
	return 0;
}

int64_t connection_flush(struct connection *connection, struct error *err)
{
	int64_t total = 0;

	while (connection->out_begin < connection->out_end) {
		ssize_t sent = send(connection->socket, connection->out + connection->out_begin,
				    connection->out_end - connection->out_begin, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && errno == EAGAIN)
			return total;
		if (sent < 0)
			return error_set(err, errno, "cannot send to the server: %s", strerror(errno));
		connection->out_begin += (size_t)sent;
		total += sent;
	}
	connection->out_begin = connection->out_end = 0;
	return total;
}
