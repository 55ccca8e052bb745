/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which links between the switches of a routed lab lose packets although they carry. The switches at both ends of a
 * link send each other a numbered frame every PROBES_INTERVAL_MS, over the link itself, as BFD does (RFC 5880): a route
 * cannot take it elsewhere, and nobody has to find out which link of a path is the lossy one. A frame that has not come
 * when PROBES_LATE more have been sent is lost. A link is lossy from the time when PROBES_LOST of any PROBES_PER_WINDOW
 * frames in a row are lost in one direction, until PROBES_CLEAN_WINDOWS windows of frames have come in both.
 *
 * Everything ends with the process. Root only; one thread; the lab is borrowed.
 */
#ifndef LAB_ROUTES_PROBES_H
#define LAB_ROUTES_PROBES_H

#include <stdbool.h>

#include <base/error.h>
#include <lab/lab.h>

/*
 * Windows slide: one that begins with the loss, or is judged at its end, adds its phase. From the first frame lost, a
 * direction that loses everything is lossy after 0.55 windows, one that loses a fifth after 3 in all but 7 of 10,000
 * cases.
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

/* Reads the frames that came, judges those that are due, sends the next ones. 0 or -errno with err set. */
int probes_update(struct probes *probes, struct error *err);

/* The link has no carrier: the frames sent so far do not count. */
void probes_skip(struct probes *probes, int link);

bool probes_is_lossy(const struct probes *probes, int link);
/* Of a lossy link: number of windows from the first lost frame until the loss was detected. */
double probes_notice_windows(const struct probes *probes, int link);

#endif
