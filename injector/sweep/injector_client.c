/* SPDX-License-Identifier: BSD-3-Clause */
#include "injector_client_priv.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/control.h>
#include <base/number.h>

static const struct ns patience = {5 * NS_PER_S};

static const double delay_rounding_us = 1e-3;

int injector_client_parse(const char *control, const json_t *answer, struct injector_state_totals *state,
			  struct error *err)
{
	int code = injector_state_from_json(control, answer, state, err);

	if (code || !state->delay_set_by[0])
		return code;
	return error_set(
		err, EBUSY,
		"%s: delay_set_by: --%s sets this injector's delay, but a sweep must set it: start the injector "
		"without --%s",
		control, state->delay_set_by, state->delay_set_by);
}

bool injector_client_has_delay(const struct injector_state_totals *state, struct delay_pair delay)
{
	return fabs(state->delay_us[0] - delay.ab_us) < delay_rounding_us &&
	       fabs(state->delay_us[1] - delay.ba_us) < delay_rounding_us;
}

int injector_client_read(const char *control, struct injector_state_totals *state, struct error *err)
{
	json_t *answer = control_request(control, "stats", patience, err);
	int code;

	if (!answer)
		return error_prefix(err, "the injector at %s", control);
	code = injector_client_parse(control, answer, state, err);
	json_decref(answer);
	return code;
}

int injector_client_set(const char *control, struct delay_pair delay, struct error *err)
{
	char ab[32], ba[32], line[128];
	json_t *answer;

	number_print_double(delay.ab_us, ab, sizeof ab);
	number_print_double(delay.ba_us, ba, sizeof ba);
	snprintf(line, sizeof line, "set delay_ab_us=%s delay_ba_us=%s", ab, ba);
	answer = control_request(control, line, patience, err);
	if (!answer)
		return error_prefix(err, "the injector at %s, request '%s'", control, line);
	json_decref(answer);
	return 0;
}
