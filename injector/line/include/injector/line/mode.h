/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Modes change the delay of packets, or drop, duplicate, pace or exempt packets. A set of modes belongs to one
 * direction. At most one mode of a set decides the delay (`steps`, `jitter` or `replay`), and at most one drops packets
 * (`loss` or `gilbert`). The modes `corrupt`, `duplicate`, `rate` and `only` (a filter) can be combined with any of
 * them.
 *
 * A specification is a text:
 *   steps      "0:10,5:20,10:50" pairs of second:delay in us, seconds ascending from 0; or a file of such lines
 *   jitter     "uniform:W" adds 0..W us; "normal:S" standard deviation S us; "pareto:S,A" scale S us, shape A (> 1);
 *              "netem:S,FILE" a distribution table of netem (docs/formats.md), multiplied by S us; "samples:FILE" the
 *              distribution of the numbers in a file, us, one per line
 *   replay     a file of latencies in us, one per line; each holds for `replay_interval_us`; repeats
 *   loss       "P" percent, each packet independently (Bernoulli)
 *   gilbert    "P,R[,LB[,LG]]" probabilities in percent: P of the change from the good to the bad state, R of the
 *              change back, LB of loss in the bad state (default 100), LG in the good state (default 0) (Gilbert 1960,
 *              Elliott 1963)
 *   corrupt    "P" percent; one random bit of the packet, from its first byte on, is flipped; so it is in its copies
 *   duplicate  "P" percent
 *   rate       "M" Mbit/s; limits the packets that are not lost, and their copies; counts 24 more bytes per frame, for
 *              preamble, gap and check sequence; not together with `reorder`
 *   only       "tcp:11211", "udp:319", "port:6379", "host:10.0.0.2", "host:10.0.0.0/8", "proto:icmp", "dscp:46",
 *              "vlan:7", "ether:0x88f7", or several, separated by commas: packets that match none of them are exempt
 * from the delay and from the other modes
 */
#ifndef INJECTOR_MODE_H
#define INJECTOR_MODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <dp/clock.h>

struct injector_modes;

/*
 * All modes, in the order in which they are applied to a packet: the filter is the first. MODE(name, argument, help)
 * has the name of the mode, of its specification below and of its option of nomora-inject(1), and the option's argument
 * and help. The mode itself is `mode_NAME` in mode_NAME.c.
 */
#define INJECTOR_MODES(MODE)                                                                                           \
	MODE(only, "RULES", "delay only tcp:PORT,udp:PORT,port:PORT,host:ADDRESS[/BITS],proto:NAME,...")               \
	MODE(loss, "PERCENT", "lose packets at random, independently")                                                 \
	MODE(gilbert, "P,R[,LB[,LG]]", "lose packets in bursts (Gilbert-Elliott), percent")                            \
	MODE(corrupt, "PERCENT", "flip a random bit of packets")                                                       \
	MODE(duplicate, "PERCENT", "send packets twice")                                                               \
	MODE(steps, "LIST|FILE", "schedule SECOND:US,SECOND:US... instead of a fixed delay")                           \
	MODE(jitter, "KIND",                                                                                           \
	     "random extra delay: uniform:W, normal:S, pareto:S,A (us, shape), netem:S,FILE or samples:FILE")          \
	MODE(replay, "FILE", "recorded latencies, us, one per line, instead of a fixed delay")                         \
	MODE(rate, "MBPS", "limit each direction to MBPS Mbit/s on the wire")

struct injector_mode_settings {
	/* The modes' specifications; a mode is off if its own is NULL. */
#define INJECTOR_MODE_SPECIFICATION(name, argument, help) const char *name;
	INJECTOR_MODES(INJECTOR_MODE_SPECIFICATION)
#undef INJECTOR_MODE_SPECIFICATION
	double replay_interval_us; /* > 0 */
	double jitter_wave_us;     /* mean time of a rise and fall of the jitter in order; 0 = the least */
	bool reorder;              /* jitter and replay may reorder packets; false = order is kept */
	uint64_t seed;
	/*
	 * The TSC of the first packet; 0 before that packet. The schedules of steps and replay start at this time. Both
	 * directions share it, so that their schedules are always at the same point. Borrowed; NULL = each set of modes
	 * has its own.
	 */
	_Atomic uint64_t *start;
};

/* Sets the specification, borrowed, of the mode with this name. Returns 0, -EINVAL if there is none, or -EEXIST if it
 * is set already. */
int injector_mode_settings_set(struct injector_mode_settings *settings, const char *name, const char *specification);

/* Returns true if anything but the fixed delay is requested. */
bool injector_modes_wanted(const struct injector_mode_settings *settings);
/* Returns the name of the requested mode that replaces the fixed delay, or NULL if there is none. */
const char *injector_modes_setter(const struct injector_mode_settings *settings);

/*
 * Returns NULL with err set on failure: -EINVAL (a bad specification, or modes that exclude each other), -EBADMSG (a
 * bad file), -ENOENT (no such file) or -ENOMEM.
 */
struct injector_modes *injector_modes_create(const struct injector_mode_settings *settings,
					     const struct dp_clock *clock, struct error *err);
void injector_modes_destroy(struct injector_modes *modes); /* NULL is legal */

/*
 * Rules give packets that match a condition a delay and modes of their own, in one direction. A rule is a text:
 * conditions as in `only` (mode.h), then settings NAME=VALUE, separated by spaces: "udp:53,tcp:53 delay=20 loss=1".
 * NAME is `delay` (us, fixed; default: the direction's delay), or a mode other than `only`. The first rule whose
 * condition a packet matches decides about it, alone; packets without a rule have the direction's delay and modes.
 * Packets of one rule keep their order; packets of different rules may overtake each other.
 *
 * Created and destroyed by the control thread; the direction's lcore uses them in between.
 */

enum { INJECTOR_RULES_MAXIMUM = 16 };

struct injector_rules;

/*
 * `common` has the settings that modes of rules share: start, seed, replay_interval_us and jitter_wave_us.
 * Returns NULL with err set on failure: -EINVAL (a bad rule), -EBADMSG or -ENOENT (a bad file), -ENOMEM.
 */
struct injector_rules *injector_rules_create(const char *const *texts, size_t count,
					     const struct injector_mode_settings *common, const struct dp_clock *clock,
					     struct error *err);
void injector_rules_destroy(struct injector_rules *rules); /* NULL is legal */

#endif
