/* SPDX-License-Identifier: BSD-3-Clause */
#include <serve/serve.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <jansson.h>
#include <microhttpd.h>

#include <base/array.h>
#include <base/ns.h>

enum { BODY_BYTES = 1 << 20, CONNECTIONS = 512, TIMEOUT_S = 30, BACKLOG = 512 };
/*
 * On a unix socket, a user has at most 1 / USER_PARTS of the connections, plus one, so that some are free for others.
 * This limit and USER_US do not apply to root and to the server's own user.
 */
enum { USER_PARTS = 4 };
/*
 * Maximum time that one call of serve_run() spends on a user's requests, of which it handles at least one. The user's
 * other requests wait for the next serve_run(), after the requests of other users.
 */
enum { USER_US = 5000 };

struct serve {
	struct MHD_Daemon *daemon;
	struct serve_options options;
	char *unix_path, *token;
	uint16_t port;
	struct call *calls; /* list of the open calls */
	struct user *users; /* list of the users with connections */
	/*
	 * a connection was resumed or deferred, which epoll does not report, so serve_run() must be called again at
	 * once
	 */
	bool resumed;
	unsigned accepted; /* number of connections that the last MHD_run() accepted */
};

/* The connections of a uid on the unix socket. */
struct user {
	struct user *next;
	uid_t uid;
	unsigned connections;
	size_t body_bytes;  /* total size of the bodies of the user's open calls */
	struct ns answered; /* time that the current serve_run() has spent on the user's calls */
};

/* A request from its first line to its reply. */
struct call {
	struct serve_call call;
	struct serve *serve;
	struct MHD_Connection *connection;
	struct call *next, **previous;
	struct user *user; /* the caller's user on a unix socket; NULL for TCP */
	char *body;
	size_t body_capacity;
	struct MHD_Response *response; /* the reply, until it is passed to the connection; NULL = none */
	unsigned status;
	bool too_large, handled, suspended, deferred;
};

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
	case EAGAIN:
	case ENOSPC:
		return MHD_HTTP_SERVICE_UNAVAILABLE;
	default:
		return MHD_HTTP_INTERNAL_SERVER_ERROR;
	}
}

static void reply_text_error(struct serve_call *call, unsigned status, const char *message)
{
	json_t *object = json_pack("{s:s}", "error", message);
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
	if (call->user)
		call->user->body_bytes -= call->call.body_bytes;
	/* The connection ended before it took the reply. */
	if (call->response)
		MHD_destroy_response(call->response);
	free(call->body);
	free(call);
	*state = NULL;
}

static bool is_privileged(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

static struct user *find_user(struct serve *serve, uid_t uid)
{
	struct user *user = serve->users;

	while (user && user->uid != uid)
		user = user->next;
	if (user)
		return user;
	user = calloc(1, sizeof *user);
	if (!user)
		return NULL;
	*user = (struct user){.uid = uid, .next = serve->users};
	serve->users = user;
	return user;
}

static void leave_user(struct serve *serve, struct user *user)
{
	struct user **at = &serve->users;

	if (--user->connections > 0)
		return;
	while (*at != user)
		at = &(*at)->next;
	*at = user->next;
	free(user);
}

/* Counts the connections of each user of a unix socket. A connection beyond the user's limit is shut down. */
static void count_connection(void *context, struct MHD_Connection *connection, void **state,
			     enum MHD_ConnectionNotificationCode what)
{
	struct serve *serve = context;
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct ucred who;
	socklen_t bytes = sizeof who;
	struct user *user;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (*state)
			leave_user(serve, *state);
		return;
	}
	serve->accepted++;
	if (!serve->unix_path || !info || getsockopt(info->connect_fd, SOL_SOCKET, SO_PEERCRED, &who, &bytes) < 0)
		return;
	user = find_user(serve, who.uid);
	if (user)
		user->connections++;
	*state = user;
	if (!user || (!is_privileged(who.uid) && user->connections > 1 + serve->options.connections / USER_PARTS))
		shutdown(info->connect_fd, SHUT_RDWR);
}

static struct call *begin_call(struct serve *serve, struct MHD_Connection *connection, const char *method,
			       const char *path)
{
	struct call *call = calloc(1, sizeof *call);
	struct ucred who = {.uid = (uid_t)-1, .gid = (gid_t)-1};
	socklen_t bytes = sizeof who;
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	const union MHD_ConnectionInfo *user = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	if (!call)
		return NULL;
	call->user = user ? user->socket_context : NULL;
	if (serve->unix_path && info)
		getsockopt(info->connect_fd, SOL_SOCKET, SO_PEERCRED, &who, &bytes);
	call->call = (struct serve_call){.method = method,
					 .path = path,
					 .tail = "",
					 .body = "",
					 .uid = who.uid,
					 .gid = who.gid,
					 .remote = !serve->unix_path};
	call->serve = serve;
	call->connection = connection;
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
	struct user *user = call->user;
	char *body;

	if (call->too_large || had + bytes > most ||
	    (user && !is_privileged(user->uid) && user->body_bytes + bytes > most)) {
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
	if (user)
		user->body_bytes += bytes;
}

/* Compares in a time that does not depend on where the texts differ. */
static bool same_secret(const char *given, const char *secret)
{
	size_t bytes = strlen(secret), given_bytes = strlen(given);
	unsigned difference = given_bytes != bytes;

	for (size_t i = 0; i < bytes; i++)
		difference |= (unsigned char)secret[i] ^ (unsigned char)(i < given_bytes ? given[i] : 0);
	return difference == 0;
}

static bool allowed(const struct call *call)
{
	const char *given;

	if (!call->serve->token)
		return true;
	given = MHD_lookup_connection_value(call->connection, MHD_HEADER_KIND, "Authorization");
	return given && strncmp(given, "Bearer ", 7) == 0 && same_secret(given + 7, call->serve->token);
}

static void dispatch(struct call *call)
{
	const struct serve_route *route = call->serve->options.routes;
	bool path_known = false;

	if (call->too_large) {
		reply_text_error(&call->call, MHD_HTTP_CONTENT_TOO_LARGE, "the body is too large");
		return;
	}
	if (!allowed(call)) {
		reply_text_error(&call->call, MHD_HTTP_UNAUTHORIZED, "missing or wrong token");
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
	if (!call->user || is_privileged(call->user->uid) || call->user->answered.v < ns_from_us(USER_US).v)
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

/* Called for the headers, for each part of the body, at its end, and again after a connection was resumed. */
static enum MHD_Result serve_connection(void *context, struct MHD_Connection *connection, const char *path,
					const char *method, const char *version, const char *data, size_t *bytes,
					void **state)
{
	struct serve *serve = context;
	struct call *call = *state;
	enum MHD_Result result;

	(void)version;
	if (!call) {
		*state = begin_call(serve, connection, method, path);
		return *state ? MHD_YES : MHD_NO;
	}
	if (*bytes > 0) {
		add_body(call, data, *bytes);
		*bytes = 0;
		return MHD_YES;
	}
	if (!call->handled && defer(call))
		return MHD_YES;
	if (!call->handled) {
		struct ns begun = ns_now_monotonic();

		call->handled = true;
		dispatch(call);
		if (call->user)
			call->user->answered = ns_add(call->user->answered, ns_sub(ns_now_monotonic(), begun));
	}
	if (call->status == 0) {
		call->suspended = true;
		MHD_suspend_connection(connection);
		return MHD_YES;
	}
	if (!call->response)
		return MHD_NO;
	result = MHD_queue_response(connection, call->status, call->response);
	MHD_destroy_response(call->response);
	call->response = NULL;
	return result;
}

/* Opens the unix socket; first removes a socket file on which nobody listens any more. */
static int unix_socket(const char *path, struct error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof address.sun_path)
		return error_set(err, ENAMETOOLONG, "%s: the path of a socket has at most %zu bytes", path,
				 sizeof address.sun_path - 1);
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return error_set(err, errno, "%s: %s", path, strerror(errno));
	if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) {
		close(fd);
		return error_set(err, EADDRINUSE, "%s: another server listens there", path);
	}
	if (errno == ECONNREFUSED)
		unlink(path);
	close(fd);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || chmod(path, 0666) < 0 ||
	    listen(fd, BACKLOG) < 0) {
		int code = errno;

		if (fd >= 0)
			close(fd);
		return error_set(err, code, "%s: %s", path, strerror(code));
	}
	return fd;
}

static int tcp_socket(const struct serve_options *options, uint16_t *port, struct error *err)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(options->port)};
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(options->port)};
	bool is_four = inet_pton(AF_INET, options->address, &four.sin_addr) == 1;
	struct sockaddr *address = is_four ? (struct sockaddr *)&four : (struct sockaddr *)&six;
	socklen_t bytes = is_four ? sizeof four : sizeof six;
	int fd, on = 1, code;

	if (!is_four && inet_pton(AF_INET6, options->address, &six.sin6_addr) != 1)
		return error_set(err, EINVAL, "bad address '%s'; expected an IPv4 or IPv6 address", options->address);
	fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 || bind(fd, address, bytes) < 0 ||
	    listen(fd, BACKLOG) < 0 || getsockname(fd, address, &bytes) < 0) {
		code = errno;
		if (fd >= 0)
			close(fd);
		return error_set(err, code, "%s port %u: %s", options->address, options->port, strerror(code));
	}
	*port = ntohs(is_four ? four.sin_port : six.sin6_port);
	return fd;
}

struct serve *serve_create(const struct serve_options *options, struct error *err)
{
	struct serve *serve = calloc(1, sizeof *serve);
	int fd = -1;

	if (!serve) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	serve->options = *options;
	serve->options.body_bytes = options->body_bytes ? options->body_bytes : BODY_BYTES;
	serve->options.connections = options->connections ? options->connections : CONNECTIONS;
	serve->token = options->token && !options->unix_path ? strdup(options->token) : NULL;
	fd = options->unix_path ? unix_socket(options->unix_path, err) : tcp_socket(options, &serve->port, err);
	if (fd >= 0 && options->unix_path)
		serve->unix_path = strdup(options->unix_path);
	if (fd >= 0)
		serve->daemon = MHD_start_daemon(
			MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, serve_connection, serve,
			MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_NOTIFY_COMPLETED, end_call, NULL,
			MHD_OPTION_NOTIFY_CONNECTION, count_connection, serve, MHD_OPTION_CONNECTION_LIMIT,
			serve->options.connections, MHD_OPTION_CONNECTION_TIMEOUT,
			options->timeout_s ? options->timeout_s : TIMEOUT_S, MHD_OPTION_END);
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
	for (struct call *call = serve->calls; call; call = call->next) {
		call->suspended |= call->deferred;
		call->handled |= call->deferred;
		if (call->suspended)
			reply_text_error(&call->call, MHD_HTTP_SERVICE_UNAVAILABLE, "the server stops");
	}
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

void serve_run(struct serve *serve)
{
	serve->resumed = false;
	resume_deferred(serve);
	/*
	 * MHD_run() accepts only a few of the waiting connections. So it is called again: otherwise a user with many
	 * connections would make others wait long.
	 */
	for (int times = 0; times == 0 || (serve->accepted > 0 && times < BACKLOG); times++) {
		serve->accepted = 0;
		MHD_run(serve->daemon);
	}
}

int serve_timeout_ms(struct serve *serve)
{
	MHD_UNSIGNED_LONG_LONG ms;

	if (serve->resumed)
		return 0;
	if (MHD_get_timeout(serve->daemon, &ms) != MHD_YES)
		return -1;
	return ms > 1000000 ? 1000000 : (int)ms;
}

uint16_t serve_port(const struct serve *serve)
{
	return serve->port;
}
