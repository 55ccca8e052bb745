/* SPDX-License-Identifier: BSD-3-Clause */
#include "machine.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { RUN_BYTES = 200, ADDRESS_BYTES = 64, KEY_BYTES = 512 };

void run_flows_free(struct run_flows *flows)
{
	json_decref(flows->now);
	json_decref(flows->before);
	json_decref(flows->sent);
}

void run_flows_begin(struct run_flows *flows)
{
	json_decref(flows->before);
	flows->before = flows->now;
	flows->now = json_object();
	if (!flows->sent)
		flows->sent = json_object();
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static json_int_t number_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

/* Loopback addresses are those of one machine. */
static void make_key(char key[static KEY_BYTES], const char *machine, const char *local, const char *peer)
{
	bool here = strncmp(local, "127.", 4) == 0 || strncmp(local, "::1:", 4) == 0;

	snprintf(key, KEY_BYTES, "%s %s%s%s", local, peer, here ? " " : "", here ? machine : "");
}

void run_flows_add(struct run_flows *flows, const char *machine, const char *line)
{
	char run[RUN_BYTES], local[ADDRESS_BYTES], peer[ADDRESS_BYTES], key[KEY_BYTES], rest;
	long long bytes;
	const json_t *before;
	json_int_t counted;

	if (sscanf(line, "%199s %63s %63s %15lld%c", run, local, peer, &bytes, &rest) != 4 || bytes < 0)
		return;
	make_key(key, machine, local, peer);
	before = json_object_get(flows->before, key);
	counted = strcmp(text_of(before, "run"), run) == 0 ? number_of(before, "counted") : 0;
	if (json_object_get(flows->now, key))
		return;
	json_object_set_new(flows->now, key,
			    json_pack("{s:s, s:s, s:s, s:s, s:I, s:I}", "run", run, "machine", machine, "local", local,
				      "peer", peer, "bytes", (json_int_t)bytes, "counted",
				      bytes >= counted ? counted : 0));
}

void run_flows_keep(struct run_flows *flows, const char *machine)
{
	const char *key;
	json_t *end;

	json_object_foreach (flows->before, key, end)
		if (strcmp(text_of(end, "machine"), machine) == 0 && !json_object_get(flows->now, key))
			json_object_set(flows->now, key, end);
}

/* Counts what the ends of connections between two runs have sent since they were last counted. */
static void count(struct run_flows *flows)
{
	const char *key;
	json_t *end;

	json_object_foreach (flows->now, key, end) {
		char other[KEY_BYTES], pair[KEY_BYTES];
		const char *run = text_of(end, "run"), *peer;
		json_int_t bytes = number_of(end, "bytes");

		make_key(other, text_of(end, "machine"), text_of(end, "peer"), text_of(end, "local"));
		peer = text_of(json_object_get(flows->now, other), "run");
		if (!peer[0] || strcmp(peer, run) == 0)
			continue;
		snprintf(pair, sizeof pair, "%s %s", run, peer);
		json_object_set_new(flows->sent, pair,
				    json_integer(number_of(flows->sent, pair) + bytes - number_of(end, "counted")));
		json_object_set_new(end, "counted", json_integer(bytes));
	}
}

json_t *run_flows_end(struct run_flows *flows, const json_t *names)
{
	json_t *list = json_array(), *bytes;
	const char *pair;
	void *next;

	count(flows);
	json_object_foreach_safe(flows->sent, next, pair, bytes)
	{
		const char *space = strchr(pair, ' ');
		char run[RUN_BYTES];
		const json_t *from, *to;

		snprintf(run, sizeof run, "%.*s", (int)(space - pair), pair);
		from = json_object_get(names, run);
		to = json_object_get(names, space + 1);
		if (!from || !to)
			json_object_del(flows->sent, pair);
		else if (json_equal(json_array_get(from, 0), json_array_get(to, 0)))
			json_array_append_new(list,
					      json_pack("{s:O, s:O, s:O, s:f}", "job", json_array_get(from, 0), "from",
							json_array_get(from, 1), "to", json_array_get(to, 1), "MB",
							(double)json_integer_value(bytes) / 1e6));
	}
	return list;
}
