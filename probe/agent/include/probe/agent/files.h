/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that an agent's threads write while the agent runs. */
#ifndef PROBE_AGENT_FILES_H
#define PROBE_AGENT_FILES_H

#include <stdio.h>

#include <base/error.h>
#include <probe/agent/agent.h>

/*
 * Writes an agent's samples to a file while the agent runs, on a separate thread, so that the agent never waits for a
 * disk. model/rtt_samples.h describes the format.
 */

struct sample_file;

/* Agent, peers (for their names) and stream must outlive the file. Returns NULL with err set. */
struct sample_file *sample_file_start(struct agent *agent, const struct peers *peers, FILE *out, struct error *err);
/* Writes the remaining samples and frees the file. NULL is legal. */
void sample_file_stop(struct sample_file *file);

/*
 * Writes the STAMP packets that an agent sends and receives to a pcapng file. A separate thread does this while the
 * agent runs. The stamps in the file are those from which the samples are computed. (A capture on the interface does
 * not contain the packets that an af_packet port sends.)
 */

struct capture_file;

/* Agent and stream must outlive the file; the agent's options.frames must not be 0. Returns NULL with err set. */
struct capture_file *capture_file_start(struct agent *agent, FILE *out, struct error *err);
/* Writes the remaining frames and frees the file. A failed write sets the stream's error flag. NULL is legal. */
void capture_file_stop(struct capture_file *file);

#endif
