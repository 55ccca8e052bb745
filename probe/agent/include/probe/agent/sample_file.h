/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes an agent's samples to a file while it runs, on a thread of its own, so that the agent's never waits for a
 * disk; model/rtt_samples.h has the form.
 */
#ifndef PROBE_SAMPLE_FILE_H
#define PROBE_SAMPLE_FILE_H

#include <stdio.h>

#include <base/error.h>
#include <probe/agent/agent.h>

struct sample_file;

/* Agent, peers (for their names) and stream outlive it. NULL with err set. */
struct sample_file *sample_file_start(struct agent *agent, const struct peers *peers, FILE *out, struct error *err);
/* Writes the rest and frees. NULL is legal. */
void sample_file_stop(struct sample_file *file);

#endif
