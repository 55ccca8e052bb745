/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent: the process that sends and receives the data of transfers on one host. It exchanges messages with its
 * parent over a SOCK_SEQPACKET pair, one struct agent_message per packet.
 */
#ifndef LAB_TRANSFER_AGENT_H
#define LAB_TRANSFER_AGENT_H

#include <stdint.h>

#include <base/ns.h>

enum agent_message_kind {
	AGENT_READY,    /* from the agent: it listens for connections */
	AGENT_START,    /* to the agent: send `bytes` to `address` */
	AGENT_CANCEL,   /* to the agent: close the ends of the transfer on this host */
	AGENT_PROGRESS, /* from the agent: `bytes` have been acknowledged so far */
	AGENT_DONE,     /* from the agent: all bytes have been acknowledged */
	AGENT_FAILED,   /* from the agent: see TRANSFER_FAILED */
};

struct agent_message {
	/*
	 * - kind: enum agent_message_kind
	 * - number: number of the transfer
	 * - generation: grows with each start and each cancellation of the transfer, so that the parent can ignore late
	 *   messages about an earlier start
	 */
	uint32_t kind, number, generation;
	uint32_t priority; /* SO_PRIORITY of the transfer's traffic class */
	uint64_t bytes;
	struct ns at;     /* from the agent: when it sent the message, monotonic clock */
	char address[16]; /* AGENT_START: IPv4 address of the receiver */
};

/* Runs the agent in a namespace; never returns. control: the agent's end of the pair; count: number of transfers. */
void transfer_agent_run(const char *netns, int control, uint32_t count) __attribute__((noreturn));

#endif
