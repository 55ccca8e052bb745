/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweep_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/control.h>
#include <base/json.h>
#include <base/number.h>

static const struct ns patience = {5 * NS_PER_S};

int injector_read(const char *control, struct injector_state *state, struct error *err)
{
	json_t *answer = control_request(control, "stats", patience, err);
	struct json_reader reader = {.file = control, .err = err};

	if (!answer)
		return error_prefix(err, "the injector at %s", control);
	state->uptime_s = json_need_number(&reader, answer, "", "uptime_s", 0, 1e12);
	state->delay_ab_us = json_need_number(&reader, answer, "", "delay_ab_us", 0, 1e9);
	state->delay_ba_us = json_need_number(&reader, answer, "", "delay_ba_us", 0, 1e9);
	state->packets = json_may_number(&reader, answer, "", "tx_ab", 0, 1e18, 0) +
			 json_may_number(&reader, answer, "", "tx_ba", 0, 1e18, 0);
	state->dropped = json_may_number(&reader, answer, "", "ring_full", 0, 1e18, 0) +
			 json_may_number(&reader, answer, "", "nombuf", 0, 1e18, 0) +
			 json_may_number(&reader, answer, "", "rx_missed", 0, 1e18, 0);
	state->disturbed = json_may_number(&reader, answer, "", "disturbed", 0, 1e18, 0);
	state->stalls = json_may_number(&reader, answer, "", "stalls", 0, 1e18, 0);
	state->stall_us = json_may_number(&reader, answer, "", "stall_us_total", 0, 1e18, 0);
	state->transmit_stall_us = json_may_number(&reader, answer, "", "stall_us_in_transmit", 0, 1e18, 0);
	json_decref(answer);
	return reader.failed ? -err->code : 0;
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
