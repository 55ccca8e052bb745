/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs an MPI program with the recorder in it: a library that LD_PRELOAD loads, and that writes a file for each rank
 * (docs/formats.md, "trace"). The library is made of the room's other sources. One thread; while the command runs,
 * SIGINT and SIGTERM are passed on to it.
 */
#ifndef PREDICT_RECORDER_H
#define PREDICT_RECORDER_H

#include <stdint.h>

#include <base/error.h>

struct recorder_result {
	int status;          /* of the command, as a shell gives it: exit code, or 128 + signal */
	uint64_t ranks;      /* files in the folder */
	uint64_t records;    /* in all files */
	uint64_t unfinished; /* ranks that did not reach MPI_Finalize */
};

/*
 * Makes the folder, in which there must be no traces, and runs the command (NULL-terminated words, looked up in PATH).
 * Returns 0, or -errno with err set; the command has run if no rank was recorded (-ENODATA).
 */
int recorder_run(const char *folder, char *const *words, struct recorder_result *result, struct error *err);

#endif
