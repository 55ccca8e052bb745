/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of a running injector, "nomora.inject/1". The injector's control socket sends it in response to "stats";
 * with --json, the injector prints it as a line each second. The injector fills a struct and writes it; the sweep and
 * the report read it. Counters count from the injector's start or its last reset. A stall is a gap longer than
 * stall_threshold_us between two clock readings of an injector thread; a hiccup is a shorter gap, longer than
 * hiccup_threshold_ns. Plain data, no pointers; one thread.
 */
#ifndef MODEL_INJECTOR_STATE_H
#define MODEL_INJECTOR_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include <base/error.h>
#include <base/json.h>

#define INJECTOR_STATE_SCHEMA "nomora.inject/1"

enum { INJECTOR_STATE_DIRECTIONS = 2, INJECTOR_STATE_NAME_BYTES = 64, INJECTOR_STATE_BUCKETS = 528 };

/*
 * Times of packets: lateness is the time when a packet was released minus the time when it was due. Of delays, p50 to
 * maximum_ns are exact to 3 %.
 */
struct injector_state_lateness {
	int64_t p50_ns, p99_ns, p99_9_ns, maximum_ns;
	double mean_ns;
	int64_t count;
};

/* Numbers of packets by their time, in ascending order of ns, the upper bound of a bucket; buckets are 6 % wide. */
struct injector_state_buckets {
	size_t count;
	struct injector_state_bucket {
		int64_t ns;
		uint64_t packets;
	} of[INJECTOR_STATE_BUCKETS];
};

/*
 * Delays of the packets of one direction. requested: those that the modes chose; applied: those until the packet was
 * due, which order and --rate may make longer; both have count 0 if there are no modes, as they are not counted then.
 */
struct injector_state_delays {
	struct injector_state_lateness requested, applied, lateness;
	struct injector_state_buckets applied_buckets, lateness_buckets;
	bool of_rule; /* requested and applied are those of a rule, also if they have count 0 */
};

enum { INJECTOR_STATE_RULES = 16, INJECTOR_STATE_RULE_BYTES = 128 };

/* The packets of one rule of --rule. The delays are as in a direction. */
struct injector_state_rule {
	char text[INJECTOR_STATE_RULE_BYTES]; /* cut if longer */
	uint64_t packets, lost;               /* packets that match the rule; those of them that a loss mode dropped */
	struct injector_state_lateness requested_delay, applied_delay;
};

/* One direction: A to B, or B to A. */
struct injector_state_direction {
	double delay_us; /* NAN: a delay mode sets it */
	uint64_t rx_packets, tx_packets;
	uint64_t held;      /* packets in the delay line now */
	uint64_t ring_full; /* packets dropped because the ring of the delay line was full */
	uint64_t too_late;  /* packets dropped because they could have left only later than the limit */
	uint64_t tx_full;   /* packets that the transmit port first refused, and that were sent later */
	uint64_t no_mbuf;   /* packets dropped because no buffer was free */
	uint64_t rx_missed, rx_errors, tx_errors;
	uint64_t tx_link_down, tx_mtu; /* parts of tx_errors: the link was down; longer than the MTU */
	/* packets that the Linux interfaces and the ports have counted differently (dp/port.h) */
	uint64_t rx_uncounted, tx_uncounted;
	/*
	 * Packets that received + duplicated = sent + held + drops does not account for: rx_uncounted, tx_uncounted and
	 * those that the injector's own counters miss.
	 */
	uint64_t unaccounted;
	/* packets that a delay mode dropped, sent twice, damaged or sent without delay */
	uint64_t lost, duplicated, corrupted, bypassed;
	uint64_t disturbed; /* packets sent that a stall or hiccup may have delayed */
	double rx_pps;      /* packets received per second since the previous sample */
	struct injector_state_lateness undisturbed_lateness;
	struct injector_state_delays delays;
	size_t rule_count;
	struct injector_state_rule rules[INJECTOR_STATE_RULES];
};

struct injector_state_port {
	char name[INJECTOR_STATE_NAME_BYTES], driver[INJECTOR_STATE_NAME_BYTES], mac[18];
	bool link_up;
	uint64_t link_changes; /* how often the link went down or up since the start or the last reset */
	uint32_t speed_Mbps;   /* 0 = unknown */
};

/* Values of both directions, and sums over them. Readers of the file get only this struct. */
struct injector_state_totals {
	double uptime_s;
	double delay_us[INJECTOR_STATE_DIRECTIONS];   /* NAN: a delay mode sets it */
	char delay_set_by[INJECTOR_STATE_NAME_BYTES]; /* name of that mode, "" = none */
	uint64_t delay_changes;                       /* number of times a delay or a rule was set */
	uint64_t rx_packets[INJECTOR_STATE_DIRECTIONS], tx_packets[INJECTOR_STATE_DIRECTIONS];
	uint64_t ring_full, too_late, tx_full, no_mbuf, rx_missed, rx_errors, tx_errors, unaccounted;
	uint64_t disturbed;
	uint64_t stalls, hiccups;
	double stall_us, stall_longest_us, stall_threshold_us, hiccup_threshold_ns; /* stall_us: total time of stalls */
	double transmit_stall_us; /* part of stall_us spent in calls that transmit; NAN = not measured */
	double subtract_ns;
	uint32_t lcores; /* number of threads that forward packets; stalls and stall_us are sums over these threads */
	struct injector_state_lateness lateness;
	struct injector_state_delays delays[INJECTOR_STATE_DIRECTIONS];
};

struct injector_state {
	double time_s; /* wall clock */
	bool counter_trusted;
	struct injector_state_totals totals;
	struct injector_state_direction direction[INJECTOR_STATE_DIRECTIONS];
	struct injector_state_port port[INJECTOR_STATE_DIRECTIONS];
	bool has_capture;
	uint64_t capture_written, capture_lost; /* frames */
};

/*
 * Computes the totals of the directions: sums of drops, errors and disturbed packets; copies of delay_us, packets and
 * delays.
 */
void injector_state_add_up(struct injector_state *state);

/* Returns a new object, or NULL if out of memory. */
json_t *injector_state_to_json(const struct injector_state *state);

/* Writes and reads the "ports" of a state. The reader takes name, driver and speed_Mbps; they may be missing. */
json_t *injector_state_ports_to_json(const struct injector_state_port port[INJECTOR_STATE_DIRECTIONS]);
void injector_state_ports_from_json(struct json_reader *reader, const json_t *object,
				    struct injector_state_port port[INJECTOR_STATE_DIRECTIONS]);

/*
 * Reads the totals; `file` is for messages. Returns 0, or -errno with err set (field, what was expected). delay_us may
 * be missing, and is then NAN, only if delay_set_by names the mode that sets the delay. Missing counters are 0.
 */
int injector_state_from_json(const char *file, const json_t *root, struct injector_state_totals *totals,
			     struct error *err);

enum { INJECTOR_STATE_RULE_OF_SWEEP_BYTES = 100 };

/*
 * Splits a rule of the injector (--rule) into its delay, µs, NAN if it has none, and its other words, separated by
 * single blanks. Returns 0, or -EINVAL if those do not fit or the delay is no number.
 */
int injector_state_split_rule(const char *text, double *delay_us, char rest[INJECTOR_STATE_RULE_OF_SWEEP_BYTES]);

/*
 * Replaces delay_us and delays of *totals by those of one rule, except the lateness, which is that of all
 * packets; applied_buckets are then empty. `rule`: its words
 * without the delay, as injector_state_split_rule() gives them. Returns 0, or -errno with err set: -ENOENT if no rule
 * has its conditions (the first word), -EINVAL if that rule has other settings.
 */
int injector_state_take_rule(const char *file, const json_t *root, const char *rule,
			     struct injector_state_totals *totals, struct error *err);

/* Delays of the packets that left in one direction during an interval, µs. NAN = no packet left, or not known. */
struct injector_interval_delays {
	double requested_us; /* mean of the delays that were set, or that modes chose */
	double applied_us;   /* mean of the delays until the packets were released */
	/*
	 * 99th percentiles, exact to 6 %: of the applied delay (with modes: of the delay until the packet was due) and
	 * of the time from when a packet was due to its release
	 */
	double applied_p99_us, late_p99_us;
};

/*
 * The injector's work during an interval: the difference of two states. Values are negative if the injector was
 * restarted or reset in between.
 */
struct injector_interval {
	double elapsed_s;
	double packets;   /* packets sent, sum of both directions */
	double dropped;   /* ring_full, too_late, no_mbuf, rx_missed, rx_errors, tx_errors and unaccounted */
	double disturbed; /* packets sent that a stall or hiccup may have delayed */
	double stalls;
	double lcores;
	double stall_us, transmit_stall_us; /* sums over the threads */
	double received;                    /* packets, sum of both directions */
	double ring_full, too_late, no_mbuf, rx_missed, rx_errors, tx_errors, unaccounted; /* the parts of `dropped` */
	struct injector_interval_delays delays[INJECTOR_STATE_DIRECTIONS];
};

struct injector_interval injector_interval_between(const struct injector_state_totals *before,
						   const struct injector_state_totals *after, double elapsed_s);
/* Returns the interval from the injector's start or last reset on; its delays are not known. */
struct injector_interval injector_interval_whole(const struct injector_state_totals *totals);
/*
 * The time that the injector was stalled outside its calls that transmit, in percent of the elapsed time; 0 if the
 * elapsed time is 0. stall_percent: the mean over its threads; stall_bound_percent: an upper bound for a single thread.
 * The result is at most 100: a stall counts when it ends, so a stall that began before the interval may be longer than
 * the interval.
 */
double injector_interval_stall_percent(const struct injector_interval *interval);
double injector_interval_stall_bound_percent(const struct injector_interval *interval);
/* Returns the disturbed packets in percent of the packets sent, or 0 if none was sent. */
double injector_interval_disturbed_percent(const struct injector_interval *interval);

#endif
