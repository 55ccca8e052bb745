/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recomputes each packet's delay from an injector's capture: matches each frame that came in at one port with the next
 * frame of equal content that left the other port. Pure, except that it reads the file.
 */
#ifndef CHECK_DELAYS_H
#define CHECK_DELAYS_H

#include <stdbool.h>
#include <stdint.h>

#include <base/error.h>
#include <base/histogram.h>

enum check_direction { CHECK_AB, CHECK_BA, CHECK_DIRECTIONS };

struct check_direction_report {
	uint64_t in, out, matched;
	uint64_t missing;   /* came in but did not leave, or was still held at the end */
	uint64_t extra;     /* left without coming in: a duplicate, or the capture lost its arrival */
	uint64_t reordered; /* left after a frame that came in later */
	uint64_t early;     /* left before the expected delay had passed, by more than the stamps' rounding */
	struct histogram *delay_ns;
	struct histogram *deviation_ns; /* |delay - expected|; empty if the expected delay is not known */
};

struct check_report {
	struct check_direction_report direction[CHECK_DIRECTIONS];
	uint64_t frames;
	uint64_t lost; /* records missing in the file, by its own count; a frame's other record then counts as missing
			  or extra */
	bool cut_off;  /* the file ends within a block */
};

/*
 * expected_us[d] is negative if the delay is not known. Returns 0, or -errno with err set. In both cases, free the
 * report with check_report_free().
 */
int check_delays(const char *path, const double expected_us[CHECK_DIRECTIONS], struct check_report *report,
		 struct error *err);
void check_report_free(struct check_report *report);

#endif
