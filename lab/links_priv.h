/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LAB_LINKS_PRIV_H
#define LAB_LINKS_PRIV_H

#include <base/error.h>

/* Bits per second of frames that carry this much payload. */
double links_wire_bits(double MBps);
/* A shell line; what it says on failure is in err. */
int links_run(const char *line, struct error *err);

#endif
