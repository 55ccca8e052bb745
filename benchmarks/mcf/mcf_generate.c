/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the network of one NoMora round as a DIMACS file, for `nomora solve` and other solvers. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <base/file.h>
#include <base/log.h>
#include <base/options.h>
#include <sched/mcf/dimacs.h>

#include "instance.h"

struct settings {
	int64_t machines, running, waiting, beta_limit, machine_threshold, rack_threshold, waits, seed;
	bool no_preemption, wide, by_job;
	const char *output;
};

static const struct option_row rows[] = {
	OPTION_INTEGER(struct settings, machines, "machines", 'm', "N", 1, 1000000,
		       "machines, 48 a rack, 16 racks a pod"),
	OPTION_INTEGER(struct settings, running, "running", 'r', "N", 0, 20000000, "running tasks"),
	OPTION_INTEGER(struct settings, waiting, "waiting", 'w', "N", 0, 20000000, "waiting tasks"),
	OPTION_INTEGER(struct settings, beta_limit, "beta", 0, "COST", 0, 1000,
		       "largest discount for time already run"),
	OPTION_INTEGER(struct settings, machine_threshold, "pm", 0, "COST", 0, 1000,
		       "arcs to machines at this cost or less"),
	OPTION_INTEGER(struct settings, rack_threshold, "pr", 0, "COST", 0, 1000, "arcs to racks at this cost or less"),
	OPTION_INTEGER(struct settings, waits, "waits", 0, "N", 1, 1000, "distinct unscheduled costs in a job"),
	OPTION_INTEGER(struct settings, seed, "seed", 's', "N", 0, INT64_MAX, "the same seed gives the same network"),
	OPTION_FLAG(struct settings, no_preemption, "no-preemption", 0, "running tasks stay where they are"),
	OPTION_FLAG(struct settings, wide, "wide", 0, "machine arcs to the root's pod, rack arcs to every rack"),
	OPTION_FLAG(struct settings, by_job, "by-job", 0, "one node a job instead of one a task"),
	OPTION_STRING(struct settings, output, "output", 'o', "FILE", "where to write; - is stdout"),
	OPTION_END,
};

static const struct option_usage usage = {
	.command = "mcf_generate",
	.operands = "-o FILE",
	.summary = "Write a network as one NoMora round makes it, in DIMACS form.",
	.rows = rows,
};

static int write_instance(const struct settings *settings, const struct instance *instance, struct error *err)
{
	struct mcf_problem problem;
	struct file_writer *writer;
	char comment[256];
	int code =
		settings->by_job ? instance_problem_by_job(instance, &problem) : instance_problem(instance, &problem);

	if (code < 0)
		return error_set(err, -code, "no memory for the network");
	snprintf(comment, sizeof comment,
		 "NoMora-like M=%d racks=%d jobs=%d preempt=%d betamax=%d seed=%lld\nlayout S=1 X=2 R0=%d M0=%d U0=%d "
		 "T0=%d",
		 instance->settings.machines, instance->rack_count, instance->job_count, instance->settings.preemption,
		 instance->settings.beta_limit, (long long)settings->seed, instance->rack_node + 1,
		 instance->machine_node + 1, instance->unscheduled_node + 1, instance->task_node + 1);
	writer = file_writer_open(settings->output, err);
	if (!writer) {
		instance_problem_free(&problem);
		return -err->code;
	}
	mcf_dimacs_write(&problem, settings->by_job ? NULL : comment, file_writer_stream(writer));
	instance_problem_free(&problem);
	return file_writer_commit(writer, err);
}

int main(int argc, char **argv)
{
	struct instance_settings shape = instance_defaults();
	struct settings settings = {.machines = shape.machines,
				    .running = shape.running,
				    .waiting = shape.waiting,
				    .machine_threshold = shape.machine_threshold,
				    .rack_threshold = shape.rack_threshold,
				    .waits = 1,
				    .seed = 1,
				    .output = "-"};
	struct option_operands operands;
	struct error err = {0};
	struct instance *instance;
	int code;

	log_set_program("mcf_generate");
	switch (options_parse(&usage, argc, argv, &settings, &operands, &err)) {
	case OPTIONS_RUN:
		break;
	case OPTIONS_DONE:
		return 0;
	case OPTIONS_BAD:
	case OPTIONS_FAILED:
		log_error("%s", err.text);
		return 2;
	}
	shape.machines = (int32_t)settings.machines;
	shape.running = (int32_t)settings.running;
	shape.waiting = (int32_t)settings.waiting;
	shape.preemption = !settings.no_preemption;
	shape.beta_limit = (int32_t)settings.beta_limit;
	shape.machine_threshold = (int32_t)settings.machine_threshold;
	shape.rack_threshold = (int32_t)settings.rack_threshold;
	shape.waits = (int32_t)settings.waits;
	shape.wide = settings.wide;
	shape.seed = (uint64_t)settings.seed;
	instance = instance_create(&shape);
	if (!instance) {
		log_error("cannot make the network: %s",
			  errno == EINVAL ? "more running tasks than slots" : strerror(errno));
		return 1;
	}
	code = write_instance(&settings, instance, &err);
	instance_destroy(instance);
	options_free(&operands);
	if (code < 0)
		log_error("%s", err.text);
	return code < 0;
}
