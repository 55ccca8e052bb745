/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A capture of the packets that enter and leave the injector: pcapng, nanosecond stamps, interface 0 = port A, 1 = port
 * B, the direction of each frame in its flags, the first 240 bytes of each frame. A thread writes the file, off the hot
 * path. Read it with `nomora inject-check`, Wireshark or tcpdump.
 */
#ifndef INJECTOR_CAPTURE_H
#define INJECTOR_CAPTURE_H

#include <stdint.h>

#include <base/error.h>
#include <dp/clock.h>

struct injector_capture;

/* Pass it to injector_create(); no file is created yet. NULL with err set: -ENOMEM. */
struct injector_capture *injector_capture_create(const char *path, const struct dp_clock *clock, struct error *err);

/*
 * Call before injector_start(), as the last step: creates the file, writes its header and starts the thread. The file
 * is complete after close (an incomplete one is readable too). -errno with err set, and no file, if it cannot be
 * written.
 */
int injector_capture_start(struct injector_capture *capture, struct error *err);

/*
 * Call after injector_stop(): writes the remaining frames and the number of missing ones; the counters are valid until
 * close. 0 or -errno with err set: a write failed, and the file ends with the last frame written. NULL is legal.
 */
int injector_capture_finish(struct injector_capture *capture, struct error *err);

/* Finishes the capture if that was not done, and frees it. NULL is legal. */
int injector_capture_close(struct injector_capture *capture, struct error *err);

/* -errno after a failed write: nothing is written from then on, and all further frames are lost. 0 otherwise. */
int injector_capture_failed(const struct injector_capture *capture);
const char *injector_capture_path(const struct injector_capture *capture);

/* Frames missing in the file: the ring to the thread was full, or a write failed. */
uint64_t injector_capture_lost(const struct injector_capture *capture);
uint64_t injector_capture_written(const struct injector_capture *capture);

#endif
