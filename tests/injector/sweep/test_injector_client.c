/* SPDX-License-Identifier: BSD-3-Clause */
/* Which injectors a sweep accepts. */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sweeper_priv.h"

static const char *rule;

static int parse(const char *text, struct injector_state_totals *state, struct error *err)
{
	struct sweep_plan plan = {.injector = "i.sock", .rule = rule};
	json_t *answer = json_loads(text, 0, NULL);
	int code;

	cr_assert_not_null(answer);
	code = injector_client_parse(&plan, answer, state, err);
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

/* Both directions have the rule; the delay and the delays of its packets are in %s. */
static int parse_rule(const char *text, struct injector_state_totals *state, struct error *err)
{
	char all[1200];

	snprintf(all, sizeof all,
		 "{\"schema\": \"nomora.inject/1\", \"uptime_s\": 1, \"delay_ab_us\": 5, \"delay_ba_us\": 6, "
		 "\"ab\": {\"applied_delay_ns\": {\"count\": 9}, \"applied_buckets\": [[1, 9]], \"rules\": [%s]}, "
		 "\"ba\": {\"rules\": [{\"rule\": \"tcp:53 delay=1\"}, %s]}}",
		 text, text);
	return parse(all, state, err);
}

Test(injector_client, of_a_rule_the_delay_and_delays_are_read)
{
	static struct injector_state_totals state;
	struct error err = {0};

	rule = "udp:53 loss=1";
	cr_assert_eq(parse_rule("{\"rule\": \" udp:53  delay=70.5 loss=1\", \"requested_delay_ns\": {\"mean\": 70500, "
				"\"count\": 4}, \"applied_delay_ns\": {\"mean\": 70600, \"count\": 4}}",
				&state, &err),
		     0, "%s", err.text);
	cr_assert(injector_client_has_delay(&state, (struct delay_pair){70.5, 70.5}));
	cr_assert(state.delays[1].requested.mean_ns == 70500 && state.delays[1].applied.mean_ns == 70600);
	cr_assert(state.delays[0].applied.count == 4 && state.delays[0].applied_buckets.count == 0);
	cr_assert_eq(parse_rule("{\"rule\": \"udp:53 loss=1\"}", &state, &err), 0, "%s", err.text);
	cr_assert(injector_client_has_delay(&state, (struct delay_pair){5, 6}), "the direction's");
	cr_assert(state.delays[0].applied.count == 0 && state.delays[0].of_rule);
}

Test(injector_client, an_injector_without_the_rule_or_with_other_settings_is_refused)
{
	static struct injector_state_totals state;
	struct error err = {0};

	rule = "udp:53";
	cr_assert_eq(parse_rule("{\"rule\": \"udp:530 delay=7\"}", &state, &err), -ENOENT);
	cr_assert_not_null(strstr(err.text, "start the injector with --rule 'udp:53 delay=0'"), "%s", err.text);
	err = (struct error){0};
	cr_assert_eq(parse_rule("{\"rule\": \"udp:53 delay=7 loss=1\"}", &state, &err), -EINVAL);
	cr_assert_not_null(strstr(err.text, "'udp:53 delay=7 loss=1': expected 'udp:53' and a delay"), "%s", err.text);
	err = (struct error){0};
	cr_assert_eq(parse_rule("{\"rule\": \"udp:53 delay=x\"}", &state, &err), -EINVAL);
}
