/* SPDX-License-Identifier: BSD-3-Clause */
/* The whole injector, as the control thread sees it. */
#ifndef INJECTOR_PRIV_H
#define INJECTOR_PRIV_H

#include "line_priv.h"

struct injector {
	struct worker workers[INJECTOR_DIRECTIONS];
	unsigned int worker_count;
	struct line *lines[INJECTOR_DIRECTIONS];
	const struct line_config *config; /* the configuration that was published last */
	struct dp_clock clock;
	struct nic_clock nic_clock[INJECTOR_DIRECTIONS];
	double delay_us[INJECTOR_DIRECTIONS];
	struct injector_modes *modes[INJECTOR_DIRECTIONS]; /* borrowed */
	double subtract_ns, expected_pps, stall_us, hiccup_ns;
	uint64_t delay_changes;
	uint32_t slots;
	bool modal;
};

/* Sets the time that is subtracted from every delay; keeps the old value if out of memory. */
void injector_set_subtract_ns(struct injector *injector, double ns);

/* Returns the middle of a lateness bucket, in cycles. */
double lateness_middle(uint32_t bucket);

#endif
