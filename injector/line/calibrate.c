/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the period of the loop, before the traffic, and the rates of the NICs' clocks, before and during the
 * traffic.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/quantile.h>

#include "line_priv.h"

enum { CHUNKS = 512, ROUNDS = 64 };

double injector_calibrate(struct injector *injector)
{
	double periods_ns[CHUNKS];
	uint64_t end = dp_cycles() + (uint64_t)(50e6 / injector->clock.ns_per_cycle);
	unsigned int count = 0;

	/*
	 * Measures at least 16 chunks of ROUNDS rounds each, even if the ports are slow. Stalls occur only in a few
	 * chunks, so they do not affect the median.
	 */
	while (count < CHUNKS && (count < 16 || dp_cycles() < end)) {
		uint64_t start = dp_cycles();

		injector_poll(injector, ROUNDS);
		periods_ns[count++] = (double)(dp_cycles() - start) * injector->clock.ns_per_cycle / ROUNDS;
	}
	injector_set_subtract_ns(injector, quantile_median(periods_ns, count) / 2);
	return injector->subtract_ns;
}

int injector_track_nic_clocks(struct injector *injector, struct injector_nic_tracker *tracker,
			      struct dp_port *const ports[INJECTOR_DIRECTIONS], struct error *err)
{
	for (unsigned int d = 0; d < INJECTOR_DIRECTIONS; d++) {
		uint64_t nic, cycles;
		int status = dp_port_read_clock(ports[d], &nic, &cycles);

		if (status)
			return error_set(err, -status, "cannot read the clock of a port with hardware stamps: %s",
					 strerror(-status));
		/* The rate is measured from the first reading on. */
		if (tracker->started && cycles != tracker->cycles[d] && nic > tracker->nic[d])
			injector_set_nic_clock(injector, d, nic, cycles,
					       (double)(nic - tracker->nic[d]) / (double)(cycles - tracker->cycles[d]));
		if (!tracker->started) {
			tracker->nic[d] = nic;
			tracker->cycles[d] = cycles;
		}
	}
	tracker->started = true;
	return 0;
}
