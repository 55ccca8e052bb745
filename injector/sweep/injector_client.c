/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweep_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/control.h>
#include <base/json.h>
#include <base/number.h>

static const struct ns patience = {5 * NS_PER_S};

static double count(struct json_reader *reader, const json_t *answer, const char *name)
{
	return json_may_number(reader, answer, "", name, 0, 1e18, 0);
}

int injector_state_parse(const char *control, const json_t *answer, struct injector_state *state, struct error *err)
{
	struct json_reader reader = {.file = control, .err = err};
	const char *setter = json_may_string(&reader, answer, "", "delay_set_by", NULL);

	if (setter)
		return error_set(
			err, EBUSY,
			"%s: delay_set_by: this injector's delay is set by --%s: a sweep sets it itself, start "
			"the injector without --%s",
			control, setter, setter);
	*state = (struct injector_state){
		.uptime_s = json_need_number(&reader, answer, "", "uptime_s", 0, 1e12),
		.delay_ab_us = json_need_number(&reader, answer, "", "delay_ab_us", 0, 1e9),
		.delay_ba_us = json_need_number(&reader, answer, "", "delay_ba_us", 0, 1e9),
		.delay_changes = count(&reader, answer, "delay_changes"),
		.packets = count(&reader, answer, "tx_ab") + count(&reader, answer, "tx_ba"),
		.dropped = count(&reader, answer, "ring_full") + count(&reader, answer, "nombuf") +
			   count(&reader, answer, "rx_missed") + count(&reader, answer, "rx_errors") +
			   count(&reader, answer, "tx_errors"),
		.disturbed = count(&reader, answer, "disturbed"),
		.stalls = count(&reader, answer, "stalls"),
		.lcores = json_may_number(&reader, answer, "", "lcores", 1, 1024, 1),
		.stall_us = count(&reader, answer, "stall_us_total"),
		.transmit_stall_us = count(&reader, answer, "stall_us_in_transmit"),
	};
	return reader.failed ? -err->code : 0;
}

int injector_read(const char *control, struct injector_state *state, struct error *err)
{
	json_t *answer = control_request(control, "stats", patience, err);
	int code;

	if (!answer)
		return error_prefix(err, "the injector at %s", control);
	code = injector_state_parse(control, answer, state, err);
	json_decref(answer);
	return code;
}

int injector_set(const char *control, double delay_ab_us, double delay_ba_us, struct error *err)
{
	char ab[32], ba[32], line[128];
	json_t *answer;

	number_print_double(delay_ab_us, ab, sizeof ab);
	number_print_double(delay_ba_us, ba, sizeof ba);
	snprintf(line, sizeof line, "set delay_ab_us=%s delay_ba_us=%s", ab, ba);
	answer = control_request(control, line, patience, err);
	if (!answer)
		return error_prefix(err, "the injector at %s, asked to '%s'", control, line);
	json_decref(answer);
	return 0;
}
