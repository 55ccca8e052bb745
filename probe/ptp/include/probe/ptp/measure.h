/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Delays to a PTP clock, measured over a Linux interface with the kernel's software time stamps; no clock is adjusted.
 * Needs root. The other clock is a two-step one. One thread.
 *
 * Peer delay (IEEE 1588-2008 section 11.4): t1 our request leaves, t2 it arrives at the peer, t3 its response leaves,
 * t4 that arrives here; the delay of one way is ((t4 - t1) - (t3 - t2)) / 2, less corrections. Delay request-response
 * (section 11.3): t1 a Sync leaves the master, t2 it arrives, t3 our request leaves, t4 it arrives at the master; the
 * delay is
 * ((t2 - t1) + (t4 - t3)) / 2 and our clock's offset ((t2 - t1) - (t4 - t3)) / 2, if both ways take equally long. In
 * both cases the two one-way times contain the offset between the clocks.
 */
#ifndef PTP_MEASURE_H
#define PTP_MEASURE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <base/ns.h>
#include <probe/ptp/message.h>

enum ptp_transport { PTP_L2, PTP_UDP4, PTP_UDP6 };
enum ptp_mechanism { PTP_PEER_DELAY, PTP_E2E };

struct ptp_options {
	const char *interface;
	enum ptp_transport transport;
	enum ptp_mechanism mechanism;
	uint8_t domain;
	uint64_t count; /* requests */
	struct ns interval, timeout;
};

struct ptp_sample {
	struct ns out;    /* from us to the other clock, by both clocks */
	struct ns back;   /* from there to us */
	struct ns delay;  /* half of their sum */
	struct ns offset; /* our clock minus the other, if both ways take equally long */
};

struct ptp_result {
	struct ptp_sample *samples; /* the result's own: ptp_result_free() */
	size_t count, capacity;
	uint64_t requests, unanswered;
	struct ptp_identity peer; /* of the newest sample */
};

/* Sends the requests; ends early when *stop is not 0. 0 or -errno with err set. */
int ptp_measure(const struct ptp_options *options, struct ptp_result *result, const volatile sig_atomic_t *stop,
		struct error *err);
struct ptp_figures {
	double min_us, p50_us, p99_us, max_us;
};
enum ptp_quantity { PTP_DELAY, PTP_OFFSET, PTP_OUT, PTP_BACK, PTP_QUANTITIES };
/* Of at least one sample. 0 or -ENOMEM. */
int ptp_figures(const struct ptp_result *result, enum ptp_quantity quantity, struct ptp_figures *figures);

void ptp_result_free(struct ptp_result *result);

#endif
