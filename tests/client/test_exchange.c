/* SPDX-License-Identifier: BSD-3-Clause */
#include "exchange.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define JSON_200 "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

static const struct server {
	const char *name, *parts[4]; /* sent one after another */
	bool deaf, stays;            /* reads nothing before it answers; leaves the connection open */
	int code, status;
	const char *body;
} servers[] = {
	{"a length, and an open connection",
	 {JSON_200 "content-length: 2\r\n\r\n{}"},
	 .stays = true,
	 .status = 200,
	 .body = "{}"},
	{"no length: to the end",
	 {"HTTP/1.0 404 Not Found\r\n\r\n{\"error\": ", "\"none\"}"},
	 .status = 404,
	 .body = "{\"error\": \"none\"}"},
	{"in parts",
	 {"HTT", "P/1.1 20", "1 Created\r\nContent-Length: 3\r", "\n\r\n[1]"},
	 .status = 201,
	 .body = "[1]"},
	{"more than its length", {JSON_200 "Content-Length: 2\r\n\r\n{}x"}, .status = 200, .body = "{}"},
	{"an answer before the request was read",
	 {"HTTP/1.1 413 Large\r\nContent-Length: 2\r\n\r\n{}"},
	 .deaf = true,
	 .status = 413,
	 .body = "{}"},
	{"a length in the body is none",
	 {"HTTP/1.1 200 OK\r\n\r\n\nContent-Length: 1\n"},
	 .status = 200,
	 .body = "\nContent-Length: 1\n"},
	{"cut in its body", {JSON_200 "Content-Length: 9\r\n\r\n{}"}, .code = -EPIPE},
	{"cut in its head", {JSON_200}, .code = -EPIPE},
	{"nothing", {NULL}, .code = -EPIPE},
	{"another protocol, at once", {"220 ready\n"}, .stays = true, .code = -EPROTO},
	{"another version", {"HTTP/2.0 200 OK\r\n\r\n{}"}, .code = -EPROTO},
	{"no status", {"HTTP/1.1 OK\r\n\r\n{}"}, .code = -EPROTO},
	{"a status after the head", {"HTTP/1.1\r\n\r\n 200"}, .code = -EPROTO},
	{"silence", {NULL}, .stays = true, .code = -ETIMEDOUT},
	{"half an answer", {JSON_200 "Content-Length: 9\r\n\r\n{}"}, .stays = true, .code = -ETIMEDOUT},
};

static char folder[] = "/tmp/nomora-exchange-XXXXXX", path[64], request[200];
static int listener, connection;

static void *serve(void *context)
{
	const struct server *server = context;

	connection = accept(listener, NULL, NULL);
	if (!server->deaf)
		cr_assert_gt(recv(connection, request, sizeof request - 1, 0), 0);
	for (int p = 0; p < 4 && server->parts[p]; p++) {
		send(connection, server->parts[p], strlen(server->parts[p]), MSG_NOSIGNAL);
		usleep(2000);
	}
	if (!server->stays)
		close(connection);
	return NULL;
}

static void begin(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	cr_assert(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/socket", folder);
	strcpy(address.sun_path, path);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
	cr_assert_eq(listen(listener, 0), 0);
}

static void finish(void)
{
	close(listener);
	unlink(path);
	rmdir(folder);
}

TestSuite(exchange, .init = begin, .fini = finish);

Test(exchange, an_answer_is_read_whole_or_refused)
{
	static char large[1 << 20]; /* more than a socket holds */

	memset(large, '1', sizeof large - 1);
	for (size_t s = 0; s < sizeof servers / sizeof servers[0]; s++) {
		const struct server *server = &servers[s];
		struct exchange_answer answer = {0};
		pthread_t thread;
		int code;

		pthread_create(&thread, NULL, serve, (void *)server);
		code = exchange(path, "POST", "/a", server->deaf ? large : "[7]", ns_from_us(300e3), &answer);
		pthread_join(thread, NULL);
		cr_assert_eq(code, server->code, "%s: %d", server->name, code);
		if (code == 0) {
			cr_assert_eq(answer.status, server->status, "%s", server->name);
			cr_assert_str_eq(strndupa(answer.bytes + answer.body, answer.count - answer.body), server->body,
					 "%s", server->name);
		}
		if (!server->deaf)
			cr_assert_str_eq(request,
					 "POST /a HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\n"
					 "Content-Length: 3\r\n\r\n[7]");
		free(answer.bytes);
		if (server->stays)
			close(connection);
	}
}

Test(exchange, a_server_that_accepts_nobody_is_late_and_no_server_is_none)
{
	struct exchange_answer answer = {0};
	char long_path[200];

	for (int queued = 0; queued < 3; queued++) {
		cr_assert_eq(exchange(path, "GET", "/", NULL, ns_from_us(20e3), &answer), -ETIMEDOUT);
		free(answer.bytes);
		answer = (struct exchange_answer){0};
	}
	cr_assert_eq(exchange("/no/socket", "GET", "/", NULL, ns_from_us(20e3), &answer), -ENOTCONN);
	memset(long_path, 'a', sizeof long_path - 1);
	long_path[sizeof long_path - 1] = '\0';
	cr_assert_eq(exchange(long_path, "GET", "/", NULL, ns_from_us(20e3), &answer), -ENOTCONN);
	cr_assert_eq(exchange(path, "GET", "/a b", NULL, ns_from_us(20e3), &answer), -EINVAL);
	cr_assert_eq(exchange(path, "GET", "/a\r\nX: y", NULL, ns_from_us(20e3), &answer), -EINVAL);
	cr_assert_null(answer.bytes);
}
