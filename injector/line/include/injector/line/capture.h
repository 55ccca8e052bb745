/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Captures the packets that enter and leave the injector in a pcapng file. The file has nanosecond stamps; interface 0
 * is port A, interface 1 is port B; the flags of each frame give its direction. Only the first 240 bytes of each frame
 * are captured. A separate thread writes the file, so that the polling loop never waits for it. Read the file with
 * `nomora inject-check`, Wireshark or tcpdump.
 */
#ifndef INJECTOR_CAPTURE_H
#define INJECTOR_CAPTURE_H

#include <stdint.h>

#include <base/error.h>
#include <dp/clock.h>

struct injector_capture;

/* Creates a capture, to be passed to injector_create(), but no file yet. Returns NULL with err set if out of memory. */
struct injector_capture *injector_capture_create(const char *path, const struct dp_clock *clock, struct error *err);

/*
 * Creates the file, writes its header and starts the thread. Call it last before injector_start(). The file is complete
 * after injector_capture_close(); if the process is killed before that, the incomplete file is still readable. Returns
 * 0, or -errno with err set if the file cannot be written; then no file remains.
 */
int injector_capture_start(struct injector_capture *capture, struct error *err);

/*
 * Writes the remaining frames, and the number of frames that are missing in the file. Call it after injector_stop().
 * injector_capture_lost() and injector_capture_written() may be called until injector_capture_close(). Returns 0, or
 * -errno with err set if any write failed; the file then ends with the last whole frame. NULL is legal.
 */
int injector_capture_finish(struct injector_capture *capture, struct error *err);

/*
 * Calls injector_capture_finish() if it was not called before, and frees the capture. Returns the result of
 * injector_capture_finish(). NULL is legal.
 */
int injector_capture_close(struct injector_capture *capture, struct error *err);

/* Returns 0, or -errno if a write failed: all later frames are then lost. */
int injector_capture_failed(const struct injector_capture *capture);
const char *injector_capture_path(const struct injector_capture *capture);

/*
 * Returns the number of frames that are missing in the file, because the ring to the writer thread was full or a write
 * failed.
 */
uint64_t injector_capture_lost(const struct injector_capture *capture);
/* Returns the number of frames that are in the file so far. */
uint64_t injector_capture_written(const struct injector_capture *capture);

#endif
