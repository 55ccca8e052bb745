/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The process that sends and receives on one host, and its messages: one struct agent_message per packet of a
 * SOCK_SEQPACKET pair.
 */
#ifndef LAB_TRANSFER_AGENT_H
#define LAB_TRANSFER_AGENT_H

#include <stdint.h>

#include <base/ns.h>

enum agent_message_kind {
	AGENT_READY,    /* from the agent: it listens */
	AGENT_START,    /* to the agent: send `bytes` to `address` */
	AGENT_CANCEL,   /* to the agent: drop the transfer, sending or receiving */
	AGENT_PROGRESS, /* from the agent: `bytes` acknowledged */
	AGENT_DONE,
	AGENT_FAILED,
};

struct agent_message {
	uint32_t kind, number, generation;
	uint32_t priority; /* of the class */
	uint64_t bytes;
	struct ns at;
	char address[16];
};

/* Runs the agent; never returns. control: the agent's end of the pair. */
void transfer_agent_run(const char *netns, int control, uint32_t count) __attribute__((noreturn));

#endif
