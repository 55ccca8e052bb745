/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LAB_LINKS_PRIV_H
#define LAB_LINKS_PRIV_H

#include <stdio.h>

#include <base/error.h>
#include <lab/lab.h>

/* Returns the bits per second of frames that carry this much payload. */
double links_wire_bits(double MBps);
/* Returns the size in bytes of a token bucket that is filled with `bits` per second. */
double links_burst_bytes(double bits);
/* Prints shell lines that limit both ends of a routed lab's link. */
void links_print_limits(const struct lab *lab, const struct lab_link *link, FILE *out);
/* Runs a shell line; on failure err has its output. */
int links_run(const char *line, struct error *err);

#endif
