/* SPDX-License-Identifier: BSD-3-Clause */
#include "exchange.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <base/array.h>

static const char protocol[] = "HTTP/1.", head_end[] = "\r\n\r\n", length_name[] = "\nContent-Length:";

enum { READ_BYTES = 16 << 10 };

/* Waits no longer than `limit`, which a full queue of connections needs. Returns the socket or -errno. */
static int open_connection(const char *path, struct ns limit)
{
	struct timeval wait = {limit.v / NS_PER_S, limit.v % NS_PER_S / NS_PER_US + 1}; /* 0 would be no limit */
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd, code;

	if (strlen(path) >= sizeof address.sun_path)
		return -ENOTCONN;
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
	do
		code = connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 ? 0 : errno;
	while (code == EINTR);
	if (code == 0)
		return fd;
	close(fd);
	return code == EAGAIN ? -ETIMEDOUT : -ENOTCONN;
}

/* Returns the text of the request for the caller to free(), or NULL if out of memory. */
static char *write_request(const char *method, const char *path, const char *body)
{
	char length[100] = "", *text;

	if (body)
		snprintf(length, sizeof length, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
			 strlen(body));
	return asprintf(&text, "%s %s HTTP/1.0\r\nHost: localhost\r\n%s\r\n%s", method, path, length,
			body ? body : "") < 0
		       ? NULL
		       : text;
}

int exchange_read(struct exchange_answer *answer, bool ended)
{
	const char *end, *length;
	char digits[4];

	if (answer->status == 0) {
		size_t known = sizeof protocol - 1;

		if (strncmp(answer->bytes, protocol, answer->count < known ? answer->count : known) != 0)
			return -EPROTO;
		end = strstr(answer->bytes, head_end);
		if (!end)
			return 0;
		if (sscanf(answer->bytes, "HTTP/1.%*1[01]%*1[ ]%3[0-9]", digits) != 1 || atoi(digits) < 100)
			return -EPROTO;
		answer->status = atoi(digits);
		answer->body = (size_t)(end - answer->bytes) + sizeof head_end - 1;
		length = strcasestr(answer->bytes, length_name);
		answer->end = length && length < end ? strtoul(length + sizeof length_name - 1, NULL, 10) : SIZE_MAX;
		answer->end = answer->end < SIZE_MAX - answer->body ? answer->body + answer->end : SIZE_MAX;
	}
	if (answer->count >= answer->end)
		answer->count = answer->end;
	return answer->count == answer->end || (ended && answer->end == SIZE_MAX);
}

/* Returns 1 if the answer is complete, 0 if more may follow, or -errno. */
static int receive(int fd, struct exchange_answer *answer)
{
	char *bytes = array_reserve(answer->bytes, answer->count + READ_BYTES + 1, &answer->capacity, 1);
	ssize_t got;
	int code;

	if (!bytes)
		return -ENOMEM;
	answer->bytes = bytes;
	got = recv(fd, bytes + answer->count, READ_BYTES, MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	answer->count += got > 0 ? (size_t)got : 0;
	bytes[answer->count] = '\0';
	code = exchange_read(answer, got <= 0);
	return code == 0 && got <= 0 ? -EPIPE : code;
}

/* A server may answer before it has read the whole request: what it sends is read all the time. */
static int transfer(int fd, const char *request, struct ns deadline, struct exchange_answer *answer)
{
	size_t left = strlen(request);
	int code = 0;

	while (code == 0) {
		struct pollfd polled = {.fd = fd, .events = left ? POLLIN | POLLOUT : POLLIN};
		struct ns wait = ns_sub(deadline, ns_now_monotonic());

		if (wait.v <= 0)
			return -ETIMEDOUT;
		if (poll(&polled, 1, (int)(wait.v / NS_PER_MS) + 1) < 0)
			continue; /* a signal */
		if (polled.revents & POLLOUT) {
			ssize_t sent = send(fd, request, left, MSG_DONTWAIT | MSG_NOSIGNAL);

			request += sent > 0 ? sent : 0;
			left -= sent > 0 ? (size_t)sent : errno == EAGAIN || errno == EINTR ? 0 : left;
		}
		if (polled.revents & ~POLLOUT)
			code = receive(fd, answer);
	}
	return code < 0 ? code : 0;
}

int exchange(const char *socket, const char *method, const char *path, const char *body, struct ns limit,
	     struct exchange_answer *answer)
{
	struct ns deadline = ns_add(ns_now_monotonic(), limit);
	char *request;
	int fd, code;

	for (const char *c = path; *c; c++)
		if ((unsigned char)*c <= ' ' || *c == 0x7f)
			return -EINVAL;
	request = write_request(method, path, body);
	if (!request)
		return -ENOMEM;
	fd = open_connection(socket, limit);
	code = fd < 0 ? fd : transfer(fd, request, deadline, answer);
	if (fd >= 0)
		close(fd);
	free(request);
	return code;
}
