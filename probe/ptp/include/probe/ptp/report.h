/* SPDX-License-Identifier: BSD-3-Clause */
/* Results of a PTP measurement, as text and as JSON. */
#ifndef PTP_REPORT_H
#define PTP_REPORT_H

#include <stdio.h>

#include <probe/ptp/measure.h>

/* Counts, the other clock and a line per quantity. 0 or -ENOMEM with err set. */
int ptp_result_print(const struct ptp_result *result, FILE *out, struct error *err);
/* nomora.ptp/1; "-" = stdout. 0 or -errno with err set. */
int ptp_result_write_json(const struct ptp_result *result, const char *path, struct error *err);

#endif
