/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plan made from a benchmark's command line. The text {server} in a command is the server's address. The metric is
 * that of a table of known benchmarks. One thread.
 */
#ifndef SWEEP_COMMAND_LINE_H
#define SWEEP_COMMAND_LINE_H

#include <stdio.h>

#include <base/error.h>
#include <injector/sweep/plan.h>

/*
 * A benchmark whose output is known: `metric` is in the form of a plan (metric.h). `filter`: a command that reads the
 * output and fails if the metric is not in it, for programs that fail although they have measured; NULL = none. The
 * table ends with a NULL name.
 */
struct sweep_benchmark {
	const char *program, *metric, *filter;
};
extern const struct sweep_benchmark sweep_benchmarks[];

/* The texts of a plan that sweep_plan_from_command() made. */
struct sweep_command_texts {
	char *client, *server;
	char name[64];
};

/* The defaults of a command without --injector and --lab: a lab of two hosts, and the gates of the shipped plans. */
void sweep_plan_defaults_in_lab(struct sweep_plan *plan);
/*
 * Completes a plan by the words of the client's command line. The plan has the options of the command; those that are
 * not set get these values: application, the program's name; metric, that of the benchmark; server-ready, if there is a
 * server, the client itself, with a ready-timeout-s of at least timeout-s. Returns 0, or -EINVAL or -ENOMEM with err
 * set. The caller calls sweep_command_texts_free() when it no longer uses the plan, also after an error.
 */
int sweep_plan_from_command(struct sweep_plan *plan, int count, char *const *words, struct sweep_command_texts *texts,
			    struct error *err);
void sweep_command_texts_free(struct sweep_command_texts *texts);

/*
 * Writes the settings that differ from their defaults, or with `all` also those that have their default, as a plan's
 * file, without the options of the command (output, try, ...). Does not check the stream.
 */
void sweep_plan_print(const struct sweep_plan *plan, bool all, FILE *out);

#endif
