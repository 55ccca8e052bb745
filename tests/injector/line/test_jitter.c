/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --jitter and traces: the law of the added delay, at every packet rate, and the order of the packets; in virtual time.
 */
#include <criterion/criterion.h>

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <base/quantile.h>
#include <base/rng.h>

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

/*
 * A law of which the distribution function is known. Samples of one long walk that are `apart` times the range apart
 * count as independent; `samples` of them are taken.
 */
struct law {
	const char *jitter;
	double (*cdf)(double us);
	double mean_us, deviation_us, range_us, apart; /* apart: in ranges */
	int samples;
};

enum { SAMPLES = 200000, TRACE_ROWS = 300000 };

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

/* The law of a file: its numbers times `unit_us`, sorted. */
static double numbers[TRACE_ROWS];
static int number_count;

static double numbers_cdf(double us)
{
	int low = 0, high = number_count - 1;

	if (us < numbers[0] || us >= numbers[high])
		return us >= numbers[high];
	while (low + 1 < high) {
		int middle = (low + high) / 2;

		if (numbers[middle] <= us)
			low = middle;
		else
			high = middle;
	}
	return (low + (us - numbers[low]) / (numbers[low + 1] - numbers[low])) / (number_count - 1);
}

static void sort_numbers(struct law *law)
{
	double sum = 0, squares = 0;

	quantile_median(numbers, (size_t)number_count); /* sorts */
	/* of the line between the numbers: the trapezoid of each pair */
	for (int i = 0; i + 1 < number_count; i++) {
		double a = numbers[i], b = numbers[i + 1];

		sum += (a + b) / 2;
		squares += (a * a + a * b + b * b) / 3;
	}
	law->mean_us = sum / (number_count - 1);
	law->deviation_us = sqrt(squares / (number_count - 1) - law->mean_us * law->mean_us);
	law->range_us = numbers[number_count - 1] - numbers[0];
	law->cdf = numbers_cdf;
}

static const struct law laws[] = {
	{"uniform:10", uniform_cdf, 5, 2.887, 10, 40, SAMPLES},
	{"normal:2", normal_cdf, 0, 2, 16, 20, SAMPLES},
	{"pareto:5,4", pareto_cdf, 5.0 / 3, 2.357, 60, 20, SAMPLES},
};

enum { LAWS = sizeof laws / sizeof laws[0] };

/*
 * Returns the Kolmogorov-Smirnov distance of the samples from the law; sorts them. Delays are whole cycles, so a sample
 * and the law may differ by one; the law may have steps.
 */
static double distance(double *us, int samples, const struct law *law)
{
	const double cycle_us = 0.5e-3;
	double farthest = 0;
	int same;

	quantile_median(us, (size_t)samples); /* sorts */
	for (int i = 0; i < samples; i += same) {
		for (same = 1; i + same < samples && us[i + same] == us[i]; same++)
			;
		farthest = fmax(farthest, (double)(i + same) / samples - law->cdf(us[i] + cycle_us));
		farthest = fmax(farthest, law->cdf(us[i] - cycle_us) - (double)i / samples);
	}
	return farthest;
}

/* A direction in order, as in the modal loop. */
struct order {
	const struct injector_modes *modes;
	uint64_t now, last_due, kept_back, packets;
	double sum_us;
};

/* Sends a packet, the next one after `interval` cycles. Returns its added delay, us. */
static double send_one(struct order *order, uint64_t interval)
{
	uint64_t due = order->now + judge(order->modes, order->now).delay_cycles;
	double us;

	order->kept_back += due < order->last_due;
	due = due < order->last_due ? order->last_due : due;
	us = (double)(due - order->now) / 2000 - DELAY_US;
	order->last_due = due;
	order->now += interval;
	order->packets++;
	order->sum_us += us;
	return us;
}

/* Sends four packets at this rate; returns the added delay of the last one, us. */
static double send_four(struct order *order, double pps)
{
	uint64_t interval = US(1e6 / pps);

	for (int i = 0; i < 3; i++)
		send_one(order, interval);
	return send_one(order, interval);
}

/*
 * Sends packets at this rate through the mode, in order. Between two samples, only the last packets have this rate if
 * it is high: the others are just not so far apart that they could have any jitter. `restarts`: there is a pause before
 * each sample, after which the wave starts anywhere, and then walks for a while; so samples are independent. Otherwise
 * the wave walks all the time. Returns the mean added delay of all packets, us, and stores that of the samples in us[].
 */
static double send_in_order(const struct law *law, double pps, bool restarts, int samples, double *us)
{
	struct injector_modes *modes = create(law->jitter, false, 7);
	struct order order = {.modes = modes, .now = US(1e6)};
	uint64_t wide = US(fmax(1e6 / pps, law->range_us / 2));
	int between = (int)ceil(US(law->apart * law->range_us) / (double)wide);

	for (int sample = 0; sample < samples; sample++) {
		order.now += restarts ? US(2 * law->range_us) : 0;
		for (int i = 0; i < (restarts ? sample % 8 : between); i++)
			send_one(&order, wide);
		us[sample] = send_four(&order, pps);
	}
	injector_modes_destroy(modes);
	cr_expect_eq(order.kept_back, 0, "%s at %g pps: %lu packets had to be kept in order", law->jitter, pps,
		     order.kept_back);
	return order.sum_us / (double)order.packets;
}

/*
 * The distance at the 1 % level; the mean within 1 % of the law's mean or, if that is less, of its deviation; with few
 * samples within four standard errors.
 */
static void judge_samples(const struct law *law, double pps, double mean_us, int samples, double *us)
{
	double far = distance(us, samples, law), scale_us = fmax(fabs(law->mean_us), law->deviation_us);
	double bound_us = fmax(scale_us / 100, 4 * law->deviation_us / sqrt(samples));

	cr_log_info("%s, %d at %g pps: KS %.4f, mean %.4f us", law->jitter, samples, pps, far, mean_us);
	cr_expect_lt(far, 1.628 / sqrt(samples), "%s at %g pps: KS distance %.4f", law->jitter, pps, far);
	cr_expect_lt(fabs(mean_us - law->mean_us), bound_us, "%s at %g pps: mean %.4f us, expected %.4f", law->jitter,
		     pps, mean_us, law->mean_us);
}

/* Independent samples at every rate, and those of a long walk at one. */
static void check_in_order(const struct law *law)
{
	double *us = malloc(SAMPLES * sizeof *us);

	for (double pps = 1e3; pps < 2e7; pps *= 10)
		judge_samples(law, pps, send_in_order(law, pps, true, SAMPLES, us), SAMPLES, us);
	judge_samples(law, 1e6, send_in_order(law, 1e6, false, law->samples, us), law->samples, us);
	free(us);
}

Test(jitter, in_order_has_the_law_at_every_rate)
{
	for (size_t l = 0; l < LAWS; l++)
		check_in_order(&laws[l]);
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
		far = distance(us, SAMPLES, &laws[l]);
		cr_expect_lt(far, 1.628 / sqrt(SAMPLES), "%s: KS distance %.4f", laws[l].jitter, far);
	}
	free(us);
}

/* The tables that Debian's iproute2 has: read here a second time, by other code. */
static bool load_netem(const char *name, double unit_us, char *path, size_t bytes)
{
	char pattern[64], line[1024];
	glob_t found;
	FILE *file;
	int used;

	snprintf(pattern, sizeof pattern, "/usr/lib/*/tc/%s.dist", name);
	if (glob(pattern, 0, NULL, &found) != 0)
		return false;
	snprintf(path, bytes, "%s", found.gl_pathv[0]);
	globfree(&found);
	file = fopen(path, "r");
	cr_assert_not_null(file, "%s", path);
	number_count = 0;
	while (fgets(line, sizeof line, file)) {
		double value;

		for (const char *at = line; *line != '#' && sscanf(at, "%lf%n", &value, &used) == 1; at += used)
			numbers[number_count++] = value / 8192 * unit_us;
	}
	fclose(file);
	return true;
}

Test(jitter, the_tables_of_netem_have_their_law_in_order)
{
	/* pareto.dist has many equal values at its end, at which waves stay for long */
	static const struct {
		const char *name;
		double apart;
		int samples;
	} tables[] = {{"normal", 30, SAMPLES},
		      {"pareto", 200, 20000},
		      {"paretonormal", 30, 20000},
		      {"experimental", 30, 20000}};

	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		char path[256], jitter[300];
		struct law law = {.jitter = jitter, .apart = tables[i].apart, .samples = tables[i].samples};

		if (!load_netem(tables[i].name, 20, path, sizeof path))
			cr_skip_test("no tables of netem: install iproute2");
		cr_assert_eq(number_count, 4096);
		snprintf(jitter, sizeof jitter, "netem:20,%s", path);
		sort_numbers(&law);
		check_in_order(&law);
	}
}

/* Writes `numbers` to a file of one number a line. */
static void write_samples(char *path, size_t bytes)
{
	FILE *file;

	snprintf(path, bytes, "/tmp/test-jitter-%d", (int)getpid());
	file = fopen(path, "w");
	for (int i = 0; i < number_count; i++)
		fprintf(file, "%.9g\n", numbers[i]);
	fclose(file);
}

/* Two humps with nothing between them, the smaller one first in the file. */
static void make_humps(void)
{
	number_count = 1000;
	for (int i = 0; i < number_count; i++)
		numbers[i] = i < 300 ? 6 + i % 100 * 0.02 : 1 + (i * 7919 % 700) * (i * 7919 % 700) * 4e-6;
}

/* Most packets have no jitter, the others that of a second path. */
static void make_two_paths(void)
{
	number_count = 1000;
	for (int i = 0; i < number_count; i++)
		numbers[i] = i < 900 ? 0 : 5 + (i - 900) * 0.01;
}

/* As a measurement: random, so that the distances between the numbers differ much. */
static void make_random(void)
{
	struct rng rng;

	rng_seed(&rng, 1);
	number_count = 3000;
	for (int i = 0; i < number_count; i++)
		numbers[i] = -3 * log(1 - rng_uniform(&rng));
}

Test(jitter, samples_of_any_law_have_it_in_order)
{
	static void (*const makes[])(void) = {make_humps, make_two_paths, make_random};
	static const double apart[] = {2000, 2000, 60};
	static const int samples[] = {1000, 1000, 20000};

	for (size_t i = 0; i < 3; i++) {
		char path[64], jitter[80];
		struct law law = {.jitter = jitter, .apart = apart[i], .samples = samples[i]};

		makes[i]();
		write_samples(path, sizeof path);
		snprintf(jitter, sizeof jitter, "samples:%s", path);
		sort_numbers(&law);
		check_in_order(&law);
		unlink(path);
	}
}

enum { TRACE_MS = 10 }; /* each value applies so long */

static void write_trace(char *path, size_t bytes, bool stamped)
{
	FILE *file;

	snprintf(path, bytes, "/tmp/test-trace-%d", (int)getpid());
	file = fopen(path, "w");
	for (int i = 0; i < TRACE_ROWS; i++) {
		if (stamped)
			fprintf(file, "%.2f:", i * TRACE_MS / 1e3);
		fprintf(file, "%.9g\n", DELAY_US + numbers[i]);
	}
	fclose(file);
}

/* A trace sets the delay by the time; packets are kept in order where it falls. Samples at random times. */
static double send_through_trace(const struct injector_mode_settings *settings, double pps, double *us)
{
	struct error err = {0};
	struct injector_modes *modes = injector_modes_create(settings, &the_clock, &err);
	struct order order = {.modes = modes, .now = US(1e6)};
	struct rng rng;

	cr_assert_not_null(modes, "%s", err.text);
	rng_seed(&rng, 2);
	for (int sample = 0; sample < SAMPLES; sample++) {
		us[sample] = send_four(&order, pps);
		order.now += US(2e3 * TRACE_MS * rng_uniform(&rng));
	}
	injector_modes_destroy(modes);
	return order.sum_us / (double)order.packets;
}

Test(jitter, traces_have_the_law_of_their_values)
{
	double *us = malloc(SAMPLES * sizeof *us);
	char path[64];
	struct rng rng;

	number_count = TRACE_ROWS;
	for (int stamped = 0; stamped < 2; stamped++) {
		struct injector_mode_settings settings = {.replay_interval_us = 1e3 * TRACE_MS};
		struct law law = {.jitter = stamped ? "--steps" : "--replay"};

		rng_seed(&rng, 1);
		for (int i = 0; i < number_count; i++)
			numbers[i] = -3 * log(1 - rng_uniform(&rng));
		write_trace(path, sizeof path, stamped);
		sort_numbers(&law);
		*(stamped ? &settings.steps : &settings.replay) = path;
		for (double pps = 1e3; pps < 2e7; pps *= 10)
			judge_samples(&law, pps, send_through_trace(&settings, pps, us), SAMPLES, us);
		unlink(path);
	}
	free(us);
}

/* All waves of a uniform law rise to its top: count them. The distribution stays the same. */
Test(jitter, waves_take_the_requested_time)
{
	struct injector_mode_settings settings = {.jitter = "uniform:10", .jitter_wave_us = 1000, .seed = 3};
	struct error err = {0};
	struct injector_modes *modes = injector_modes_create(&settings, &the_clock, &err);
	double before_us = 0, sum_us = 0, steepest = 0;
	int waves = 0;

	cr_assert_not_null(modes, "%s", err.text);
	for (uint64_t i = 0; i < 1000000; i++) { /* one a microsecond */
		double us = (double)judge(modes, US(1e6 + (double)i)).delay_cycles / 2000 - DELAY_US;

		waves += before_us < 5 && us >= 5;
		steepest = i > 0 ? fmax(steepest, before_us - us) : 0;
		before_us = us;
		sum_us += us;
	}
	injector_modes_destroy(modes);
	cr_expect_float_eq(waves, 1000, 50, "%d waves in a second", waves);
	cr_expect_float_eq(sum_us / 1e6, 5, 0.05, "mean %g us", sum_us / 1e6);
	cr_expect_lt(steepest, 0.5 * 60 / 1000 + 0.001, "fell by %g us in a microsecond", steepest);
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
