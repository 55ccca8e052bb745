/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rate limit: after the delay, packets pass a link of M Mbit/s one after the other. A frame occupies the link for a
 * time computed from its bytes on the wire; the next frame leaves when the link is free again.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <base/number.h>

#include "mode_priv.h"

/* Preamble 8, gap 12, check sequence 4 (IEEE 802.3): not part of a packet buffer. */
enum { WIRE_OVERHEAD_BYTES = 24, FRAME_BYTES_MINIMUM = 60 };

struct rate {
	uint64_t cycles_per_byte_q16, carried_q16; /* carried: fraction of a cycle left by earlier packets */
	double smallest_pps;                       /* packets of the minimum size that the link carries per second */
	struct wire wire;
};

static int rate_create(const struct mode_context *context, const char *specification, void **state, struct error *err)
{
	struct rate *rate;
	double Mbps;

	if (number_parse_double(specification, &Mbps) != 0 || !(Mbps >= 0.1 && Mbps <= 400000))
		return error_set(err, EINVAL, "--rate: \"%s\" is not a rate: expected 0.1 to 400000 Mbit/s",
				 specification);
	rate = calloc(1, sizeof *rate);
	if (!rate)
		return error_set(err, ENOMEM, "no memory for --rate");
	rate->cycles_per_byte_q16 = (uint64_t)llround(8e3 / Mbps / context->clock->ns_per_cycle * 65536);
	rate->smallest_pps = Mbps * 1e6 / 8 / (FRAME_BYTES_MINIMUM + WIRE_OVERHEAD_BYTES);
	*state = rate;
	return 0;
}

static void rate_apply(void *state, const struct dp_packet *packet, uint64_t now, struct verdict *verdict)
{
	uint32_t length = dp_packet_length(packet), bytes = length < FRAME_BYTES_MINIMUM ? FRAME_BYTES_MINIMUM : length;
	struct rate *rate = state;

	(void)now;
	verdict->wire = &rate->wire;
	rate->carried_q16 += (bytes + WIRE_OVERHEAD_BYTES) * rate->cycles_per_byte_q16;
	verdict->wire_cycles = rate->carried_q16 >> 16;
	rate->carried_q16 &= UINT16_MAX;
}

static double rate_limit_pps(const void *state)
{
	const struct rate *rate = state;

	return rate->smallest_pps;
}

const struct injector_mode mode_rate = {
	.name = "rate",
	.create = rate_create,
	.apply = rate_apply,
	.destroy = free,
	.limit_pps = rate_limit_pps,
};
