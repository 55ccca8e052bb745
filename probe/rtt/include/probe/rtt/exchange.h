/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arithmetic of a two-way exchange, after RFC 5905 section 8 and RFC 2681. The sender stamps t1 (request sent) and
 * t4 (answer received) by its clock, the reflector t2 (request received) and t3 (answer sent) by its own. Pure: no I/O,
 * no clock.
 */
#ifndef RTT_EXCHANGE_H
#define RTT_EXCHANGE_H

#include <base/ns.h>
#include <base/stamp.h>

struct exchange {
	struct stamp t1, t2, t3, t4;
};

enum exchange_outcome {
	EXCHANGE_MEASURED,
	EXCHANGE_INCOMPARABLE, /* a stamp is missing, t1 and t4 are of different clocks, or t2 and t3 are */
	EXCHANGE_IMPOSSIBLE, /* by its stamps, the reflector answered before the request arrived, or held it longer than
				the whole exchange took */
};

struct exchange_times {
	struct ns rtt;       /* on the wire: (t4 - t1) - (t3 - t2). The two clocks need not agree */
	struct ns residence; /* time spent in the reflector: t3 - t2 */
};

/* Sets *times only if the result is EXCHANGE_MEASURED. */
static inline enum exchange_outcome exchange_measure(const struct exchange *exchange, struct exchange_times *times)
{
	struct ns gross, residence;

	if (!stamp_difference(exchange->t4, exchange->t1, &gross) ||
	    !stamp_difference(exchange->t3, exchange->t2, &residence))
		return EXCHANGE_INCOMPARABLE;
	if (residence.v < 0 || gross.v < residence.v)
		return EXCHANGE_IMPOSSIBLE;
	*times = (struct exchange_times){ns_sub(gross, residence), residence};
	return EXCHANGE_MEASURED;
}

/*
 * Returns the reflector's clock minus the sender's, if both directions take equally long: ((t2 - t1) + (t3 - t4)) / 2,
 * rounded toward zero. The exchange must have been measured. The error is at most half of the round trip.
 */
static inline struct ns exchange_offset(const struct exchange *exchange)
{
	int64_t out = exchange->t2.ns - exchange->t1.ns, back = exchange->t3.ns - exchange->t4.ns;

	return (struct ns){out / 2 + back / 2 + (out % 2 + back % 2) / 2};
}

#endif
