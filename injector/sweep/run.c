/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweeper_priv.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <base/number.h>

static const double uptime_rounding_s = 1e-3;

static __attribute__((format(printf, 2, 3))) void add_reason(struct sweep_attempt *attempt, const char *format, ...)
{
	size_t length = strlen(attempt->reasons);
	va_list arguments;

	if (length > 0 && length < sizeof attempt->reasons - 3)
		length += (size_t)snprintf(attempt->reasons + length, sizeof attempt->reasons - length, "; ");
	va_start(arguments, format);
	vsnprintf(attempt->reasons + length, sizeof attempt->reasons - length, format, arguments);
	va_end(arguments);
}

/* Returns true if the gate on stalls refuses the attempt. Pure. */
static bool is_stalled(const struct sweep_plan *plan, const struct sweep_attempt *attempt)
{
	struct injector_interval injector = attempt_injector(attempt);

	return injector_interval_stall_percent(&injector) > plan->maximum_stall_percent;
}

static void judge_round_trip(const struct sweep_plan *plan, struct sweep_attempt *attempt)
{
	double limit_us = plan->rtt_tolerance_percent / 100 * attempt->rtt_expected_us + plan->rtt_tolerance_us;

	if (attempt->rtt_by == SWEEP_LOG_RTT_UNCHECKED || fabs(attempt->rtt_us - attempt->rtt_expected_us) <= limit_us)
		return;
	add_reason(attempt, "round trip %.0f us by %s, expected %.0f (%.0f without delay, limit %.0f off)",
		   attempt->rtt_us, sweep_log_rtt_name(attempt->rtt_by), attempt->rtt_expected_us,
		   attempt->rtt_without_us, limit_us);
}

void attempt_judge(const struct sweep_plan *plan, struct sweep_attempt *attempt)
{
	struct injector_interval injector = attempt_injector(attempt);
	double disturbed_percent = injector_interval_disturbed_percent(&injector);
	double steal_percent = machine_steal_percent(&attempt->machine_before, &attempt->machine_after);

	if (injector.dropped > 0)
		add_reason(attempt, "the injector dropped %.0f packets", injector.dropped);
	if (is_stalled(plan, attempt))
		add_reason(attempt, "the injector stalled for %.3g %% of the run (limit %g %%)",
			   injector_interval_stall_percent(&injector), plan->maximum_stall_percent);
	if (disturbed_percent > plan->maximum_disturbed_percent)
		add_reason(attempt, "%.3g %% of the packets met a stall (limit %g %%)", disturbed_percent,
			   plan->maximum_disturbed_percent);
	if (steal_percent > plan->maximum_steal_percent)
		add_reason(attempt, "the hypervisor took %.3g %% of the processors' time (limit %g %%)", steal_percent,
			   plan->maximum_steal_percent);
	if (attempt->busy_percent > plan->maximum_busy_percent)
		add_reason(attempt, "other programs used %.3g %% of the processors before the run (limit %g %%)",
			   attempt->busy_percent, plan->maximum_busy_percent);
	if (plan->maximum_load > 0 && attempt->machine_before.load > plan->maximum_load)
		add_reason(attempt, "load average %.3g (limit %g)", attempt->machine_before.load, plan->maximum_load);
	judge_round_trip(plan, attempt);
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
		return error_set(
			err, ESTALE,
			"somebody else set the injector's delay or a rule during the run, and then back again");
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

/*
 * Minimum length of a pause for computing the load, in ticks of all our processors together. With fewer ticks, of 10 ms
 * each, the load would be too imprecise.
 */
enum { SETTLE_TICKS = 5 };
enum { QUIET_PATIENCE_S = 10, RTT_COUNT = 21 /* probes or pings */ };

static struct commands_occasion occasion_of(const struct sweep_attempt *attempt)
{
	return (struct commands_occasion){.run = &attempt->run, .attempt = attempt->number};
}

static void stamp(char *text, size_t bytes)
{
	time_t now = time(NULL);
	struct tm parts;

	gmtime_r(&now, &parts);
	strftime(text, bytes, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

/* Runs before-run. Processes that it leaves in the background are not killed: after-run may have to stop them. */
static int run_before(struct sweeper *sweeper, const struct sweep_attempt *attempt, struct error *err)
{
	const struct sweep_plan *plan = sweeper->plan;
	struct host_command command = commands_make(sweeper, "before-run", plan->before_run, plan->ready_timeout_s);

	if (!plan->before_run || !*plan->before_run)
		return 0;
	return commands_must_run(sweeper, &sweeper->client_host, &command, occasion_of(attempt), err);
}

/* Runs the warm-up, and kills all its processes at its end, so that none still runs during the measurement. */
static int warm_up(struct sweeper *sweeper, const struct sweep_attempt *attempt, struct error *err)
{
	const struct sweep_plan *plan = sweeper->plan;
	struct host_command command = commands_make(sweeper, "warm-up", plan->warm_up, plan->ready_timeout_s);
	struct commands_marked environment;
	int code;

	if (!plan->warm_up || !*plan->warm_up)
		return 0;
	command.ends_group = true;
	commands_mark(sweeper, ORPHANS_OF_CLIENT, &environment, &command);
	code = commands_must_run(sweeper, &sweeper->client_host, &command, occasion_of(attempt), err);
	commands_end_strays(sweeper, code == -ETIMEDOUT || code == -EINTR);
	return code;
}

/*
 * Pauses after the delay was set. The plan's commands are idle during the pause, so any load is that of other programs.
 * Returns the load in percent of our processors, or 0 if the pause is too short to tell (SETTLE_TICKS).
 */
static double settle(const struct sweep_plan *plan, const volatile sig_atomic_t *stop)
{
	struct machine_state before, after;
	double ticks;

	machine_state_read(&before);
	host_sleep((struct ns){(int64_t)(plan->settle_s * 1e9)}, stop);
	machine_state_read(&after);
	ticks = after.our_ticks - before.our_ticks;
	return ticks >= SETTLE_TICKS ? 100 * (1 - (after.our_free_ticks - before.our_free_ticks) / ticks) : 0;
}

/*
 * Repeats the pause while other programs use the processors, up to QUIET_PATIENCE_S. Returns the load of the last
 * pause.
 */
static double settle_in_quiet(const struct sweep_plan *plan, const volatile sig_atomic_t *stop)
{
	struct ns deadline = ns_add(ns_now_monotonic(), ns_from_us(QUIET_PATIENCE_S * 1e6));
	double busy_percent = settle(plan, stop);

	while (busy_percent > plan->maximum_busy_percent && ns_now_monotonic().v < deadline.v && !(stop && *stop))
		busy_percent = settle(plan, stop);
	return busy_percent;
}

/*
 * Measures the round trip without delay, to which that with delay is compared. If our prober has measured it,
 * takes that. Ping, which is affected more by the machine's load, measures it in each attempt.
 */
static int measure_without_delay(struct sweeper *sweeper, struct sweep_attempt *attempt, struct error *err)
{
	const struct sweep_plan *plan = sweeper->plan;
	int code;

	attempt->rtt_by = SWEEP_LOG_RTT_PROBE;
	attempt->rtt_without_us = sweeper->rtt_without_us;
	if (!isnan(attempt->rtt_without_us))
		return 0;
	attempt->rtt_by = SWEEP_LOG_RTT_PING;
	code = path_set_delay(sweeper, (struct delay_pair){0, 0}, err);
	return code ? code
		    : ping_median(&sweeper->client_host, plan->server_address, RTT_COUNT, sweeper->hooks->stop,
				  &attempt->rtt_without_us, err);
}

static int measure_with_delay(struct sweeper *sweeper, struct sweep_attempt *attempt, struct error *err)
{
	const struct sweep_plan *plan = sweeper->plan;

	if (attempt->rtt_by == SWEEP_LOG_RTT_PROBE)
		return probe_median(sweeper, RTT_COUNT, &attempt->rtt_us, err);
	return ping_median(&sweeper->client_host, plan->server_address, RTT_COUNT, sweeper->hooks->stop,
			   &attempt->rtt_us, err);
}

/* A shorter round trip without delay than before shows that the machine was busy before. */
static void improve_baseline(struct sweeper *sweeper, struct sweep_attempt *attempt)
{
	if (attempt->rtt_by != SWEEP_LOG_RTT_PROBE || attempt->run.delay_us > 0 ||
	    attempt->rtt_us >= sweeper->rtt_without_us)
		return;
	sweeper->rtt_without_us = attempt->rtt_without_us = attempt->rtt_expected_us = attempt->rtt_us;
}

/* Sets the delay. With rtt-check, also measures the round trip without and with the delay. */
static int set_delay(struct sweeper *sweeper, struct sweep_attempt *attempt, struct error *err)
{
	const struct sweep_plan *plan = sweeper->plan;
	struct delay_pair delay = path_split_delay(plan, attempt->run.delay_us);
	bool checked = !rtt_unchecked_reason(plan);
	int code = checked ? measure_without_delay(sweeper, attempt, err) : 0;

	if (!code)
		code = path_set_delay(sweeper, delay, err);
	if (!code)
		attempt->busy_percent = settle_in_quiet(plan, sweeper->hooks->stop);
	attempt->rtt_expected_us = attempt->rtt_without_us + delay.ab_us + delay.ba_us;
	if (!code && checked)
		code = measure_with_delay(sweeper, attempt, err);
	if (!code)
		improve_baseline(sweeper, attempt);
	if (code)
		attempt->rtt_by = SWEEP_LOG_RTT_UNCHECKED;
	return code;
}

static bool exit_code_is_a_metric(const struct sweeper *sweeper)
{
	for (size_t i = 0; i < sweeper->metric_count; i++)
		if (sweeper->metrics[i].source == SWEEP_METRIC_EXIT)
			return true;
	return false;
}

static int extract_all(const struct sweeper *sweeper, const struct process_result *result,
		       struct sweep_attempt *attempt, struct error *err)
{
	struct sweep_metric_input input = {result->output, result->exit_code, attempt->elapsed_s};

	for (size_t i = 0; i < sweeper->metric_count; i++) {
		int code = sweep_metric_extract(&sweeper->metrics[i], &input, &attempt->values[i], err);

		if (code)
			return code;
	}
	attempt->measured = true;
	return 0;
}

/* Takes the metrics from the client's output; keeps the output of a client that failed. */
static int take_result(struct sweeper *sweeper, const struct host_command *command, struct process_result *result,
		       struct sweep_attempt *attempt, struct error *err)
{
	int code;

	if (result->exit_code != 0 && !exit_code_is_a_metric(sweeper))
		return commands_fail(sweeper, command, occasion_of(attempt), result->exit_code, result->output, err);
	code = extract_all(sweeper, result, attempt, err);
	if (code || sweeper->plan->keep_output)
		commands_keep_output(sweeper, command->phase, occasion_of(attempt), code != 0, result->output);
	return code;
}

static int measure(struct sweeper *sweeper, struct sweep_attempt *attempt, struct error *err)
{
	const struct sweep_plan *plan = sweeper->plan;
	struct host_command command = commands_make(sweeper, "client", plan->client, plan->timeout_s);
	struct commands_marked environment;
	struct process_result result = {0};
	struct ns began;
	bool stopped;
	int code;

	command.ends_group = true;
	commands_mark(sweeper, ORPHANS_OF_CLIENT, &environment, &command);
	stamp(attempt->started_at, sizeof attempt->started_at);
	machine_state_read(&attempt->machine_before);
	code = injector_client_read(plan, &attempt->before, err);
	began = ns_now_monotonic();
	if (!code)
		code = host_run(&sweeper->client_host, &command, &result, err);
	attempt->elapsed_s = ns_to_s(ns_sub(ns_now_monotonic(), began));
	stopped = code == -ETIMEDOUT || code == -EINTR;
	if (code == -ETIMEDOUT)
		commands_keep_output(sweeper, command.phase, occasion_of(attempt), true, result.output);
	if (!code)
		code = injector_client_read(plan, &attempt->after, err);
	attempt->has_after = code == 0;
	machine_state_read(&attempt->machine_after);
	/* This may take a second, so it comes after reading the injector and the machine. */
	commands_end_strays(sweeper, stopped);
	if (!code)
		code = attempt_check_delay(plan, attempt, err);
	if (!code)
		code = take_result(sweeper, &command, &result, attempt, err);
	process_result_free(&result);
	return code;
}

/* after-run undoes before-run, so it is run even if the run failed or the sweep was stopped. */
static int run_after(struct sweeper *sweeper, const struct sweep_attempt *attempt, struct error *err)
{
	const struct sweep_plan *plan = sweeper->plan;
	struct host_command command = commands_make(sweeper, "after-run", plan->after_run, plan->ready_timeout_s);

	command.stop = NULL;
	if (!plan->after_run || !*plan->after_run)
		return 0;
	return commands_must_run(sweeper, &sweeper->client_host, &command, occasion_of(attempt), err);
}

static int measure_between_hooks(struct sweeper *sweeper, struct sweep_attempt *attempt, struct error *err)
{
	struct error reason = {0};
	int code = run_before(sweeper, attempt, err), after;

	if (code)
		return code;
	code = warm_up(sweeper, attempt, err);
	if (!code)
		code = measure(sweeper, attempt, err);
	after = run_after(sweeper, attempt, &reason);
	if (!after)
		return code;
	if (code) {
		sweeper_say(sweeper, "%s", reason.text);
		return code;
	}
	*err = reason;
	return after;
}

static int make_attempt(struct sweeper *sweeper, struct sweep_attempt *attempt, struct error *err)
{
	const struct sweep_plan *plan = sweeper->plan;
	int code = 0;

	if (!sweeper->server && plan->server) {
		code = path_set_delay(sweeper, (struct delay_pair){0, 0}, err);
		if (!code)
			code = server_start(sweeper, err);
	}
	if (!code)
		code = set_delay(sweeper, attempt, err);
	if (!code)
		code = measure_between_hooks(sweeper, attempt, err);
	if (code || plan->server_restart == SWEEP_PLAN_RESTART_RUN)
		server_stop(sweeper);
	return code;
}

static int append_rows(struct sweeper *sweeper, const struct sweep_attempt *attempt, struct error *err)
{
	struct sweep_record records[SWEEP_METRICS_MAXIMUM];

	for (size_t i = 0; i < sweeper->metric_count; i++)
		records[i] = (struct sweep_record){.delay_us = attempt->run.delay_us,
						   .direction = (enum sweep_direction)sweeper->plan->direction,
						   .run = attempt->run.run,
						   .metric = sweeper->metrics[i].name,
						   .unit = sweeper->metrics[i].unit,
						   .better = sweeper->metrics[i].better,
						   .value = attempt->values[i],
						   .started_at = attempt->started_at,
						   .disturbed = attempt->reasons[0] != '\0',
						   .baseline_rtt_us = sweeper->baseline_rtt_us};
	return sweep_writer_append(sweeper->writer, records, sweeper->metric_count, err);
}

/*
 * Handles a run whose attempts have all failed: leaves it out if the plan says so (on-failure), else returns the error.
 */
static int give_up(struct sweeper *sweeper, const struct sweep_schedule_run *run, struct error *err)
{
	if (sweeper->plan->on_failure == SWEEP_PLAN_FAILURE_SKIP) {
		sweeper->summary->failed++;
		sweeper_say(sweeper, "%g us, run %lld is left out: %s", run->delay_us, (long long)run->run, err->text);
		*err = (struct error){0};
		return 0;
	}
	return error_prefix(err, "at %g us, run %lld", run->delay_us, (long long)run->run);
}

/* Appends the rows of the accepted attempt. */
static int accept_attempt(struct sweeper *sweeper, const struct sweep_attempt *attempt, struct error *err)
{
	int code = append_rows(sweeper, attempt, err);

	if (code)
		return code;
	journal_accept(sweeper, attempt);
	sweeper->summary->made++;
	sweeper->summary->disturbed += attempt->reasons[0] != '\0';
	for (size_t i = 0; sweeper->hooks->measured && i < sweeper->metric_count; i++)
		sweeper->hooks->measured(sweeper->hooks->context, &sweeper->metrics[i], attempt->values[i]);
	return 0;
}

static int name_run(struct sweeper *sweeper, const struct sweep_schedule_run *run, struct error *err)
{
	char text[32];
	int code;

	number_print_double(run->delay_us, text, sizeof text);
	code = commands_set_variable(sweeper, "NOMORA_DELAY_US", text, err);
	snprintf(text, sizeof text, "%lld", (long long)run->run);
	return code ? code : commands_set_variable(sweeper, "NOMORA_RUN", text, err);
}

/*
 * Returns true for failures that would occur again in another attempt: the command cannot be started, or does not print
 * a metric.
 */
static bool is_permanent(int code)
{
	return code == -ENOEXEC || code == -ENOENT || code == -EINVAL;
}

static void announce_repetition(struct sweeper *sweeper, const struct sweep_attempt *attempt)
{
	sweeper->summary->repeated++;
	sweeper_say(sweeper, "repeating %g us, run %lld: %s", attempt->run.delay_us, (long long)attempt->run.run,
		    attempt->reasons);
}

/* Finds the process, if any, that uses the injector's processor and so causes stalls, and adds it to the reasons. */
static void name_rival(const struct sweeper *sweeper, struct sweep_attempt *attempt)
{
	char text[160];

	if (poller_find_rival(sweeper->plan->injector, text, sizeof text))
		add_reason(attempt, "%s", text);
}

/* Makes one attempt, judges and logs it. Returns its error code; err is set if that is not 0. */
static int try_once(struct sweeper *sweeper, struct sweep_attempt *attempt, struct error *err)
{
	int code = make_attempt(sweeper, attempt, err);

	if (code == -EINTR)
		return code;
	attempt->measured = attempt->measured && !code;
	if (code)
		add_reason(attempt, "%s", err->text);
	else
		attempt_judge(sweeper->plan, attempt);
	if (!code && is_stalled(sweeper->plan, attempt))
		name_rival(sweeper, attempt);
	journal_attempt(sweeper, attempt);
	return code;
}

int run_make(struct sweeper *sweeper, const struct sweep_schedule_run *run, struct error *err)
{
	const struct sweep_plan *plan = sweeper->plan;
	struct sweep_attempt best = {0}; /* the best attempt of those that gates refused */
	int code = name_run(sweeper, run, err);

	if (code)
		return code;
	sweeper->begun = true;
	for (int number = 1; number <= plan->attempts; number++) {
		struct sweep_attempt attempt = {.run = *run, .number = number};
		struct error reason = {0};

		code = try_once(sweeper, &attempt, &reason);
		if (code == -EINTR) {
			*err = reason;
			return code;
		}
		if (!attempt.reasons[0])
			return accept_attempt(sweeper, &attempt, err);
		if (attempt_is_better(&attempt, &best))
			best = attempt;
		if (!best.measured)
			*err = reason;
		if (is_permanent(code))
			break;
		if (number < plan->attempts)
			announce_repetition(sweeper, &attempt);
	}
	if (!best.measured)
		return give_up(sweeper, run, err);
	*err = (struct error){0};
	return accept_attempt(sweeper, &best, err);
}
