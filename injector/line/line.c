/* SPDX-License-Identifier: BSD-3-Clause */
#include <injector/line/line.h>

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <dp/eal.h>

#include "line_priv.h"
#include "rule_priv.h"

enum { SLOTS_MINIMUM = 1024, SLOTS_MAXIMUM = 1 << 22 };

/*
 * Longest busy wait for a due time in injector_poll(), where the loop cannot measure the duration of its rounds: about
 * two idle rounds over ports in memory. A longer wait lowers the lateness, but packets wait longer to be received.
 * Measured at 1 Mpps in both directions on one thread (counter reading 24 ns, idle round 65 ns): with waits of 100, 120
 * and 140 ns the p99 lateness is 93, 84 and 70 ns, and the p99 from end to end is 486, 532 and 722 ns.
 */
#define WAIT_NS 130.0

/*
 * Time from a transmit call until the receiver has the packets: that of two to three transfers of a cache line between
 * CPUs.
 */
#define PREPARE_NS 200.0

uint32_t injector_slots(const struct injector *injector)
{
	return injector->slots;
}

static double longest_us(const struct injector *injector, enum injector_direction direction, double delay_us)
{
	double us_per_cycle = injector->clock.ns_per_cycle / 1e3;
	uint64_t cycles = (uint64_t)llround(delay_us / us_per_cycle);

	return (double)rules_longest(injector->rules[direction], cycles,
				     modes_longest(injector->modes[direction], cycles)) *
	       us_per_cycle;
}

double injector_multiple(const struct injector *injector, enum injector_direction direction)
{
	return fmax(modes_multiple(injector->modes[direction]), rules_multiple(injector->rules[direction]));
}

static int check_reach(const struct injector *injector, double delay_us, double multiple, struct error *err)
{
	const char *copies = multiple > 1 ? ", copies included," : "";
	double rate_pps = injector->expected_pps * multiple, packets = delay_us * 1e-6 * rate_pps;
	uint32_t needed = injector_slots_needed(delay_us, rate_pps);

	if (packets <= injector->slots)
		return 0;
	if (needed > SLOTS_MAXIMUM)
		return error_set(
			err, EINVAL,
			"a delay of %g us at %g packets/s%s holds %.0f packets, more than any ring can: expected "
			"a delay and a rate whose product is under the %d slots that --slots allows",
			delay_us, rate_pps, copies, packets, SLOTS_MAXIMUM);
	return error_set(err, EINVAL,
			 "a delay of %g us at %g packets/s%s holds %.0f packets, more than the %u slots of the ring: "
			 "--slots %u would do",
			 delay_us, rate_pps, copies, packets, injector->slots, needed);
}

/*
 * Refuses an expected rate above the limit of --rate: packets would arrive faster than they leave, and fill a ring of
 * any size.
 */
static int check_limit(const struct injector *injector, struct error *err)
{
	for (unsigned int i = 0; i < INJECTOR_DIRECTIONS; i++) {
		double multiple = injector_multiple(injector, i), limit_pps = modes_limit_pps(injector->modes[i]);

		if (injector->expected_pps * multiple > limit_pps)
			return error_set(
				err, EINVAL,
				"%g packets/s%s would overflow any ring: --rate lets through only %.0f/s, even "
				"of the smallest frames; expected a lower --expect-pps or a higher --rate",
				injector->expected_pps * multiple, multiple > 1 ? ", copies included," : "", limit_pps);
	}
	return 0;
}

static int check_delay(const struct injector *injector, const double delay_us[INJECTOR_DIRECTIONS], struct error *err)
{
	for (unsigned int i = 0; i < INJECTOR_DIRECTIONS; i++) {
		int status;

		if (!(delay_us[i] >= 0 && delay_us[i] <= INJECTOR_DELAY_MAXIMUM_US))
			return error_set(err, ERANGE, "a delay of %g us is out of range: expected 0 to %g", delay_us[i],
					 INJECTOR_DELAY_MAXIMUM_US);
		if (fabs(delay_us[i] - round(delay_us[i] * 10) / 10) > 1e-9)
			return error_set(err, EINVAL, "a delay of %g us: expected steps of 0.1 us", delay_us[i]);
		status = check_reach(injector, longest_us(injector, i, delay_us[i]), injector_multiple(injector, i),
				     err);
		if (status)
			return status;
	}
	return 0;
}

static const struct line_config *make_config(const struct injector *injector, struct error *err)
{
	struct line_config *config = calloc(1, sizeof *config);

	if (!config) {
		error_set(err, ENOMEM, "no memory for a configuration");
		return NULL;
	}
	config->subtract_cycles = (uint64_t)llround(injector->subtract_ns / injector->clock.ns_per_cycle);
	for (unsigned int i = 0; i < INJECTOR_DIRECTIONS; i++) {
		config->delay_cycles[i] = (uint64_t)llround(injector->delay_us[i] * 1e3 / injector->clock.ns_per_cycle);
		config->nic_clock[i] = injector->nic_clock[i];
		if (injector->rules[i])
			memcpy(config->rules[i], injector->rules[i]->current, sizeof config->rules[i]);
	}
	return config;
}

static uint64_t cycles_of(const struct injector *injector, double ns)
{
	return (uint64_t)llround(ns / injector->clock.ns_per_cycle);
}

static int create_line(struct injector *injector, const struct injector_settings *settings,
		       enum injector_direction direction, struct error *err)
{
	struct line *line = dp_memory(sizeof *line);
	bool forward = direction == INJECTOR_AB;

	injector->lines[direction] = line;
	if (!line)
		return error_set(err, ENOMEM, "no memory for a delay line");
	line->mask = injector->slots - 1;
	line->rx_port = forward ? settings->port_a : settings->port_b;
	line->tx_port = forward ? settings->port_b : settings->port_a;
	line->late_cycles =
		settings->late_limit_us > 0 ? (int64_t)cycles_of(injector, settings->late_limit_us * 1e3) : INT64_MAX;
	line->modes = settings->modes[direction];
	line->rules = settings->rules[direction];
	line->stamps = settings->stamps[direction];
	line->capture_rx = forward ? 0 : 1;
	line->capture_tx = forward ? 1 : 0;
	if (settings->capture)
		line->capture = capture_ring_of(settings->capture, direction);
	if (injector->modal) {
		line->queue.capacity = injector->slots;
		line->queue.ring = dp_memory(injector->slots * sizeof(struct queue_entry));
		line->queue.nodes = dp_memory((injector->slots + 1) * sizeof(struct queue_node));
		line->queue.wheel = dp_memory(sizeof(struct queue_wheel));
	} else {
		line->packets = dp_memory((injector->slots + LINE_RX_BURST) * sizeof(struct dp_packet *));
		line->bursts = dp_memory(injector->slots * sizeof(struct line_burst));
	}
	if (injector->modal ? !line->queue.ring || !line->queue.nodes || !line->queue.wheel
			    : !line->packets || !line->bursts)
		return error_set(err, ENOMEM, "no memory for %u slots; give fewer (--slots), or more memory",
				 injector->slots);
	return 0;
}

static void create_workers(struct injector *injector, const struct injector_settings *settings)
{
	injector->worker_count = settings->lcore_count;
	for (unsigned int i = 0; i < injector->worker_count; i++) {
		struct worker *worker = &injector->workers[i];

		worker->lcore = settings->lcores[i];
		worker->nice = settings->nice;
		worker->modal = injector->modal;
		worker->stall_gap_cycles = cycles_of(injector, settings->stall_us * 1e3);
		worker->gap_cycles = cycles_of(injector, fmin(settings->hiccup_ns, settings->stall_us * 1e3));
		worker->timed_transmit = settings->transmit_is_system_call;
		worker->wait_cycles = (int64_t)cycles_of(injector, WAIT_NS);
		worker->prepare_cycles = cycles_of(injector, PREPARE_NS);
		worker->chunk_cycles = UINT64_MAX;
		for (unsigned int d = 0; d < INJECTOR_DIRECTIONS; d++) {
			if (d % injector->worker_count != i)
				continue;
			worker->directions[worker->line_count] = d;
			worker->lines[worker->line_count++] = injector->lines[d];
			injector->lines[d]->prepare_at = worker->timed_transmit ? UINT64_MAX : 0;
		}
		atomic_init(&worker->next_config, injector->config);
		worker_adopt_config(worker, injector->config);
	}
}

static bool needs_modal_loop(const struct injector_settings *settings)
{
	return settings->modes[0] || settings->modes[1] || settings->rules[0] || settings->rules[1] ||
	       settings->capture || settings->stamps[0].offset >= 0 || settings->stamps[1].offset >= 0;
}

struct injector *injector_create(const struct injector_settings *settings, const struct dp_clock *clock,
				 struct error *err)
{
	struct injector *injector = NULL;
	uint32_t slots = SLOTS_MINIMUM;

	if (settings->slots > SLOTS_MAXIMUM || settings->lcore_count < 1 ||
	    settings->lcore_count > INJECTOR_DIRECTIONS || !(settings->stall_us > 0) || !(settings->hiccup_ns > 0)) {
		error_set(err, EINVAL,
			  "expected at most %d slots, 1 or 2 lcores, and stall and hiccup thresholds above 0",
			  SLOTS_MAXIMUM);
		return NULL;
	}
	while (slots < settings->slots)
		slots *= 2;
	injector = dp_memory(sizeof *injector);
	if (!injector) {
		error_set(err, ENOMEM, "no memory for the injector");
		return NULL;
	}
	injector->slots = slots;
	injector->clock = *clock;
	injector->subtract_ns = settings->subtract_ns;
	injector->expected_pps = settings->expected_pps;
	injector->stall_us = settings->stall_us;
	injector->hiccup_ns = fmin(settings->hiccup_ns, settings->stall_us * 1e3);
	injector->modal = needs_modal_loop(settings);
	memcpy(injector->modes, settings->modes, sizeof injector->modes);
	memcpy(injector->rules, settings->rules, sizeof injector->rules);
	if (check_limit(injector, err) || check_delay(injector, settings->delay_us, err)) {
		injector_destroy(injector);
		return NULL;
	}
	memcpy(injector->delay_us, settings->delay_us, sizeof injector->delay_us);
	injector->config = make_config(injector, err);
	if (!injector->config || create_line(injector, settings, INJECTOR_AB, err) ||
	    create_line(injector, settings, INJECTOR_BA, err)) {
		injector_destroy(injector);
		return NULL;
	}
	create_workers(injector, settings);
	return injector;
}

static void free_line(struct line *line)
{
	if (!line)
		return;
	for (; line->packets && line->tail != line->head; line->tail++)
		dp_packet_free(line->packets[line->tail & line->mask]);
	while (line->queue.count > 0)
		dp_packet_free(queue_pop(&line->queue).packet);
	while (line->outbox_count > 0)
		dp_packet_free(line->outbox[--line->outbox_count].packet);
	dp_memory_free(line->packets);
	dp_memory_free(line->bursts);
	dp_memory_free(line->queue.ring);
	dp_memory_free(line->queue.nodes);
	dp_memory_free(line->queue.wheel);
	dp_memory_free(line);
}

void injector_destroy(struct injector *injector)
{
	if (!injector)
		return;
	injector_stop(injector);
	for (unsigned int i = 0; i < INJECTOR_DIRECTIONS; i++)
		free_line(injector->lines[i]);
	free((void *)(uintptr_t)injector->config);
	dp_memory_free(injector);
}

/* Publishes a configuration and waits until no lcore uses the old one. */
static int publish(struct injector *injector, struct error *err)
{
	const struct line_config *old = injector->config;
	const struct line_config *config = make_config(injector, err);

	if (!config)
		return -ENOMEM;
	injector->config = config;
	for (unsigned int i = 0; i < injector->worker_count; i++)
		atomic_store_explicit(&injector->workers[i].next_config, config, memory_order_release);
	for (unsigned int i = 0; i < injector->worker_count; i++) {
		struct worker *worker = &injector->workers[i];

		if (!worker->running)
			worker_adopt_config(worker, config);
		while (atomic_load_explicit(&worker->seen_config, memory_order_acquire) != config)
			sched_yield();
	}
	free((void *)(uintptr_t)old);
	return 0;
}

int injector_set_delay(struct injector *injector, const double delay_us[INJECTOR_DIRECTIONS], struct error *err)
{
	int status = check_delay(injector, delay_us, err);

	for (unsigned int i = 0; !status && i < INJECTOR_DIRECTIONS; i++) {
		const char *setter = injector_delay_setter(injector, i);

		if (setter)
			status = error_set(err, EINVAL, "the delay cannot be set: --%s decides it", setter);
	}
	if (status)
		return status;
	memcpy(injector->delay_us, delay_us, sizeof injector->delay_us);
	injector->delay_changes++;
	return publish(injector, err);
}

/* Exchanges the settings of rule `at` in both directions for the given ones. */
static void exchange_rule(struct injector *injector, size_t at, struct rule_settings *settings[INJECTOR_DIRECTIONS])
{
	for (unsigned int i = 0; i < INJECTOR_DIRECTIONS; i++) {
		struct rule_settings *before = injector->rules[i]->current[at];

		injector->rules[i]->current[at] = settings[i];
		settings[i] = before;
	}
}

int injector_set_rule(struct injector *injector, const char *text, struct error *err)
{
	struct rule_settings *settings[INJECTOR_DIRECTIONS] = {NULL, NULL};
	size_t at = 0;
	int status = 0;

	for (unsigned int i = 0; !status && i < INJECTOR_DIRECTIONS; i++) {
		settings[i] = rules_prepare(injector->rules[i], text, &at, err);
		status = settings[i] ? 0 : error_code(err, EINVAL);
	}
	if (!status) {
		exchange_rule(injector, at, settings);
		status = check_delay(injector, injector->delay_us, err);
		if (!status)
			status = publish(injector, err);
		if (status)
			exchange_rule(injector, at, settings);
		else
			injector->delay_changes++;
	}
	for (unsigned int i = 0; i < INJECTOR_DIRECTIONS; i++)
		rule_settings_destroy(settings[i]);
	return status;
}

void injector_set_subtract_ns(struct injector *injector, double ns)
{
	double before_ns = injector->subtract_ns;

	injector->subtract_ns = ns;
	if (publish(injector, NULL))
		injector->subtract_ns = before_ns;
}

uint64_t injector_delay_changes(const struct injector *injector)
{
	return injector->delay_changes;
}

unsigned int injector_lcore_count(const struct injector *injector)
{
	return injector->worker_count;
}

double injector_subtract_ns(const struct injector *injector)
{
	return injector->subtract_ns;
}

bool injector_trusts_counter(const struct injector *injector)
{
	return injector->clock.trusted;
}

const char *injector_delay_setter(const struct injector *injector, enum injector_direction direction)
{
	return modes_delay_setter(injector->modes[direction]);
}

double injector_longest_delay_us(const struct injector *injector, enum injector_direction direction)
{
	return longest_us(injector, direction, injector->delay_us[direction]);
}

double injector_delay_us(const struct injector *injector, enum injector_direction direction)
{
	return injector->delay_us[direction];
}

void injector_set_nic_clock(struct injector *injector, enum injector_direction direction, uint64_t nic, uint64_t cycles,
			    double nic_per_cycle)
{
	injector->nic_clock[direction] = (struct nic_clock){
		.nic_0 = nic, .tsc_0 = cycles, .multiplier = (uint64_t)llround((1 << 24) / nic_per_cycle)};
	publish(injector, NULL);
}

/*
 * Sends a request to every lcore and waits for the answers. An lcore answers between two rounds, so that its counters
 * are consistent.
 */
static int request(struct injector *injector, enum worker_request what, struct error *err)
{
	struct timespec pause = {.tv_nsec = 20000};
	struct ns deadline = ns_add(ns_now_monotonic(), (struct ns){INT64_C(2000000000)});

	for (unsigned int i = 0; i < injector->worker_count; i++) {
		struct worker *worker = &injector->workers[i];

		uint32_t number =
			(atomic_load_explicit(&worker->requested, memory_order_relaxed) >> WORKER_REQUEST_BITS) + 1;

		atomic_store_explicit(&worker->requested, number << WORKER_REQUEST_BITS | what, memory_order_release);
		if (!worker->running)
			worker_answer(worker);
	}
	for (unsigned int i = 0; i < injector->worker_count; i++) {
		struct worker *worker = &injector->workers[i];

		while (atomic_load_explicit(&worker->answered, memory_order_acquire) !=
		       atomic_load_explicit(&worker->requested, memory_order_relaxed)) {
			if (ns_now_monotonic().v > deadline.v)
				return error_set(err, ETIMEDOUT,
						 "lcore %u did not answer for 2 s: another process may use its CPU",
						 worker->lcore);
			nanosleep(&pause, NULL);
		}
	}
	return 0;
}

static struct injector_direction_statistics direction_statistics(const struct line_counters *count, uint64_t held,
								 double ns_per_cycle)
{
	double scale = count->delayed ? ns_per_cycle / (double)count->delayed : NAN;

	return (struct injector_direction_statistics){
		.rx_packets = count->rx_packets,
		.tx_packets = count->tx_packets,
		.held = held,
		.ring_full = count->ring_full,
		.too_late = count->too_late,
		.tx_full = count->tx_full,
		.no_mbuf = count->no_mbuf,
		.lost = count->lost,
		.duplicated = count->duplicated,
		.corrupted = count->corrupted,
		.bypassed = count->bypassed,
		.disturbed = count->disturbed,
		.calls = count->calls,
		.requested_mean_ns = scale * (double)count->requested_cycles,
		.applied_mean_ns = scale * (double)count->applied_cycles,
	};
}

static void read_rules(const struct injector *injector, enum injector_direction direction,
		       const struct rule_counters *counts, struct injector_statistics *statistics)
{
	const struct injector_rules *rules = injector->rules[direction];

	statistics->rule_count[direction] = rules ? rules->count : 0;
	for (size_t i = 0; rules && i < rules->count; i++) {
		const struct rule_counters *count = &counts[i];
		double scale = count->delayed ? injector->clock.ns_per_cycle / (double)count->delayed : NAN;

		statistics->rules[direction][i] = (struct injector_rule_statistics){
			.text = rules->current[i]->text,
			.packets = count->packets,
			.lost = count->lost,
			.requested_mean_ns = scale * (double)count->requested_cycles,
			.applied_mean_ns = scale * (double)count->applied_cycles,
		};
	}
}

int injector_read(struct injector *injector, struct injector_statistics *statistics, struct error *err)
{
	double us_per_cycle = injector->clock.ns_per_cycle / 1e3;
	int status = request(injector, WORKER_REQUEST_READ, err);

	if (status)
		return status;
	*statistics = (struct injector_statistics){.stall_threshold_us = injector->stall_us,
						   .hiccup_threshold_ns = injector->hiccup_ns,
						   .transmit_timed = injector->workers[0].timed_transmit};
	for (unsigned int i = 0; i < injector->worker_count; i++) {
		const struct worker *worker = &injector->workers[i];
		const struct worker_snapshot *snapshot = &worker->snapshot;

		for (unsigned int l = 0; l < worker->line_count; l++) {
			statistics->direction[worker->directions[l]] = direction_statistics(
				&snapshot->count[l], snapshot->held[l], injector->clock.ns_per_cycle);
			read_rules(injector, worker->directions[l], snapshot->rules[l], statistics);
		}
		statistics->hiccups += snapshot->hiccups;
		statistics->stalls += snapshot->stalls;
		statistics->stall_total_us += (double)snapshot->stall_cycles * us_per_cycle;
		statistics->stall_transmit_us += (double)snapshot->stall_transmit_cycles * us_per_cycle;
		statistics->stall_max_us =
			fmax(statistics->stall_max_us, (double)snapshot->stall_longest_cycles * us_per_cycle);
	}
	return 0;
}

static void read_buckets(const struct injector *injector, const uint64_t *buckets, struct histogram *into)
{
	for (uint32_t i = 0; i < LATENESS_BUCKETS; i++) {
		uint64_t count = __atomic_load_n(&buckets[i], __ATOMIC_RELAXED);

		if (count)
			histogram_record_many(into, llround(lateness_middle(i) * injector->clock.ns_per_cycle), count);
	}
}

void injector_read_lateness(const struct injector *injector, enum injector_direction direction, bool disturbed,
			    struct histogram *into)
{
	const struct line *line = injector->lines[direction];

	read_buckets(injector, disturbed ? line->late_disturbed : line->late_clean, into);
}

void injector_read_delays(const struct injector *injector, enum injector_direction direction, bool applied,
			  struct histogram *into)
{
	const struct line *line = injector->lines[direction];

	read_buckets(injector, applied ? line->applied : line->requested, into);
}

void injector_read_rule_delays(const struct injector *injector, enum injector_direction direction, size_t rule,
			       bool applied, struct histogram *into)
{
	const struct rule *of = &injector->rules[direction]->rules[rule];

	read_buckets(injector, applied ? of->applied : of->requested, into);
}

int injector_reset(struct injector *injector, struct error *err)
{
	return request(injector, WORKER_REQUEST_RESET, err);
}
