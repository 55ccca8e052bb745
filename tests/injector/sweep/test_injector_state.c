/* SPDX-License-Identifier: BSD-3-Clause */
/* What the sweep takes from an injector's statistics. */
#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>

#include "sweep_priv.h"

static const char answer_text[] =
	"{\"schema\": \"nomora.inject/1\", \"uptime_s\": 1.5, \"delay_ab_us\": 5.1, \"delay_ba_us\": 6.2,"
	"\"tx_ab\": 1, \"tx_ba\": 20, \"ring_full\": 100, \"tx_full\": 0, \"nombuf\": 1000, \"rx_missed\": 10000,"
	"\"rx_errors\": 100000, \"tx_errors\": 1000000, \"disturbed\": 7, \"stalls\": 8, \"stall_us_total\": 9.5, "
	"\"stall_us_in_transmit\": "
	"null}";

static int parse(const char *text, struct injector_state *state, struct error *err)
{
	json_t *answer = json_loads(text, 0, NULL);
	int code;

	cr_assert_not_null(answer);
	code = injector_state_parse("i.sock", answer, state, err);
	json_decref(answer);
	return code;
}

Test(injector_state, every_way_to_lose_a_packet_is_a_drop)
{
	struct injector_state state;
	struct error err = {0};

	cr_assert_eq(parse(answer_text, &state, &err), 0, "%s", err.text);
	cr_assert_eq(state.dropped, 1111100, "%g", state.dropped);
}

Test(injector_state, the_rest_is_as_it_is_told)
{
	struct injector_state state;
	struct error err = {0};

	cr_assert_eq(parse(answer_text, &state, &err), 0, "%s", err.text);
	cr_assert_eq(state.uptime_s, 1.5);
	cr_assert_eq(state.delay_ab_us, 5.1);
	cr_assert_eq(state.delay_ba_us, 6.2);
	cr_assert_eq(state.packets, 21);
	cr_assert_eq(state.disturbed, 7);
	cr_assert_eq(state.stalls, 8);
	cr_assert_eq(state.stall_us, 9.5);
	cr_assert_eq(state.lcores, 1, "of an injector that does not tell");
	cr_assert_eq(state.transmit_stall_us, 0, "null: its calls are no system calls");
}

Test(injector_state, it_says_how_many_threads_stall)
{
	struct injector_state state;
	struct error err = {0};

	cr_assert_eq(parse("{\"uptime_s\": 1, \"delay_ab_us\": 1, \"delay_ba_us\": 1, \"lcores\": 2}", &state, &err), 0,
		     "%s", err.text);
	cr_assert_eq(state.lcores, 2);
}

Test(injector_state, one_that_sets_its_delay_itself_is_refused)
{
	struct injector_state state;
	struct error err = {0};

	cr_assert_eq(
		parse("{\"uptime_s\": 1, \"delay_ab_us\": null, \"delay_ba_us\": null, \"delay_set_by\": \"steps\"}",
		      &state, &err),
		-EBUSY);
	cr_assert_not_null(strstr(err.text, "i.sock: delay_set_by: "), "%s", err.text);
	cr_assert_not_null(strstr(err.text, "without --steps"), "%s", err.text);
}

Test(injector_state, without_a_delay_it_is_refused)
{
	struct injector_state state;
	struct error err = {0};

	cr_assert_lt(parse("{\"uptime_s\": 1, \"delay_ab_us\": 1}", &state, &err), 0);
	cr_assert_not_null(strstr(err.text, "delay_ba_us"), "%s", err.text);
	cr_assert_not_null(strstr(err.text, "i.sock"), "%s", err.text);
}
