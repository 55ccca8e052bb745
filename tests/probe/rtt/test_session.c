/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <base/rng.h>
#include <probe/rtt/session.h>

static struct stamp at(int64_t ns)
{
	return stamp_at(CLOCK_COUNTER, ns);
}

Test(session, tells_fresh_late_double_and_unknown)
{
	struct session *session = session_create(8);
	struct session_probe sent;

	cr_assert_eq(session_send(session, at(100)), 0);
	cr_assert_eq(session_send(session, at(200)), 1);
	cr_assert_eq(session_send(session, at(300)), 2);
	cr_assert_eq(session_receive(session, 0, 0, &sent), SESSION_FRESH);
	cr_assert_eq(sent.sent_at.ns, 100);
	cr_assert(sent.sent_at.valid && sent.sent_at.clock == CLOCK_COUNTER && !sent.disturbed);
	cr_assert_eq(session_receive(session, 0, 0, &sent), SESSION_DUPLICATE);
	cr_assert_eq(session_receive(session, 3, 1, &sent), SESSION_UNKNOWN);
	cr_assert_eq(session_receive(session, 2, 1, &sent), SESSION_FRESH);
	cr_assert_eq(session_receive(session, 1, 2, &sent), SESSION_FRESH);
	cr_assert_eq(session_counters(session).reordered, 1);
	cr_assert_eq(session_send(session, at(400)), 3);
	cr_assert_eq(session_expire(session, at(400)), 0, "what was sent at the deadline is not too old");
	cr_assert_eq(session_expire(session, at(401)), 1);
	cr_assert_eq(session_receive(session, 3, 3, &sent), SESSION_LATE);
	cr_assert_eq(session_receive(session, 3, 3, &sent), SESSION_DUPLICATE);
	cr_assert_eq(session_counters(session).lost, 1);
	cr_assert_eq(session_outstanding(session), 0);
	session_destroy(session);
}

Test(session, a_deadline_before_the_counter_began_gives_nothing_up)
{
	struct session *session = session_create(8);

	session_send(session, at(3));
	cr_assert_eq(session_expire(session, at(-5)), 0, "5 ns before 0");
	cr_assert_eq(session_outstanding(session), 1);
	cr_assert_eq(session_expire(session, at(4)), 1);
	session_destroy(session);
}

Test(session, a_full_window_gives_up_the_oldest)
{
	struct session *session = session_create(4);
	struct session_probe sent;

	for (int64_t i = 0; i < 10; i++)
		session_send(session, at(i));
	cr_assert_eq(session_counters(session).lost, 6);
	cr_assert_eq(session_outstanding(session), 4);
	cr_assert_eq(session_receive(session, 5, 0, &sent), SESSION_UNKNOWN);
	cr_assert_eq(session_receive(session, 6, 0, &sent), SESSION_FRESH);
	session_destroy(session);
}

Test(session, a_probe_that_did_not_leave_is_forgotten)
{
	struct session *session = session_create(4);

	session_send(session, at(1));
	session_unsend(session);
	cr_assert_eq(session_counters(session).sent, 0);
	cr_assert_eq(session_outstanding(session), 0);
	cr_assert_eq(session_send(session, at(2)), 0);
	session_destroy(session);
}

Test(session, a_probe_that_did_not_leave_gives_its_place_back)
{
	struct session *session = session_create(4);
	struct session_probe sent;

	for (int64_t i = 0; i < 4; i++)
		session_send(session, at(i));
	cr_assert_eq(session_receive(session, 0, 0, &sent), SESSION_FRESH);
	session_send(session, at(4)); /* it takes the place of number 0, which was answered */
	session_unsend(session);
	cr_assert_eq(session_receive(session, 0, 0, &sent), SESSION_DUPLICATE);
	cr_assert_eq(session_receive(session, 1, 1, &sent), SESSION_FRESH);
	cr_assert_eq(session_outstanding(session), 2);
	session_destroy(session);
}

Test(session, a_burst_is_stamped_after_all_of_it_was_numbered)
{
	struct session *session = session_create(8);
	struct session_probe sent;
	struct stamp oldest;

	for (int64_t i = 0; i < 4; i++)
		session_send(session, (struct stamp){.clock = CLOCK_COUNTER});
	for (uint32_t i = 0; i < 2; i++)
		session_restamp(session, i, at(100 + (int64_t)i), false);
	for (int i = 0; i < 2; i++)
		session_unsend(session);
	cr_assert_eq(session_outstanding(session), 2);
	cr_assert(session_oldest(session, &oldest) && oldest.ns == 100);
	cr_assert_eq(session_receive(session, 1, 1, &sent), SESSION_FRESH);
	cr_assert_eq(sent.sent_at.ns, 101);
	cr_assert_eq(session_expire(session, at(200)), 1);
	cr_assert(!session_oldest(session, &oldest));
	session_destroy(session);
}

Test(session, a_departure_corrects_the_stamp_and_one_before_it_is_wrong)
{
	struct session *session = session_create(16);
	struct session_probe sent;

	for (int64_t i = 0; i < 3; i++)
		session_send(session, at(NS_PER_S));
	session_restamp(session, 0, at(NS_PER_S + 700), true);
	session_restamp(session, 1, at(NS_PER_S - 700), true);
	session_restamp(session, 2, at(-3599 * NS_PER_S), true);
	cr_assert_eq(session_receive(session, 0, 0, &sent), SESSION_FRESH);
	cr_assert(sent.departed && sent.sent_at.ns == NS_PER_S + 700);
	cr_assert_eq(session_receive(session, 1, 1, &sent), SESSION_FRESH);
	cr_assert(sent.departed && sent.sent_at.ns == NS_PER_S - 700, "clocks agree to some microseconds");
	cr_assert_eq(session_receive(session, 2, 2, &sent), SESSION_FRESH);
	cr_assert(!sent.departed && sent.sent_at.ns == NS_PER_S, "the wall clock was set back by an hour");
	session_destroy(session);
}

Test(session, what_is_out_at_the_end_can_be_taken_back)
{
	struct session *session = session_create(8);
	struct session_counters counters;
	struct session_probe sent;

	for (int64_t i = 0; i < 6; i++)
		session_send(session, at(i));
	session_receive(session, 2, 0, &sent);
	session_expire(session, at(2));
	session_abandon(session);
	counters = session_counters(session);
	cr_assert(counters.sent == 3 && counters.fresh == 1 && counters.lost == 2);
	cr_assert_eq(session_outstanding(session), 0);
	cr_assert_eq(session_receive(session, 4, 1, &sent), SESSION_LATE);
	cr_assert_eq(session_outstanding(session), 0);
	session_destroy(session);
}

/* A path that loses, duplicates and reorders packets in both directions; the true numbers are counted separately. */
struct truth {
	uint64_t lost_forward, lost_back, doubled;
	uint64_t lost_since; /* lost_forward since the newest answered probe */
};

struct reply {
	uint32_t sequence, reflector_sequence;
};

/* Some answers are duplicated; `replies` has space for them. */
static void receive_shuffled(struct session *session, struct reply *replies, uint32_t count, struct rng *rng,
			     struct truth *truth)
{
	uint32_t copies = count;
	struct session_probe sent;

	for (uint32_t i = 0; i < count; i++) {
		if (rng_below(rng, 8) == 0)
			replies[copies++] = replies[i];
	}
	truth->doubled += copies - count;
	rng_shuffle(rng, replies, copies, sizeof replies[0]);
	for (uint32_t i = 0; i < copies; i++)
		cr_assert_leq(session_receive(session, replies[i].sequence, replies[i].reflector_sequence, &sent),
			      SESSION_DUPLICATE);
}

static void exchange_at_random(struct session *session, struct rng *rng, struct truth *truth)
{
	struct reply queue[10];
	uint32_t reflector = 0, queued = 0;

	for (int64_t now = 0; now < 50000; now++) {
		uint32_t sequence = session_send(session, at(now));

		if (rng_below(rng, 10) == 0) {
			truth->lost_forward++;
			truth->lost_since++;
			continue;
		}
		if (rng_below(rng, 20) == 0) {
			truth->lost_back++;
			reflector++;
			continue;
		}
		truth->lost_since = 0;
		queue[queued++] = (struct reply){sequence, reflector++};
		if (rng_below(rng, 8) == 0) { /* duplicated on the way there: the reflector answers both */
			truth->doubled++;
			queue[queued++] = (struct reply){sequence, reflector++};
		}
		if (queued >= 4) {
			receive_shuffled(session, queue, queued, rng, truth);
			queued = 0;
		}
	}
	if (queued)
		receive_shuffled(session, queue, queued, rng, truth);
}

Test(session, counters_add_up_and_tell_the_ways_apart)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct session *session = session_create(256);
		struct session_counters counters;
		struct truth truth = {0};
		uint64_t lost_forward;
		struct rng rng;

		rng_seed(&rng, seed);
		exchange_at_random(session, &rng, &truth);
		session_expire(session, at(INT64_C(1) << 40));
		counters = session_counters(session);
		cr_assert_eq(counters.sent, 50000);
		cr_assert_eq(counters.fresh + counters.lost, counters.sent);
		cr_assert_eq(counters.lost, truth.lost_forward + truth.lost_back);
		cr_assert_eq(counters.duplicates, truth.doubled);
		cr_assert_gt(counters.reordered, 0);
		/* An answer tells nothing about later packets. */
		cr_assert(session_lost_forward(session, &lost_forward));
		cr_assert_eq(lost_forward, truth.lost_forward - truth.lost_since, "%lu, %lu less %lu", lost_forward,
			     truth.lost_forward, truth.lost_since);
		session_destroy(session);
	}
}

/* Ten probes one after the other; probe number `lost_back` gets no answer. */
static bool lost_forward_of(struct session *session, uint32_t first, uint32_t lost_back, uint64_t *lost)
{
	for (uint32_t i = 0; i < 10; i++) {
		struct session_probe probe;

		session_send(session, at(i));
		if (i != lost_back)
			session_receive(session, i, first + i, &probe);
	}
	session_expire(session, at(1000));
	return session_lost_forward(session, lost);
}

Test(session, a_reflector_that_copies_our_numbers_says_nothing)
{
	struct session *session = session_create(16);
	uint64_t lost;

	cr_assert(!lost_forward_of(session, 0, 4, &lost), "stateless, or lost on the way back: nobody knows");
	session_set_stateful(session);
	cr_assert(session_lost_forward(session, &lost));
	cr_assert_eq(lost, 0, "it counts itself and saw all: lost on the way back");
	session_destroy(session);
}

Test(session, a_reflector_that_counts_again_goes_on_telling_the_ways_apart)
{
	/* The reflector's number of each probe's answer. */
	enum { THERE = -1, BACK = -2, DOWN = -3 };
	static const int numbers[] = {0, THERE, 1, BACK, 3, DOWN, DOWN, 0, 1, THERE, 2, BACK, 4};
	struct session *session = session_create(16);
	struct session_probe probe;
	uint64_t lost;

	session_set_stateful(session);
	for (uint32_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
		session_send(session, at(i));
		if (numbers[i] >= 0)
			session_receive(session, i, (uint32_t)numbers[i], &probe);
		session_expire(session, at(i + 1));
		if (i == 7)
			cr_assert(session_lost_forward(session, &lost) && lost == 1, "%lu", lost);
	}
	cr_assert(session_lost_forward(session, &lost));
	cr_assert_eq(lost, 2, "%lu; nobody knows of the probes while it was down", lost);
	cr_assert_eq(session_counters(session).lost, 6);
	session_destroy(session);
}

Test(session, a_reflector_that_counted_more_than_we_sent_says_nothing)
{
	struct session *session = session_create(16);
	uint64_t lost;

	/* The reflector's counter is ahead of ours: the session existed before, or it counts other packets too. */
	cr_assert(!lost_forward_of(session, 1000, 4, &lost));
	cr_assert_eq(session_counters(session).lost, 1);
	session_destroy(session);
}

Test(session, a_stall_of_the_sender_shows_in_the_answer)
{
	struct session *session = session_create(4);
	struct session_probe probe;

	session_send(session, at(1));
	session_disturb(session, 0);
	session_send(session, at(2));
	cr_assert_eq(session_receive(session, 0, 0, &probe), SESSION_FRESH);
	cr_assert(probe.disturbed);
	cr_assert_eq(session_receive(session, 1, 1, &probe), SESSION_FRESH);
	cr_assert(!probe.disturbed);
	session_destroy(session);
}

Test(session, an_exact_departure_corrects_a_wrong_stamp_but_not_a_late_departure)
{
	struct session *session = session_create(4);
	struct session_probe probe;

	for (uint32_t i = 0; i < 2; i++)
		session_send(session, at(1));
	session_disturb(session, 0);
	session_left_late(session, 1);
	for (uint32_t i = 0; i < 2; i++)
		session_restamp(session, i, at(2), true);
	session_receive(session, 0, 0, &probe);
	cr_assert(probe.departed && !probe.disturbed);
	session_receive(session, 1, 1, &probe);
	cr_assert(probe.departed && probe.disturbed);
	session_destroy(session);
}

Test(session, bounds)
{
	cr_assert_null(session_create(0));
	cr_assert_null(session_create((1U << 20) + 1));
	session_destroy(NULL);
}
