/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PTP in captures: the newest request of each port meets its answer, with the stamps of both and of follow-ups. A port
 * is identified by its identity and domain; when there are too many to remember, all are forgotten. One thread.
 */
#ifndef RTT_CAPTURE_PTP_PRIV_H
#define RTT_CAPTURE_PTP_PRIV_H

#include <probe/rtt/capture.h>
#include <probe/rtt/frame.h>

struct capture_ptp;

/* NULL = out of memory. */
struct capture_ptp *capture_ptp_create(capture_visit visit, void *context, struct capture_counters *counters);
void capture_ptp_destroy(struct capture_ptp *ptp); /* NULL is legal */

/* True for a PTP frame: over Ethernet, or from or to PTP's UDP ports. */
bool capture_ptp_is(const struct frame *frame);
/* 0, -ENOMEM or what the visitor said. */
int capture_ptp_take(struct capture_ptp *ptp, const struct frame *frame, struct ns at);

#endif
