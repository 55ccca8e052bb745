/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small HTTP/1.1 server on libmicrohttpd for daemons that run an event loop. It has no threads: the caller polls
 * serve_fd() and calls serve_run(). One thread.
 *
 * A server listens on a unix socket, where the caller's uid is known (SO_PEERCRED), or on a TCP address, where each
 * request needs "Authorization: Bearer TOKEN", or TOKEN as the password of "Authorization: Basic", unless the server
 * has no token. Bodies, connections and idle time are limited. On a unix socket, each uid other than root's and the
 * server's own has two further limits:
 * - a quarter of the connections, plus one; further connections are closed
 * - for the bodies of all its open calls together, the size of the largest body allowed; a body beyond that is refused
 *   as too large
 *
 * A handler replies at once or later; until then the connection waits.
 */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <base/error.h>

struct serve;

/* One request, valid until it is replied to. */
struct serve_call {
	const char *method; /* "GET", "POST", "PUT", "DELETE" */
	const char *path;   /* "/v1/jobs" */
	const char *tail;   /* the path after the route's prefix: "web" of /v1/jobs/web; "" if it ends there */
	const char *body;   /* NUL-terminated; "" without one */
	size_t body_bytes;
	uid_t uid; /* uid of the caller, on a unix socket */
	gid_t gid;
	bool remote; /* the call came by TCP: uid and gid mean nothing */
};

/* Returns the value of a query parameter ("3" for "after" of ?after=3), or NULL. The text belongs to the call. */
const char *serve_query(const struct serve_call *call, const char *name);

/* Returns true if the caller on a unix socket is a member of the group, by its primary or another one. */
bool serve_call_in_group(const struct serve_call *call, gid_t group);

/*
 * serve_reply() sends the status (200, 404, ...) and a copy of `text`, and ends the call. serve_reply_error() sends
 * {"error": "..."} with a status that fits err->code: EINVAL and EILSEQ 400, EACCES and EPERM 403, ENOENT 404, EEXIST
 * and EBUSY 409, E2BIG 413, EREMOTE 421, EAGAIN and ENOSPC 503, others 500.
 */
void serve_reply(struct serve_call *call, unsigned status, const char *content_type, const char *text, size_t bytes);
void serve_reply_error(struct serve_call *call, const struct error *err);

/*
 * A table of routes ends with a row whose method is NULL. A prefix matches the path that is equal to it, and paths that
 * continue it after a '/'; "/" matches only itself.
 */
struct serve_route {
	const char *method, *prefix;
	void (*handle)(void *context, struct serve_call *call);
};

struct serve_options {
	/*
	 * Set either unix_path, or address and port for TCP. A unix socket replaces the socket file of a server that no
	 * longer runs. unix_mode is its mode; 0 = 0666, because each call carries the caller's uid.
	 */
	const char *unix_path;
	mode_t unix_mode;
	const char *address; /* "127.0.0.1", "::1" */
	uint16_t port;       /* 0 = any free port; serve_port() returns it */
	const char *token;   /* for TCP; NULL: open to everybody who can connect */
	const struct serve_route *routes;
	void *context;
	size_t body_bytes;    /* limit for a request's body; 0 = 1 MiB */
	unsigned connections; /* limit for open connections; 0 = 512 */
	unsigned timeout_s;   /* idle time after which a connection is closed; 0 = 30 */
};

/*
 * Returns NULL with err set on failure: for example, the address is bad or in use (EADDRINUSE: another server listens
 * on the unix socket).
 */
struct serve *serve_create(const struct serve_options *options, struct error *err);

/* Ends open calls with 503 and removes the unix socket. NULL is legal. */
void serve_destroy(struct serve *serve);

/* Returns a descriptor that is readable when serve_run() has something to do. It belongs to the server. */
int serve_fd(const struct serve *serve);
/* Accepts connections, reads requests and sends replies as far as possible without waiting; calls the handlers. */
void serve_run(struct serve *serve);
/* Returns the milliseconds after which serve_run() must be called even if serve_fd() is not readable; -1 = no limit. */
int serve_timeout_ms(struct serve *serve);
uint16_t serve_port(const struct serve *serve);

#endif
