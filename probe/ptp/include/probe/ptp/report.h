/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the results of a PTP measurement, as text and as JSON. */
#ifndef PTP_REPORT_H
#define PTP_REPORT_H

#include <stdio.h>

#include <probe/ptp/measure.h>

/* Prints the counts, the other clock and one line per quantity. Returns 0, or -ENOMEM with err set. */
int ptp_result_print(const struct ptp_result *result, FILE *out, struct error *err);
/* Writes nomora.ptp/1; path "-" = stdout. Returns 0, or -errno with err set. */
int ptp_result_write_json(const struct ptp_result *result, const char *path, struct error *err);

#endif
