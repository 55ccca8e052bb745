/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A request-response application, from a capture of its TCP connections, and its execution graph. The contents of the
 * packets are not read, so that TLS needs no keys and a snap length of 54 bytes (IPv6: 74) suffices.
 *
 * A message is a run of segments up to one with PSH, which the kernels of Linux and BSD set at the end of a write. The
 * k-th message of a client and the k-th of the server are a turn if their numbers fit and the acknowledgements allow
 * it: that is also right for pipelining. Else (TLS records, unasked messages), a turn is all that a client sends before
 * the server does, and all that the server sends then.
 *
 * The graph. A turn begins when the client sends, which it does some think time after the response that the request's
 * acknowledgement shows to be the newest that it had. A connection is thus a chain, and a connection without turns in
 * the air begins after the latest response to the same host. The server answers after its service time. Both ends are
 * resources: a client or a server that works on one request at a time begins a request when it is there and the
 * request before it, in recorded order, is done:
 *
 *	done(k) = max(arrived(k), done(k - 1)) + service(k)
 *
 * so a server that was saturated hides latency, up to the round trip at which it is idle between requests. The second
 * edge is only where the recording has such a wait: elsewhere it would tie connections together that did not meet. The
 * recorded order is the assumption: with other latencies, requests may meet in another order. An end works on one
 * request at a time if its requests leave in the order in which they came; where they overtake each other, it works on
 * them in parallel (threads, processes) and no request waits for another connection's.
 *
 * At no added latency, the graph's run time is the recorded one. If requests come without waiting for responses (an
 * open loop), they come at their recorded times at every latency.
 *
 * The capture point may be anywhere: its round trips to both ends are the least times from a segment to its
 * acknowledgement, one for each client host. One thread.
 */
#ifndef PREDICT_TURNS_H
#define PREDICT_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <base/address.h>
#include <base/error.h>
#include <predict/graph/graph.h>
#include <probe/rtt/frame.h>

enum turns_loop { TURNS_CLOSED, TURNS_OPEN };

/* A host, which is a rank of the graph. The first one is a server. */
struct turns_host {
	ip_address address;
	bool server;
	bool serial;                     /* one request at a time */
	uint64_t overlapping, overtaken; /* requests that came before the one before them had left; and left first */
	double busy_ns;                  /* a server: sum of the service times */
	double server_ns, client_ns;     /* a client: round trips from the capture point; INFINITY = not seen */
};

struct turn {
	uint32_t connection;
	uint32_t trigger; /* the turn whose response the client waited for; TURNS_NONE */
	bool handshake;
	double request_ns[2], response_ns[2]; /* first and last segment, since the first segment of the capture */
};

enum { TURNS_NONE = UINT32_MAX };

struct turns_connection {
	uint32_t client, server; /* hosts */
	bool by_messages;        /* turns are pairs of messages, not of runs of messages */
	uint32_t outstanding;    /* most requests without a response */
};

struct turns {
	struct turns_host *hosts;
	size_t host_count, host_capacity;
	struct turns_connection *connections; /* those with turns */
	size_t connection_count, connection_capacity;
	struct turn *turns; /* by connection, then by time */
	size_t turn_count, turn_capacity;
	uint16_t port; /* of the servers */
	enum turns_loop loop;
	double think_ns, service_ns, run_ns; /* medians; from the first request to the last response */
	uint64_t segments;                   /* with data, of the port */
	uint64_t repeated, missing;          /* retransmitted; not captured */
	uint64_t unanswered;                 /* requests without a response */
	uint64_t long_messages;              /* messages above TURNS_LONG_BYTES */
	uint64_t partial;                    /* connections that began before the capture */
	uint64_t others;                     /* connections to other ports: ignored */
};

/* A sender waits for acknowledgements after its first 10 segments (RFC 6928), which costs round trips in a message. */
enum { TURNS_LONG_BYTES = 10 * 1448 };

/*
 * Reads packets (probe/rtt/frame.h) and closes them; NULL: they could not be opened, as err says. `name` is for
 * messages. The turns are not initialised before. port: of the servers, 0 = that with the most messages. Returns 0, or
 * -errno with err set; turns_free() is legal after both.
 */
int turns_read(struct packets *packets, const char *name, uint16_t port, struct turns *turns, struct error *err);
void turns_free(struct turns *turns);
/* True if the file begins as pcap and pcapng do. */
bool turns_is_capture(const char *path);

/* The least round trip between a client and a server. */
double turns_rtt_ns(const struct turns *turns);

/*
 * Makes the graph, whose latency is half of turns_rtt_ns(), and sets serial, overlapping, overtaken and busy_ns of the
 * hosts. Returns 0 or -ENOMEM with err set; execution_graph_free() is legal after both.
 */
int turns_build(struct turns *turns, struct execution_graph *graph, struct error *err);

void turns_print(const struct turns *turns, FILE *out); /* what was found, and what is not modelled: some lines */
json_t *turns_json(const struct turns *turns);          /* member "capture" of nomora.predict/1; NULL: out of memory */

#endif
