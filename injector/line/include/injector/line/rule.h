/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules give packets that match a condition a delay and modes of their own, in one direction. A rule is a text:
 * conditions as in `only` (mode.h), then settings NAME=VALUE, separated by spaces: "udp:53,tcp:53 delay=20 loss=1".
 * NAME is `delay` (us, fixed; default: the direction's delay), or a mode other than `only`. The first rule whose
 * condition a packet matches decides about it, alone; packets without a rule have the direction's delay and modes.
 * Packets of one rule keep their order; packets of different rules may overtake each other.
 *
 * Texts are borrowed. Created and destroyed by the control thread; the direction's lcore uses them in between.
 */
#ifndef INJECTOR_RULE_H
#define INJECTOR_RULE_H

#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <dp/clock.h>
#include <injector/line/mode.h>

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
