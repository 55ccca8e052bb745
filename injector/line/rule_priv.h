/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules, for the modal loop. [C] and [L] as in line_priv.h. */
#ifndef LINE_RULE_PRIV_H
#define LINE_RULE_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <dp/packet.h>
#include <injector/line/mode.h>

#include "line_priv.h"

/*
 * Conditions on packets, for --only and --rule. Parses Ethernet (one or two VLAN tags), IPv4, IPv6 with its extension
 * headers, TCP and UDP. A later fragment has no ports: it matches only by address, protocol and DSCP.
 */

enum { MATCHES_MAXIMUM = 16 };

/* A packet matches if all that is set is true; ports and addresses are those of source or destination. */
struct match {
	uint8_t protocol; /* IP protocol number, 0 = any */
	bool has_port, has_dscp, has_vlan;
	uint16_t port, dscp, vlan; /* host byte order; vlan: ID of the outer tag */
	uint16_t ether_type;       /* behind the tags; 0 = any */
	uint8_t address_bytes;     /* 0 = any address; 4 or 16 */
	uint16_t prefix_bits;
	uint8_t address[16];
};

/* A packet matches the list if it matches one of its entries. */
struct match_list {
	size_t count;
	struct match matches[MATCHES_MAXIMUM];
};

/*
 * Parses conditions, separated by commas. `option` is the option's name for messages. Returns 0, or -EINVAL or -ENOMEM
 * with err set.
 */
int match_parse(const char *option, const char *text, struct match_list *list, struct error *err);

/* Returns the index of the first list that the packet matches, or `count`. */
size_t match_first(const struct match_list *const *lists, size_t count, const struct dp_packet *packet);

/* What happens to the packets that match a rule. Not changed after its creation, except for the state of its modes. */
struct rule_settings {
	char *text;                   /* of the whole rule */
	struct injector_modes *modes; /* state [L]; NULL = none */
	bool fixed;                   /* delay_cycles is the delay; else the direction's */
	uint64_t delay_cycles;
};

struct rule {
	struct match_list match;        /* [C] */
	struct rule_settings *settings; /* [L] copied from the configuration */
	uint64_t last_due;              /* [L] due time of the last packet, TSC */
	struct rule_counters count;     /* [L] */
	/* [L] [bucket of delay]: packets whose delay was requested, and applied */
	uint64_t requested[LATENESS_BUCKETS], applied[LATENESS_BUCKETS];
};

struct injector_rules {
	size_t count;
	struct injector_mode_settings common;                     /* [C] */
	struct dp_clock clock;                                    /* [C] */
	struct rule_settings *current[INJECTOR_RULES_MAXIMUM];    /* [C] of rules[i], in the next configuration */
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

/*
 * Creates new settings for the rule with the same conditions as `text`, which is a rule as in mode.h, and sets *at to
 * its index. The caller puts them into current[*at], or destroys them. Returns NULL with err set, as
 * injector_rules_create() does, also if no rule has these conditions.
 */
struct rule_settings *rules_prepare(const struct injector_rules *rules, const char *text, size_t *at,
				    struct error *err);
void rule_settings_destroy(struct rule_settings *settings); /* NULL is legal */

/* Return the largest of the rules' values, or of `cycles` and 1; NULL = no rules. See mode_priv.h. */
uint64_t rules_longest(const struct injector_rules *rules, uint64_t delay_cycles, uint64_t cycles);
double rules_multiple(const struct injector_rules *rules);

#endif
