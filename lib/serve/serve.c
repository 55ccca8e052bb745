/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests from their headers to their reply. */
#include "serve_priv.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include <base/array.h>
#include <base/json.h>

enum { BODY_BYTES = 1 << 20, CONNECTIONS = 512, TIMEOUT_S = 30 };
/* Maximum number of calls of MHD_run(), each of which accepts connections, in one call of serve_run(). */
enum { ACCEPT_ROUNDS = 512 };
/* Milliseconds that serve_run() waits if it cannot accept a connection and has no other. */
enum { ACCEPT_AGAIN_MS = 5 };
/*
 * Maximum time that one call of serve_run() spends on a user's requests, of which it handles at least one. The user's
 * other requests wait for the next serve_run(), after the requests of other users.
 */
enum { USER_US = 5000 };

static const char stops[] = "the server stops";

const char *serve_query(const struct serve_call *call, const char *name)
{
	return MHD_lookup_connection_value(((const struct call *)call)->connection, MHD_GET_ARGUMENT_KIND, name);
}

bool serve_call_in_group(const struct serve_call *public, gid_t group)
{
	const struct call *call = (const struct call *)public;
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(call->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	gid_t groups[1024];
	socklen_t bytes = sizeof groups;

	if (public->remote || !info)
		return false;
	if (public->gid == group)
		return true;
	if (getsockopt(info->connect_fd, SOL_SOCKET, SO_PEERGROUPS, groups, &bytes) < 0)
		return false;
	for (size_t g = 0; g < bytes / sizeof *groups; g++)
		if (groups[g] == group)
			return true;
	return false;
}

void serve_reply(struct serve_call *public, unsigned status, const char *content_type, const char *text, size_t bytes)
{
	struct call *call = (struct call *)public;

	call->status = status;
	call->response = MHD_create_response_from_buffer(bytes, (void *)text, MHD_RESPMEM_MUST_COPY);
	if (call->response)
		MHD_add_response_header(call->response, "Content-Type", content_type);
	if (call->suspended) {
		call->suspended = false;
		call->serve->resumed = true;
		MHD_resume_connection(call->connection);
	}
}

static unsigned status_of(int code)
{
	switch (code) {
	case EINVAL:
	case EILSEQ:
		return MHD_HTTP_BAD_REQUEST;
	case EACCES:
	case EPERM:
		return MHD_HTTP_FORBIDDEN;
	case ENOENT:
		return MHD_HTTP_NOT_FOUND;
	case EEXIST:
	case EBUSY:
		return MHD_HTTP_CONFLICT;
	case E2BIG:
		return MHD_HTTP_CONTENT_TOO_LARGE;
	case EREMOTE:
		return MHD_HTTP_MISDIRECTED_REQUEST;
	case EAGAIN:
	case ENOSPC:
		return MHD_HTTP_SERVICE_UNAVAILABLE;
	default:
		return MHD_HTTP_INTERNAL_SERVER_ERROR;
	}
}

static void reply_text_error(struct serve_call *call, unsigned status, const char *message)
{
	json_t *object = json_pack("{s:o}", "error", json_message(message));
	char *text = object ? json_dumps(object, 0) : NULL;

	serve_reply(call, status, "application/json", text ? text : "{}", text ? strlen(text) : 2);
	free(text);
	json_decref(object);
}

void serve_reply_error(struct serve_call *call, const struct error *err)
{
	reply_text_error(call, status_of(err->code), err->text);
}

static void end_call(void *context, struct MHD_Connection *connection, void **state,
		     enum MHD_RequestTerminationCode why)
{
	struct call *call = *state;

	(void)context;
	(void)connection;
	(void)why;
	if (!call)
		return;
	*call->previous = call->next;
	if (call->next)
		call->next->previous = call->previous;
	call->peer->user->body_bytes -= call->call.body_bytes;
	peer_waits(call->peer);
	/* The connection ended before it took the reply. */
	if (call->response)
		MHD_destroy_response(call->response);
	free(call->body);
	free(call);
	*state = NULL;
}

static struct call *begin_call(struct serve *serve, struct MHD_Connection *connection, const char *version,
			       const char *method, const char *path)
{
	struct call *call = calloc(1, sizeof *call);
	struct ucred who = {.uid = (uid_t)-1, .gid = (gid_t)-1};
	socklen_t bytes = sizeof who;
	/* Since libmicrohttpd 1.0, the answer is valid only until the next question about the connection. */
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	int fd = info ? info->connect_fd : -1;
	const union MHD_ConnectionInfo *peer = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	if (!call || !peer || !peer->socket_context) {
		free(call);
		return NULL;
	}
	call->peer = peer->socket_context;
	if (serve->unix_path)
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &bytes);
	call->call = (struct serve_call){.method = method,
					 .path = path,
					 .tail = "",
					 .body = "",
					 .uid = who.uid,
					 .gid = who.gid,
					 .remote = !serve->unix_path};
	call->serve = serve;
	call->connection = connection;
	call->version = version;
	call->previous = &serve->calls;
	call->next = serve->calls;
	if (call->next)
		call->next->previous = &call->next;
	serve->calls = call;
	return call;
}

static void add_body(struct call *call, const char *data, size_t bytes)
{
	size_t had = call->call.body_bytes, most = call->serve->options.body_bytes;
	struct user *user = call->peer->user;
	char *body;

	if (call->too_large || had + bytes > most || (user_is_limited(user) && user->body_bytes + bytes > most)) {
		call->too_large = true;
		return;
	}
	body = array_reserve(call->body, had + bytes + 1, &call->body_capacity, 1);
	if (!body) {
		call->too_large = true;
		return;
	}
	call->body = body;
	memcpy(body + had, data, bytes);
	body[had + bytes] = '\0';
	call->call.body = body;
	call->call.body_bytes = had + bytes;
	user->body_bytes += bytes;
}

static void dispatch(struct call *call)
{
	const struct serve_route *route = call->serve->options.routes;
	bool path_known = false;

	if (call->too_large) {
		reply_text_error(&call->call, MHD_HTTP_CONTENT_TOO_LARGE, "the body is too large");
		return;
	}
	for (; route->method; route++) {
		size_t length = strlen(route->prefix);
		const char *rest = call->call.path + length;

		if (strncmp(call->call.path, route->prefix, length) != 0 ||
		    (*rest != '\0' && *rest != '/' && length > 1))
			continue;
		if (length == 1 && call->call.path[1] != '\0')
			continue;
		path_known = true;
		if (strcmp(call->call.method, route->method) != 0)
			continue;
		call->call.tail = *rest == '/' ? rest + 1 : rest;
		route->handle(call->serve->options.context, &call->call);
		return;
	}
	reply_text_error(&call->call, path_known ? MHD_HTTP_METHOD_NOT_ALLOWED : MHD_HTTP_NOT_FOUND,
			 path_known ? "method not allowed" : "no such path");
}

/*
 * Returns true, and makes the call wait for the next serve_run(), if this serve_run() has already spent USER_US on the
 * calls of the same user. Calls of root and of the server's own user never wait.
 */
static bool defer(struct call *call)
{
	const struct user *user = call->peer->user;

	if (!user_is_limited(user) || user->answered.v < ns_from_us(USER_US).v)
		return false;
	call->deferred = true;
	call->serve->resumed = true;
	MHD_suspend_connection(call->connection);
	return true;
}

static void resume_deferred(struct serve *serve)
{
	for (struct user *user = serve->users; user; user = user->next)
		user->answered = (struct ns){0};
	for (struct call *call = serve->calls; call; call = call->next) {
		if (call->deferred)
			MHD_resume_connection(call->connection);
		call->deferred = false;
	}
}

static enum MHD_Result send_reply(struct call *call)
{
	enum MHD_Result result;

	if (!call->response)
		return MHD_NO;
	result = MHD_queue_response(call->connection, call->status, call->response);
	MHD_destroy_response(call->response);
	call->response = NULL;
	return result;
}

/*
 * Replies to a request that is refused by its headers, so that its body is not read. Returns false if the request may
 * go on.
 */
static bool refuse(struct call *call)
{
	const struct refusal *refusal = admit(call->serve, call->connection, call->version);

	if (!refusal)
		return false;
	call->handled = true;
	peer_is_served(call->peer);
	reply_text_error(&call->call, refusal->status, refusal->message);
	if (call->response)
		MHD_add_response_header(call->response, "Connection", "close");
	return true;
}

/* Called for the headers, for each part of the body, at its end, and again after a connection was resumed. */
static enum MHD_Result serve_connection(void *context, struct MHD_Connection *connection, const char *path,
					const char *method, const char *version, const char *data, size_t *bytes,
					void **state)
{
	struct serve *serve = context;
	struct call *call = *state;

	if (!call) {
		*state = call = begin_call(serve, connection, version, method, path);
		return !call ? MHD_NO : refuse(call) ? send_reply(call) : MHD_YES;
	}
	if (*bytes > 0) {
		add_body(call, data, *bytes);
		*bytes = 0;
		return MHD_YES;
	}
	if (!call->handled && serve->stops) {
		call->handled = true;
		reply_text_error(&call->call, MHD_HTTP_SERVICE_UNAVAILABLE, stops);
	}
	if (!call->handled && defer(call))
		return MHD_YES;
	if (!call->handled) {
		struct user *user = call->peer->user;
		struct ns begun = ns_now_monotonic();

		call->handled = true;
		peer_is_served(call->peer);
		dispatch(call);
		user->answered = ns_add(user->answered, ns_sub(ns_now_monotonic(), begun));
	}
	if (call->status == 0) {
		call->suspended = true;
		MHD_suspend_connection(connection);
		return MHD_YES;
	}
	return send_reply(call);
}

struct serve *serve_create(const struct serve_options *options, struct error *err)
{
	struct serve *serve = calloc(1, sizeof *serve);
	const char *token = options->unix_path ? NULL : options->token;
	int fd = -1;

	if (!serve) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	serve->options = *options;
	serve->options.body_bytes = options->body_bytes ? options->body_bytes : BODY_BYTES;
	serve->options.connections = options->connections ? options->connections : CONNECTIONS;
	serve->options.timeout_s = options->timeout_s ? options->timeout_s : TIMEOUT_S;
	serve->token = token ? strdup(token) : NULL;
	fd = options->unix_path ? listen_unix(options, err) : listen_tcp(options, &serve->port, err);
	if (fd >= 0 && options->unix_path)
		serve->unix_path = strdup(options->unix_path);
	if (fd >= 0 && !serve->unix_path == !options->unix_path && !serve->token == !token)
		serve->daemon =
			MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, serve_connection,
					 serve, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_NOTIFY_COMPLETED, end_call,
					 NULL, MHD_OPTION_NOTIFY_CONNECTION, peer_notice, serve,
					 MHD_OPTION_CONNECTION_LIMIT, serve->options.connections,
					 MHD_OPTION_CONNECTION_TIMEOUT, serve->options.timeout_s, MHD_OPTION_END);
	if (serve->daemon)
		return serve;
	if (fd >= 0) {
		close(fd);
		error_set(err, ENOMEM, "cannot start the HTTP server");
	}
	serve_destroy(serve);
	return NULL;
}

void serve_destroy(struct serve *serve)
{
	if (!serve)
		return;
	serve->stops = true;
	resume_deferred(serve);
	for (struct call *call = serve->calls; call; call = call->next)
		if (call->suspended)
			reply_text_error(&call->call, MHD_HTTP_SERVICE_UNAVAILABLE, stops);
	if (serve->daemon) {
		MHD_run(serve->daemon);
		MHD_stop_daemon(serve->daemon);
	}
	if (serve->unix_path)
		unlink(serve->unix_path);
	free(serve->unix_path);
	free(serve->token);
	free(serve);
}

int serve_fd(const struct serve *serve)
{
	return MHD_get_daemon_info(serve->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

/*
 * Returns true if a connection waits that could not be accepted, for example without a free descriptor. libmicrohttpd
 * waits for the end of a connection then, but not if there is none.
 */
static bool cannot_accept(const struct serve *serve)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(serve->daemon, MHD_DAEMON_INFO_LISTEN_FD);
	struct pollfd polled = {.fd = info->listen_fd, .events = POLLIN};

	return !serve->peers && serve->accepted == 0 && poll(&polled, 1, 0) == 1;
}

void serve_run(struct serve *serve)
{
	const struct timespec pause = {.tv_nsec = ACCEPT_AGAIN_MS * 1000000};

	serve->resumed = false;
	resume_deferred(serve);
	peers_end_late(serve);
	/*
	 * MHD_run() accepts only a few of the waiting connections. So it is called again: otherwise a user with many
	 * connections would make others wait long.
	 */
	for (int times = 0; times == 0 || (serve->accepted > 0 && times < ACCEPT_ROUNDS); times++) {
		serve->accepted = 0;
		MHD_run(serve->daemon);
	}
	if (cannot_accept(serve))
		nanosleep(&pause, NULL);
}

int serve_timeout_ms(struct serve *serve)
{
	MHD_UNSIGNED_LONG_LONG ms;
	int until_late = peers_timeout_ms(serve);

	if (serve->resumed)
		return 0;
	if (MHD_get_timeout(serve->daemon, &ms) != MHD_YES)
		return until_late;
	if (until_late >= 0 && (unsigned)until_late < ms)
		return until_late;
	return ms > 1000000 ? 1000000 : (int)ms;
}

uint16_t serve_port(const struct serve *serve)
{
	return serve->port;
}
