/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of the load generator: workload (selects the requests), arrivals (their due times), connection (sends
 * requests and stores those that are not answered yet) and result (the measurements).
 */
#ifndef LOAD_LOAD_PRIV_H
#define LOAD_LOAD_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <base/rng.h>
#include <injector/load/etc.h>
#include <injector/load/load.h>

/*
 * Parser of memcached's text protocol for a client. Parses the answers to `get` of one key and to `set`; these may
 * arrive in fragments of any size, or several at a time. It stores only the sizes of values, not the values. One parser
 * per connection; pure.
 */

enum reply_kind {
	REPLY_HIT,    /* VALUE ... END */
	REPLY_MISS,   /* END */
	REPLY_STORED, /* STORED */
	REPLY_NOT_STORED,
	REPLY_ERROR, /* ERROR, CLIENT_ERROR, SERVER_ERROR */
};

struct reply {
	enum reply_kind kind;
	size_t value_bytes; /* of a hit */
};

enum { REPLY_LINE_BYTES = 512 };

struct reply_parser {
	char line[REPLY_LINE_BYTES]; /* the part of the line received so far; after a reply: its last line; after
					-EPROTO: the invalid line */
	size_t line_bytes;
	size_t skip_bytes; /* bytes of the value and its CRLF that have not arrived yet */
	size_t value_bytes;
	int has_value; /* a VALUE was received; END must follow */
};

void reply_parser_init(struct reply_parser *parser);

/*
 * Parses bytes until one reply is complete or all bytes are used. Sets *used to the number of bytes used. Returns 1 if
 * *reply is filled, 0 if more bytes are needed, or -EPROTO if this is not memcached's text protocol.
 */
int reply_parse(struct reply_parser *parser, const char *bytes, size_t count, size_t *used, struct reply *reply);

enum {
	KEY_BYTES_MAXIMUM = 250,       /* memcached's limit */
	VALUE_BYTES_MAXIMUM = 1000000, /* below memcached's limit for an item, 1 MiB; one ETC draw in 10^9 is longer */
};

struct workload {
	uint64_t key_count;
	char *text;        /* all keys, concatenated */
	uint64_t *offsets; /* key_count + 1 entries */
	char *block;       /* VALUE_BYTES_MAXIMUM printable bytes: every value is a piece of it */
	struct rng rng;
	struct etc_zipf zipf;
	bool skewed;
	double update_share;
};

/* The same seed gives the same keys. */
int workload_init(struct workload *workload, const struct load_settings *settings, struct error *err);
void workload_free(struct workload *workload);
uint64_t workload_pick_key(struct workload *workload);
bool workload_pick_update(struct workload *workload);
size_t workload_pick_value_bytes(struct workload *workload);

struct arrivals {
	enum load_gap gap;
	double scale_ns; /* mean gap; with LOAD_GAP_ETC: ns per µs of a gap drawn from ETC_GAP_US */
	struct rng rng;
	double next_ns; /* time at which the next request is due, ns of CLOCK_MONOTONIC */
};

/* The first request is due at first_ns. */
void arrivals_begin(struct arrivals *arrivals, const struct load_settings *settings, int64_t first_ns);
void arrivals_next(struct arrivals *arrivals);

struct request {
	int64_t due_ns, sent_ns; /* monotonic */
	bool is_set;
};

struct connection {
	int socket;
	bool wants_write; /* epoll is set to report also when the socket can take more bytes */
	struct reply_parser parser;
	char *out;
	size_t out_begin, out_end, out_capacity;
	struct request *requests; /* ring, oldest first: answers come in the order of requests */
	uint32_t head, tail, mask;
};

int connection_open(struct connection *connection, const char *host, const char *port, uint32_t requests_maximum,
		    struct error *err);
void connection_close(struct connection *connection);

static inline uint32_t connection_under_way(const struct connection *connection)
{
	return connection->head - connection->tail;
}

/*
 * Queues a request for sending; connection_under_way() must be below the maximum of connection_open(). Returns 0 or
 * -ENOMEM.
 */
int connection_queue(struct connection *connection, const struct workload *workload, uint64_t key, bool is_set,
		     size_t value_bytes, struct request request);
/* Sends as many of the queued bytes as the socket takes. Returns the number of bytes sent, or -errno with err set. */
int64_t connection_flush(struct connection *connection, struct error *err);

/* Creates the histograms of a result that is all zero. Returns 0, or -errno with err set. */
int result_init(struct load_result *result, struct error *err);
/* Adds an answer that arrived at `now`; `line` is its last line. `measured` is false while filling or warming up. */
void result_add(struct load_result *result, const struct request *request, const struct reply *reply, const char *line,
		int64_t now, bool measured);

#endif
