/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the STAMP packets that an agent sent and received to a pcapng file while it runs, on a thread of its own, with
 * the stamps that its samples are made of. A capture on the interface does not see what af_packet's driver sends.
 */
#ifndef PROBE_CAPTURE_FILE_H
#define PROBE_CAPTURE_FILE_H

#include <stdio.h>

#include <base/error.h>
#include <probe/agent/agent.h>

struct capture_file;

/* Agent and stream outlive it; the agent keeps frames. NULL with err set. */
struct capture_file *capture_file_start(struct agent *agent, FILE *out, struct error *err);
/* Writes the rest and frees. A write that failed shows in the stream. NULL is legal. */
void capture_file_stop(struct capture_file *file);

#endif
