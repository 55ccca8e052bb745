/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/live/change.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live_priv.h"

enum { WORDS = 5 };

/* The changes of a machine's state. */
static const struct {
	const char *word;
	enum live_machine_state state;
} states[] = {{"drain", LIVE_DRAINING}, {"up", LIVE_UP}, {"down", LIVE_DOWN}, {"fail", LIVE_DOWN}};
static const char *const scopes[] = {
	[LIVE_SCOPE_MACHINE] = "machine", [LIVE_SCOPE_RACK] = "rack", [LIVE_SCOPE_POD] = "pod"};

/* Returns the next word of *text and its length, after which *text then is; NULL: there is none. */
static const char *next_word(const char **text, size_t *length)
{
	const char *word = *text + strspn(*text, " \t");

	*length = strcspn(word, " \t");
	*text = word + *length;
	return *length > 0 ? word : NULL;
}

static int name_too_long(struct error *err)
{
	return error_set(err, EINVAL, "a name is too long; expected at most %d bytes", LIVE_CHANGE_NAME_BYTES - 1);
}

/*
 * Splits the text at blanks. Returns the number of words, or WORDS + 1 if there are more than WORDS or one of them is
 * too long.
 */
static size_t split(const char *text, char words[WORDS][LIVE_CHANGE_NAME_BYTES], bool *too_long)
{
	size_t count = 0;

	*too_long = false;
	while (*(text += strspn(text, " \t")) != '\0') {
		size_t length = strcspn(text, " \t");

		*too_long = *too_long || length >= LIVE_CHANGE_NAME_BYTES;
		if (count == WORDS || *too_long)
			return WORDS + 1;
		memcpy(words[count], text, length);
		words[count++][length] = '\0';
		text += length;
	}
	return count;
}

/* Reads the names after a word of states[], with their scope; refuses none, and those that do not fit. */
static int parse_state(const char *text, const char *word, enum live_machine_state state, struct live_change *change,
		       struct error *err)
{
	size_t length, used = 0, words = 0;
	const char *name, *first = next_word(&text, &length), *rest = text;
	size_t first_length = length;

	change->kind = LIVE_CHANGE_STATE;
	change->state = state;
	for (int s = LIVE_SCOPE_MACHINE; first && s <= LIVE_SCOPE_POD; s++)
		if (strlen(scopes[s]) == first_length && strncmp(first, scopes[s], first_length) == 0 &&
		    rest[strspn(rest, " \t")] != '\0') {
			change->scope = (enum live_change_scope)s;
			first = rest;
			break;
		}
	for (text = first; text && (name = next_word(&text, &length)); words++) {
		if (length >= LIVE_CHANGE_NAME_BYTES)
			return name_too_long(err);
		if (used + length + 2 > sizeof change->name)
			return error_set(err, EINVAL, "the names are longer than %d bytes",
					 LIVE_CHANGE_NAMES_BYTES - 1);
		used += (size_t)snprintf(change->name + used, sizeof change->name - used, "%s%.*s",
					 words > 0 ? " " : "", (int)length, name);
	}
	return words > 0 ? 0 : error_set(err, EINVAL, "expected '%s [machine|rack|pod] NAME...'", word);
}

static int parse_add(char words[WORDS][LIVE_CHANGE_NAME_BYTES], size_t count, struct live_change *change,
		     struct error *err)
{
	char *end = words[1];
	unsigned long number = count == 5 ? strtoul(words[1], &end, 10) : 0;

	if (count != 5 || end == words[1] || *end != '\0' || words[1][0] == '-' ||
	    strncmp(words[2], "machine", 7) != 0 || strcmp(words[3], "like") != 0)
		return error_set(err, EINVAL, "expected 'add N machines like NAME'");
	if (number == 0 || number > LIVE_CHANGE_MACHINES_MAXIMUM)
		return error_set(err, EINVAL, "cannot add %s machines; expected 1 to %d", words[1],
				 LIVE_CHANGE_MACHINES_MAXIMUM);
	change->kind = LIVE_CHANGE_ADD;
	change->count = (uint32_t)number;
	strcpy(change->name, words[4]);
	return 0;
}

int live_change_parse(const char *text, struct live_change *change, struct error *err)
{
	char words[WORDS][LIVE_CHANGE_NAME_BYTES];
	bool too_long;
	size_t count = split(text, words, &too_long), length;
	const char *rest = text, *word;

	*change = (struct live_change){0};
	word = next_word(&rest, &length);
	for (size_t i = 0; word && i < sizeof states / sizeof *states; i++)
		if (strlen(states[i].word) == length && strncmp(word, states[i].word, length) == 0)
			return parse_state(rest, states[i].word, states[i].state, change, err);
	if (too_long)
		return name_too_long(err);
	if (count >= 2 && count <= WORDS) {
		if (strcmp(words[0], "add") == 0)
			return parse_add(words, count, change, err);
		if (strcmp(words[0], "curve") == 0 && count == 4 && strcmp(words[2], ":=") == 0) {
			change->kind = LIVE_CHANGE_CURVE;
			strcpy(change->name, words[1]);
			strcpy(change->other, words[3]);
			return 0;
		}
		if (strcmp(words[0], "cancel") == 0 && count == 2) {
			change->kind = LIVE_CHANGE_CANCEL;
			strcpy(change->name, words[1]);
			return 0;
		}
	}
	return error_set(err, EINVAL,
			 "unknown change '%.100s'; expected 'drain|up|down|fail [machine|rack|pod] NAME...', 'add N "
			 "machines like NAME', 'curve NAME := OTHER' or 'cancel JOB'",
			 text);
}

static bool is_word(const char *name, const char *word, size_t length)
{
	return strlen(name) == length && strncmp(name, word, length) == 0;
}

static bool in_scope(const struct cluster *cluster, uint32_t machine, enum live_change_scope scope, const char *name,
		     size_t length)
{
	const struct cluster_machine *of = &cluster->machines[machine];
	const struct cluster_rack *rack;

	if (!of->name)
		return false;
	rack = &cluster->racks[of->rack];
	switch (scope) {
	case LIVE_SCOPE_MACHINE:
		return is_word(of->name, name, length);
	case LIVE_SCOPE_RACK:
		return is_word(rack->name, name, length);
	default:
		return is_word(cluster->pods[rack->pod], name, length);
	}
}

/* All names must be known before the first state is set. */
static int check_names(const struct live *live, const struct live_change *change, struct error *err)
{
	const char *text = change->name, *name;
	size_t length;

	while ((name = next_word(&text, &length))) {
		bool any = false;

		for (uint32_t m = 0; m < live->cluster->machine_count && !any; m++)
			any = in_scope(live->cluster, m, change->scope, name, length);
		if (!any)
			return error_set(err, ENOENT, "unknown %s '%.*s'", scopes[change->scope], (int)length, name);
	}
	return 0;
}

/* Sets the state of a machine; its slots, rack and pod stay. */
static int set_state(struct live *live, uint32_t machine, enum live_machine_state state, struct error *err)
{
	const struct cluster_machine *of = &live->cluster->machines[machine];
	const struct cluster_rack *rack = &live->cluster->racks[of->rack];

	return live_machine_set(live, of->name, rack->name, live->cluster->pods[rack->pod], of->slots, state, err);
}

static int apply_state(struct live *live, const struct live_change *change,
		       void (*touched)(void *context, uint32_t machine), void *context, struct error *err)
{
	const char *text = change->name, *name;
	size_t length;
	int code = check_names(live, change, err);

	while (code == 0 && (name = next_word(&text, &length)))
		for (uint32_t m = 0; m < live->cluster->machine_count && code == 0; m++) {
			if (!in_scope(live->cluster, m, change->scope, name, length))
				continue;
			code = set_state(live, m, change->state, err);
			if (touched)
				touched(context, m);
		}
	return code;
}

static int apply_add(struct live *live, const struct live_change *change,
		     void (*touched)(void *context, uint32_t machine), void *context, struct error *err)
{
	int64_t like = cluster_find_machine(live->cluster, change->name);
	char name[LIVE_CHANGE_NAME_BYTES + 16], rack[LIVE_CHANGE_NAME_BYTES], pod[LIVE_CHANGE_NAME_BYTES];
	uint32_t slots, number = 0;
	int code = 0;

	if (like < 0)
		return error_set(err, ENOENT, "unknown machine '%s'", change->name);
	/* Copies the slots and names, because adding a machine may reallocate the cluster's arrays. */
	slots = live->cluster->machines[like].slots;
	snprintf(rack, sizeof rack, "%s", live->cluster->racks[live->cluster->machines[like].rack].name);
	snprintf(pod, sizeof pod, "%s",
		 live->cluster->pods[live->cluster->racks[live->cluster->machines[like].rack].pod]);
	for (uint32_t i = 0; i < change->count && code == 0; i++) {
		do
			snprintf(name, sizeof name, "%.*s.%u", LIVE_CHANGE_NAME_BYTES - 1, change->name, ++number);
		while (cluster_find_machine(live->cluster, name) >= 0);
		code = live_machine_set(live, name, rack, pod, slots, LIVE_UP, err);
		if (code == 0 && touched)
			touched(context, (uint32_t)cluster_find_machine(live->cluster, name));
	}
	return code;
}

int live_change_apply(struct live *live, const struct live_change *change,
		      void (*touched)(void *context, uint32_t machine), void *context, struct error *err)
{
	const struct live_curve *other;

	switch (change->kind) {
	case LIVE_CHANGE_STATE:
		return apply_state(live, change, touched, context, err);
	case LIVE_CHANGE_ADD:
		return apply_add(live, change, touched, context, err);
	case LIVE_CHANGE_CANCEL:
		return live_cancel(live, change->name, err);
	default:
		other = live_find_curve(live, change->other);
		if (!live_find_curve(live, change->name) || !other)
			return error_set(err, ENOENT, "unknown curve '%s'", other ? change->name : change->other);
		return live_curve_set(live, change->name, other->curve, err);
	}
}

/* Reports every decided and moving task as started. Sets *any to whether there was such a task. */
static int start_all(struct live *live, double now_s, bool *any, struct error *err)
{
	int code = 0;

	*any = false;
	for (uint32_t j = 0; j < live->job_count; j++)
		for (uint32_t t = 0; live->jobs[j] && t < live->jobs[j]->task_count && code == 0; t++) {
			const struct live_task *task = &live->jobs[j]->tasks[t];

			if (task->state != LIVE_DECIDED && task->state != LIVE_MOVING)
				continue;
			*any = true;
			code = live_started(live, live->jobs[j]->id, task->name,
					    live->cluster->machines[task->machine].name, now_s, err);
		}
	return code;
}

int live_settle(struct live *live, double now_s, double within_s, double *end_s, struct error *err)
{
	double last_s = now_s + within_s;

	live->settings.recovery_hold_s = 0; /* all machines that fail have failed */
	for (*end_s = now_s;;) {
		bool started = false;
		int made = live_step(live, now_s, err), code = made < 0 ? made : start_all(live, now_s, &started, err);

		if (code < 0)
			return code;
		if (made > 0 || started) {
			*end_s = now_s;
			continue;
		}
		now_s += live_next_s(live, now_s);
		if (!(now_s <= last_s))
			return 0;
	}
}
