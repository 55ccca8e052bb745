/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which links between the switches of a routed lab lose packets although they carry. The switches at both ends of a
 * link send each other a numbered frame every PROBES_INTERVAL_MS, over the link itself, as BFD does (RFC 5880): a route
 * cannot take it elsewhere, and nobody has to find out which link of a path is the lossy one. A window is
 * PROBES_PER_WINDOW frames; it is judged PROBES_LATE frames after its end, so that a frame may be late by as much. A
 * link is lossy from a window with PROBES_LOST frames lost in one direction until PROBES_CLEAN_WINDOWS in a row have
 * lost none in either.
 *
 * Everything ends with the process. Root only; one thread; the lab is borrowed.
 */
#ifndef LAB_ROUTES_PROBES_H
#define LAB_ROUTES_PROBES_H

#include <stdbool.h>

#include <base/error.h>
#include <lab/lab.h>

/* A direction that loses a fifth has a window with two losses or more in 93 of 100 cases, one that loses a tenth in 61.
 */
enum {
	PROBES_INTERVAL_MS = 10,
	PROBES_PER_WINDOW = 20,
	PROBES_LATE = 10,
	PROBES_LOST = 2,
	PROBES_CLEAN_WINDOWS = 5,
};

struct probes;

/* NULL with err set. */
struct probes *probes_open(const struct lab *lab, struct error *err);
void probes_close(struct probes *probes); /* NULL is legal */

/* Readable when probes_update() has something to do: for poll(). */
int probes_descriptor(const struct probes *probes);

/* Reads the frames that came, judges a window that is over, sends the frames that are due. 0 or -errno with err set. */
int probes_update(struct probes *probes, struct error *err);

/* The link has no carrier: this window's frames do not count. */
void probes_skip(struct probes *probes, int link);

bool probes_is_lossy(const struct probes *probes, int link);
/* Of a lossy link: windows from the first frame lost until it was judged. */
double probes_notice_windows(const struct probes *probes, int link);

#endif
