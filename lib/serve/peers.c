/* SPDX-License-Identifier: BSD-3-Clause */
/* The connections, the users and hosts they come from, and the time until which each must have sent its request. */
#include "serve_priv.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * A user on a unix socket, or a host by TCP, has at most 1 / USER_PARTS of the connections, plus one, so that some are
 * free for others. This limit does not apply to root and to the server's own user.
 */
enum { USER_PARTS = 4 };

static bool is_privileged(const struct user *user)
{
	return !user->is_host && (user->uid == 0 || user->uid == geteuid());
}

bool user_is_limited(const struct user *user)
{
	return !user->is_host && !is_privileged(user);
}

static struct user identify(const struct serve *serve, int fd)
{
	struct user who = {.is_host = !serve->unix_path, .uid = (uid_t)-1};
	struct ucred credentials;
	struct sockaddr_storage address = {0};
	socklen_t credentials_bytes = sizeof credentials, address_bytes = sizeof address;

	if (serve->unix_path) {
		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &credentials_bytes) == 0)
			who.uid = credentials.uid;
	} else if (getpeername(fd, (struct sockaddr *)&address, &address_bytes) == 0) {
		if (address.ss_family == AF_INET)
			memcpy(&who.address, &((struct sockaddr_in *)&address)->sin_addr, sizeof(struct in_addr));
		else
			who.address = ((struct sockaddr_in6 *)&address)->sin6_addr;
	}
	return who;
}

static struct user *enter_user(struct serve *serve, const struct user *who)
{
	struct user *user = serve->users;

	while (user && (user->uid != who->uid || memcmp(&user->address, &who->address, sizeof who->address) != 0))
		user = user->next;
	if (!user) {
		user = malloc(sizeof *user);
		if (!user)
			return NULL;
		*user = *who;
		user->next = serve->users;
		serve->users = user;
	}
	user->connections++;
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

static void leave(struct serve *serve, struct peer *peer)
{
	leave_user(serve, peer->user);
	*peer->previous = peer->next;
	if (peer->next)
		peer->next->previous = peer->previous;
	free(peer);
}

static struct peer *enter(struct serve *serve, int fd)
{
	struct user who = identify(serve, fd);
	struct peer *peer = calloc(1, sizeof *peer);

	if (!peer)
		return NULL;
	peer->user = enter_user(serve, &who);
	if (!peer->user) {
		free(peer);
		return NULL;
	}
	peer->fd = fd;
	peer->previous = &serve->peers;
	peer->next = serve->peers;
	if (peer->next)
		peer->next->previous = &peer->next;
	serve->peers = peer;
	peer_waits(peer);
	return peer;
}

void peer_notice(void *context, struct MHD_Connection *connection, void **state,
		 enum MHD_ConnectionNotificationCode what)
{
	struct serve *serve = context;
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct peer *peer;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (*state)
			leave(serve, *state);
		return;
	}
	serve->accepted++;
	if (!info)
		return;
	*state = peer = enter(serve, info->connect_fd);
	if (!peer ||
	    (!is_privileged(peer->user) && peer->user->connections > 1 + serve->options.connections / USER_PARTS))
		shutdown(info->connect_fd, SHUT_RDWR);
}

void peer_waits(struct peer *peer)
{
	peer->waits_since = ns_now_monotonic();
}

void peer_is_served(struct peer *peer)
{
	peer->waits_since = (struct ns){0};
}

/* Returns the time until the connection is late; INT64_MAX if a request of it is handled. */
static struct ns time_left(const struct serve *serve, const struct peer *peer, struct ns now)
{
	struct ns limit = {(int64_t)serve->options.timeout_s * 1000000000};

	if (peer->waits_since.v == 0)
		return (struct ns){INT64_MAX};
	return ns_sub(ns_add(peer->waits_since, limit), now);
}

void peers_end_late(struct serve *serve)
{
	struct ns now = ns_now_monotonic();

	for (struct peer *peer = serve->peers; peer; peer = peer->next) {
		if (time_left(serve, peer, now).v > 0)
			continue;
		peer_is_served(peer); /* ends it only once */
		shutdown(peer->fd, SHUT_RDWR);
	}
}

int peers_timeout_ms(const struct serve *serve)
{
	struct ns now = ns_now_monotonic(), least = {INT64_MAX};

	for (const struct peer *peer = serve->peers; peer; peer = peer->next) {
		struct ns left = time_left(serve, peer, now);

		least = left.v < least.v ? left : least;
	}
	if (least.v == INT64_MAX)
		return -1;
	return least.v <= 0 ? 0 : (int)(least.v / 1000000) + 1;
}
