/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A mode: parses its specification once, then decides packet by packet on the lcore. apply() makes no system call,
 * takes no lock and uses no floating point; whatever needs a logarithm is a table by then.
 */
#ifndef INJECTOR_MODE_PRIV_H
#define INJECTOR_MODE_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <dp/clock.h>
#include <dp/packet.h>
#include <injector/line/mode.h>

#include "hints_priv.h"

/* A link of limited rate: packets go onto it one after the other. */
struct wire {
	uint64_t free_at; /* TSC */
};

/* The decision about one packet; modes change it one after the other. */
struct verdict {
	uint64_t delay_cycles; /* starts as the configured delay */
	uint32_t copies;       /* extra ones */
	bool lost, bypass, overtake;
	struct wire *wire;    /* link of the packet and its copies; NULL = no limit */
	uint64_t wire_cycles; /* on that link */
};

/*
 * Departure time of a packet that is due at `due`; charges the packet to the link, so call it only for packets that are
 * kept.
 */
static inline uint64_t verdict_leave(const struct verdict *verdict, uint64_t due)
{
	if (!verdict->wire)
		return due;
	if ((int64_t)(due - verdict->wire->free_at) < 0)
		due = verdict->wire->free_at;
	verdict->wire->free_at = due + verdict->wire_cycles;
	return due;
}

/* The start of a set's time. */
struct mode_clock {
	_Atomic uint64_t *shared, own; /* TSC; 0 before the first packet */
	uint64_t start;                /* the same, once known */
};

static inline void mode_clock_init(struct mode_clock *clock, _Atomic uint64_t *shared)
{
	clock->shared = shared ? shared : &clock->own;
}

/* Cycles since the first packet of either direction; 0 if this is the first. */
static inline uint64_t mode_elapsed(struct mode_clock *clock, uint64_t now)
{
	uint64_t none = 0;

	if (UNLIKELY(clock->start == 0))
		clock->start = atomic_compare_exchange_strong(clock->shared, &none, now) ? now : none;
	return (int64_t)(now - clock->start) > 0 ? now - clock->start : 0; /* the other lcore may be ahead */
}

struct mode_context {
	const struct injector_mode_settings *settings;
	const struct dp_clock *clock;
	uint64_t seed; /* a different one for each mode */
};

struct injector_mode {
	const char *name; /* the option's */
	/* The specification's field in the settings. */
	size_t offset;
	/* Modes of one group exclude each other; NULL = goes with all. */
	const char *group;
	int (*create)(const struct mode_context *context, const char *specification, void **state, struct error *err);
	void (*apply)(void *state, const struct dp_packet *packet, uint64_t now, struct verdict *verdict);
	void (*destroy)(void *state);
	/* The longest delay it gives a packet; NULL = `cycles` unchanged. */
	uint64_t (*longest)(const void *state, uint64_t cycles);
	bool sets_delay; /* the configured delay has no effect */
	/* Mean number of packets that it makes of one, including it; NULL = 1. */
	double (*multiple)(const void *state);
	/* Maximum packets per second that it lets through in the long run; NULL = no limit. */
	double (*limit_pps)(const void *state);
	bool thins; /* some packets do not reach the modes after it */
};

extern const struct injector_mode mode_only, mode_steps, mode_jitter, mode_replay, mode_loss, mode_gilbert,
	mode_duplicate, mode_rate;

enum { MODES_MAXIMUM = 8 };

struct injector_modes {
	unsigned int count;
	struct {
		const struct injector_mode *mode;
		void *state;
	} items[MODES_MAXIMUM];
};

/* The mode that replaces the configured delay; NULL if there is none. */
const char *modes_delay_setter(const struct injector_modes *modes);

/* The longest delay of any packet, with `cycles` configured. */
uint64_t modes_longest(const struct injector_modes *modes, uint64_t cycles);

/* Mean number of packets made of one. Drops by modes are not subtracted: a stretch without loss has to fit. */
double modes_multiple(const struct injector_modes *modes);

/*
 * Rate above which packets, including copies, cannot all leave, even the smallest ones. INFINITY = no limit, or not
 * known.
 */
double modes_limit_pps(const struct injector_modes *modes);

static inline void modes_apply(const struct injector_modes *modes, const struct dp_packet *packet, uint64_t now,
			       struct verdict *verdict)
{
	for (unsigned int i = 0; i < modes->count && !verdict->bypass && !verdict->lost; i++)
		modes->items[i].mode->apply(modes->items[i].state, packet, now, verdict);
}

/* "percent" 0..100 as a threshold for 64 random bits; helper of loss, gilbert and duplicate. */
int mode_parse_percent(const char *mode, const char *text, uint64_t *threshold, struct error *err);

/*
 * An error in a file is not an error in the specification that names it: -EBADMSG instead of -EINVAL, with err's text.
 */
int mode_blame_file(int status, struct error *err);

#endif
