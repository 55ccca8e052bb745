/* SPDX-License-Identifier: BSD-3-Clause */
#include "attempt_priv.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sweeper_priv.h"

static const double uptime_rounding_s = 1e-3;

void attempt_add_reason(struct sweep_attempt *attempt, const char *format, ...)
{
	size_t length = strlen(attempt->reasons);
	va_list arguments;

	if (length > 0 && length < sizeof attempt->reasons - 3)
		length += (size_t)snprintf(attempt->reasons + length, sizeof attempt->reasons - length, "; ");
	va_start(arguments, format);
	vsnprintf(attempt->reasons + length, sizeof attempt->reasons - length, format, arguments);
	va_end(arguments);
}

struct injector_interval attempt_injector(const struct sweep_attempt *attempt)
{
	return injector_interval_between(&attempt->before, &attempt->after, attempt->elapsed_s);
}

bool attempt_stalled(const struct sweep_plan *plan, const struct sweep_attempt *attempt)
{
	struct injector_interval injector = attempt_injector(attempt);

	return injector_interval_stall_percent(&injector) > plan->maximum_stall_percent;
}

void attempt_judge(const struct sweep_plan *plan, struct sweep_attempt *attempt)
{
	struct injector_interval injector = attempt_injector(attempt);
	double disturbed_percent = injector_interval_disturbed_percent(&injector);
	double steal_percent = machine_steal_percent(&attempt->machine_before, &attempt->machine_after);

	if (injector.dropped > 0)
		attempt_add_reason(attempt, "the injector dropped %.0f packets", injector.dropped);
	if (attempt_stalled(plan, attempt))
		attempt_add_reason(attempt, "the injector stalled for %.3g %% of the run (limit %g %%)",
				   injector_interval_stall_percent(&injector), plan->maximum_stall_percent);
	if (disturbed_percent > plan->maximum_disturbed_percent)
		attempt_add_reason(attempt, "%.3g %% of the packets met a stall (limit %g %%)", disturbed_percent,
				   plan->maximum_disturbed_percent);
	if (steal_percent > plan->maximum_steal_percent)
		attempt_add_reason(attempt, "the hypervisor took %.3g %% of the processors' time (limit %g %%)",
				   steal_percent, plan->maximum_steal_percent);
	if (attempt->busy_percent > plan->maximum_busy_percent)
		attempt_add_reason(attempt,
				   "other programs used %.3g %% of the processors before the run (limit %g %%)",
				   attempt->busy_percent, plan->maximum_busy_percent);
	if (plan->maximum_load > 0 && attempt->machine_before.load > plan->maximum_load)
		attempt_add_reason(attempt, "load average %.3g (limit %g)", attempt->machine_before.load,
				   plan->maximum_load);
	if (attempt->has_rtt &&
	    fabs(attempt->rtt_us - attempt->rtt_expected_us) >
		    plan->rtt_tolerance_percent / 100 * attempt->rtt_expected_us + plan->rtt_tolerance_us)
		attempt_add_reason(attempt, "round trip %.0f us, expected %.0f", attempt->rtt_us,
				   attempt->rtt_expected_us);
}

int attempt_check_delay(const struct sweep_plan *plan, const struct sweep_attempt *attempt, struct error *err)
{
	const struct injector_state_totals *before = &attempt->before, *after = &attempt->after;
	struct delay_pair wanted = path_split_delay(plan, attempt->run.delay_us);
	const struct injector_state_totals *odd;

	/*
	 * The injector was read before the elapsed time began and after it ended, and its uptime is measured by the
	 * same clock. So the uptime grew by at least the elapsed time, if the injector was not restarted.
	 */
	if (after->uptime_s - before->uptime_s < attempt->elapsed_s - uptime_rounding_s ||
	    attempt_injector(attempt).packets < 0)
		return error_set(err, ESTALE, "the injector was restarted, or its counters reset, during the run");
	odd = injector_client_has_delay(before, wanted) ? after : before;
	if (injector_client_has_delay(odd, wanted) && after->delay_changes == before->delay_changes)
		return 0;
	if (injector_client_has_delay(odd, wanted))
		return error_set(err, ESTALE,
				 "somebody else set the injector's delay during the run, and then back again");
	return error_set(err, ESTALE,
			 "somebody else set the injector's delay: %.10g us from A to B and %.10g back, expected %.10g "
			 "and %.10g",
			 odd->delay_us[0], odd->delay_us[1], wanted.ab_us, wanted.ba_us);
}

bool attempt_is_better(const struct sweep_attempt *attempt, const struct sweep_attempt *best)
{
	struct injector_interval here = attempt_injector(attempt), there = attempt_injector(best);

	return attempt->measured &&
	       (!best->measured || injector_interval_stall_percent(&here) < injector_interval_stall_percent(&there));
}
