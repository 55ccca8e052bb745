/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes a peer's figures from the stamps of its exchanges. */
#include "agent_priv.h"

static const struct ns peer_stall = {NS_PER_MS}; /* a reflector that is not stalled answers sooner */

static void put_sample(struct prober *prober, const struct agent_sample *sample)
{
	if (prober->samples && !spsc_put(prober->samples, sample))
		prober->samples_dropped++;
}

/*
 * Records the one-way delays, which add up to the round trip. Limits both to 0..rtt: a clock error must not make one of
 * them negative.
 */
static void count_one_way(struct prober_target *target, const struct exchange *stamps, struct ns rtt, struct ns error)
{
	int64_t forward = stamps->t2.ns - stamps->t1.ns;

	forward = forward < 0 ? 0 : forward > rtt.v ? rtt.v : forward;
	histogram_record(target->forward, forward);
	histogram_record(target->backward, rtt.v - forward);
	if (error.v > target->one_way_error.v)
		target->one_way_error = error;
}

/*
 * Empties the one-way delays unless every undisturbed sample has them and their error bound is less than half of the
 * median round trip, see agent.h.
 */
void target_check_one_way(const struct agent_row *row)
{
	if (histogram_count(row->forward) == histogram_count(row->undisturbed) &&
	    row->one_way_error.v < histogram_percentile(row->undisturbed, 50) / 2)
		return;
	histogram_reset(row->forward);
	histogram_reset(row->backward);
}

/*
 * Sets t3 to the reported departure. Returns false if that is impossible: before the answer's t3, or so late that no
 * time is left for the return path.
 */
static bool correct_departure(struct exchange *exchange, struct ns left, struct exchange_times *times)
{
	if (left.v < exchange->t3.ns)
		return false;
	exchange->t3.ns = left.v;
	return exchange_measure(exchange, times) == EXCHANGE_MEASURED;
}

/*
 * Converts our stamps to the wall clock, which is comparable with the peer's, and computes from them the offset of the
 * clocks, the one-way delays and the sample for agent_take_sample().
 */
static void count_clocks(struct prober *prober, struct prober_target *target, const struct prober_exchange *exchange,
			 const struct exchange_times *times, struct exchange stamps, bool is_best)
{
	struct agent_sample sample = {.peer = target->address,
				      .source_port = exchange->source_port,
				      .sequence = exchange->sequence,
				      .rtt = times->rtt,
				      .residence = times->residence,
				      .disturbed = exchange->disturbed};

	stamps.t1 = sample.sent_at = dp_clock_to_wall(prober->clock, stamps.t1);
	stamps.t4 = dp_clock_to_wall(prober->clock, stamps.t4);
	sample.offset = exchange_offset(&stamps);
	if (exchange->synchronised && !exchange->disturbed)
		count_one_way(target, &stamps, times->rtt, exchange->clock_error);
	if (is_best) {
		target->best_rtt = times->rtt;
		target->best_offset = sample.offset;
	}
	put_sample(prober, &sample);
}

void path_record_samples(struct prober_target *target, struct prober_path *path)
{
	for (uint32_t i = 0; i < path->sample_count; i++) {
		histogram_record(path->rtt, path->samples[i].rtt_ns);
		histogram_record(target->residence, path->samples[i].residence_ns);
	}
	path->sample_count = 0;
}

static void record(struct prober_target *target, struct prober_path *path, const struct exchange_times *times,
		   bool disturbed)
{
	if (disturbed || times->rtt.v > UINT32_MAX || times->residence.v > UINT32_MAX) {
		histogram_record(disturbed ? target->disturbed_rtt : path->rtt, times->rtt.v);
		histogram_record(target->residence, times->residence.v);
		return;
	}
	if (path->sample_count == PROBER_SAMPLES)
		path_record_samples(target, path);
	path->samples[path->sample_count++] =
		(struct prober_sample){(uint32_t)times->rtt.v, (uint32_t)times->residence.v};
}

/*
 * The peer held a probe for `held`, so it stalled. If an answer that it sent before took at least as long, the stall
 * may have begun between that answer's t3 and its departure, where it looks like the way back: the sample is disturbed.
 */
static void doubt_last_samples(struct prober_target *target, struct ns held)
{
	for (uint32_t i = 0; i < target->path_count; i++) {
		struct prober_path *path = &target->paths[i];
		const struct prober_sample *last = path->samples + path->sample_count;

		if (!path->sample_count || (--last)->rtt_ns < held.v)
			continue;
		histogram_record(target->disturbed_rtt, last->rtt_ns);
		histogram_record(target->residence, last->residence_ns);
		path->sample_count--;
	}
}

static void count(struct prober *prober, struct prober_target *target, int path, const struct prober_exchange *exchange,
		  const struct ns *left)
{
	const struct exchange *stamps = &exchange->stamps;
	struct exchange corrected;
	struct exchange_times times;
	bool followed = false, is_best;

	if (left) {
		corrected = *stamps;
		followed = correct_departure(&corrected, *left, &times);
	}
	if (followed) {
		stamps = &corrected;
	} else if (exchange_measure(stamps, &times) != EXCHANGE_MEASURED) {
		target->impossible++;
		return;
	}
	if (exchange->departed || followed || exchange->arrived || exchange->arrived_at_nic) {
		target->stamps.departures += exchange->departed;
		target->stamps.follow_ups += followed;
		target->stamps.arrivals += exchange->arrived;
		target->stamps.nic_arrivals += exchange->arrived_at_nic;
	}
	if (times.residence.v > peer_stall.v)
		doubt_last_samples(target, times.residence);
	record(target, &target->paths[path], &times, exchange->disturbed);
	is_best = times.rtt.v < target->best_rtt.v;
	if (is_best || exchange->synchronised || prober->samples)
		count_clocks(prober, target, exchange, &times, *stamps, is_best);
}

static void release(struct prober *prober, struct prober_target *target, int path, const struct ns *left)
{
	if (!target->held || !target->held[path].waits)
		return;
	target->held[path].waits = false;
	count(prober, target, path, &target->held[path], left);
}

void target_take_exchange(struct prober *prober, struct prober_target *target, int path,
			  const struct prober_exchange *exchange)
{
	if (!target->held) {
		count(prober, target, path, exchange, NULL);
		return;
	}
	release(prober, target, path, NULL);
	target->held[path] = *exchange;
	target->held[path].waits = true;
}

void target_follow_up(struct prober *prober, struct prober_target *target, int path, const struct tlv_reading *tlvs)
{
	if (tlvs->filled >> TLV_FOLLOW_UP & 1 && !tlvs->bad_hmac && target->held[path].waits &&
	    tlvs->follow_up_sequence == target->held[path].answer_sequence)
		release(prober, target, path, &tlvs->follow_up_at);
}

void target_release(struct prober *prober, struct prober_target *target)
{
	for (uint32_t path = 0; target->held && path < target->path_count; path++)
		release(prober, target, (int)path, NULL);
}
