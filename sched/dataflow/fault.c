/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses the faults of a simulation or a lab run, as given to --fail. */
#include <sched/dataflow/simulate.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <base/number.h>

enum { TEXT_BYTES = 2 * TOPOLOGY_NAME_BYTES + 80 };

static int bad(const char *text, const char *why, struct error *err)
{
	return error_set(err, EINVAL,
			 "'%s': %s; expected link:A:B@FROM-TO, host:H@FROM-TO or used:PERCENT@FROM-TO in "
			 "seconds; -TO is optional",
			 text, why);
}

static bool read_times(char *times, struct simulate_fault *fault)
{
	char *dash = strchr(times, '-');

	fault->repair_s = INFINITY;
	if (dash) {
		*dash = '\0';
		if (number_parse_double(dash + 1, &fault->repair_s) != 0)
			return false;
	}
	return number_parse_double(times, &fault->fail_s) == 0 && fault->fail_s >= 0 && fault->fail_s <= 1e9 &&
	       fault->repair_s > fault->fail_s && (!dash || fault->repair_s <= 1e9);
}

static const char *read_subject(const char *kind, char *subject, const struct topology *topology,
				struct simulate_fault *fault)
{
	char *colon = strchr(subject, ':');
	int64_t number = -1;

	if (strcmp(kind, "host") == 0) {
		fault->kind = SIMULATE_HOST;
		number = topology_find_node(topology, subject);
		if (number < 0 || topology->nodes[number].kind != TOPOLOGY_HOST)
			return "unknown host";
	} else if (strcmp(kind, "used") == 0) {
		fault->kind = SIMULATE_USED;
		if (number_parse_i64(subject, &number) != 0 || number < 1 || number > 100)
			return "PERCENT must be a whole number from 1 to 100";
	} else if (strcmp(kind, "link") == 0 && colon) {
		int64_t a, b;

		*colon = '\0';
		fault->kind = SIMULATE_LINK;
		a = topology_find_node(topology, subject);
		b = topology_find_node(topology, colon + 1);
		number = a < 0 || b < 0 ? -1 : topology_find_link(topology, (uint32_t)a, (uint32_t)b);
		if (number < 0)
			return "unknown link";
	} else {
		return "unknown kind";
	}
	fault->subject = (uint32_t)number;
	return NULL;
}

int simulate_fault_parse(const char *text, const struct topology *topology, struct simulate_fault *fault,
			 struct error *err)
{
	char copy[TEXT_BYTES], *at, *colon;
	const char *why;

	snprintf(copy, sizeof copy, "%s", text);
	at = strrchr(copy, '@');
	colon = strchr(copy, ':');
	if (strlen(text) >= sizeof copy || !at || !colon || colon > at)
		return bad(text, "not a valid fault", err);
	*at = *colon = '\0';
	if (!read_times(at + 1, fault))
		return bad(text, "the times must be 0 <= FROM < TO <= 1e9", err);
	why = read_subject(copy, colon + 1, topology, fault);
	return why ? bad(text, why, err) : 0;
}
