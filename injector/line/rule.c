/* SPDX-License-Identifier: BSD-3-Clause */
#include "rule_priv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/number.h>

static int set_delay(struct rule *rule, const char *value, const struct dp_clock *clock, struct error *err)
{
	double us;

	if (rule->fixed)
		return error_set(err, EINVAL, "--rule: \"%s\": delay is given twice", rule->text);
	if (number_parse_double(value, &us) != 0 || !(us >= 0 && us <= INJECTOR_DELAY_MAXIMUM_US))
		return error_set(err, EINVAL, "--rule: delay=%s: expected 0 to %g us", value,
				 INJECTOR_DELAY_MAXIMUM_US);
	rule->fixed = true;
	rule->delay_cycles = (uint64_t)llround(us * 1e3 / clock->ns_per_cycle);
	return 0;
}

static int set_one(struct rule *rule, struct injector_mode_settings *modes, char *word, const struct dp_clock *clock,
		   struct error *err)
{
	char *value = strchr(word, '=');
	int code = -EINVAL;

	if (value)
		*value++ = '\0';
	if (value && strcmp(word, "delay") == 0)
		return set_delay(rule, value, clock, err);
	if (value && strcmp(word, "only") != 0)
		code = injector_mode_settings_set(modes, word, value);
	if (code == -EEXIST)
		return error_set(err, EINVAL, "--rule: \"%s\": %s is given twice", rule->text, word);
	if (code < 0)
		return error_set(err, EINVAL, "--rule: \"%s\": expected delay=US or MODE=VALUE, such as loss=1", word);
	return 0;
}

/* `text` is a copy that this function changes. */
static int parse(struct rule *rule, char *text, const struct injector_mode_settings *common,
		 const struct dp_clock *clock, struct error *err)
{
	struct injector_mode_settings modes = {
		.replay_interval_us = common->replay_interval_us,
		.jitter_wave_us = common->jitter_wave_us,
		.seed = common->seed,
		.start = common->start,
	};
	char *rest = text, *word;
	int status = 0;

	do
		word = strsep(&rest, " ");
	while (word && *word == '\0');
	if (!word || !rest || rest[strspn(rest, " ")] == '\0')
		return error_set(err, EINVAL, "--rule: \"%s\": expected a condition and settings, as udp:53 delay=20",
				 rule->text);
	status = match_parse("rule", word, &rule->match, err);
	while (!status && (word = strsep(&rest, " ")))
		status = *word ? set_one(rule, &modes, word, clock, err) : 0;
	if (!status && rule->fixed && injector_modes_setter(&modes))
		status = error_set(err, EINVAL, "--rule: \"%s\": delay and %s are mutually exclusive", rule->text,
				   injector_modes_setter(&modes));
	if (status || !injector_modes_wanted(&modes))
		return status;
	rule->modes = injector_modes_create(&modes, clock, err);
	return rule->modes ? 0 : error_prefix(err, "--rule: \"%s\"", rule->text);
}

struct injector_rules *injector_rules_create(const char *const *texts, size_t count,
					     const struct injector_mode_settings *common, const struct dp_clock *clock,
					     struct error *err)
{
	struct injector_mode_settings settings = *common;
	struct injector_rules *rules;
	int status = 0;

	if (count > INJECTOR_RULES_MAXIMUM) {
		error_set(err, EINVAL, "--rule: expected at most %d rules", INJECTOR_RULES_MAXIMUM);
		return NULL;
	}
	rules = calloc(1, sizeof *rules + count * sizeof rules->rules[0]);
	for (size_t i = 0; rules && !status && i < count; i++) {
		struct rule *rule = &rules->rules[rules->count];
		char *text = strdup(texts[i]);

		rule->text = texts[i];
		rules->matches[rules->count++] = &rule->match;
		settings.seed += 1000; /* rules decide independently */
		status = text ? parse(rule, text, &settings, clock, err) : -ENOMEM;
		free(text);
	}
	if (rules && !status)
		return rules;
	if (!rules || status == -ENOMEM)
		error_set(err, ENOMEM, "no memory for --rule");
	injector_rules_destroy(rules);
	return NULL;
}

void injector_rules_destroy(struct injector_rules *rules)
{
	for (size_t i = 0; rules && i < rules->count; i++)
		injector_modes_destroy(rules->rules[i].modes);
	free(rules);
}

uint64_t rules_longest(const struct injector_rules *rules, uint64_t delay_cycles, uint64_t cycles)
{
	for (size_t i = 0; rules && i < rules->count; i++) {
		const struct rule *rule = &rules->rules[i];
		uint64_t longest = modes_longest(rule->modes, rule->fixed ? rule->delay_cycles : delay_cycles);

		cycles = longest > cycles ? longest : cycles;
	}
	return cycles;
}

double rules_multiple(const struct injector_rules *rules)
{
	double multiple = 1;

	for (size_t i = 0; rules && i < rules->count; i++)
		multiple = fmax(multiple, modes_multiple(rules->rules[i].modes));
	return multiple;
}
