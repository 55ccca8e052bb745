/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A memcached client for measuring. In the closed loop, each connection keeps `depth` requests outstanding. In the open
 * loop, requests are sent when they are due, whether or not earlier ones were answered. After the warm-up, the client
 * measures for `duration`; this interval is the window.
 *
 * In the open loop, the response time of a request counts from the moment at which it was due, not from sending. So a
 * stall of the server, or of this client, is part of the response time of every request that it delayed: no coordinated
 * omission (Tene). The service time, from sending to the answer, is recorded separately. One thread; all times in ns.
 */
#ifndef LOAD_LOAD_H
#define LOAD_LOAD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <base/error.h>
#include <base/histogram.h>
#include <base/ns.h>

enum load_mode { LOAD_CLOSED, LOAD_OPEN };
enum load_gap { LOAD_GAP_ETC, LOAD_GAP_EXPONENTIAL, LOAD_GAP_FIXED };

struct load_settings {
	const char *host, *port;
	enum load_mode mode;
	enum load_gap gap; /* open loop: distribution of the gaps between requests */
	double rate_per_s; /* open loop: requests per second; 0 = the rate of the ETC pool (mean gap 19 µs) */
	int connections;   /* 1..1024 */
	int depth; /* outstanding requests per connection; open loop: their maximum, values below 1024 count as 1024 */
	uint64_t keys;       /* 1..100e6 */
	double skew;         /* skew of key popularity (etc.h), 0 = uniform */
	double update_share; /* 0..1 */
	bool fill;           /* store every key first */
	struct ns warm_up, duration, timeout;
	uint64_t seed;
	const volatile sig_atomic_t *stop; /* set it to end the measurement early; may be NULL */
	void (*progress)(void *context, const char *phase, double share); /* a few times a second; may be NULL */
	void *progress_context;
};

struct load_counts {
	uint64_t gets, sets, hits, misses, stored, errors; /* errors: answers that report an error, or NOT_STORED */
	uint64_t bytes_in, bytes_out;
};

enum { LOAD_REFUSAL_BYTES = 120 };

struct load_result {
	/*
	 * Only measured answers. Open loop: answers to requests that were due in the window. Closed loop: answers that
	 * arrived in the window.
	 */
	struct load_counts measured;
	struct load_counts total;         /* all requests and answers, including the storing of the keys */
	char refusal[LOAD_REFUSAL_BYTES]; /* the first answer that is an error, "" = none */
	struct ns elapsed;                /* length of the window */
	uint64_t unanswered;       /* open loop: requests due in the window that were not answered before the timeout */
	double request_rate_per_s; /* measured answers per second of the window */
	double offered_rate_per_s; /* open loop: requests due per second of the window */
	/* Open loop: from the due time to the answer; closed loop: from sending to the answer. */
	struct histogram *response_ns;
	struct histogram *get_ns, *set_ns; /* like response_ns, for get and for set requests only */
	struct histogram *service_ns;      /* from sending to the answer */
};

/*
 * Returns 0 and a result, which the caller frees with load_result_free(); or -errno with err set. Uses sockets, but no
 * signals or threads.
 */
int load_run(const struct load_settings *settings, struct load_result *result, struct error *err);
void load_result_free(struct load_result *result);

/* Reports the result of a load as text and as JSON. `server` is the name as the user gave it. */

extern const char *const load_mode_names[]; /* by enum load_mode, NULL at the end */

/*
 * Splits "HOST", "HOST:PORT" or "[IPv6]:PORT". *host and *port point into `text`, which is modified; the default port
 * is 11211. Returns 0, or -EINVAL with err set.
 */
int load_split_server(char *text, const char **host, const char **port, struct error *err);

void load_print(const struct load_settings *settings, const char *server, const struct load_result *result, FILE *out);
/* If no request was answered in the measured time, logs a warning with the likely cause and returns true. */
bool load_explain_nothing(const struct load_settings *settings, const struct load_result *result);
/* Returns JSON (nomora.load/1), or NULL if out of memory. */
json_t *load_to_json(const struct load_settings *settings, const char *server, const struct load_result *result);

#endif
