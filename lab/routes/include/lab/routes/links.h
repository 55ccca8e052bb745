/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of the links of a routed lab. */
#ifndef LAB_ROUTES_LINKS_H
#define LAB_ROUTES_LINKS_H

#include <stdbool.h>

#include <base/error.h>
#include <lab/lab.h>

/*
 * The state of a routed lab's links, as reported by the switches' kernels: a link is up while both of its ends are up
 * and have a carrier. A host's end is not queried: if it is down, the switch's end has no carrier. Root only; one
 * thread.
 */

struct watch;

/* Reads the present state of the links. The lab is borrowed. Returns NULL with err set on failure. */
struct watch *watch_open(const struct lab *lab, struct error *err);
void watch_close(struct watch *watch); /* NULL is legal */

/* For poll(): readable when something may have changed. */
int watch_descriptor(const struct watch *watch);

/* Reads the changes that the kernels have reported since the last call. Returns 0, or -errno with err set. */
int watch_update(struct watch *watch, struct error *err);
/* Returns true if a link of the lab was up at the last update. */
bool watch_is_up(const struct watch *watch, int link);

/*
 * Detects links between the switches of a routed lab that lose packets although they have a carrier. The switches at
 * both ends of a link send each other a numbered frame every PROBES_INTERVAL_MS over the link itself, as in BFD (RFC
 * 5880): no route can divert the frame, and so it is known which link of a path is lossy. A frame is lost if it has not
 * arrived when PROBES_LATE more have been sent. A link becomes lossy when PROBES_LOST of any PROBES_PER_WINDOW
 * successive frames are lost in one direction, and stays so until no frame has been lost in either direction for
 * PROBES_CLEAN_WINDOWS windows.
 *
 * Everything ends with the process. Root only; one thread; the lab is borrowed.
 */

/*
 * The window is the last PROBES_PER_WINDOW frames; it is judged after every frame. If it were judged only after every
 * PROBES_PER_WINDOW frames, detection would take up to one window longer. A direction that loses every frame becomes
 * lossy within 0.55 windows after the first lost frame; one that loses a fifth of the frames does so within 3 windows
 * in all but 7 of 10,000 cases.
 */
enum {
	PROBES_INTERVAL_MS = 10,
	PROBES_PER_WINDOW = 20,
	PROBES_LATE = 10,
	PROBES_LOST = 2,
	PROBES_CLEAN_WINDOWS = 5,
};

struct probes;

/* Prepares to probe the links between the lab's switches. Returns NULL with err set on failure. */
struct probes *probes_open(const struct lab *lab, struct error *err);
void probes_close(struct probes *probes); /* NULL is legal */

/*
 * A descriptor for poll(): readable when the next frames are to be sent, that is, when probes_update() is to be called.
 */
int probes_descriptor(const struct probes *probes);

/*
 * Reads the frames that have arrived, judges those sent PROBES_LATE frames ago and sends the next ones. Returns 0, or
 * -errno with err set.
 */
int probes_update(struct probes *probes, struct error *err);

/* To be called while the link has no carrier: the frames sent on it so far do not count as lost. */
void probes_skip(struct probes *probes, int link);

bool probes_is_lossy(const struct probes *probes, int link);
/* Returns, for a lossy link, the number of windows from the first lost frame until the loss was detected. */
double probes_notice_windows(const struct probes *probes, int link);

#endif
