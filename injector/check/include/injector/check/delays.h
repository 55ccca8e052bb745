/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recomputes each packet's delay from an injector's capture: a frame that came in at one port is matched with the next
 * one of equal content that went out of the other. Pure but for reading the file.
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
	uint64_t missing;   /* came in, never left (those held at the end as well) */
	uint64_t extra;     /* left without having come in: duplicates, or the capture lost their arrival */
	uint64_t reordered; /* left after one that came in later */
	uint64_t early;     /* left before the expected delay, by more than the stamps' rounding */
	struct histogram *delay_ns;
	struct histogram *deviation_ns; /* |delay - expected|; empty when nothing was expected */
};

struct check_report {
	struct check_direction_report direction[CHECK_DIRECTIONS];
	uint64_t frames;
	uint64_t lost; /* frames that the file says are not in it: they count as missing or extra */
	bool cut_off;  /* the file ends within a block */
};

/* expected_us[d] < 0: not known. 0 or -errno with err set. Free with check_report_free() either way. */
int check_delays(const char *path, const double expected_us[CHECK_DIRECTIONS], struct check_report *report,
		 struct error *err);
void check_report_free(struct check_report *report);

#endif
