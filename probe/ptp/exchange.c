/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/ptp/message.h>

static void finish(struct ptp_exchange *exchange, struct stamp left, struct ns correction)
{
	struct ptp_half *newest = &exchange->newest;

	newest->waits = false;
	newest->known = true;
	newest->left = left;
	newest->correction = ns_add(newest->correction, correction);
	exchange->answer = *newest;
}

/* Processes a Sync or peer delay response. A two-step clock sends its departure time later, in a follow-up. */
static void take_event(struct ptp_exchange *exchange, const struct ptp_message *message,
		       const struct ptp_moment *arrived)
{
	exchange->newest = (struct ptp_half){
		.arrived = *arrived,
		.correction = message->correction,
		.sequence = message->sequence,
		.waits = message->two_step,
		.one_step = !message->two_step,
	};
	if (!message->two_step)
		finish(exchange, stamp_at(CLOCK_PEER, message->stamp.v), (struct ns){0});
}

static void take_follow_up(struct ptp_exchange *exchange, const struct ptp_message *message)
{
	if (exchange->newest.waits && message->sequence == exchange->newest.sequence)
		finish(exchange, stamp_at(CLOCK_PEER, message->stamp.v), message->correction);
}

void ptp_exchange_take(struct ptp_exchange *exchange, const struct ptp_message *message,
		       const struct ptp_moment *arrived)
{
	bool peer = exchange->mechanism == PTP_PEER_DELAY, ours = message->sequence == exchange->sequence;

	if (!peer && message->type == PTP_SYNC) {
		take_event(exchange, message, arrived);
	} else if (!peer && message->type == PTP_FOLLOW_UP) {
		take_follow_up(exchange, message);
	} else if (!peer && message->type == PTP_DELAY_RESPONSE && ours) {
		exchange->asked = stamp_at(CLOCK_PEER, message->stamp.v);
		exchange->correction = message->correction;
	} else if (peer && message->type == PTP_PEER_RESPONSE && ours) {
		exchange->asked = stamp_at(CLOCK_PEER, message->stamp.v);
		take_event(exchange, message, arrived);
	} else if (peer && message->type == PTP_PEER_FOLLOW_UP && ours) {
		take_follow_up(exchange, message);
	}
}

bool ptp_exchange_is_whole(const struct ptp_exchange *exchange)
{
	return exchange->answer.known && exchange->asked.valid;
}

static int64_t less(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

static int64_t plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

bool ptp_exchange_sample(const struct ptp_exchange *exchange, enum ptp_stamps stamps, struct ptp_sample *sample)
{
	const struct ptp_half *answer = &exchange->answer;
	struct stamp left = exchange->left.by[stamps], arrived = answer->arrived.by[stamps];
	int64_t out, back;
	bool no_stamps;

	if (!ptp_exchange_is_whole(exchange) || !left.valid || !arrived.valid || left.clock != arrived.clock)
		return false;
	/*
	 * A response of a one-step clock, or one whose t2 is 0, has no stamps: its correction contains t3 - t2 (IEEE
	 * 1588-2008 section 11.4.3).
	 */
	no_stamps = exchange->mechanism == PTP_PEER_DELAY && (answer->one_step || exchange->asked.ns == 0);
	out = less(less(exchange->asked.ns, left.ns), exchange->correction.v);
	back = less(less(arrived.ns, answer->left.ns), answer->correction.v);
	*sample = (struct ptp_sample){
		.round_trip = {plus(out, back)}, .one_step = answer->one_step, .delay_only = no_stamps};
	if (no_stamps)
		return true;
	sample->out.v = out;
	sample->back.v = back;
	sample->offset.v = less(back, out) / 2;
	return true;
}
