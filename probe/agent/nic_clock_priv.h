/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Converts stamps of a NIC's clock to the time stamp counter. The ratio of their rates is computed from the first and
 * the latest reading of both clocks. Pure.
 */
#ifndef PROBE_NIC_CLOCK_PRIV_H
#define PROBE_NIC_CLOCK_PRIV_H

#include <stdbool.h>
#include <stdint.h>

struct nic_clock {
	int readings; /* number of readings so far; 2 = two or more */
	uint64_t first_nic, first_tsc, nic, tsc;
};

static inline void nic_clock_read(struct nic_clock *clock, uint64_t nic, uint64_t tsc)
{
	if (clock->readings == 0) {
		clock->first_nic = nic;
		clock->first_tsc = tsc;
	}
	clock->nic = nic;
	clock->tsc = tsc;
	clock->readings += clock->readings < 2;
}

/* Returns false if the rate is not known yet. The result is most exact near the latest reading. */
static inline bool nic_clock_to_tsc(const struct nic_clock *clock, uint64_t stamp, uint64_t *tsc)
{
	double cycles_per_tick;

	if (clock->readings < 2 || clock->nic == clock->first_nic)
		return false;
	cycles_per_tick = (double)(clock->tsc - clock->first_tsc) / (double)(clock->nic - clock->first_nic);
	*tsc = clock->tsc + (uint64_t)(int64_t)((double)(int64_t)(stamp - clock->nic) * cycles_per_tick);
	return true;
}

#endif
