/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <base/control.h>

static json_t *echo(void *context, const char *line, struct error *err)
{
	if (strcmp(line, "fail") == 0) {
		error_set(err, EINVAL, "as you wish, \xff");
		return NULL;
	}
	if (strncmp(line, "long ", 5) == 0) {
		size_t bytes = strtoul(line + 5, NULL, 10);
		char *text = malloc(bytes + 1);
		json_t *reply;

		memset(text, 'x', bytes);
		reply = json_pack("{s:s#}", "line", text, (int)bytes);
		free(text);
		return reply;
	}
	++*(int *)context;
	return json_pack("{s:s,s:i}", "line", line, "count", *(int *)context);
}

struct server {
	struct control_server *control;
	atomic_bool stop;
	pthread_t thread;
	int requests;
	char path[80];
};

static void *serve(void *argument)
{
	struct server *server = argument;

	while (!atomic_load(&server->stop))
		control_poll(server->control, (struct ns){NS_PER_MS});
	return NULL;
}

static void start(struct server *server, struct error *err)
{
	*server = (struct server){0};
	snprintf(server->path, sizeof server->path, "/tmp/nomora-control-%d", (int)getpid());
	server->control = control_server_create(server->path, echo, &server->requests, err);
	cr_assert_not_null(server->control, "%s", err->text);
	cr_assert_eq(pthread_create(&server->thread, NULL, serve, server), 0);
}

static void stop(struct server *server)
{
	atomic_store(&server->stop, true);
	pthread_join(server->thread, NULL);
	control_server_destroy(server->control);
}

Test(control, requests_are_answered_and_errors_travel)
{
	struct error err = {0};
	struct server server;
	json_t *reply;

	start(&server, &err);
	for (int i = 1; i <= 50; i++) {
		reply = control_request(server.path, "hello", (struct ns){10 * NS_PER_S}, &err);
		cr_assert_not_null(reply, "%s", err.text);
		cr_assert_str_eq(json_string_value(json_object_get(reply, "line")), "hello");
		cr_assert_eq(json_integer_value(json_object_get(reply, "count")), i);
		json_decref(reply);
	}
	cr_assert_null(control_request(server.path, "fail", (struct ns){10 * NS_PER_S}, &err));
	cr_assert_str_eq(err.text, "as you wish, ?");
	stop(&server);
	cr_assert_neq(access(server.path, F_OK), 0);
	cr_assert_null(control_request(server.path, "hello", (struct ns){NS_PER_S}, &err));
	cr_assert_eq(err.code, ENOENT);
}

/* Around the initial size of the answer's buffer, and far beyond what a socket accepts in one call. */
Test(control, answers_of_any_length_arrive_whole)
{
	static const size_t lengths[] = {0, 4060, 4070, 4080, 4090, 4096, 4100, 8192, 100000, 2000000};
	struct error err = {0};
	struct server server;

	start(&server, &err);
	for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
		char line[32];
		json_t *reply;

		snprintf(line, sizeof line, "long %zu", lengths[i]);
		reply = control_request(server.path, line, (struct ns){20 * NS_PER_S}, &err);
		cr_assert_not_null(reply, "%zu: %s", lengths[i], err.text);
		cr_expect_eq(json_string_length(json_object_get(reply, "line")), lengths[i]);
		json_decref(reply);
	}
	stop(&server);
}

static void *hang_up(void *argument)
{
	close(accept(*(int *)argument, NULL, NULL));
	return NULL;
}

Test(control, a_server_that_hangs_up_has_not_answered)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct error err = {0};
	pthread_t thread;

	snprintf(address.sun_path, sizeof address.sun_path, "/tmp/nomora-control-%d", (int)getpid());
	cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	cr_assert_eq(listen(fd, 1), 0);
	cr_assert_eq(pthread_create(&thread, NULL, hang_up, &fd), 0);
	cr_assert_null(control_request(address.sun_path, "", (struct ns){10 * NS_PER_S}, &err));
	cr_expect(err.code == ECONNRESET || err.code == EPIPE, "%d: %s", err.code, err.text);
	pthread_join(thread, NULL);
	close(fd);
	unlink(address.sun_path);
}

Test(control, a_live_socket_is_refused_a_dead_one_replaced_and_a_file_left_alone)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct error err = {0};
	struct server server;
	int fd, calls = 0;
	FILE *file;

	start(&server, &err);
	cr_assert_null(control_server_create(server.path, echo, &calls, &err));
	cr_assert_eq(err.code, EADDRINUSE);
	stop(&server);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	strcpy(address.sun_path, server.path);
	cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	close(fd); /* the server is dead: its socket file remains */
	start(&server, &err);
	stop(&server);
	file = fopen(server.path, "w");
	fclose(file);
	cr_assert_null(control_server_create(server.path, echo, &calls, &err));
	cr_assert_eq(err.code, EEXIST);
	cr_assert_eq(access(server.path, F_OK), 0);
	unlink(server.path);
}

Test(control, a_server_too_busy_to_answer_keeps_its_socket)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), waiting = socket(AF_UNIX, SOCK_STREAM, 0), calls = 0;
	struct error err = {0};

	snprintf(address.sun_path, sizeof address.sun_path, "/tmp/nomora-busy-%d", (int)getpid());
	cr_assert_eq(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
	cr_assert_eq(listen(listener, 0), 0);
	cr_assert_eq(connect(waiting, (struct sockaddr *)&address, sizeof address), 0); /* the backlog is full now */
	cr_assert_null(control_server_create(address.sun_path, echo, &calls, &err));
	cr_assert_eq(err.code, EADDRINUSE);
	cr_assert_eq(access(address.sun_path, F_OK), 0);
	cr_assert_null(control_request(address.sun_path, "hello", (struct ns){NS_PER_S / 20}, &err));
	close(waiting);
	close(listener);
	unlink(address.sun_path);
}

Test(control, an_endless_line_is_cut_off)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct error err = {0};
	struct server server;
	char block[8192];
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	json_t *reply;

	start(&server, &err);
	strcpy(address.sun_path, server.path);
	cr_assert_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
	memset(block, 'x', sizeof block);
	cr_assert_gt(send(fd, block, sizeof block, MSG_NOSIGNAL), 0);
	cr_assert_leq(recv(fd, block, sizeof block, 0), 0); /* the server hangs up */
	close(fd);
	reply = control_request(server.path, "still there", (struct ns){10 * NS_PER_S}, &err);
	cr_assert_not_null(reply);
	json_decref(reply);
	stop(&server);
}

Test(control, idle_clients_make_room_for_new_ones)
{
	struct server server;
	struct error err = {0};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int idle[40];

	start(&server, &err);
	strcpy(address.sun_path, server.path);
	for (size_t i = 0; i < sizeof idle / sizeof idle[0]; i++) {
		json_t *reply;

		idle[i] = socket(AF_UNIX, SOCK_STREAM, 0);
		cr_assert_eq(connect(idle[i], (struct sockaddr *)&address, sizeof address), 0);
		reply = control_request(server.path, "x", (struct ns){10 * NS_PER_S}, &err);
		cr_assert_not_null(reply, "with %zu idle clients: %s", i + 1, err.text);
		json_decref(reply);
	}
	for (size_t i = 0; i < sizeof idle / sizeof idle[0]; i++)
		close(idle[i]);
	stop(&server);
}
