/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVE_SERVE_PRIV_H
#define SERVE_SERVE_PRIV_H

#include <netinet/in.h>
#include <sys/socket.h>

#include <microhttpd.h>

#include <base/ns.h>
#include <serve/serve.h>

struct serve {
	struct MHD_Daemon *daemon;
	struct serve_options options;
	char *unix_path, *token;
	uint16_t port;
	struct call *calls; /* list of the open calls */
	struct peer *peers; /* list of the connections */
	struct user *users; /* list of the users or hosts with connections */
	/*
	 * a connection was resumed or deferred, which epoll does not report, so serve_run() must be called again at
	 * once
	 */
	bool resumed;
	bool stops;        /* requests that become complete from now on are not handled */
	unsigned accepted; /* number of connections that the last MHD_run() accepted */
};

/* A uid with connections on the unix socket, or a host with connections by TCP. */
struct user {
	struct user *next;
	bool is_host;
	uid_t uid;
	struct in6_addr address;
	unsigned connections;
	size_t body_bytes;  /* total size of the bodies of the user's open calls */
	struct ns answered; /* time that the current serve_run() has spent on the user's calls */
};

/* A connection. */
struct peer {
	struct peer *next, **previous;
	struct user *user;
	int fd;
	struct ns waits_since; /* when it began to wait for a complete request; 0: a request of it is handled */
};

/* A request from its first line to its reply. */
struct call {
	struct serve_call call;
	struct serve *serve;
	struct MHD_Connection *connection;
	const char *version; /* "HTTP/1.1" */
	struct call *next, **previous;
	struct peer *peer;
	char *body;
	size_t body_capacity;
	struct MHD_Response *response; /* the reply, until it is passed to the connection; NULL = none */
	unsigned status;
	bool too_large, handled, suspended, deferred;
};

struct refusal {
	unsigned status;
	const char *message;
};

/* Returns the reason to refuse a request by its headers, or NULL. */
const struct refusal *admit(const struct serve *serve, struct MHD_Connection *connection, const char *version);

/* Both return a descriptor, or a negative errno with err set. listen_unix() replaces a socket on which nobody listens.
 */
int listen_unix(const struct serve_options *options, struct error *err);
int listen_tcp(const struct serve_options *options, uint16_t *port, struct error *err);

/* Called by libmicrohttpd when a connection begins or ends. A connection beyond its user's limit is shut down. */
void peer_notice(void *context, struct MHD_Connection *connection, void **state,
		 enum MHD_ConnectionNotificationCode what);
/* From now on, the connection has the server's timeout to send a complete request. */
void peer_waits(struct peer *peer);
/* A request of the connection is complete. */
void peer_is_served(struct peer *peer);
/* Shuts down the connections that have not sent a complete request in time. */
void peers_end_late(struct serve *serve);
/* Returns the milliseconds until a connection is late; -1: none waits. */
int peers_timeout_ms(const struct serve *serve);
/* Returns true for users on a unix socket other than root and the server's own. */
bool user_is_limited(const struct user *user);

#endif
