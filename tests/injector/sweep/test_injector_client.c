/* SPDX-License-Identifier: BSD-3-Clause */
/* Which injectors a sweep accepts. */
#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>

#include "sweeper_priv.h"

static int parse(const char *text, struct injector_state_totals *state, struct error *err)
{
	json_t *answer = json_loads(text, 0, NULL);
	int code;

	cr_assert_not_null(answer);
	code = injector_client_parse("i.sock", answer, state, err);
	json_decref(answer);
	return code;
}

Test(injector_client, an_injector_that_sets_its_delay_itself_is_refused)
{
	struct injector_state_totals state;
	struct error err = {0};

	cr_assert_eq(parse("{\"schema\": \"nomora.inject/1\", \"uptime_s\": 1, \"delay_ab_us\": null, "
			   "\"delay_ba_us\": null, \"delay_set_by\": \"steps\"}",
			   &state, &err),
		     -EBUSY);
	cr_assert_not_null(strstr(err.text, "i.sock: delay_set_by: "), "%s", err.text);
	cr_assert_not_null(strstr(err.text, "without --steps"), "%s", err.text);
}

Test(injector_client, the_delay_is_compared_to_a_nanosecond)
{
	struct injector_state_totals state;
	struct error err = {0};

	cr_assert_eq(parse("{\"schema\": \"nomora.inject/1\", \"uptime_s\": 1, \"delay_ab_us\": 5.1, "
			   "\"delay_ba_us\": 6.2}",
			   &state, &err),
		     0, "%s", err.text);
	cr_assert(injector_client_has_delay(&state, (struct delay_pair){5.1, 6.2}));
	cr_assert(injector_client_has_delay(&state, (struct delay_pair){5.1000001, 6.2}));
	cr_assert_not(injector_client_has_delay(&state, (struct delay_pair){5.2, 6.2}));
	cr_assert_not(injector_client_has_delay(&state, (struct delay_pair){5.1, 6.1}));
}
