/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A memcached client for measuring: closed loop (each connection keeps `depth` requests outstanding) or open loop
 * (requests are sent when they are due, whether or not earlier ones were answered). In the open loop a response time
 * counts from the moment a request was DUE, so that a stall of the server, or of this client, is seen by every request
 * that it held up: no coordinated omission (Tene). The service time, from the moment of sending, is recorded
 * separately. One thread; all times in ns.
 */
#ifndef LOAD_LOAD_H
#define LOAD_LOAD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include <base/error.h>
#include <base/histogram.h>
#include <base/ns.h>

enum load_mode { LOAD_CLOSED, LOAD_OPEN };
enum load_gap { LOAD_GAP_ETC, LOAD_GAP_EXPONENTIAL, LOAD_GAP_FIXED };

struct load_settings {
	const char *host, *port;
	enum load_mode mode;
	enum load_gap gap;   /* open loop: shape of the gaps between requests */
	double rate_per_s;   /* open loop; 0 = the ETC pool's own mean gap (19 µs) */
	int connections;     /* 1..1024 */
	int depth;           /* outstanding requests per connection; open loop: their maximum, at least 1024 */
	uint64_t keys;       /* 1..100e6 */
	double skew;         /* of key popularity, 0 = uniform */
	double update_share; /* 0..1 */
	bool fill;           /* store every key first */
	struct ns warm_up, duration, timeout;
	uint64_t seed;
	const volatile sig_atomic_t *stop; /* set it to end the measurement early; may be NULL */
	void (*progress)(void *context, const char *phase, double share); /* a few times a second; may be NULL */
	void *progress_context;
};

struct load_counts {
	uint64_t gets, sets, hits, misses, stored, errors; /* errors: error answers, NOT_STORED included */
	uint64_t bytes_in, bytes_out;
};

enum { LOAD_REFUSAL_BYTES = 120 };

struct load_result {
	struct load_counts measured; /* answers in the measured window */
	struct load_counts total;    /* requests and answers since the connections were opened, the filling included */
	char refusal[LOAD_REFUSAL_BYTES]; /* the first answer that is an error, "" = none */
	struct ns elapsed;                /* length of the measured window */
	uint64_t unanswered;       /* open loop: requests due in the window that were not answered before the timeout */
	double request_rate_per_s; /* answers per second of the window */
	double offered_rate_per_s; /* open loop: requests that were due per second */
	struct histogram *response_ns;     /* open: from due to answered; closed: from sent to answered */
	struct histogram *get_ns, *set_ns; /* the same, get and set separately */
	struct histogram *service_ns;      /* from sent to answered */
};

/*
 * Returns 0 and a result to be freed with load_result_free(), or -errno with err set. Uses sockets, but no signals or
 * threads.
 */
int load_run(const struct load_settings *settings, struct load_result *result, struct error *err);
void load_result_free(struct load_result *result);

#endif
