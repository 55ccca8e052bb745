/* SPDX-License-Identifier: BSD-3-Clause */

#include <injector/line/line.h>

#include "line_priv.h"

enum {
	SLOTS_MINIMUM = 1024,
	SPARE_MBUFS = 2048,      /* for bursts in progress, duplicates and the lcores' caches of buffers */
	MBUF_HEADER_BYTES = 512, /* headroom and packet header, rounded up; does not include the frames that af_xdp
				    allocates itself */
	EAL_OWN_MIB = 96,
};

static const double stall_polled_us = 1, stall_system_call_us = 20, hiccup_polled_ns = 300;

uint32_t injector_slots_needed(double delay_us, double rate_pps)
{
	double packets = delay_us * 1e-6 * rate_pps * 1.1 + LINE_RX_BURST;
	uint32_t slots = SLOTS_MINIMUM;

	while (slots < packets && slots < (UINT32_C(1) << 31))
		slots *= 2;
	return slots;
}

uint32_t injector_slots_default(double expected_pps, bool modes)
{
	uint32_t needed = injector_slots_needed(INJECTOR_DELAY_MAXIMUM_US, expected_pps);

	if (!(expected_pps > 0) || modes || needed > INJECTOR_SLOTS_DEFAULT)
		return INJECTOR_SLOTS_DEFAULT;
	return needed;
}

struct injector_memory injector_memory_needed(uint32_t slots, uint16_t mbuf_bytes)
{
	uint64_t mbufs = INJECTOR_DIRECTIONS * ((uint64_t)slots + 2 * INJECTOR_DESCRIPTORS) + SPARE_MBUFS;

	return (struct injector_memory){
		.mbufs = (unsigned int)mbufs,
		.MiB = (unsigned int)((mbufs * (mbuf_bytes + (unsigned int)MBUF_HEADER_BYTES)) >> 20) + EAL_OWN_MIB,
	};
}

struct injector_thresholds injector_thresholds_of(double stall_us, double hiccup_ns, bool bursts_are_system_calls)
{
	struct injector_thresholds thresholds = {.stall_us = stall_us, .hiccup_ns = hiccup_ns};

	if (!(stall_us > 0))
		thresholds.stall_us = bursts_are_system_calls ? stall_system_call_us : stall_polled_us;
	if (!(hiccup_ns > 0))
		thresholds.hiccup_ns = bursts_are_system_calls ? thresholds.stall_us * 1e3 : hiccup_polled_ns;
	return thresholds;
}
