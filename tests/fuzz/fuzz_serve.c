/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lib/serve behind a unix socket, and by TCP on loopback with and without a token: up to four clients of two hosts that
 * send their requests in parts, go away, read or do not read; routes that reply at once, later or with an error. Each
 * call that a handler gets is replied to once; nothing of a client remains when it is gone; with a token, no handler is
 * called before a client has sent the token. The input's bytes are also the requests, from a list or as they are.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fuzz_events.h"
#include "serve_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CLIENTS = 4, LATER = 8, BODY_BYTES = 300, USER = 12345, SENT_BYTES = 16384 };
enum mode { UNIX, TCP, TCP_TOKEN, TCP6_TOKEN, MODES };

#define TOKEN "s3cr3t"
#define TOKEN_BASE64 "czNjcjN0" /* the end of the base64 of "us:" TOKEN */

static const char *const pieces[] = {
	"GET /now HTTP/1.1\r\nHost: localhost\r\n\r\n",
	"GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n",
	"GET /error HTTP/1.1\r\nHost: localhost\r\n\r\n",
	"GET /now?name=value&other HTTP/1.0\r\n\r\n",
	"POST /now HTTP/1.1\r\nHost: [::1]:8\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n0123456789",
	"PUT /later HTTP/1.1\r\nHost: [::1]\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
	"5\r\nhello\r\n",
	"0\r\n\r\n",
	"POST /later HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 400\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\n\r\n",
	"GET /now HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
	"DELETE /now HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n",
	"GET /now HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic Og==\r\n",
	"\r\n",
	"Content-Length: 3\r\n",
	"Origin: https://localhost\r\nHost: localhost\r\n",
	"GET /now HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " TOKEN "\r\n\r\n",
	"POST /later HTTP/1.1\r\nHost: [::1]\r\nAuthorization: Bearer " TOKEN
	"\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
	"GET /now HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer s3cr3\r\n\r\n",
	"GET /now HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer s3cr3t!\r\n\r\n",
	"GET /error HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic dXM6" TOKEN_BASE64 "\r\n\r\n",
	"GET /now HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic dXM6czNjcjM=\r\n\r\n",
};

struct client {
	int fd; /* -1: not connected */
	char sent[SENT_BYTES];
	size_t sent_bytes;
};

static struct {
	struct serve *servers[MODES], *serve;
	enum mode mode;
	bool token_was_sent;
	char folder[64], path[96];
	struct client clients[CLIENTS];
	struct serve_call *later[LATER];
	size_t waiting;
	struct events events;
} world = {.folder = "/tmp/nomora-fuzz-serve.XXXXXX"};

static int64_t passed_ns; /* of the fake clock */

struct ns __wrap_ns_now_monotonic(void);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *bytes);
int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *bytes);

struct ns __wrap_ns_now_monotonic(void)
{
	return (struct ns){1000000000 + (passed_ns += 1000)};
}

/* The clients are users whose connections and bodies are limited. */
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *bytes)
{
	int code = __real_getsockopt(fd, level, name, value, bytes);

	if (code == 0 && level == SOL_SOCKET && name == SO_PEERCRED)
		((struct ucred *)value)->uid = USER;
	return code;
}

static void check_call(const struct serve_call *call)
{
	law(call->method && call->path && call->tail && call->body);
	law(strlen(call->body) <= call->body_bytes && call->body_bytes <= BODY_BYTES);
	law(call->remote == (world.mode != UNIX) && (call->remote || call->uid == USER));
	law(world.mode < TCP_TOKEN || world.token_was_sent);
	(void)serve_query(call, "name");
	(void)serve_call_in_group(call, 7);
}

static void reply_now(void *context, struct serve_call *call)
{
	(void)context;
	check_call(call);
	serve_reply(call, 200, "text/plain", call->body, call->body_bytes);
}

static void reply_later(void *context, struct serve_call *call)
{
	check_call(call);
	if (world.waiting == LATER)
		reply_now(context, call);
	else
		world.later[world.waiting++] = call;
}

static void reply_error(void *context, struct serve_call *call)
{
	struct error err = {0};

	(void)context;
	check_call(call);
	error_set(&err, EBUSY, "busy \"%.20s\"", call->body);
	serve_reply_error(call, &err);
}

static const struct serve_route routes[] = {
	{"GET", "/now", reply_now},     {"POST", "/now", reply_now},     {"DELETE", "/now", reply_now},
	{"GET", "/later", reply_later}, {"POST", "/later", reply_later}, {"PUT", "/later", reply_later},
	{"GET", "/error", reply_error}, {"GET", "/", reply_now},         {NULL, NULL, NULL},
};

static void leave_folder(void)
{
	rmdir(world.folder);
}

static void start(void)
{
	bool is_unix = world.mode == UNIX;
	struct serve_options options = {.unix_path = is_unix ? world.path : NULL,
					.address = world.mode == TCP6_TOKEN ? "::1" : "127.0.0.1",
					.token = world.mode >= TCP_TOKEN ? TOKEN : NULL,
					.routes = routes,
					.body_bytes = BODY_BYTES,
					.connections = 8};
	struct error err = {0};

	if (is_unix && !world.path[0]) {
		law(mkdtemp(world.folder));
		snprintf(world.path, sizeof world.path, "%s/s", world.folder);
		atexit(leave_folder);
	}
	world.servers[world.mode] = serve_create(&options, &err);
	law(world.servers[world.mode]);
}

static int connect_unix(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	strcpy(address.sun_path, world.path);
	law(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
	return fd;
}

/* The connection ends with a reset, because connections that end otherwise keep their ports for a minute. */
static int connect_tcp(bool other_host)
{
	struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK + other_host)}},
			   to = {.sin_family = AF_INET,
				 .sin_port = htons(serve_port(world.serve)),
				 .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct sockaddr_in6 to6 = {
		.sin6_family = AF_INET6, .sin6_port = to.sin_port, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	bool six = world.mode == TCP6_TOKEN;
	struct linger linger = {.l_onoff = 1};
	int fd = socket(six ? AF_INET6 : AF_INET, SOCK_STREAM, 0);

	law(fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) == 0);
	if (six)
		law(connect(fd, (struct sockaddr *)&to6, sizeof to6) == 0);
	else
		law(bind(fd, (struct sockaddr *)&from, sizeof from) == 0 &&
		    connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
	return fd;
}

static void connect_client(struct client *client)
{
	client->sent_bytes = 0;
	client->fd = world.mode == UNIX ? connect_unix() : connect_tcp(client == world.clients);
}

static void note_sent(struct client *client, const void *bytes, size_t count)
{
	if (count > SENT_BYTES - client->sent_bytes)
		count = SENT_BYTES - client->sent_bytes;
	memcpy(client->sent + client->sent_bytes, bytes, count);
	client->sent_bytes += count;
	if (memmem(client->sent, client->sent_bytes, TOKEN, strlen(TOKEN)) ||
	    memmem(client->sent, client->sent_bytes, TOKEN_BASE64, strlen(TOKEN_BASE64)))
		world.token_was_sent = true;
}

static void send_part(struct client *client, uint8_t kind)
{
	const char *piece = pieces[(kind & 31) % (sizeof pieces / sizeof *pieces)];
	size_t count = strlen(piece);
	const uint8_t *bytes = (const uint8_t *)piece;

	if (kind & 64)
		bytes = events_bytes(&world.events, 1 + events_byte(&world.events), &count);
	else if (kind & 32)
		count = events_byte(&world.events) % (count + 1);
	note_sent(client, bytes, count);
	(void)!send(client->fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void receive(int fd)
{
	char bytes[4096];

	(void)!recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
}

static void check(void)
{
	size_t calls = 0, bodies = 0, connections = 0, of_users = 0, bodies_of_users = 0;

	for (const struct call *call = world.serve->calls; call; call = call->next) {
		calls++;
		bodies += call->call.body_bytes;
		law(*call->previous == call);
	}
	for (const struct peer *peer = world.serve->peers; peer; peer = peer->next)
		connections++;
	for (const struct user *user = world.serve->users; user; user = user->next) {
		of_users += user->connections;
		bodies_of_users += user->body_bytes;
		law(user->is_host == (world.mode != UNIX) && (user->is_host || user->body_bytes <= BODY_BYTES));
	}
	law(of_users == connections && bodies_of_users == bodies && calls <= connections);
	law(world.waiting <= calls);
}

static void reply_to(size_t at)
{
	struct serve_call *call = world.later[at];

	world.later[at] = world.later[--world.waiting];
	serve_reply(call, 202, "text/plain", "later", 5);
}

static void happen(void)
{
	uint8_t event = events_byte(&world.events);
	struct client *client = &world.clients[event & 3];

	switch (event >> 2 & 7) {
	case 0:
	case 1:
	case 2:
		if (client->fd < 0)
			connect_client(client);
		send_part(client, events_byte(&world.events));
		break;
	case 3:
		if (client->fd >= 0)
			close(client->fd);
		client->fd = -1;
		break;
	case 4:
		if (client->fd >= 0)
			receive(client->fd);
		break;
	case 5:
		if (world.waiting)
			reply_to(event >> 5 < world.waiting ? event >> 5 : 0);
		break;
	case 6:
		passed_ns += (int64_t)(event >> 5) * 6000000000;
		break;
	case 7:
		if (client->fd >= 0)
			shutdown(client->fd, SHUT_WR);
		break;
	}
	serve_run(world.serve);
	law(serve_timeout_ms(world.serve) >= -1);
	check();
}

/* Returns true if the input asks for the server to end while its clients' calls are open. */
static bool begin(const uint8_t *data, size_t size)
{
	uint8_t options;

	world.events = (struct events){data, size};
	world.waiting = 0;
	world.token_was_sent = false;
	passed_ns = 0;
	for (int i = 0; i < CLIENTS; i++)
		world.clients[i].fd = -1;
	options = events_byte(&world.events);
	world.mode = options >> 1 & 3;
	if (!world.servers[world.mode])
		start();
	world.serve = world.servers[world.mode];
	return options & 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool is_end = begin(data, size);

	for (int i = 0; i < 100 && events_left(&world.events); i++)
		happen();
	for (int i = 0; i < CLIENTS; i++)
		if (world.clients[i].fd >= 0)
			close(world.clients[i].fd);
	if (is_end) {
		serve_destroy(world.serve);
		world.servers[world.mode] = NULL;
		return 0;
	}
	while (world.waiting)
		reply_to(0);
	for (int i = 0; i < 20 && world.serve->peers; i++) {
		serve_run(world.serve);
		while (world.waiting)
			reply_to(0);
	}
	law(!world.serve->calls && !world.serve->peers && !world.serve->users);
	return 0;
}
