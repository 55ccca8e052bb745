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

/* Opens the file and starts the thread; the file is whole after close (a shorter one is readable as well). */
struct injector_capture *injector_capture_open(const char *path, const struct dp_clock *clock, struct error *err);

/* After injector_stop(): writes what is left. 0 or -errno with err set; frees either way. NULL is legal. */
int injector_capture_close(struct injector_capture *capture, struct error *err);

/* Frames that did not fit the ring between lcore and thread: they are missing in the file. */
uint64_t injector_capture_lost(const struct injector_capture *capture);
uint64_t injector_capture_written(const struct injector_capture *capture);

#endif
