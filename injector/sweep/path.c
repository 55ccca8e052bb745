/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweeper_priv.h"

#include "commands_priv.h"

struct delay_pair path_split_delay(const struct sweep_plan *plan, double delay_us)
{
	return (struct delay_pair){.ab_us = plan->direction == SWEEP_BA ? 0 : delay_us,
				   .ba_us = plan->direction == SWEEP_AB ? 0 : delay_us};
}

int path_set_delay(struct sweeper *sweeper, struct delay_pair delay, struct error *err)
{
	const char *control = sweeper->plan->injector;
	struct delay_note *note = &sweeper->note;
	int code;

	note->before = note->set;
	note->set = delay;
	delay_note_write(sweeper->lock, control, note);
	code = injector_client_set(control, delay, err);
	if (code)
		note->set = note->before;
	return code;
}

int path_find_delays(struct sweeper *sweeper, struct error *err)
{
	const char *control = sweeper->plan->injector;
	struct injector_state_totals now;
	struct delay_note *note = &sweeper->note, left;
	int code = injector_client_read(control, &now, err);

	if (code)
		return code;
	note->found = note->set = (struct delay_pair){now.delay_us[0], now.delay_us[1]};
	if (!delay_note_read(sweeper->lock, control, &left) || injector_client_has_delay(&now, left.found) ||
	    !(injector_client_has_delay(&now, left.set) || injector_client_has_delay(&now, left.before)))
		return 0;
	note->found = left.found;
	sweeper_say(sweeper,
		    "a killed sweep left delays of %.10g us from A to B and %.10g us back: restored %.10g and %.10g",
		    now.delay_us[0], now.delay_us[1], left.found.ab_us, left.found.ba_us);
	return path_set_delay(sweeper, left.found, err);
}

void path_restore(struct sweeper *sweeper)
{
	injector_client_set(sweeper->plan->injector, sweeper->note.found, NULL);
}
