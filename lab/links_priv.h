/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LAB_LINKS_PRIV_H
#define LAB_LINKS_PRIV_H

#include <stdio.h>

#include <base/error.h>
#include <lab/lab.h>

/* Returns the rate in bit/s of the frames that carry MBps megabytes of payload per second. */
double links_wire_bits(double MBps);
/* Returns the size in bytes of a token bucket that is filled at a rate of `bits` bit/s. */
double links_burst_bytes(double bits);
/* Prints shell lines that limit both ends of a routed lab's link. */
void links_print_limits(const struct lab *lab, const struct lab_link *link, FILE *out);
/* Runs a shell line. Returns 0, or -errno; if the line fails, err contains its output. */
int links_run(const char *line, struct error *err);

#endif
