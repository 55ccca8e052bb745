/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Detects links between the switches of a routed lab that lose packets although they have a carrier. The switches at
 * both ends of a link send each other a numbered frame every PROBES_INTERVAL_MS over the link itself, as in BFD (RFC
 * 5880): no route can divert it, and the lossy link of a path is known at once. A frame is lost if it has not arrived
 * when PROBES_LATE more have been sent. A link is lossy once PROBES_LOST of any PROBES_PER_WINDOW successive frames are
 * lost in one direction, until PROBES_CLEAN_WINDOWS windows of frames have arrived in both directions.
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
