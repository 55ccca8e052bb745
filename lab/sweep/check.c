/* SPDX-License-Identifier: BSD-3-Clause */
#include <lab/sweep/world.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <base/file.h>
#include <injector/sweep/plan.h>

#include "world_priv.h"

/*
 * Sets plan_folder to the absolute path of the folder of the plan's file, in which the plan's commands may look for
 * files.
 */
static int find_plan_folder(const char *file, struct sweep_world *world, struct error *err)
{
	if (!realpath(file, world->plan_folder))
		return error_set(err, errno, "cannot find the folder of %s: %s", file, strerror(errno));
	*strrchr(world->plan_folder, '/') = '\0';
	return 0;
}

/*
 * Checks a metric of the plan. Returns -EEXIST if an earlier metric has the same name, because the rows of the two
 * could not be told apart.
 */
static int check_metric(struct sweep_world *world, size_t item, char names[][SWEEP_NAME_BYTES], struct error *err)
{
	const struct sweep_plan *plan = world->plan;
	struct sweep_metric_def metric;
	int code = sweep_metric_parse(plan->metrics.items[item], &metric, err);

	if (code)
		return code;
	memcpy(names[item], metric.name, sizeof metric.name);
	sweep_metric_free(&metric);
	for (size_t i = 0; i < item; i++) {
		long line = options_line_of(world->strings, plan->metrics.items[i]);
		char where[32] = "on the command line";

		if (strcmp(names[i], names[item]) != 0)
			continue;
		if (line > 0)
			snprintf(where, sizeof where, "in line %ld", line);
		return error_set(err, EEXIST, "duplicate metric name '%s', first %s", names[i], where);
	}
	return 0;
}

static int check_metrics(struct sweep_world *world, struct error *err)
{
	const struct sweep_plan *plan = world->plan;
	static char names[SWEEP_METRICS_MAXIMUM][SWEEP_NAME_BYTES];

	for (size_t i = 0; i < plan->metrics.count; i++) {
		const char *item = plan->metrics.items[i];
		int code = i < SWEEP_METRICS_MAXIMUM ? check_metric(world, i, names, err)
						     : error_set(err, E2BIG, "metric '%s': expected at most %d metrics",
								 item, SWEEP_METRICS_MAXIMUM);

		if (code)
			return sweep_blame(world, item, err);
	}
	return 0;
}

/*
 * Checks that the client's host is not "local": from outside the lab, the client would not reach the server, or not
 * through the injector.
 */
static int check_places(struct sweep_world *world, struct error *err)
{
	const struct sweep_plan *plan = world->plan;

	if (strcmp(plan->client_host, "local") != 0)
		return 0;
	error_set(err, EINVAL,
		  "client-host: a plan with a lab needs the lab's host that the client runs on, as in 'client-host = "
		  "h2'");
	return sweep_blame(world, plan->lab, err);
}

/* Checks delays, metrics and hosts. The sweep parses them again, but here the errors can name the line. */
static int check_values(struct sweep_world *world, struct error *err)
{
	const struct sweep_plan *plan = world->plan;
	static double delays[SWEEP_SCHEDULE_DELAYS_MAXIMUM];
	const char *const hosts[] = {plan->server_host, plan->client_host};

	int count = sweep_schedule_parse_delays(plan->delays, delays, err);

	if (count < 0 ||
	    (!plan->any_delays && !plan->try_once && sweep_plan_check_delays(delays, (size_t)count, err) != 0))
		return sweep_blame(world, plan->delays, err);
	if (check_metrics(world, err) != 0)
		return error_code(err, EINVAL);
	if (plan->lab && check_places(world, err) != 0)
		return error_code(err, EINVAL);
	for (size_t i = 0; i < 2; i++) {
		bool in_lab = plan->lab && lab_find_host(&world->lab, hosts[i]);

		if (!in_lab && sweeper_check_host(hosts[i], err) != 0) {
			error_prefix(err, i == 0 ? "server-host" : "client-host");
			return sweep_blame(world, hosts[i], err);
		}
	}
	return 0;
}

int sweep_world_check(struct sweep_world *world, struct error *err)
{
	struct sweep_plan *plan = world->plan;
	int code = sweep_plan_check(plan, world->file, err);

	world->plan_is_bad = code;
	if (!code)
		code = find_plan_folder(world->file, world, err);
	plan->folder = world->plan_folder;
	if (!code && plan->lab)
		code = sweep_lab_plan(world, err);
	if (!code)
		code = check_values(world, err);
	if (!code && plan->lab)
		code = sweep_lab_resolve(world, err);
	if (!code && plan->output)
		code = file_writer_try(plan->output, err);
	return code;
}
