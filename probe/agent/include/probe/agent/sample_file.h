/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes an agent's samples to a file while the agent runs, on a separate thread, so that the agent never waits for a
 * disk. model/rtt_samples.h describes the format.
 */
#ifndef PROBE_SAMPLE_FILE_H
#define PROBE_SAMPLE_FILE_H

#include <stdio.h>

#include <base/error.h>
#include <probe/agent/agent.h>

struct sample_file;

/* Agent, peers (for their names) and stream must outlive the file. Returns NULL with err set. */
struct sample_file *sample_file_start(struct agent *agent, const struct peers *peers, FILE *out, struct error *err);
/* Writes the remaining samples and frees the file. NULL is legal. */
void sample_file_stop(struct sample_file *file);

#endif
