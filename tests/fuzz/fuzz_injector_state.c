/* SPDX-License-Identifier: BSD-3-Clause */
/* The reader of an injector's state: an accepted state has a delay or a mode that sets it; so has a rule in it. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include <model/injector_state.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *root = json_loadb((const char *)data, size, 0, NULL);
	struct injector_state_totals totals;
	struct injector_interval whole, none;
	struct error err = {0};

	if (root && injector_state_from_json("fuzz", root, &totals, &err) == 0) {
		if (!totals.delay_set_by[0] && (isnan(totals.delay_us[0]) || isnan(totals.delay_us[1])))
			abort();
		whole = injector_interval_whole(&totals);
		if (!(injector_interval_stall_percent(&whole) <= injector_interval_stall_bound_percent(&whole)))
			abort();
		none = injector_interval_between(&totals, &totals, 1);
		if (none.packets != 0 || !isnan(none.delays[0].late_p99_us))
			abort();
		if (injector_state_take_rule("fuzz", root, "udp:53 loss=1", &totals, &err) == 0
			    ? !totals.delays[1].of_rule
			    : !err.text[0])
			abort();
	} else if (root && !err.text[0]) {
		abort();
	}
	json_decref(root);
	return 0;
}
