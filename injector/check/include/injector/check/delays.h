/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recomputes the delay of each packet from the file that an injector captured: matches each frame that came in at one
 * port with the next frame of equal content that left the other port. Has no side effects; it only reads the file.
 */
#ifndef CHECK_DELAYS_H
#define CHECK_DELAYS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <base/error.h>
#include <base/histogram.h>

enum check_direction { CHECK_AB, CHECK_BA, CHECK_DIRECTIONS };

struct check_direction_report {
	uint64_t in, out, matched; /* frames that came in; frames that left; pairs of both with equal content */
	uint64_t missing;          /* packets that came in, but did not leave before the end of the capture */
	uint64_t extra;     /* packets that left and whose arrival is not in the capture: duplicates, or packets whose
			       arrival could not be written */
	uint64_t reordered; /* packets that left after a packet that had come in later */
	uint64_t early;     /* packets whose delay is shorter than expected by more than the rounding of the stamps */
	struct histogram *delay_ns;
	struct histogram *deviation_ns; /* |delay - expected|; empty if the expected delay is not known */
};

struct check_report {
	struct check_direction_report direction[CHECK_DIRECTIONS];
	uint64_t frames;
	uint64_t lost; /* records that the injector could not write, according to the file's statistics blocks. A frame
			  has two records; if one of them was not written, the frame counts as missing or extra. */
	bool cut_off;  /* the file ends within a block */
};

/*
 * Reads the capture `path`. expected_us[d] is the expected delay of direction d, us; negative if it is not known.
 * Returns 0, or -errno with err set. In both cases, free the report with check_report_free().
 */
int check_delays(const char *path, const double expected_us[CHECK_DIRECTIONS], struct check_report *report,
		 struct error *err);
void check_report_free(struct check_report *report);

/* Compares recomputed delays with a limit, and reports them as text and as JSON (nomora.inject-check/1). */

struct check_limit {
	double limit_us;   /* limit for the `percentile` of the deviation, us; 0 = no limit */
	double percentile; /* the percentile of the deviation to compare with limit_us, 0..100 */
};

/*
 * Returns false if there is no limit. Otherwise returns true if, in one of the directions,
 * - the percentile of the deviation is above the limit, or
 * - a packet is early, missing, extra or reordered,
 * or if no packet of either direction was matched.
 */
bool check_report_over_limit(const struct check_report *report, const struct check_limit *limit);

void check_report_print(const struct check_report *report, FILE *out);
/* `path` is the file name as the user gave it. Returns NULL if out of memory. */
json_t *check_report_to_json(const struct check_report *report, const char *path, const struct check_limit *limit);

#endif
