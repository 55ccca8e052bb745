/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A capture of what entered and left the injector: pcapng, nanosecond stamps, interface 0 = port A, 1 = port B, the
 * direction of each frame in its flags, the first 240 bytes of it. A thread of its own writes the file, off the hot
 * path. Read it with `nomora inject-check`, Wireshark or tcpdump.
 */
#ifndef INJECTOR_CAPTURE_H
#define INJECTOR_CAPTURE_H

#include <stdint.h>

#include <base/error.h>
#include <dp/clock.h>

struct injector_capture;

/* To be handed to injector_create(); no file yet. NULL with err set: -ENOMEM. */
struct injector_capture *injector_capture_create(const char *path, const struct dp_clock *clock, struct error *err);

/*
 * Before injector_start(), when nothing else can go wrong: makes the file, writes its head and starts the thread; the
 * file is whole after close (a shorter one is readable as well). -errno with err set, and no file, when it cannot be
 * written.
 */
int injector_capture_start(struct injector_capture *capture, struct error *err);

/*
 * After injector_stop(): writes what is left and how much is missing; the counters hold until close. 0 or -errno with
 * err set: a write failed, and the file ends with the last frame that could be written. NULL is legal.
 */
int injector_capture_finish(struct injector_capture *capture, struct error *err);

/* Finishes, if it was started and that was not done, and frees. NULL is legal. */
int injector_capture_close(struct injector_capture *capture, struct error *err);

/* -errno once a write has failed: nothing is written from then on, and all that passes is lost. 0 otherwise. */
int injector_capture_failed(const struct injector_capture *capture);
const char *injector_capture_path(const struct injector_capture *capture);

/* Frames that are missing in the file: the ring between lcore and thread was full, or a write failed. */
uint64_t injector_capture_lost(const struct injector_capture *capture);
uint64_t injector_capture_written(const struct injector_capture *capture);

#endif
