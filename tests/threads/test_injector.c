/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control thread sets delays, reads counters and lateness, and resets, while the line runs on its own lcore between
 * two ports that always have packets, and the capture's thread reads every captured frame. Every reading must add up.
 */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include <dp/eal.h>
#include <dp/port.h>
#include <injector/line/capture.h>
#include <injector/line/line.h>

static struct error err;

static int failed(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, err.text);
	return 1;
}

static int check(struct injector *injector, struct histogram *lateness)
{
	struct injector_statistics statistics;

	if (injector_read(injector, &statistics, &err))
		return failed("read");
	for (int i = 0; i < INJECTOR_DIRECTIONS; i++) {
		const struct injector_direction_statistics *d = &statistics.direction[i];

		if (d->rx_packets != d->tx_packets + d->held + d->ring_full) {
			fprintf(stderr,
				"direction %d: rx %" PRIu64 " is not tx %" PRIu64 " + held %" PRIu64 " + full %" PRIu64
				"\n",
				i, d->rx_packets, d->tx_packets, d->held, d->ring_full);
			return 1;
		}
		histogram_reset(lateness);
		injector_read_lateness(injector, (enum injector_direction)i, false, lateness);
	}
	return 0;
}

static bool seen_by(const struct injector_capture *capture)
{
	return injector_capture_written(capture) + injector_capture_lost(capture) > 0;
}

/* Runs until the capture has seen a frame: if the CPUs are busy, the line may start late. */
static int exercise(struct injector *injector, const struct injector_capture *capture)
{
	struct histogram *lateness = histogram_create(1, INT64_C(100000000000), 2);
	struct ns end = {ns_now_monotonic().v + 30 * NS_PER_S};
	int status = lateness == NULL;

	for (int i = 0; !status && (i < 60 || (!seen_by(capture) && ns_now_monotonic().v < end.v)); i++) {
		double delay_us[INJECTOR_DIRECTIONS] = {i % 7 * 3.0, i % 5 * 2.5};

		if (injector_set_delay(injector, delay_us, &err))
			status = failed("set");
		else
			status = check(injector, lateness);
	}
	if (!status && check(injector, lateness))
		status = 1;
	histogram_destroy(lateness);
	return status;
}

int main(void)
{
	static const char *const names[] = {"net_null0", "net_null1"};
	struct dp_eal_options eal = {
		.program = "test", .ports = names, .port_count = 2, .workers = 1, .memory_MiB = 64};
	struct dp_port *ports[2] = {NULL, NULL};
	struct injector_capture *capture = NULL;
	struct injector *injector = NULL;
	struct dp_pool *pool;
	struct dp_clock clock;
	unsigned int lcore;
	int status = 1;

	if (dp_eal_start(&eal, &err))
		return failed("EAL");
	pool = dp_pool_create("pool", 4095, 256, &err);
	for (int i = 0; pool && i < 2; i++) {
		struct dp_port_options options = {.name = names[i], .pool = pool};

		ports[i] = dp_port_open(&options, &err);
		if (!ports[i] || dp_port_start(ports[i], &err))
			goto out;
	}
	lcore = dp_eal_worker(0);
	if (!pool || dp_clock_calibrate(&clock, (struct ns){20 * NS_PER_MS}, &err))
		goto out;
	capture = injector_capture_create("/dev/null", &clock, &err);
	if (!capture || injector_capture_start(capture, &err))
		goto out;
	injector = injector_create(&(struct injector_settings){.port_a = dp_port_id(ports[0]),
							       .port_b = dp_port_id(ports[1]),
							       .lcores = &lcore,
							       .lcore_count = 1,
							       .capture = capture,
							       .slots = 1024,
							       .stall_us = 10,
							       .hiccup_ns = 10000,
							       .stamps = {{.offset = -1}, {.offset = -1}}},
				   &clock, &err);
	if (!injector || injector_start(injector, &err))
		goto out;
	status = exercise(injector, capture);
	if (!status && !seen_by(capture)) {
		fprintf(stderr, "the capture saw no frame\n");
		status = 1;
	}
out:
	if (err.code)
		failed("injector over net_null");
	injector_destroy(injector);
	if (capture && injector_capture_close(capture, &err))
		status = failed("capture");
	for (int i = 0; i < 2; i++)
		dp_port_close(ports[i]);
	dp_pool_free(pool);
	dp_eal_stop();
	return status;
}
