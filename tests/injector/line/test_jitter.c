/* SPDX-License-Identifier: BSD-3-Clause */
/* --jitter: the law of the added delay, at every packet rate, and the order of the packets; in virtual time. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>

#include <base/quantile.h>

#include "mode_priv.h"

/* One cycle is half a nanosecond. */
static const struct dp_clock the_clock = {.ns_per_cycle = 0.5};
#define US(us) ((uint64_t)((us)*2000.0))

enum { DELAY_US = 200 };

static struct injector_modes *create(const char *jitter, bool reorder, uint64_t seed)
{
	struct injector_mode_settings settings = {.jitter = jitter, .reorder = reorder, .seed = seed};
	struct error err = {0};
	struct injector_modes *modes;

	settings.replay_interval_us = 1e6;
	modes = injector_modes_create(&settings, &the_clock, &err);
	cr_assert_not_null(modes, "%s", err.text);
	return modes;
}

static struct verdict judge(const struct injector_modes *modes, uint64_t now)
{
	struct verdict verdict = {.delay_cycles = US(DELAY_US)};

	modes_apply(modes, NULL, now, &verdict);
	return verdict;
}

static double uniform_cdf(double us)
{
	return fmin(fmax(us / 10, 0), 1);
}

static double normal_cdf(double us)
{
	return erfc(-us / 2 / sqrt(2)) / 2;
}

static double pareto_cdf(double us)
{
	return us > 0 ? 1 - pow(1 + us / 5, -4) : 0;
}

static const struct law {
	const char *jitter;
	double (*cdf)(double us);
	double mean_us, deviation_us;
} laws[] = {
	{"uniform:10", uniform_cdf, 5, 2.887},
	{"normal:2", normal_cdf, 0, 2},
	{"pareto:5,4", pareto_cdf, 5.0 / 3, 2.357},
};

enum { LAWS = sizeof laws / sizeof laws[0], SAMPLES = 20000 };

/*
 * Samples at least this far apart count as independent: some ten times the correlation time of these laws. All packets
 * between them are judged, too.
 */
#define APART_US 400.0

/* Returns the Kolmogorov-Smirnov distance of the samples from the law; sorts them. */
static double distance(double *us, const struct law *law)
{
	double farthest = 0;

	quantile_median(us, SAMPLES); /* sorts */
	for (int i = 0; i < SAMPLES; i++) {
		double p = law->cdf(us[i]);

		farthest = fmax(farthest, fmax(fabs(p - (double)i / SAMPLES), fabs(p - (i + 1.0) / SAMPLES)));
	}
	return farthest;
}

/*
 * Sends packets at this rate through the mode. Keeps them in order as the modal loop does. Returns the mean added
 * delay of all packets, us, and stores that of every n-th packet in us[SAMPLES].
 */
static double send_in_order(const struct law *law, double pps, double *us)
{
	struct injector_modes *modes = create(law->jitter, false, 7);
	uint64_t interval = US(1e6 / pps), now = US(1e6), last_due = 0, kept_back = 0, packets = 0;
	int every = (int)fmax(ceil(APART_US * pps / 1e6), 16); /* many packets for the mean */
	double sum = 0;

	for (int sample = 0; sample < SAMPLES; sample++) {
		uint64_t due = 0;

		for (int i = 0; i < every; i++, packets++, now += interval) {
			due = now + judge(modes, now).delay_cycles;
			kept_back += due < last_due;
			due = due < last_due ? last_due : due;
			last_due = due;
			sum += (double)(due - now) / 2000 - DELAY_US;
		}
		us[sample] = (double)(due - (now - interval)) / 2000 - DELAY_US;
	}
	injector_modes_destroy(modes);
	cr_expect_eq(kept_back, 0, "%s at %g pps: %lu packets had to be kept in order", law->jitter, pps, kept_back);
	return sum / (double)packets;
}

/* The distance at the 1 % level; the mean within 1 % of the law's mean or, if that is less, of its deviation. */
Test(jitter, in_order_has_the_law_at_every_rate)
{
	double *us = malloc(SAMPLES * sizeof *us);

	for (size_t l = 0; l < LAWS; l++) {
		for (double pps = 1e3; pps < 2e7; pps *= 10) {
			double mean_us = send_in_order(&laws[l], pps, us), far = distance(us, &laws[l]);
			double scale_us = fmax(fabs(laws[l].mean_us), laws[l].deviation_us);

			cr_log_info("%s at %g pps: KS %.4f, mean %.4f us", laws[l].jitter, pps, far, mean_us);
			cr_expect_lt(far, 1.628 / sqrt(SAMPLES), "%s at %g pps: KS distance %.4f", laws[l].jitter, pps,
				     far);
			cr_expect_lt(fabs(mean_us - laws[l].mean_us), scale_us / 100,
				     "%s at %g pps: mean %.4f us, expected %.4f", laws[l].jitter, pps, mean_us,
				     laws[l].mean_us);
		}
	}
	free(us);
}

Test(jitter, with_reorder_has_the_law)
{
	double *us = malloc(SAMPLES * sizeof *us);

	for (size_t l = 0; l < LAWS; l++) {
		struct injector_modes *modes = create(laws[l].jitter, true, 5);
		double far;

		for (int i = 0; i < SAMPLES; i++)
			us[i] = (double)judge(modes, 0).delay_cycles / 2000 - DELAY_US;
		injector_modes_destroy(modes);
		far = distance(us, &laws[l]);
		cr_expect_lt(far, 1.628 / sqrt(SAMPLES), "%s: KS distance %.4f", laws[l].jitter, far);
	}
	free(us);
}

Test(jitter, never_makes_a_delay_negative_and_overtakes_only_when_told)
{
	struct injector_modes *keep = create("normal:1000", false, 1), *overtake = create("normal:1", true, 1);

	for (uint64_t i = 0; i < 10000; i++)
		cr_assert_lt(judge(keep, i * US(100)).delay_cycles, US(20000));
	cr_assert(!judge(keep, 0).overtake);
	cr_assert(judge(overtake, 0).overtake);
	injector_modes_destroy(keep);
	injector_modes_destroy(overtake);
}

/* The smallest and the largest scale, and heavy tails: no packet is early, over the limit or out of order. */
Test(jitter, has_limits_at_every_scale)
{
	static const char *const kinds[] = {"uniform:0",       "normal:0",      "pareto:0,2",       "uniform:0.001",
					    "normal:10000",    "uniform:10000", "pareto:10000,1.1", "pareto:0.1,1.01",
					    "pareto:1000,1.1", "pareto:1,100"};

	for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
		struct injector_modes *modes = create(kinds[k], false, k);
		uint64_t longest = modes_longest(modes, US(DELAY_US)), now = 0, last_due = 0;

		for (uint64_t i = 0; i < 100000; i++, now += i % 1000 ? i % 7 * 50 : US(3000)) {
			uint64_t delay = judge(modes, now).delay_cycles;

			cr_assert_leq(delay, longest, "%s", kinds[k]);
			cr_assert_geq(now + delay, last_due, "%s: packet %lu", kinds[k], i);
			last_due = now + delay;
		}
		injector_modes_destroy(modes);
	}
}
