/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PTP in captures: pairs the newest request of each port with its answer, including the stamps of follow-ups. A port is
 * identified by its identity and domain. If there are too many ports to remember, all are forgotten. One thread.
 */
#ifndef RTT_CAPTURE_PTP_PRIV_H
#define RTT_CAPTURE_PTP_PRIV_H

#include <probe/rtt/capture.h>
#include <probe/rtt/frame.h>

struct capture_ptp;

/* Returns NULL if out of memory. */
struct capture_ptp *capture_ptp_create(capture_visit visit, void *context, struct capture_counters *counters);
void capture_ptp_destroy(struct capture_ptp *ptp); /* NULL is legal */

/* True for a PTP frame: over Ethernet, or to one of PTP's UDP ports. */
bool capture_ptp_is(const struct frame *frame);
/* Processes a PTP frame that was captured at `at`. Returns 0, -ENOMEM, or a negative result of the visitor. */
int capture_ptp_take(struct capture_ptp *ptp, const struct frame *frame, struct ns at);

#endif
