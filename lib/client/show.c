/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints a daemon's answers as tables. */
#include <client/request.h>

#include <math.h>

enum { RACKS_SHOWN = 12 };

static const char *text_or(const json_t *object, const char *key, const char *fallback)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : fallback;
}

static const char *text_of(const json_t *object, const char *key)
{
	return text_or(object, key, "-");
}

static long long count_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static double number_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

/* null in an answer: not known; of a round trip, whose machine or root it is: not reachable. */
static void show_prediction(const json_t *object, const char *origin, FILE *out)
{
	double rtt_us = number_of(object, "rtt_us"), performance = number_of(object, "performance");

	if (isnan(rtt_us))
		fprintf(out, " %12s", "unreachable");
	else
		fprintf(out, " %9.1f us", rtt_us);
	if (origin)
		fprintf(out, " %-14s", origin);
	if (isnan(performance))
		fprintf(out, " %12s", "-");
	else
		fprintf(out, " %12.3f", performance);
}

static void show_decisions(const json_t *decisions, FILE *out)
{
	const json_t *decision;
	size_t at;

	if (json_array_size(decisions) > 0)
		fprintf(out, "%-7s %-32s %-16s %-16s %12s %12s\n", "KIND", "TASK", "FROM", "TO", "RTT TO ROOT",
			"PERFORMANCE");
	json_array_foreach (decisions, at, decision) {
		char task[80];

		snprintf(task, sizeof task, "%s/%s", text_or(decision, "job", ""), text_or(decision, "task", ""));
		fprintf(out, "%-7s %-32s %-16s %-16s", text_or(decision, "kind", ""), task,
			text_or(decision, "from", "-"), text_or(decision, "to", "-"));
		if (json_is_true(json_object_get(decision, "root")))
			fputs("         root", out);
		else
			show_prediction(decision, NULL, out);
		fputs("\n", out);
	}
}

void client_show_jobs(const json_t *answer, FILE *out)
{
	const json_t *job;
	size_t at;

	fprintf(out, "%-24s %-14s %8s %8s %8s %8s %8s %8s\n", "JOB", "CURVE", "WAITING", "DECIDED", "RUNNING", "MOVING",
		"ENDED", "FAILED");
	json_array_foreach (json_object_get(answer, "jobs"), at, job)
		fprintf(out, "%-24s %-14s %8lld %8lld %8lld %8lld %8lld %8lld\n", text_of(job, "id"),
			text_of(job, "curve"), count_of(job, "waiting"), count_of(job, "decided"),
			count_of(job, "running"), count_of(job, "moving"), count_of(job, "ended"),
			count_of(job, "failed"));
}

void client_show_job(const json_t *answer, FILE *out)
{
	const json_t *task;
	size_t at;

	fprintf(out, "%s: curve %s, %s move\n%-24s %-10s %-20s %10s\n", text_of(answer, "id"), text_of(answer, "curve"),
		json_is_true(json_object_get(answer, "move")) ? "may" : "does not", "TASK", "STATE", "MACHINE",
		"SINCE");
	json_array_foreach (json_object_get(answer, "tasks"), at, task)
		fprintf(out, "%-24s %-10s %-20s %8.1f s\n", text_of(task, "name"), text_of(task, "state"),
			text_of(task, "machine"), json_number_value(json_object_get(task, "since_s")));
}

void client_show_nodes(const json_t *answer, FILE *out)
{
	const json_t *machine;
	size_t at;

	fprintf(out, "%-24s %-12s %-12s %6s %6s %s\n", "MACHINE", "RACK", "POD", "SLOTS", "TASKS", "STATE");
	json_array_foreach (json_object_get(answer, "machines"), at, machine)
		fprintf(out, "%-24s %-12s %-12s %6lld %6lld %s\n", text_of(machine, "name"), text_of(machine, "rack"),
			text_of(machine, "pod"), count_of(machine, "slots"), count_of(machine, "tasks"),
			text_of(machine, "state"));
}

void client_show_explanation(const json_t *answer, FILE *out)
{
	const json_t *candidate;
	size_t at;

	if (text_of(answer, "why")[0])
		fprintf(out, "%s\n", text_of(answer, "why"));
	fprintf(out, "%-24s %12s %-14s %12s %6s\n", "MACHINE", "RTT TO ROOT", "ORIGIN", "PERFORMANCE", "FREE");
	json_array_foreach (json_object_get(answer, "candidates"), at, candidate) {
		fprintf(out, "%-24s", text_of(candidate, "machine"));
		show_prediction(candidate, text_of(candidate, "origin"), out);
		fprintf(out, " %6lld%s\n", count_of(candidate, "free_slots"),
			json_is_true(json_object_get(candidate, "here")) ? "  here" : "");
	}
	if (json_array_size(json_object_get(answer, "decisions")) > 0) {
		fputs("\nDecisions, the latest first:\n", out);
		show_decisions(json_object_get(answer, "decisions"), out);
	}
}

static void print_performance(const json_t *totals, const char *heading, FILE *out)
{
	double performance = number_of(totals, "performance");

	if (isnan(performance))
		fprintf(out, "%s %10s", heading, "-");
	else
		fprintf(out, "%s %10.4f", heading, performance);
}

static void print_seconds(const json_t *object, const char *key, const char *before, FILE *out)
{
	double value = number_of(object, key);

	if (isnan(value))
		fprintf(out, "%snot known", before);
	else
		fprintf(out, "%s%.4g s", before, value);
}

static void show_recovery(const json_t *recovery, FILE *out)
{
	const json_t *task, *policy = json_object_get(recovery, "policy"); /* its tasks are in the same order */
	size_t at;

	fprintf(out, "\nRecovery of %lld lost tasks with flows: %s (%lld flows measured, %lld stated)\n",
		count_of(recovery, "lost"), text_of(recovery, "status"), count_of(recovery, "measured"),
		count_of(recovery, "flows") - count_of(recovery, "measured"));
	print_seconds(recovery, "slowest_before_s", "transfers of the slowest job: before the failure ", out);
	print_seconds(recovery, "slowest_s", ", after it ", out);
	print_seconds(policy, "slowest_s", ", by the policy alone ", out);
	fprintf(out, "\n%-20s %-16s %-16s %-16s %-16s %10s %10s\n", "JOB", "TASK", "FROM", "TO", "BY POLICY",
		"SEND MB/s", "RECV MB/s");
	json_array_foreach (json_object_get(recovery, "tasks"), at, task)
		fprintf(out, "%-20s %-16s %-16s %-16s %-16s %10.4g %10.4g\n", text_of(task, "job"),
			text_of(task, "task"), text_of(task, "from"), text_of(task, "to"),
			text_of(json_array_get(json_object_get(policy, "tasks"), at), "to"),
			number_of(task, "send_MBps"), number_of(task, "receive_MBps"));
}

void client_show_forecast(const json_t *answer, FILE *out)
{
	static const char *const keys[] = {"jobs", "running", "waiting", "failed", "machines", "slots", "free_slots"};
	const json_t *before = json_object_get(answer, "before"), *after = json_object_get(answer, "after");

	fprintf(out, "%-12s %10s %10s\n", "", "BEFORE", "AFTER");
	for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
		fprintf(out, "%-12s %10.0f %10.0f\n", keys[k], number_of(before, keys[k]), number_of(after, keys[k]));
	print_performance(before, "performance ", out);
	print_performance(after, "", out);
	fputs("\n", out);
	fprintf(out, "%zu decisions, the last after %.1f s\n", json_array_size(json_object_get(answer, "decisions")),
		number_of(answer, "seconds"));
	show_decisions(json_object_get(answer, "decisions"), out);
	if (json_is_object(json_object_get(answer, "recovery")))
		show_recovery(json_object_get(answer, "recovery"), out);
}

static void print_totals(const json_t *overview, FILE *out)
{
	const json_t *totals = json_object_get(overview, "totals"),
		     *performance = json_object_get(totals, "performance");

	fprintf(out, "%lld jobs; tasks: %lld running, %lld decided, %lld moving, %lld waiting, %lld given up\n",
		count_of(totals, "jobs"), count_of(totals, "running"), count_of(totals, "decided"),
		count_of(totals, "moving"), count_of(totals, "waiting"), count_of(totals, "failed"));
	fprintf(out, "%lld machines, %lld of %lld slots free; ", count_of(totals, "machines"),
		count_of(totals, "free_slots"), count_of(totals, "slots"));
	if (json_is_number(performance))
		fprintf(out, "predicted performance %.3f; ", json_number_value(performance));
	fprintf(out, "%lld measured pairs", count_of(totals, "measured_pairs"));
	if (json_number_value(json_object_get(overview, "mesh_age_s")) >= 0)
		fprintf(out, ", mesh read %.0f s ago", json_number_value(json_object_get(overview, "mesh_age_s")));
	fprintf(out, "\n%s\n", json_string_value(json_object_get(overview, "trouble")));
}

/* Prints the first RACKS_SHOWN racks of the answer. */
static void print_racks(const json_t *racks, FILE *out)
{
	const json_t *rack;
	size_t at;

	fprintf(out, "%-16s %-12s %9s %9s %7s %9s %5s %12s\n", "RACK", "POD", "MACHINES", "SLOTS", "TASKS", "DRAINING",
		"DOWN", "PERFORMANCE");
	json_array_foreach (racks, at, rack) {
		const json_t *performance = json_object_get(rack, "performance");

		if (at == RACKS_SHOWN)
			break;
		fprintf(out, "%-16.16s %-12.12s %9lld %9lld %7lld %9lld %5lld",
			json_string_value(json_object_get(rack, "name")),
			json_string_value(json_object_get(rack, "pod")), count_of(rack, "machines"),
			count_of(rack, "slots"), count_of(rack, "tasks"), count_of(rack, "draining"),
			count_of(rack, "down"));
		if (json_is_number(performance))
			fprintf(out, " %12.3f\n", json_number_value(performance));
		else
			fprintf(out, " %12s\n", "-");
	}
	if (json_array_size(racks) > RACKS_SHOWN)
		fprintf(out, "and %zu more\n", json_array_size(racks) - RACKS_SHOWN);
}

void client_show_overview(const json_t *overview, const json_t *decisions, FILE *out)
{
	print_totals(overview, out);
	print_racks(json_object_get(overview, "racks"), out);
	fputs("\n", out);
	show_decisions(json_object_get(decisions, "decisions"), out);
}

bool client_show_submitted(const json_t *answer, FILE *out, FILE *refusals)
{
	const json_t *job;
	bool accepted = true;
	size_t at;

	json_array_foreach (json_object_get(answer, "jobs"), at, job) {
		const char *id = json_string_value(json_object_get(job, "id")),
			   *error = json_string_value(json_object_get(job, "error"));

		if (error)
			fprintf(refusals, "nomora: %s\n", error);
		else
			fprintf(out, "%s %s\n", id,
				json_integer_value(json_object_get(job, "status")) == 201 ? "accepted" : "known");
		accepted = accepted && !error;
	}
	if (json_object_get(answer, "error"))
		fprintf(refusals, "nomora: %s\n", json_string_value(json_object_get(answer, "error")));
	return accepted && !json_object_get(answer, "error");
}
