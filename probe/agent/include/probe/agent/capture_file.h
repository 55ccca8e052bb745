/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the STAMP packets that an agent sends and receives to a pcapng file. A separate thread does this while the
 * agent runs. The stamps in the file are those from which the samples are computed. (A capture on the interface does
 * not contain the packets that an af_packet port sends.)
 */
#ifndef PROBE_CAPTURE_FILE_H
#define PROBE_CAPTURE_FILE_H

#include <stdio.h>

#include <base/error.h>
#include <probe/agent/agent.h>

struct capture_file;

/* Agent and stream must outlive the file; the agent's options.frames must not be 0. Returns NULL with err set. */
struct capture_file *capture_file_start(struct agent *agent, FILE *out, struct error *err);
/* Writes the remaining frames and frees the file. A failed write sets the stream's error flag. NULL is legal. */
void capture_file_stop(struct capture_file *file);

#endif
