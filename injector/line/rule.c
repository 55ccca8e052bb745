/* SPDX-License-Identifier: BSD-3-Clause */
#include "rule_priv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/number.h>

static int set_delay(struct rule_settings *settings, const char *value, const struct dp_clock *clock, struct error *err)
{
	double us;

	if (settings->fixed)
		return error_set(err, EINVAL, "--rule: \"%s\": delay is given twice", settings->text);
	if (number_parse_double(value, &us) != 0 || !(us >= 0 && us <= INJECTOR_DELAY_MAXIMUM_US))
		return error_set(err, EINVAL, "--rule: delay=%s: expected 0 to %g us", value,
				 INJECTOR_DELAY_MAXIMUM_US);
	settings->fixed = true;
	settings->delay_cycles = (uint64_t)llround(us * 1e3 / clock->ns_per_cycle);
	return 0;
}

static int set_one(struct rule_settings *settings, struct injector_mode_settings *modes, char *word,
		   const struct dp_clock *clock, struct error *err)
{
	char *value = strchr(word, '=');
	int code = -EINVAL;

	if (value)
		*value++ = '\0';
	if (value && strcmp(word, "delay") == 0)
		return set_delay(settings, value, clock, err);
	if (value && strcmp(word, "only") != 0)
		code = injector_mode_settings_set(modes, word, value);
	if (code == -EEXIST)
		return error_set(err, EINVAL, "--rule: \"%s\": %s is given twice", settings->text, word);
	if (code < 0)
		return error_set(err, EINVAL, "--rule: \"%s\": expected delay=US or MODE=VALUE, such as loss=1", word);
	return 0;
}

/* `text` is a copy that this function changes. */
static int parse(struct rule_settings *settings, struct match_list *match, char *text,
		 const struct injector_mode_settings *common, const struct dp_clock *clock, struct error *err)
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
				 settings->text);
	status = match_parse("rule", word, match, err);
	while (!status && (word = strsep(&rest, " ")))
		status = *word ? set_one(settings, &modes, word, clock, err) : 0;
	if (!status && settings->fixed && injector_modes_setter(&modes))
		status = error_set(err, EINVAL, "--rule: \"%s\": delay and %s are mutually exclusive", settings->text,
				   injector_modes_setter(&modes));
	if (status || !injector_modes_wanted(&modes))
		return status;
	settings->modes = injector_modes_create(&modes, clock, err);
	return settings->modes ? 0 : error_prefix(err, "--rule: \"%s\"", settings->text);
}

/* Creates the settings of rule `at`, and fills *match with its conditions. */
static struct rule_settings *create(const struct injector_rules *rules, size_t at, const char *text,
				    struct match_list *match, struct error *err)
{
	struct rule_settings *settings = calloc(1, sizeof *settings);
	struct injector_mode_settings common = rules->common;
	char *copy = strdup(text);

	common.seed += 1000 * (at + 1); /* rules decide independently */
	if (settings)
		settings->text = strdup(text);
	if (!copy || !settings || !settings->text)
		error_set(err, ENOMEM, "no memory for --rule");
	else if (parse(settings, match, copy, &common, &rules->clock, err) == 0) {
		free(copy);
		return settings;
	}
	free(copy);
	rule_settings_destroy(settings);
	return NULL;
}

void rule_settings_destroy(struct rule_settings *settings)
{
	if (!settings)
		return;
	injector_modes_destroy(settings->modes);
	free(settings->text);
	free(settings);
}

struct injector_rules *injector_rules_create(const char *const *texts, size_t count,
					     const struct injector_mode_settings *common, const struct dp_clock *clock,
					     struct error *err)
{
	struct injector_rules *rules;

	if (count > INJECTOR_RULES_MAXIMUM) {
		error_set(err, EINVAL, "--rule: expected at most %d rules", INJECTOR_RULES_MAXIMUM);
		return NULL;
	}
	rules = calloc(1, sizeof *rules + count * sizeof rules->rules[0]);
	if (!rules) {
		error_set(err, ENOMEM, "no memory for --rule");
		return NULL;
	}
	rules->common = *common;
	rules->clock = *clock;
	for (; rules->count < count; rules->count++) {
		size_t i = rules->count;
		struct rule *rule = &rules->rules[i];

		rules->matches[i] = &rule->match;
		rule->settings = rules->current[i] = create(rules, i, texts[i], &rule->match, err);
		if (!rule->settings) {
			injector_rules_destroy(rules);
			return NULL;
		}
	}
	return rules;
}

void injector_rules_destroy(struct injector_rules *rules)
{
	for (size_t i = 0; rules && i < rules->count; i++)
		rule_settings_destroy(rules->current[i]);
	free(rules);
}

/* Returns the length of the conditions of a rule, and moves *text to their start. */
static size_t find_conditions(const char **text)
{
	*text += strspn(*text, " ");
	return strcspn(*text, " ");
}

static bool have_same_conditions(const char *a, const char *b)
{
	size_t length = find_conditions(&a);

	return find_conditions(&b) == length && memcmp(a, b, length) == 0;
}

struct rule_settings *rules_prepare(const struct injector_rules *rules, const char *text, size_t *at, struct error *err)
{
	struct match_list match;
	int length;

	for (*at = 0; rules && *at < rules->count; ++*at) {
		if (have_same_conditions(rules->current[*at]->text, text))
			return create(rules, *at, text, &match, err);
	}
	length = (int)find_conditions(&text);
	error_set(err, EINVAL, "no --rule has the conditions \"%.*s\": expected those of a rule in \"stats\"", length,
		  text);
	return NULL;
}

uint64_t rules_longest(const struct injector_rules *rules, uint64_t delay_cycles, uint64_t cycles)
{
	for (size_t i = 0; rules && i < rules->count; i++) {
		const struct rule_settings *rule = rules->current[i];
		uint64_t longest = modes_longest(rule->modes, rule->fixed ? rule->delay_cycles : delay_cycles);

		cycles = longest > cycles ? longest : cycles;
	}
	return cycles;
}

double rules_multiple(const struct injector_rules *rules)
{
	double multiple = 1;

	for (size_t i = 0; rules && i < rules->count; i++)
		multiple = fmax(multiple, modes_multiple(rules->current[i]->modes));
	return multiple;
}
