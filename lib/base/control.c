/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/control.h>

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <base/array.h>
#include <base/json.h>

enum { CLIENTS_MAXIMUM = 16, REQUEST_BYTES_MAXIMUM = 4096, ANSWER_BYTES_MAXIMUM = 16 << 20, RECEIVE_BYTES = 4096 };

struct client {
	int fd;            /* -1 = unused */
	uint64_t heard_at; /* value of server->heard at the last bytes from the client */
	size_t used;
	char request[REQUEST_BYTES_MAXIMUM];
};

struct control_server {
	int fd;
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	control_handler handler;
	void *context;
	uint64_t heard; /* counts connections and receptions of bytes */
	struct client clients[CLIENTS_MAXIMUM];
};

static int address_of(const char *path, struct sockaddr_un *address, struct error *err)
{
	memset(address, 0, sizeof *address);
	address->sun_family = AF_UNIX;
	if (path[0] == '\0' || strlen(path) >= sizeof address->sun_path)
		return error_set(err, ENAMETOOLONG, "control socket '%s': expected a path of 1 to %zu bytes", path,
				 sizeof address->sun_path - 1);
	strcpy(address->sun_path, path);
	return 0;
}

/*
 * Connects. connect() and later calls of send() fail after `limit`. Without a limit, they would block for ever if the
 * server is stopped (SIGSTOP) and its backlog or buffer is full.
 */
static int connect_to(const struct sockaddr_un *address, struct ns limit)
{
	struct timeval wait = {limit.v / NS_PER_S, limit.v % NS_PER_S / NS_PER_US};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
	if (connect(fd, (const struct sockaddr *)address, sizeof *address) < 0) {
		int code = errno;

		close(fd);
		return -code;
	}
	return fd;
}

/* Removes the socket file of a dead server. Fails if a live server uses it, or if the file is not a socket. */
static int clear_stale(const struct sockaddr_un *address, struct error *err)
{
	struct stat info;
	int fd;

	if (lstat(address->sun_path, &info) < 0)
		return 0;
	if (!S_ISSOCK(info.st_mode))
		return error_set(err, EEXIST, "%s exists and is no socket: choose another path", address->sun_path);
	fd = connect_to(address, (struct ns){NS_PER_S});
	if (fd >= 0)
		close(fd);
	/*
	 * ECONNREFUSED proves that nobody listens, ENOENT that the file is gone; a server that is busy or belongs to
	 * another user causes other errors, and its socket file must stay
	 */
	if (fd != -ECONNREFUSED && fd != -ENOENT)
		return error_set(err, EADDRINUSE, "%s is in use by a running process: stop it or choose another path",
				 address->sun_path);
	unlink(address->sun_path);
	return 0;
}

struct control_server *control_server_create(const char *path, control_handler handler, void *context,
					     struct error *err)
{
	struct control_server *server;
	struct sockaddr_un address;

	if (address_of(path, &address, err) < 0 || clear_stale(&address, err) < 0)
		return NULL;
	server = calloc(1, sizeof *server);
	if (!server) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	server->handler = handler;
	server->context = context;
	strcpy(server->path, path);
	for (int i = 0; i < CLIENTS_MAXIMUM; i++)
		server->clients[i].fd = -1;
	server->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (server->fd >= 0 && bind(server->fd, (struct sockaddr *)&address, sizeof address) == 0 &&
	    listen(server->fd, CLIENTS_MAXIMUM) == 0)
		return server;
	error_set(err, errno, "control socket %s: %s", path, strerror(errno));
	if (server->fd >= 0)
		close(server->fd);
	free(server);
	return NULL;
}

static void drop(struct client *client)
{
	close(client->fd);
	client->fd = -1;
	client->used = 0;
}

/* Accepts a client. If there are too many, the one that has been silent for the longest time makes room. */
static void accept_client(struct control_server *server)
{
	int fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct client *place = server->clients;

	if (fd < 0)
		return;
	for (int i = 0; i < CLIENTS_MAXIMUM && place->fd >= 0; i++) {
		struct client *client = &server->clients[i];

		if (client->fd < 0 || client->heard_at < place->heard_at)
			place = client;
	}
	if (place->fd >= 0)
		drop(place);
	place->fd = fd;
	place->heard_at = ++server->heard;
}

/*
 * Writes the whole buffer, or fails. On a client's socket, which is non-blocking, waits at most one second in all for a
 * slow client, so that no client can block the server's owner.
 */
static int send_all(int fd, const char *text, size_t bytes)
{
	int64_t deadline_ns = ns_now_monotonic().v + NS_PER_S;

	while (bytes > 0) {
		ssize_t sent = send(fd, text, bytes, MSG_NOSIGNAL);
		struct pollfd wait = {fd, POLLOUT, 0};

		if (sent >= 0) {
			text += sent;
			bytes -= (size_t)sent;
		} else if (errno == EAGAIN) {
			int64_t left_ns = deadline_ns - ns_now_monotonic().v;

			if (left_ns <= 0 || poll(&wait, 1, (int)(left_ns / NS_PER_MS) + 1) == 0)
				return -ETIMEDOUT;
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

static int answer(struct control_server *server, struct client *client, const char *line)
{
	struct error err = {0};
	json_t *reply = server->handler(server->context, line, &err);
	char *text;
	int status;

	if (!reply)
		reply = json_pack("{s:o}", "error", json_message(err.text[0] ? err.text : "unknown request"));
	text = reply ? json_dumps(reply, JSON_COMPACT | JSON_REAL_PRECISION(12)) : NULL;
	json_decref(reply);
	if (!text)
		return -ENOMEM;
	status = send_all(client->fd, text, strlen(text));
	if (status == 0)
		status = send_all(client->fd, "\n", 1);
	free(text);
	return status;
}

/*
 * Reads the available bytes and answers each complete line. Returns the number of lines answered, or -1 if the client
 * must be dropped.
 */
static int serve(struct control_server *server, struct client *client)
{
	ssize_t got = recv(client->fd, client->request + client->used, sizeof client->request - 1 - client->used, 0);
	int answered = 0;
	char *newline;

	if (got <= 0)
		return got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
	client->heard_at = ++server->heard;
	client->used += (size_t)got;
	client->request[client->used] = '\0';
	while ((newline = memchr(client->request, '\n', client->used))) {
		size_t line_bytes = (size_t)(newline - client->request) + 1;

		*newline = '\0';
		if (answer(server, client, client->request) < 0)
			return -1;
		answered++;
		client->used -= line_bytes;
		memmove(client->request, newline + 1, client->used);
	}
	return client->used == sizeof client->request - 1 ? -1 : answered;
}

int control_poll(struct control_server *server, struct ns timeout)
{
	struct pollfd fds[CLIENTS_MAXIMUM + 1] = {{server->fd, POLLIN, 0}};
	int answered = 0;
	struct timespec wait = {timeout.v / NS_PER_S, timeout.v % NS_PER_S};

	for (int i = 0; i < CLIENTS_MAXIMUM; i++)
		fds[i + 1] = (struct pollfd){server->clients[i].fd, POLLIN, 0};
	if (ppoll(fds, CLIENTS_MAXIMUM + 1, &wait, NULL) <= 0)
		return 0;
	for (int i = 0; i < CLIENTS_MAXIMUM; i++) {
		int status;

		if (!fds[i + 1].revents || server->clients[i].fd < 0)
			continue;
		status = serve(server, &server->clients[i]);
		if (status < 0)
			drop(&server->clients[i]);
		else
			answered += status;
	}
	if (fds[0].revents)
		accept_client(server);
	return answered;
}

void control_server_destroy(struct control_server *server)
{
	if (!server)
		return;
	for (int i = 0; i < CLIENTS_MAXIMUM; i++) {
		if (server->clients[i].fd >= 0)
			drop(&server->clients[i]);
	}
	close(server->fd);
	unlink(server->path);
	free(server);
}

/*
 * Reads an answer of one line. Returns the line, which the caller frees, or NULL with err set, for example if the line
 * is not complete at `deadline`.
 */
static char *receive_line(int fd, struct ns deadline, struct error *err)
{
	size_t used = 0, capacity = 0;
	char *text = NULL;

	for (;;) {
		struct pollfd wait = {fd, POLLIN, 0};
		int64_t left = deadline.v - ns_now_monotonic().v;
		char *grown = array_reserve(text, used + RECEIVE_BYTES, &capacity, 1);
		ssize_t got;

		if (!grown || used > ANSWER_BYTES_MAXIMUM) {
			error_set(err, ENOMEM, grown ? "the answer is longer than 16 MiB" : "out of memory");
			text = grown ? grown : text;
			break;
		}
		text = grown;
		if (left <= 0 || poll(&wait, 1, (int)(left / NS_PER_MS) + 1) <= 0) {
			error_set(err, ETIMEDOUT, "no answer in time");
			break;
		}
		got = recv(fd, text + used, capacity - used - 1, 0);
		if (got <= 0) {
			error_set(err, got < 0 ? errno : ECONNRESET, "the connection was closed without an answer");
			break;
		}
		used += (size_t)got;
		text[used] = '\0';
		if (text[used - 1] == '\n')
			return text;
	}
	free(text);
	return NULL;
}

json_t *control_request(const char *path, const char *line, struct ns timeout, struct error *err)
{
	struct ns deadline = ns_add(ns_now_monotonic(), timeout);
	struct sockaddr_un address;
	char *text = NULL;
	const char *trouble;
	json_t *reply = NULL;
	int fd;

	if (address_of(path, &address, err) < 0)
		return NULL;
	fd = connect_to(&address, timeout);
	if (fd < 0) {
		error_set(err, -fd, "nothing answers on %s: %s", path, strerror(-fd));
		return NULL;
	}
	if (send_all(fd, line, strlen(line)) < 0 || send_all(fd, "\n", 1) < 0)
		error_set(err, EPIPE, "%s: the request could not be sent", path);
	else
		text = receive_line(fd, deadline, err);
	close(fd);
	if (!text)
		return NULL;
	reply = json_read_text(path, 0, text, strlen(text), err);
	free(text);
	trouble = reply ? json_string_value(json_object_get(reply, "error")) : NULL;
	if (trouble) {
		error_set(err, EINVAL, "%s", trouble);
		json_decref(reply);
		return NULL;
	}
	return reply;
}
