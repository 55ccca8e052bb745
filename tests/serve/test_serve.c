/* SPDX-License-Identifier: BSD-3-Clause */
/* A server in this process, used through its sockets like by any client. */
#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <serve/serve.h>

static struct serve_call *waiting;
static uid_t caller;

static void echo(void *context, struct serve_call *call)
{
	char text[256];

	(void)context;
	caller = call->uid;
	snprintf(text, sizeof text, "%s|%s|%s|%s", call->method, call->tail, call->body,
		 serve_query(call, "after") ? serve_query(call, "after") : "-");
	serve_reply(call, 200, "text/plain", text, strlen(text));
}

static void wait_for_more(void *context, struct serve_call *call)
{
	(void)context;
	waiting = call;
}

static void refuse(void *context, struct serve_call *call)
{
	struct error err = {.code = EEXIST, .text = "job 'web' exists"};

	(void)context;
	serve_reply_error(call, &err);
}

static int refusal_code = EEXIST;
static bool in_group, in_no_group;

static void fail_with_code(void *context, struct serve_call *call)
{
	struct error err = {.code = refusal_code, .text = "no '\xff'"};

	(void)context;
	in_group = serve_call_in_group(call, getgid());
	in_no_group = serve_call_in_group(call, 54321);
	serve_reply_error(call, &err);
}

static const struct serve_route routes[] = {
	{"GET", "/v1/fail", fail_with_code},
	{"GET", "/", echo},
	{"GET", "/v1/jobs", echo},
	{"POST", "/v1/jobs", echo},
	{"GET", "/v1/wait", wait_for_more},
	{"PUT", "/v1/jobs", refuse},
	{NULL, NULL, NULL},
};

static void run(struct serve *serve, int fd)
{
	struct pollfd polled[] = {{.fd = serve_fd(serve), .events = POLLIN}, {.fd = fd, .events = POLLIN}};

	for (int i = 0; i < 200; i++) {
		poll(polled, 2, 5);
		serve_run(serve);
		if (polled[1].revents)
			return;
	}
}

static int connect_unix(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(address.sun_path, path);
	return connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? fd : -1;
}

static int connect_tcp(const struct serve *serve)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons(serve_port(serve)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? fd : -1;
}

/* Sends a request, lets the server work, and returns its response. */
static const char *ask(struct serve *serve, int fd, const char *request)
{
	static char answer[4096];
	ssize_t got;

	cr_assert_eq(write(fd, request, strlen(request)), (ssize_t)strlen(request));
	run(serve, fd);
	got = recv(fd, answer, sizeof answer - 1, MSG_DONTWAIT);
	answer[got > 0 ? got : 0] = '\0';
	return answer;
}

static struct serve *start(char *path, const char *token, size_t body_bytes)
{
	struct serve_options options = {
		.routes = routes, .token = token, .body_bytes = body_bytes, .address = "127.0.0.1"};
	struct error err = {0};
	struct serve *serve;

	if (path) {
		close(mkstemp(path));
		unlink(path);
		options.unix_path = path;
	}
	serve = serve_create(&options, &err);
	cr_assert_not_null(serve, "%s", err.text);
	return serve;
}

Test(serve, routes_bodies_queries_and_the_callers_uid)
{
	char path[] = "/tmp/nomora-serve.XXXXXX";
	struct serve *serve = start(path, NULL, 0);
	int fd = connect_unix(path);

	cr_assert_geq(fd, 0);
	cr_expect_not_null(
		strstr(ask(serve, fd, "GET /v1/jobs/web?after=7 HTTP/1.1\r\nHost: localhost\r\n\r\n"), "GET|web||7"));
	cr_expect_eq(caller, getuid());
	cr_expect_not_null(strstr(ask(serve, fd,
				      "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
				      "application/json\r\nContent-Length: 4\r\n\r\nbody"),
				  "POST||body|-"));
	cr_expect_not_null(strstr(ask(serve, fd, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), "GET|||-"));
	cr_expect_not_null(strstr(ask(serve, fd, "GET /v1/jobsandmore HTTP/1.1\r\nHost: localhost\r\n\r\n"), "404"));
	cr_expect_not_null(strstr(ask(serve, fd, "DELETE /v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n"), "405"));
	cr_expect_not_null(strstr(ask(serve, fd,
				      "PUT /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
				      "application/json\r\nContent-Length: 0\r\n\r\n"),
				  "{\"error\": \"job 'web' exists\"}"));
	close(fd);
	serve_destroy(serve);
	cr_expect_eq(access(path, F_OK), -1, "the socket is gone");
}

static unsigned pauses;

int __wrap_nanosleep(const struct timespec *pause, struct timespec *left);
int __wrap_nanosleep(const struct timespec *pause, struct timespec *left)
{
	(void)left;
	pauses += pause->tv_sec == 0 && pause->tv_nsec >= 1000000;
	return 0;
}

static void run_times(struct serve *serve, int times)
{
	for (int i = 0; i < times; i++)
		serve_run(serve);
}

/* The connection waits until there are descriptors again; poll() reports it all the time. */
Test(serve, without_descriptors_the_server_pauses)
{
	char path[] = "/tmp/nomora-serve.XXXXXX";
	struct serve *serve = start(path, NULL, 0);
	int fd, first_free = dup(0);
	struct rlimit limit, none;

	run_times(serve, 10);
	cr_expect_eq(pauses, 0);
	close(first_free);
	fd = connect_unix(path);
	cr_assert_geq(fd, 0);
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){.rlim_cur = (rlim_t)(fd > first_free ? fd + 1 : first_free), .rlim_max = limit.rlim_max};
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	run_times(serve, 10);
	cr_expect_eq(pauses, 10);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	cr_expect_not_null(strstr(ask(serve, fd, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), "GET|||-"));
	run_times(serve, 10);
	cr_expect_eq(pauses, 10);
	close(fd);
	serve_destroy(serve);
}

Test(serve, a_late_reply_reaches_the_call_that_waits)
{
	char path[] = "/tmp/nomora-serve.XXXXXX";
	struct serve *serve = start(path, NULL, 0);
	int fd = connect_unix(path), other = connect_unix(path);
	char answer[512];

	cr_assert_eq(write(fd, "GET /v1/wait HTTP/1.1\r\nHost: localhost\r\n\r\n", 43), 43);
	cr_expect_not_null(strstr(ask(serve, other, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), "200"),
			   "others go on meanwhile");
	for (int i = 0; i < 100 && !waiting; i++)
		run(serve, fd);
	cr_assert_not_null(waiting);
	cr_expect_eq(recv(fd, answer, sizeof answer, MSG_DONTWAIT), -1);
	serve_reply(waiting, 200, "text/plain", "now", 3);
	cr_expect_eq(serve_timeout_ms(serve), 0, "the reply needs a run");
	run(serve, fd);
	answer[recv(fd, answer, sizeof answer - 1, 0)] = '\0';
	cr_expect_not_null(strstr(answer, "now"));
	close(fd);
	close(other);
	serve_destroy(serve);
}

/* The leak gate detects a reply that is not freed. */
Test(serve, a_late_reply_to_a_caller_who_left_is_freed)
{
	char path[] = "/tmp/nomora-serve.XXXXXX";
	struct serve *serve = start(path, NULL, 0);
	int fd = connect_unix(path), other = connect_unix(path);

	waiting = NULL;
	cr_assert_eq(write(fd, "GET /v1/wait HTTP/1.1\r\nHost: localhost\r\n\r\n", 43), 43);
	for (int i = 0; i < 100 && !waiting; i++)
		run(serve, fd);
	cr_assert_not_null(waiting);
	close(fd);
	cr_expect_not_null(strstr(ask(serve, other, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), "200"));
	serve_reply(waiting, 200, "text/plain", "now", 3);
	serve_run(serve);
	close(other);
	serve_destroy(serve);
}

/* libmicrohttpd ends the process if a request still waits when its daemon stops. */
Test(serve, a_server_stops_while_a_request_arrives)
{
	char path[] = "/tmp/nomora-serve.XXXXXX", answer[512];
	struct serve *serve = start(path, NULL, 0);
	int fd = connect_unix(path);
	ssize_t got;

	cr_assert_not_null(strstr(ask(serve, fd, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), "200"));
	cr_assert_eq(write(fd, "GET /v1/wait HTTP/1.1\r\nHost: localhost\r\n\r\n", 43), 43);
	serve_destroy(serve);
	got = recv(fd, answer, sizeof answer - 1, 0);
	answer[got > 0 ? got : 0] = '\0';
	cr_expect_not_null(strstr(answer, "503"), "%s", answer);
	close(fd);
}

Test(serve, tcp_needs_the_token)
{
	static const struct {
		const char *header, *status;
	} cases[] = {{"", "401"},
		     {"Authorization: Bearer s3cre\r\n", "401"},
		     {"Authorization: Bearer s3cretx\r\n", "401"},
		     {"Authorization: Bearer s3cret\r\n", "200"},
		     {"Authorization: Basic \r\n", "401"},
		     {"Authorization: Basic !\r\n", "401"},
		     {"Authorization: Basic czNjcmV0\r\n", "401"} /* s3cret */,
		     {"Authorization: Basic czNjcmV0Og==\r\n", "401"} /* s3cret: */,
		     {"Authorization: Basic eDpzM2NyZXR4\r\n", "401"} /* x:s3cretx */,
		     {"Authorization: Basic eDpzM2NyZXQ=\r\n", "200"} /* x:s3cret */};
	struct serve *serve = start(NULL, "s3cret", 0);

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		int fd = connect_tcp(serve);
		char request[200];

		snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost: localhost\r\n%s\r\n", cases[i].header);
		cr_assert_geq(fd, 0);
		cr_expect_eq(strncmp(ask(serve, fd, request) + 9, cases[i].status, 3), 0, "%s", cases[i].header);
		close(fd);
	}
	serve_destroy(serve);
}

Test(serve, a_large_body_is_refused_and_not_kept)
{
	char path[] = "/tmp/nomora-serve.XXXXXX", request[2000];
	struct serve *serve = start(path, NULL, 1000);
	int fd = connect_unix(path), length;

	length = snprintf(request, sizeof request,
			  "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
			  "application/json\r\nContent-Length: 1001\r\n\r\n");
	memset(request + length, 'x', 1001);
	request[length + 1001] = '\0';
	cr_expect_not_null(strstr(ask(serve, fd, request), "413"));
	close(fd);
	serve_destroy(serve);
}

Test(serve, a_dead_servers_socket_is_replaced_a_living_ones_is_not)
{
	char path[] = "/tmp/nomora-serve.XXXXXX";
	struct serve *serve = start(path, NULL, 0);
	struct serve_options options = {.routes = routes, .unix_path = path};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct error err = {0};
	int fd;

	cr_expect_null(serve_create(&options, &err));
	cr_expect_eq(err.code, EADDRINUSE);
	cr_expect_eq(access(path, F_OK), 0);
	serve_destroy(serve);
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	close(fd); /* the file stays */
	serve = serve_create(&options, &err);
	cr_expect_not_null(serve, "%s", err.text);
	serve_destroy(serve);
}

Test(serve, a_file_that_is_no_socket_is_left_alone)
{
	char path[] = "/tmp/nomora-serve.XXXXXX";
	struct serve_options options = {.routes = routes, .unix_path = path};
	struct error err = {0};
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	cr_expect_null(serve_create(&options, &err));
	cr_expect_eq(err.code, EEXIST, "%s", err.text);
	cr_expect_eq(access(path, F_OK), 0);
	close(fd);
	unlink(path);
}

Test(serve, an_error_has_the_status_of_its_code)
{
	static const struct {
		int code;
		const char *status;
	} cases[] = {{EINVAL, "400 "}, {EILSEQ, "400 "}, {EACCES, "403 "}, {EPERM, "403 "},
		     {ENOENT, "404 "}, {EEXIST, "409 "}, {EBUSY, "409 "},  {E2BIG, "413 "},
		     {EAGAIN, "503 "}, {ENOSPC, "503 "}, {EIO, "500 "},    {ENOMEM, "500 "}};
	char path[] = "/tmp/nomora-serve.XXXXXX";
	struct serve *serve = start(path, NULL, 0);
	int fd = connect_unix(path);

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const char *answer;

		refusal_code = cases[i].code;
		answer = ask(serve, fd, "GET /v1/fail HTTP/1.1\r\nHost: localhost\r\n\r\n");
		cr_expect_eq(strncmp(answer, "HTTP/1.1 ", 9) + strncmp(answer + 9, cases[i].status, 4), 0, "%d: %s",
			     cases[i].code, answer);
		cr_expect_not_null(strstr(answer, "Content-Type: application/json\r\n"));
		cr_expect_not_null(strstr(answer, "\r\n\r\n{\"error\": \"no '?'\"}"));
	}
	cr_expect(in_group && !in_no_group);
	close(fd);
	serve_destroy(serve);
}

Test(serve, a_caller_by_tcp_is_in_no_group_and_has_no_uid)
{
	struct serve *serve = start(NULL, NULL, 0);
	int fd = connect_tcp(serve);

	cr_expect_not_null(strstr(ask(serve, fd, "GET /v1/fail HTTP/1.1\r\nHost: localhost\r\n\r\n"), "{\"error\""));
	cr_expect(!in_group && !in_no_group);
	cr_expect_not_null(strstr(ask(serve, fd, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), "200"));
	cr_expect_eq(caller, (uid_t)-1);
	close(fd);
	serve_destroy(serve);
}

Test(serve, a_body_of_the_limit_is_taken)
{
	char path[] = "/tmp/nomora-serve.XXXXXX", request[300];
	struct serve *serve = start(path, NULL, 100);
	int fd = connect_unix(path), length;

	for (int i = 0; i < 3; i++) {
		length = snprintf(request, sizeof request,
				  "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
				  "application/json\r\nContent-Length: 100\r\n\r\n");
		memset(request + length, 'x', 100);
		request[length + 100] = '\0';
		cr_expect_not_null(strstr(ask(serve, fd, request), "POST||xxxxx"), "the body before is forgotten");
	}
	close(fd);
	serve_destroy(serve);
}

Test(serve, addresses_and_paths_that_cannot_be_listened_on_are_refused)
{
	char path[200];
	struct serve *serve = start(NULL, NULL, 0);
	struct serve_options options = {.routes = routes, .address = "127.0.0.1", .port = serve_port(serve)};
	struct error err = {0};
	char message[60];

	cr_expect_null(serve_create(&options, &err));
	cr_expect_eq(err.code, EADDRINUSE);
	snprintf(message, sizeof message, "127.0.0.1 port %u: ", serve_port(serve));
	cr_expect_eq(strncmp(err.text, message, strlen(message)), 0, "%s", err.text);
	options.address = "localhost";
	cr_expect_null(serve_create(&options, &err));
	cr_expect_str_eq(err.text, "bad address 'localhost'; expected an IPv4 or IPv6 address");
	memset(path, 'x', sizeof path);
	path[108] = '\0';
	options.unix_path = path;
	cr_expect_null(serve_create(&options, &err));
	cr_expect_eq(err.code, ENAMETOOLONG);
	cr_expect_not_null(strstr(err.text, ": the path of a socket has 1 to 107 bytes"));
	options.unix_path = "/no/such/folder/socket";
	cr_expect_null(serve_create(&options, &err));
	cr_expect_eq(err.code, ENOENT);
	serve_destroy(serve);
	serve_destroy(NULL);
}

Test(serve, requests_of_foreign_pages_and_malformed_ones_are_refused)
{
	static const struct {
		const char *headers, *status;
	} cases[] = {
		{"GET / HTTP/1.1\r\nHost: localhost:8863\r\n\r\n", "200"},
		{"GET / HTTP/1.1\r\nHost: 127.0.0.1:8863\r\n\r\n", "200"},
		{"GET / HTTP/1.1\r\nHost: [::1]:8863\r\n\r\n", "200"},
		{"GET / HTTP/1.0\r\n\r\n", "200"},
		{"GET / HTTP/1.1\r\n\r\n", "400"},
		{"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", "400"},
		{"GET / HTTP/1.1\r\nHost: evil.example:8863\r\n\r\n", "403"},
		{"GET / HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n\r\n", "403"},
		{"GET / HTTP/1.1\r\nHost: localhost:8863\r\nOrigin: http://localhost:8863\r\n\r\n", "200"},
		{"GET / HTTP/1.1\r\nHost: localhost:8863\r\nOrigin: http://localhost:80\r\n\r\n", "403"},
		{"GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n\r\n", "403"},
		{"GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: null\r\n\r\n", "403"},
		{"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}", "415"},
		{"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}",
		 "415"},
		{"DELETE /v1/jobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
		 "chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		 "415"},
		{"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json; charset=utf-8\r\n"
		 "Content-Length: 2\r\n\r\n{}",
		 "200"},
		{"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", "200"},
		{"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
		 "Content-Length: 3\r\n\r\n{}",
		 "400"},
		{"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
		 "Transfer-Encoding: chunked\r\n\r\n{}",
		 "400"},
	};
	char path[] = "/tmp/nomora-serve.XXXXXX";
	struct serve *serve = start(path, NULL, 0);

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		int fd = connect_unix(path);
		const char *answer = ask(serve, fd, cases[i].headers);

		cr_expect_eq(strncmp(answer + 9, cases[i].status, 3), 0, "%s: %s", cases[i].headers, answer);
		close(fd);
	}
	serve_destroy(serve);
}

Test(serve, the_token_is_checked_before_the_body_is_read)
{
	struct serve *serve = start(NULL, "s3cret", 0);
	int fd = connect_tcp(serve);

	cr_expect_not_null(strstr(ask(serve, fd,
				      "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
				      "application/json\r\nContent-Length: 1000000\r\n\r\n"),
				  "401"),
			   "although the body has not arrived");
	close(fd);
	serve_destroy(serve);
}

/* Lets the server work for a time while the client sends a byte of its request each 50 ms. Returns true if it ended. */
static bool drips(struct serve *serve, int fd, int ms)
{
	char byte = 'x';

	for (int passed = 0; passed < ms; passed += 50) {
		if (send(fd, &byte, 1, MSG_NOSIGNAL) < 0)
			return true;
		usleep(50000);
		serve_run(serve);
		if (recv(fd, &byte, 1, MSG_DONTWAIT) == 0)
			return true;
	}
	return false;
}

Test(serve, a_request_has_a_deadline_that_single_bytes_do_not_extend)
{
	struct serve_options options = {.routes = routes, .address = "127.0.0.1", .timeout_s = 1};
	struct error err = {0};
	struct serve *serve = serve_create(&options, &err);
	int fd = connect_tcp(serve);

	cr_assert_geq(fd, 0);
	cr_expect_not_null(strstr(ask(serve, fd, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), "200"));
	cr_expect_leq(serve_timeout_ms(serve), 1001);
	cr_expect_not(drips(serve, fd, 700));
	cr_expect(drips(serve, fd, 800));
	close(fd);
	serve_destroy(serve);
}

Test(serve, a_host_has_a_quarter_of_the_connections)
{
	struct serve_options options = {.routes = routes, .address = "127.0.0.1", .connections = 8};
	struct error err = {0};
	struct serve *serve = serve_create(&options, &err);
	int fds[8], open = 0;
	char byte;

	for (int i = 0; i < 8; i++) {
		fds[i] = connect_tcp(serve);
		cr_assert_eq(write(fds[i], "GET /", 5), 5);
		serve_run(serve);
	}
	usleep(10000);
	serve_run(serve);
	for (int i = 0; i < 8; i++)
		open += recv(fds[i], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
	cr_expect_eq(open, 1 + 8 / 4, "%d", open);
	for (int i = 0; i < 8; i++)
		close(fds[i]);
	serve_destroy(serve);
}
