/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control socket of the injector: clients that send their requests in parts, leave, or do not read, over a real
 * socket. Each whole line gets one line of JSON, in order, and a client beyond the limit takes another one's place.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <base/control.h>

#include "fuzz_events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CLIENTS = 4, LONGEST = 4095, UNREAD = 30 };

static struct {
	struct control_server *server;
	char folder[64], path[96];
	struct events events;
	int requests;
} world = {.folder = "/tmp/nomora-fuzz-control.XXXXXX"};

/* Lines sent and not answered yet, and whether the client sent a line that must end the connection. */
struct fake_client {
	int fd;
	size_t sent; /* bytes of the line that is not complete */
	size_t lines;
	bool too_long;
};

static struct fake_client clients[CLIENTS];

static json_t *handle(void *context, const char *line, struct error *err)
{
	(void)context;
	world.requests++;
	law(strlen(line) <= LONGEST && !strchr(line, '\n'));
	if (strncmp(line, "stats", 5) == 0)
		return json_pack("{s:i}", "requests", world.requests);
	error_set(err, EINVAL, "unknown request '%s'", line);
	return NULL;
}

static void leave_folder(void)
{
	control_server_destroy(world.server);
	rmdir(world.folder);
}

static void start(void)
{
	struct error err = {0};

	law(mkdtemp(world.folder));
	snprintf(world.path, sizeof world.path, "%s/s", world.folder);
	world.server = control_server_create(world.path, handle, NULL, &err);
	law(world.server);
	atexit(leave_folder);
}

static void connect_client(struct fake_client *client)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	*client = (struct fake_client){.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0)};
	strcpy(address.sun_path, world.path);
	law(client->fd >= 0 && connect(client->fd, (struct sockaddr *)&address, sizeof address) == 0);
	control_poll(world.server, (struct ns){0});
}

static void send_part(struct fake_client *client)
{
	static const char *const pieces[] = {"stats\n", "set delay_us=20\n", "sta",    "ts",
					     "\n",      "stop\nstats\n",     "\xff\n", " "};
	uint8_t kind = events_byte(&world.events);
	const uint8_t *bytes = (const uint8_t *)pieces[kind & 7];
	size_t count = strlen(pieces[kind & 7]);

	if (kind & 64)
		bytes = events_bytes(&world.events, events_byte(&world.events) * 17U, &count);
	for (size_t i = 0, lines = client->lines; i < count; i++)
		if (bytes[i] == '\n' && ++lines > UNREAD)
			count = i; /* more would fill the client's buffer, for which the server waits a second */
	if (send(client->fd, bytes, count, MSG_NOSIGNAL) != (ssize_t)count)
		return;
	for (size_t i = 0; i < count; i++) {
		client->sent++;
		client->too_long |= client->sent >= LONGEST;
		if (bytes[i] != '\n')
			continue;
		client->lines++;
		client->sent = 0;
	}
}

/* Reads all answers: one for each line, unless the connection had to end. */
static void receive(struct fake_client *client)
{
	char text[65536];
	size_t lines = 0;
	ssize_t count;

	while ((count = recv(client->fd, text, sizeof text, 0)) > 0)
		for (ssize_t i = 0; i < count; i++)
			lines += text[i] == '\n';
	law(lines <= client->lines);
	law(client->too_long || lines == client->lines);
	law(client->too_long || count < 0);
	client->lines = 0;
}

static void happen(void)
{
	uint8_t event = events_byte(&world.events);
	struct fake_client *client = &clients[event & 3];
	int answered;

	if (client->fd < 0)
		connect_client(client);
	switch (event >> 2 & 3) {
	case 0:
	case 1:
		send_part(client);
		break;
	case 2:
		for (int i = 0; i < 4; i++)
			control_poll(world.server, (struct ns){0});
		receive(client);
		break;
	case 3:
		close(client->fd);
		client->fd = -1;
		break;
	}
	world.requests = 0;
	answered = control_poll(world.server, (struct ns){0});
	law(answered <= world.requests);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	world.events = (struct events){data, size};
	if (!world.server)
		start();
	for (int i = 0; i < CLIENTS; i++)
		clients[i].fd = -1;
	for (int i = 0; i < 60 && events_left(&world.events); i++)
		happen();
	for (int i = 0; i < CLIENTS; i++)
		if (clients[i].fd >= 0)
			close(clients[i].fd);
	for (int i = 0; i < 4; i++)
		control_poll(world.server, (struct ns){0});
	return 0;
}
