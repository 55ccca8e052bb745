/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures delays to a PTP clock by the exchanges of <probe/ptp/message.h>; no clock is adjusted. Measures the first
 * clock that answers, and ignores answers and Syncs of others. One thread.
 *
 * A link carries the messages: the kernel's sockets on a Linux interface (ptp_measure_interface()), or a DPDK port
 * whose NIC may stamp them. An exchange with both kinds of stamps gives a sample of each kind.
 */
#ifndef PTP_MEASURE_H
#define PTP_MEASURE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <base/error.h>
#include <base/ns.h>
#include <probe/ptp/message.h>

enum ptp_transport { PTP_L2, PTP_UDP4, PTP_UDP6 };

struct ptp_options {
	const char *interface;
	enum ptp_transport transport;
	enum ptp_mechanism mechanism;
	uint8_t domain;
	uint64_t count; /* number of requests */
	struct ns interval, timeout;
};

struct ptp_link {
	struct ptp_identity identity; /* ours */
	bool has_hardware;            /* the NIC has a PTP clock */
	void *context;
	/*
	 * Sends a request and waits for the stamps of its departure; the software stamp is required. Returns 0, or
	 * -errno with err set.
	 */
	int (*send)(void *context, const struct ptp_message *request, struct ptp_moment *left, struct error *err);
	/* Waits up to `timeout` for a PTP message. Returns 1 if one was received, 0 if not, or -errno. */
	int (*receive)(void *context, struct ns timeout, struct ptp_message *message, struct ptp_moment *arrived);
};

struct ptp_samples {
	struct ptp_sample *items;
	size_t count, capacity;
};

struct ptp_result {
	struct ptp_samples by[PTP_STAMPS]; /* free with ptp_result_free() */
	bool has_hardware;
	/* unsynced: the part of `unanswered` for which no Sync was received; one_step: exchanges with a one-step clock
	 */
	uint64_t requests, unanswered, unsynced, one_step;
	/*
	 * Numbers of exchanges without a sample of the NIC:
	 *   - unstamped: answered, but the NIC did not stamp both directions
	 *   - outliers: dropped, because the round trip by the NIC's stamps is negative or longer than by the software
	 *     stamps (it must be shorter: on departure, the software stamp is earlier than the NIC's; on arrival, it is
	 *     later)
	 */
	uint64_t unstamped, outliers;
	struct ptp_identity peer; /* the measured clock */
};

/* Sends the requests; ends early when *stop is not 0. Returns 0, or -errno with err set. */
int ptp_measure(const struct ptp_options *options, const struct ptp_link *link, struct ptp_result *result,
		const volatile sig_atomic_t *stop, struct error *err);
/* Like ptp_measure(), over a Linux interface with the kernel's software time stamps. Needs root. */
int ptp_measure_interface(const struct ptp_options *options, struct ptp_result *result,
			  const volatile sig_atomic_t *stop, struct error *err);

struct ptp_figures {
	double min_us, p50_us, p99_us, max_us;
};
enum ptp_quantity { PTP_DELAY, PTP_OFFSET, PTP_OUT, PTP_BACK, PTP_QUANTITIES };
/* Returns 0, -ENODATA if no sample has this quantity, or -ENOMEM. */
int ptp_figures(const struct ptp_samples *samples, enum ptp_quantity quantity, struct ptp_figures *figures);

void ptp_result_free(struct ptp_result *result);

/* Prints the results of a PTP measurement, as text and as JSON. */

/* Prints the counts, the other clock and one line per quantity. Returns 0, or -ENOMEM with err set. */
int ptp_result_print(const struct ptp_result *result, FILE *out, struct error *err);
/* Writes nomora.ptp/1; path "-" = stdout. Returns 0, or -errno with err set. */
int ptp_result_write_json(const struct ptp_result *result, const char *path, struct error *err);

#endif
