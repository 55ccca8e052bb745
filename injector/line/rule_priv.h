/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules, for the modal loop. [C] and [L] as in line_priv.h. */
#ifndef LINE_RULE_PRIV_H
#define LINE_RULE_PRIV_H

#include <injector/line/rule.h>

#include "line_priv.h"
#include "match_priv.h"

struct rule {
	const char *text;             /* [C] */
	struct match_list match;      /* [C] */
	struct injector_modes *modes; /* [C]; state [L]; NULL = none */
	bool fixed;                   /* [C] delay_cycles is the delay; else the direction's */
	uint64_t delay_cycles;        /* [C] */
	uint64_t last_due;            /* [L] due time of the last packet, TSC */
	struct rule_counters count;   /* [L] */
	/* [L] [bucket of delay]: packets whose delay was requested, and applied */
	uint64_t requested[LATENESS_BUCKETS], applied[LATENESS_BUCKETS];
};

struct injector_rules {
	size_t count;
	const struct match_list *matches[INJECTOR_RULES_MAXIMUM]; /* of rules[i] */
	struct rule rules[];
};

static inline struct rule *rules_find(struct injector_rules *rules, const struct dp_packet *packet)
{
	size_t found = match_first(rules->matches, rules->count, packet);

	return found < rules->count ? &rules->rules[found] : NULL;
}

/* Zeroes the counters. */
static inline void rules_reset(struct injector_rules *rules)
{
	for (size_t i = 0; rules && i < rules->count; i++) {
		struct rule *rule = &rules->rules[i];

		rule->count = (struct rule_counters){0};
		for (uint32_t bucket = 0; bucket < LATENESS_BUCKETS; bucket++) {
			__atomic_store_n(&rule->requested[bucket], 0, __ATOMIC_RELAXED);
			__atomic_store_n(&rule->applied[bucket], 0, __ATOMIC_RELAXED);
		}
	}
}

/* Return the largest of the rules' values, or of `cycles` and 1; NULL = no rules. See mode_priv.h. */
uint64_t rules_longest(const struct injector_rules *rules, uint64_t delay_cycles, uint64_t cycles);
double rules_multiple(const struct injector_rules *rules);

#endif
