/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arithmetic of a two-way exchange, after RFC 5905 section 8 and RFC 2681: the asker stamps t1 (sent) and t4
 * (answer received) on its clock, the answerer t2 (received) and t3 (answer sent) on its own. Pure: no I/O, no clock.
 */
#ifndef RTT_EXCHANGE_H
#define RTT_EXCHANGE_H

#include <base/ns.h>

struct exchange {
	struct ns t1, t2, t3, t4;
};

/* Round trip on the wire: (t4 - t1) - (t3 - t2). The clocks need not agree. */
static inline struct ns exchange_delay(const struct exchange *exchange)
{
	return ns_sub(ns_sub(exchange->t4, exchange->t1), ns_sub(exchange->t3, exchange->t2));
}

/* What the answerer spent: t3 - t2, one clock. */
static inline struct ns exchange_residence(const struct exchange *exchange)
{
	return ns_sub(exchange->t3, exchange->t2);
}

/*
 * The answerer's clock minus the asker's, if both ways take equally long: ((t2 - t1) + (t3 - t4)) / 2. Halves are cut
 * toward zero. The error is at most half of the delay.
 */
static inline struct ns exchange_offset(const struct exchange *exchange)
{
	int64_t out = exchange->t2.v - exchange->t1.v, back = exchange->t3.v - exchange->t4.v;

	return (struct ns){out / 2 + back / 2 + (out % 2 + back % 2) / 2};
}

#endif
