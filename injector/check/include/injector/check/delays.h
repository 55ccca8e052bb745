/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recomputes the delay of each packet from the file that an injector captured: matches each frame that came in at one
 * port with the next frame of equal content that left the other port. Has no side effects; it only reads the file.
 */
#ifndef CHECK_DELAYS_H
#define CHECK_DELAYS_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
