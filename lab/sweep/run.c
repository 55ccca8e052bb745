/* SPDX-License-Identifier: BSD-3-Clause */
#include <lab/sweep/world.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <base/json.h>
#include <base/log.h>
#include <base/process.h>
#include <base/progress.h>
#include <base/stop.h>
#include <injector/sweep/sweeper.h>

#include "world_priv.h"

static void show_progress(void *context, size_t done, size_t total, const char *note)
{
	struct sweep_world *world = context;

	if (!world->bar)
		world->bar = progress_create(stderr, "sweep", total);
	progress_update(world->bar, done, note);
}

static void say(void *context, const char *line)
{
	const struct sweep_world *world = context;

	progress_clear(world->bar);
	log_info("%s", line);
}

static void print_metric(void *context, const struct sweep_metric_def *metric, double value)
{
	const struct sweep_world *world = context;

	if (!world->plan->try_once)
		return;
	progress_clear(world->bar);
	fprintf(world->out, "%-24s %.6g %s (%s is better)\n", metric->name, value, metric->unit,
		sweep_better_name(metric->better));
}

static enum sweep_outcome fail(const struct error *err)
{
	log_error("%s", err->text[0] ? err->text : strerror(err->code));
	return SWEEP_FAILED;
}

static enum sweep_outcome conclude(struct sweep_world *world, const struct sweeper_summary *summary)
{
	const struct sweep_plan *plan = world->plan;
	int code = 0;

	if (plan->try_once)
		return SWEEP_COMPLETE;
	if (plan->json) {
		json_t *json = sweep_summary_to_json(plan, summary);

		code = json_print(world->out, json);
		json_decref(json);
	} else {
		sweep_summary_print(plan, summary, world->out);
	}
	if (summary->failed > 0)
		log_warning("%zu run%s left out of %s because the benchmark failed in every attempt; the same command "
			    "tries again",
			    summary->failed, summary->failed == 1 ? " was" : "s were", plan->output);
	if (summary->disturbed > 0)
		log_warning("%zu run%s kept although a gate refused every attempt (column disturbed; reasons in "
			    "%s.log): repeat the sweep on a quieter machine",
			    summary->disturbed, summary->disturbed == 1 ? " was" : "s were", plan->output);
	if (code < 0)
		return fail(&(struct error){.code = -code});
	return summary->failed > 0 || summary->disturbed > 0 ? SWEEP_DISTURBED : SWEEP_COMPLETE;
}

static int carry_out(void *context)
{
	struct sweep_world *world = context;
	const struct sweep_plan *plan = world->plan;
	char *folder = strndupa(world->program, (size_t)(strrchr(world->program, '/') - world->program));
	struct sweeper_hooks hooks = {.make_path = plan->lab ? sweep_world_make_lab : NULL,
				      .progress = show_progress,
				      .say = say,
				      .measured = print_metric,
				      .context = world,
				      .stop = stop_flag(),
				      .program_folder = folder};
	struct sweeper_summary summary = {0};
	struct error err = {0};
	int turn = -1, code = 0;
	bool keep;

	if (plan->nice != 0)
		code = process_set_nice((int)plan->nice, &err);
	if (code)
		return fail(&err);
	if (!plan->share_machine)
		code = sweeper_take_turn(&hooks, &turn, &err);
	if (!code)
		code = sweeper_run(plan, &hooks, &summary, &err);
	progress_destroy(world->bar);
	world->bar = NULL;
	keep = code && code != -EINTR && plan->debug;
	if (keep && (world->guard || !plan->lab))
		sweep_world_print_commands(world, world->out);
	sweep_world_release(world, keep);
	if (turn >= 0)
		close(turn);
	if (code && !plan->try_once && (code == -EINTR || summary.made + summary.found > 0))
		log_info("%zu of %zu runs are in %s; the same command resumes the sweep", summary.made + summary.found,
			 summary.planned, plan->output);
	return (int)(code ? fail(&err) : conclude(world, &summary));
}

enum sweep_outcome sweep_world_run(struct sweep_world *world, FILE *out)
{
	struct sweep_plan *plan = world->plan;
	char output[PATH_MAX];
	struct error err = {0};
	int code;

	if (plan->lab && geteuid() != 0) {
		error_set(&err, EPERM, "making the lab '%s' needs root: run it with sudo", plan->lab);
		return fail(&err);
	}
	if (plan->try_once && sweep_try_prepare(plan, output, &err) != 0)
		return fail(&err);
	if (plan->debug)
		plan->attempts = 1;
	world->out = out;
	code = plan->nice == 0 ? carry_out(world) : foreground_run_session(carry_out, world, stop_flag(), &err);
	if (plan->try_once && sweep_try_tidy(output) != 0 && plan->keep_output)
		log_info("the output of every command is in %s.out/", output);
	if (code > SWEEP_DISTURBED)
		code = error_set(&err, EINTR, "the sweep's process was killed by signal %d", code - 128);
	return code < 0 ? fail(&err) : (enum sweep_outcome)code;
}
