/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/twamp/twamp.h>

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <base/address.h>

/* Waits until the socket is ready. Returns 0, or -ETIMEDOUT at the deadline, or -errno. */
static int wait_for(int fd, short events, struct ns deadline)
{
	struct pollfd polled = {fd, events, 0};
	int64_t left_ms = (deadline.v - ns_now_monotonic().v) / NS_PER_MS;
	int ready = left_ms > 0 ? poll(&polled, 1, (int)left_ms) : 0;

	return ready > 0 ? 0 : ready == 0 ? -ETIMEDOUT : -errno;
}

static int open_connection(const struct twamp_wish *wish, uint16_t port, struct ns deadline, int *fd)
{
	struct sockaddr_storage ours = {0}, theirs = {0};
	socklen_t ours_bytes = address_to_socket(wish->sender, 0, &ours),
		  theirs_bytes = address_to_socket(wish->receiver, port, &theirs);

	if (!address_interface(wish->sender))
		return -EADDRNOTAVAIL;
	*fd = socket(theirs.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (*fd < 0 || bind(*fd, (struct sockaddr *)&ours, ours_bytes))
		return -errno;
	if (connect(*fd, (struct sockaddr *)&theirs, theirs_bytes) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -errno;
	return wait_for(*fd, POLLOUT, deadline); /* the first recv() says that the connection failed */
}

static int send_message(int fd, const struct twamp_message *message)
{
	ssize_t sent = message->length ? send(fd, message->bytes, message->length, MSG_NOSIGNAL) : 0;

	return sent < 0 ? -errno : sent == (ssize_t)message->length ? 0 : -EIO;
}

/* Runs the client's half until the sessions run or the server refuses. Returns 0 or -errno. */
static int converse(struct twamp_connection *connection, struct ns patience)
{
	struct twamp_client *client = &connection->client;
	struct twamp_message answer;
	uint8_t bytes[TWAMP_GREETING_BYTES];
	int code = 0;

	while (!code && client->state != TWAMP_CLIENT_RUNNING && client->state != TWAMP_CLIENT_FAILED) {
		ssize_t got;

		code = wait_for(connection->fd, POLLIN, ns_add(ns_now_monotonic(), patience));
		if (code)
			break;
		got = recv(connection->fd, bytes, sizeof bytes, MSG_DONTWAIT);
		if (got <= 0)
			return got == 0 ? -ECONNRESET : errno == EAGAIN ? 0 : -errno;
		for (ssize_t at = 0; !code && at < got;) {
			size_t taken = twamp_client_take(client, bytes + at, (size_t)(got - at), &answer);

			if (!taken) /* the server says more than it was asked */
				break;
			at += (ssize_t)taken;
			code = send_message(connection->fd, &answer);
		}
	}
	return code;
}

static int explain(const struct twamp_connection *connection, uint16_t port, int code, struct error *err)
{
	const struct twamp_client *client = &connection->client;
	char text[ADDRESS_TEXT_BYTES];

	address_print(client->wish->receiver, text);
	if (client->state != TWAMP_CLIENT_FAILED)
		return error_set(err, -code, "TWAMP server %s, TCP port %u: %s%s", text, port, strerror(-code),
				 code == -EADDRNOTAVAIL ? "; no interface has our --address" : "");
	if (!client->accept)
		return error_set(err, EPROTO, "TWAMP server %s %s", text, client->failure);
	return error_set(err, EPROTO, "TWAMP server %s %s: %s (%u)", text, client->failure,
			 twamp_accept_text(client->accept), client->accept);
}

int twamp_connect(struct twamp_connection *connection, const struct twamp_wish *wish, uint16_t port, struct ns patience,
		  struct error *err)
{
	int code;

	connection->fd = -1;
	twamp_client_begin(&connection->client, wish);
	code = open_connection(wish, port, ns_add(ns_now_monotonic(), patience), &connection->fd);
	if (!code)
		code = converse(connection, patience);
	if (!code && connection->client.state == TWAMP_CLIENT_RUNNING)
		return 0;
	code = explain(connection, port, code, err);
	if (connection->fd >= 0)
		close(connection->fd);
	connection->fd = -1;
	return code;
}

void twamp_disconnect(struct twamp_connection *connection)
{
	struct twamp_message stop;

	if (connection->fd < 0)
		return;
	twamp_client_stop(&connection->client, &stop);
	(void)send_message(connection->fd, &stop);
	close(connection->fd);
	connection->fd = -1;
}
