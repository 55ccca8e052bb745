/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules as text, one a line: the first lines are those of the start, each later one changes one of them. A rule that is
 * refused has a message and changes nothing; all others decide about a packet.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_events.h"
#include "rule_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_series_read(const char *path, size_t columns, char separator, struct series *series, struct error *err);
int __wrap_series_read_netem(const char *path, struct series *series, struct error *err);

uint64_t fake_cycles;
size_t fake_packets;
bool fake_pool_is_empty;

/* Any name is a file of three numbers, or of three pairs. */
int __wrap_series_read(const char *path, size_t columns, char separator, struct series *series, struct error *err)
{
	(void)path;
	return series_parse("file", columns == 1 ? "1,5,5" : "0:3,1:7,2:0", columns, separator, series, err);
}

int __wrap_series_read_netem(const char *path, struct series *series, struct error *err)
{
	return __wrap_series_read(path, 1, ',', series, err);
}

/* The rule's delay and modes decide about a packet. */
static void judge(const struct rule_settings *settings)
{
	uint8_t bytes[60] = {0};
	struct dp_packet packet = {.length = sizeof bytes, .bytes = bytes};
	struct verdict verdict = {.delay_cycles = settings->delay_cycles};

	law(modes_longest(settings->modes, settings->delay_cycles) <= 2 * 20000000);
	if (settings->modes)
		modes_apply(settings->modes, &packet, fake_cycles += 1000, &verdict);
	law(verdict.delay_cycles <= 2 * 20000000);
}

static void change(struct injector_rules *rules, const char *text)
{
	struct rule_settings before[INJECTOR_RULES_MAXIMUM], *settings;
	struct error err = {0};
	size_t at = 0;

	for (size_t i = 0; i < rules->count; i++)
		before[i] = *rules->current[i];
	settings = rules_prepare(rules, text, &at, &err);
	law(settings ? at < rules->count : err.code != 0 && err.text[0]);
	for (size_t i = 0; i < rules->count; i++)
		law(memcmp(&before[i], rules->current[i], sizeof before[i]) == 0);
	if (!settings)
		return;
	law(strcmp(settings->text, text) == 0);
	rule_settings_destroy(rules->current[at]);
	rules->current[at] = settings;
	judge(settings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct injector_mode_settings common = {.replay_interval_us = 1e6, .seed = 1};
	const struct dp_clock clock = {.ns_per_cycle = 0.5};
	char *text = strndup((const char *)data, size), *rest = text, *lines[8];
	struct injector_rules *rules = NULL;
	struct error err = {0};
	size_t count = 0, started = 2;

	law(text);
	while (count < sizeof lines / sizeof lines[0] && (lines[count] = strsep(&rest, "\n")))
		count++;
	started = started < count ? started : count;
	rules = injector_rules_create((const char *const *)lines, started, &common, &clock, &err);
	law(rules || (err.code != 0 && err.text[0]));
	for (size_t i = 0; rules && i < started; i++)
		judge(rules->current[i]);
	for (size_t i = started; rules && i < count; i++)
		change(rules, lines[i]);
	injector_rules_destroy(rules);
	free(text);
	return 0;
}
