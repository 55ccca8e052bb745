/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the STAMP packets that an agent sent and received to a pcapng file while it runs, on a separate thread, with
 * the stamps from which samples are computed. A capture on the interface does not see the packets that af_packet's
 * driver sends.
 */
#ifndef PROBE_CAPTURE_FILE_H
#define PROBE_CAPTURE_FILE_H

#include <stdio.h>

#include <base/error.h>
#include <probe/agent/agent.h>

struct capture_file;

/* Agent and stream outlive it; the agent keeps frames. NULL with err set. */
struct capture_file *capture_file_start(struct agent *agent, FILE *out, struct error *err);
/* Writes the remaining frames and frees. A failed write sets the stream's error flag. NULL is legal. */
void capture_file_stop(struct capture_file *file);

#endif
