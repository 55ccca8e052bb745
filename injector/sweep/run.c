/* SPDX-License-Identifier: BSD-3-Clause */
/* One run: the delay set and checked, the benchmark between two looks at injector and host, and the verdict. */
#include "sweeper_priv.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <base/number.h>

enum { SETTLE_TICKS = 5 }; /* the kernel counts in hundredths of a second: fewer say nothing */

static const double uptime_rounding_s = 1e-3;

void split_delay(const struct plan *plan, double delay_us, double *ab_us, double *ba_us)
{
	*ab_us = plan->direction == SWEEP_BA ? 0 : delay_us;
	*ba_us = plan->direction == SWEEP_AB ? 0 : delay_us;
}

static void add_reason(struct attempt *attempt, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add_reason(struct attempt *attempt, const char *format, ...)
{
	size_t length = strlen(attempt->reasons);
	va_list arguments;

	if (length > 0 && length < sizeof attempt->reasons - 3)
		length += (size_t)snprintf(attempt->reasons + length, sizeof attempt->reasons - length, "; ");
	va_start(arguments, format);
	vsnprintf(attempt->reasons + length, sizeof attempt->reasons - length, format, arguments);
	va_end(arguments);
}

/* Of the run's time, the injector's own calls that send left out; of several threads the mean. */
static double stall_percent(const struct attempt *attempt)
{
	const struct injector_state *before = &attempt->before, *after = &attempt->after;
	double stall_us = after->stall_us - before->stall_us - (after->transmit_stall_us - before->transmit_stall_us);

	/* A stall is counted when it ends: one that began before a short run may be longer than it. */
	return attempt->elapsed_s > 0 ? fmin(stall_us / after->lcores / attempt->elapsed_s / 1e4, 100) : 0;
}

void attempt_judge(const struct plan *plan, struct attempt *attempt)
{
	double packets = attempt->after.packets - attempt->before.packets;
	double disturbed = attempt->after.disturbed - attempt->before.disturbed;
	double dropped = attempt->after.dropped - attempt->before.dropped;
	double ticks = attempt->host_after.total_ticks - attempt->host_before.total_ticks;
	double steal = attempt->host_after.steal_ticks - attempt->host_before.steal_ticks;
	double disturbed_percent = packets > 0 ? 100 * disturbed / packets : 0;
	double steal_percent = ticks > 0 ? 100 * steal / ticks : 0;

	if (dropped > 0)
		add_reason(attempt, "the injector dropped %.0f packets", dropped);
	if (stall_percent(attempt) > plan->maximum_stall_percent)
		add_reason(attempt, "the injector stalled %.3g %% of the time", stall_percent(attempt));
	if (disturbed_percent > plan->maximum_disturbed_percent)
		add_reason(attempt, "%.3g %% of the packets met a stall", disturbed_percent);
	if (steal_percent > plan->maximum_steal_percent)
		add_reason(attempt, "%.3g %% of the processors' time was stolen", steal_percent);
	if (attempt->busy_percent > plan->maximum_busy_percent)
		add_reason(attempt, "others took %.3g %% of the processors before it", attempt->busy_percent);
	if (plan->maximum_load > 0 && attempt->host_before.load > plan->maximum_load)
		add_reason(attempt, "load average %.3g", attempt->host_before.load);
	if (attempt->has_rtt &&
	    fabs(attempt->rtt_us - attempt->rtt_expected_us) >
		    plan->rtt_tolerance_percent / 100 * attempt->rtt_expected_us + plan->rtt_tolerance_us)
		add_reason(attempt, "round trip %.0f us, expected %.0f", attempt->rtt_us, attempt->rtt_expected_us);
}

int attempt_check_delay(const struct plan *plan, const struct attempt *attempt, struct error *err)
{
	const struct injector_state *before = &attempt->before, *after = &attempt->after;
	const struct injector_state *odd;
	struct delay_pair wanted;

	/* Its clock is ours, and it was asked before and after the time that we took. */
	if (after->uptime_s - before->uptime_s < attempt->elapsed_s - uptime_rounding_s ||
	    after->packets < before->packets)
		return error_set(err, ESTALE, "the injector was restarted, or its counters reset, during the run");
	split_delay(plan, attempt->run.delay_us, &wanted.ab_us, &wanted.ba_us);
	odd = injector_has_delay(before, wanted) ? after : before;
	if (injector_has_delay(odd, wanted) && after->delay_changes == before->delay_changes)
		return 0;
	if (injector_has_delay(odd, wanted))
		return error_set(
			err, ESTALE,
			"somebody else set the injector's delay during the run, and in the end to what it was");
	return error_set(err, ESTALE,
			 "somebody else set the injector's delay: %.10g us from A to B and %.10g back, expected %.10g "
			 "and %.10g",
			 odd->delay_ab_us, odd->delay_ba_us, wanted.ab_us, wanted.ba_us);
}

static void stamp(char *text, size_t bytes)
{
	time_t now = time(NULL);
	struct tm parts;

	gmtime_r(&now, &parts);
	strftime(text, bytes, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

/* What it starts may be for after-run to stop. */
static int run_before(struct sweeper *sweeper, struct error *err)
{
	const struct plan *plan = sweeper->plan;
	struct command command = sweeper_command(sweeper, "before-run", plan->before_run, plan->ready_timeout_s);

	return plan->before_run && *plan->before_run ? host_must_run(&sweeper->client_host, &command, err) : 0;
}

/* As of the client, nothing of it may run into a measurement. */
static int warm_up(struct sweeper *sweeper, struct error *err)
{
	const struct plan *plan = sweeper->plan;
	struct command command = sweeper_command(sweeper, "warm-up", plan->warm_up, plan->ready_timeout_s);
	struct marked_environment environment;
	int code;

	if (!plan->warm_up || !*plan->warm_up)
		return 0;
	command.ends_group = true;
	sweeper_mark(sweeper, ORPHANS_OF_CLIENT, &environment, &command);
	code = host_must_run(&sweeper->client_host, &command, err);
	sweeper_end_strays(sweeper, code == -ETIMEDOUT || code == -EINTR);
	return code;
}

/* The pause after the delay was set: nothing of ours runs, so that the processors' time in it is others'. Percent. */
static double settle(const struct plan *plan, const volatile sig_atomic_t *stop)
{
	struct host_state before, after;
	double ticks;

	host_state_read(&before);
	sleep_unless((struct ns){(int64_t)(plan->settle_s * 1e9)}, stop);
	host_state_read(&after);
	ticks = after.our_ticks - before.our_ticks;
	return ticks >= SETTLE_TICKS ? 100 * (1 - (after.our_free_ticks - before.our_free_ticks) / ticks) : 0;
}

/* The same again while others have the processors, as long as the plan has patience: they would spoil an attempt. */
static double settle_in_quiet(const struct plan *plan, const volatile sig_atomic_t *stop)
{
	struct ns deadline = ns_add(ns_now_monotonic(), (struct ns){(int64_t)(plan->quiet_patience_s * 1e9)});
	double busy_percent = settle(plan, stop);

	while (busy_percent > plan->maximum_busy_percent && ns_now_monotonic().v < deadline.v && !(stop && *stop))
		busy_percent = settle(plan, stop);
	return busy_percent;
}

/*
 * Sets the delay; with rtt-check, pings before and after. The round trip without delay is taken anew each time: it
 * moves with what else this machine does, and only the difference is the injector's.
 */
static int set_delay(struct sweeper *sweeper, struct attempt *attempt, struct error *err)
{
	const struct plan *plan = sweeper->plan;
	const volatile sig_atomic_t *stop = sweeper->hooks->stop;
	double ab_us, ba_us, without_us = 0;
	int code = 0;

	split_delay(plan, attempt->run.delay_us, &ab_us, &ba_us);
	if (plan->rtt_check) {
		code = sweeper_set_delay(sweeper, 0, 0, err);
		if (!code)
			code = rtt_ping(&sweeper->client_host, plan->server_address, plan->rtt_count, stop, &without_us,
					err);
	}
	if (!code)
		code = sweeper_set_delay(sweeper, ab_us, ba_us, err);
	if (code)
		return code;
	attempt->busy_percent = settle_in_quiet(plan, stop);
	if (plan->rtt_check) {
		code = rtt_ping(&sweeper->client_host, plan->server_address, plan->rtt_count, stop, &attempt->rtt_us,
				err);
		attempt->has_rtt = code == 0;
		attempt->rtt_expected_us = without_us + ab_us + ba_us;
	}
	return code;
}

static int extract_all(const struct sweeper *sweeper, const struct process_result *result, struct attempt *attempt,
		       struct error *err)
{
	struct metric_input input = {result->output, result->exit_code, attempt->elapsed_s};
	bool wants_exit = false;

	for (size_t i = 0; i < sweeper->metric_count; i++)
		wants_exit = wants_exit || sweeper->metrics[i].source == METRIC_EXIT;
	if (result->exit_code != 0 && !wants_exit)
		return error_set(err, ECHILD, "client: failed with exit code %d: %.300s", result->exit_code,
				 last_line(result->output));
	for (size_t i = 0; i < sweeper->metric_count; i++) {
		int code = metric_extract(&sweeper->metrics[i], &input, &attempt->values[i], err);

		if (code)
			return code;
	}
	attempt->measured = true;
	return 0;
}

static int measure(struct sweeper *sweeper, struct attempt *attempt, struct error *err)
{
	const struct plan *plan = sweeper->plan;
	struct command command = sweeper_command(sweeper, "client", plan->client, plan->timeout_s);
	struct marked_environment environment;
	struct process_result result = {0};
	struct ns began;
	bool stopped;
	int code;

	command.ends_group = true;
	sweeper_mark(sweeper, ORPHANS_OF_CLIENT, &environment, &command);
	stamp(attempt->started_at, sizeof attempt->started_at);
	host_state_read(&attempt->host_before);
	code = injector_read(plan->injector, &attempt->before, err);
	began = ns_now_monotonic();
	if (!code)
		code = host_run(&sweeper->client_host, &command, &result, err);
	attempt->elapsed_s = ns_to_s(ns_sub(ns_now_monotonic(), began));
	stopped = code == -ETIMEDOUT || code == -EINTR;
	if (!code)
		code = injector_read(plan->injector, &attempt->after, err);
	host_state_read(&attempt->host_after);
	sweeper_end_strays(sweeper, stopped); /* once all is read that is the run's */
	if (!code)
		code = attempt_check_delay(plan, attempt, err);
	if (!code)
		code = extract_all(sweeper, &result, attempt, err);
	process_result_free(&result);
	return code;
}

/* after-run undoes what before-run did: it is due however the run went, also when we were told to stop. */
static int run_after(struct sweeper *sweeper, struct error *err)
{
	const struct plan *plan = sweeper->plan;
	struct command command = sweeper_command(sweeper, "after-run", plan->after_run, plan->ready_timeout_s);

	command.stop = NULL;
	return plan->after_run && *plan->after_run ? host_must_run(&sweeper->client_host, &command, err) : 0;
}

static int measure_between_hooks(struct sweeper *sweeper, struct attempt *attempt, struct error *err)
{
	struct error trouble = {0};
	int code = run_before(sweeper, err), after;

	if (code)
		return code;
	code = warm_up(sweeper, err);
	if (!code)
		code = measure(sweeper, attempt, err);
	after = run_after(sweeper, &trouble);
	if (!after)
		return code;
	if (code) {
		sweeper_say(sweeper, "%s", trouble.text);
		return code;
	}
	*err = trouble;
	return after;
}

static int make_attempt(struct sweeper *sweeper, struct attempt *attempt, struct error *err)
{
	const struct plan *plan = sweeper->plan;
	int code = 0;

	if (!sweeper->server && plan->server) {
		code = sweeper_set_delay(sweeper, 0, 0, err);
		if (!code)
			code = sweeper_start_server(sweeper, err);
	}
	if (!code)
		code = set_delay(sweeper, attempt, err);
	if (!code)
		code = measure_between_hooks(sweeper, attempt, err);
	if (code || plan->server_restart == PLAN_RESTART_RUN)
		sweeper_stop_server(sweeper);
	return code;
}

static int append_rows(struct sweeper *sweeper, const struct attempt *attempt, struct error *err)
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
						   .started_at = attempt->started_at};
	return sweep_writer_append(sweeper->writer, records, sweeper->metric_count, err);
}

/* The client failed in every attempt. */
static int give_up(struct sweeper *sweeper, const struct schedule_run *run, struct error *err)
{
	if (sweeper->plan->on_failure == PLAN_FAILURE_SKIP) {
		sweeper->summary->failed++;
		sweeper_say(sweeper, "%g us, run %lld is left out: %s", run->delay_us, (long long)run->run, err->text);
		*err = (struct error){0};
		return 0;
	}
	return error_prefix(err, "at %g us, run %lld", run->delay_us, (long long)run->run);
}

bool attempt_is_better(const struct attempt *attempt, const struct attempt *best)
{
	return attempt->measured && (!best->measured || stall_percent(attempt) < stall_percent(best));
}

/* The rows of the attempt that counts. */
static int accept(struct sweeper *sweeper, const struct attempt *attempt, struct error *err)
{
	int code = append_rows(sweeper, attempt, err);

	if (code)
		return code;
	journal_write(sweeper->journal, journal_accept(sweeper, attempt));
	sweeper->summary->made++;
	sweeper->summary->disturbed += attempt->reasons[0] != '\0';
	return 0;
}

static int name_run(struct sweeper *sweeper, const struct schedule_run *run, struct error *err)
{
	char text[32];
	int code;

	number_print_double(run->delay_us, text, sizeof text);
	code = sweeper_set_variable(sweeper, "NOMORA_DELAY_US", text, err);
	snprintf(text, sizeof text, "%lld", (long long)run->run);
	return code ? code : sweeper_set_variable(sweeper, "NOMORA_RUN", text, err);
}

int sweeper_make_run(struct sweeper *sweeper, const struct schedule_run *run, struct error *err)
{
	const struct plan *plan = sweeper->plan;
	struct attempt best = {0}; /* of those that a gate refused */
	int named = name_run(sweeper, run, err);

	if (named)
		return named;
	sweeper->begun = true;
	for (int number = 1; number <= plan->attempts; number++) {
		struct attempt attempt = {.run = *run, .number = number};
		struct error trouble = {0};
		int code = make_attempt(sweeper, &attempt, &trouble);

		if (code == -EINTR) {
			*err = trouble;
			return code;
		}
		attempt.measured = attempt.measured && !code;
		if (code)
			add_reason(&attempt, "%s", trouble.text);
		else
			attempt_judge(plan, &attempt);
		journal_write(sweeper->journal, journal_attempt(sweeper, &attempt));
		if (!attempt.reasons[0])
			return accept(sweeper, &attempt, err);
		if (attempt_is_better(&attempt, &best))
			best = attempt;
		if (!best.measured)
			*err = trouble;
		if (number < plan->attempts) {
			sweeper->summary->repeated++;
			sweeper_say(sweeper, "%g us, run %lld is made again: %s", run->delay_us, (long long)run->run,
				    attempt.reasons);
			sleep_unless((struct ns){(int64_t)(plan->cool_down_s * 1e9)}, sweeper->hooks->stop);
		}
	}
	if (!best.measured)
		return give_up(sweeper, run, err);
	*err = (struct error){0};
	return accept(sweeper, &best, err);
}
