/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora place: runs one or more rounds of placement, and explains the last one. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <base/program.h>
#include <model/latency_live.h>
#include <sched/mcf/algorithms.h>
#include <sched/place/place.h>
#include <sched/policy/policy.h>

#include "commands.h"

enum { CHOICES_MOST = 16, PLACE_STAGES = 5, KEPT_SOLVER_NAMES = 2 };

struct settings {
	struct place_settings place;
	bool json, strict;
};

static const char teach[] =
	"Places jobs by predicted performance: the job's curve (CURVES/NAME.json) at the round trip between the "
	"task's\n"
	"machine and its root's. A first solve places the waiting roots, in racks with room for the whole job; a "
	"second\n"
	"places the other tasks. Example:\n"
	"\n"
	"  $ cat cluster.json\n"
	"  {\"schema\": \"nomora.cluster/1\", \"machines\": [\n"
	"    {\"name\": \"h1\", \"rack\": \"r1\", \"slots\": 2}, {\"name\": \"h2\", \"rack\": \"r1\", \"slots\": 2},\n"
	"    {\"name\": \"h3\", \"rack\": \"r2\", \"slots\": 2}]}\n"
	"  $ cat jobs.jsonl\n"
	"  {\"id\": \"web\", \"curve\": \"memcached\", \"root\": \"server\", \"tasks\": [\"server\", \"c1\", \"c2\"]}\n"
	"  $ nomora place --cluster cluster.json --jobs jobs.jsonl --latency mesh.csv --curves curves\n"
	"\n"
	"A pair of machines that was not measured takes the largest round trip between their racks, else between\n"
	"their pods, else the cluster file's default; the output says which. Exit status: 0, also when tasks wait\n"
	"(with --strict: 3); 1 failed; 2 usage.\n";

static const char *const references[] = {"added", "absolute", NULL};
static const char *const place_drawings[] = {".dot", ".json", NULL};
static const char *policy_names[CHOICES_MOST], *algorithm_names[CHOICES_MOST];

static const struct option_row rows[] = {
	OPTION_HEADING("Files"),
	OPTION_STRING(struct settings, place.cluster, "cluster", 'c', "FILE", "machines, racks, slots (JSON)"),
	OPTION_STRING(struct settings, place.jobs, "jobs", 'j', "FILE", "jobs, one JSON object a line; - is stdin"),
	OPTION_STRING(struct settings, place.latency, "latency", 'l', "FILE",
		      "measured round trips (CSV); without it, the cluster file's default round trips apply"),
	OPTION_STRING(struct settings, place.curves, "curves", 'C', "DIR",
		      "folder of the jobs' curves, NAME.json; default: the curves that come with nomora"),
	OPTION_HEADING("Policy"),
	OPTION_CHOICE(struct settings, place.policy, "policy", 'p', "NAME", policy_names, "placement policy"),
	OPTION_FLAG(struct settings, place.paper, "paper", 0,
		    "the paper's values: p-m 105, p-r 110, nearest entry of a curve's table, raw latencies, ..."),
	OPTION_INTEGER(struct settings, place.p_m, "p-m", 0, "COST", 0, 1000,
		       "machines up to this cost (100 / performance) get an arc; 1000 = all"),
	OPTION_INTEGER(struct settings, place.p_r, "p-r", 0, "COST", 0, 1000,
		       "racks whose most expensive machine is up to this cost get an arc; 1000 = all"),
	ROW_WEIGHTS(struct settings, place.weights),
	ROW_GAMMA(struct settings, place.gamma),
	ROW_OMEGA(struct settings, place.omega_per_s),
	OPTION_FLAG(struct settings, place.preemption, "preemption", 'P',
		    "allow running tasks to move or to wait again"),
	ROW_BETA(struct settings, place.beta_per_s),
	ROW_UNSCHEDULED_CAPACITY(struct settings, place.unscheduled_capacity),
	OPTION_INTEGER(struct settings, place.seed, "seed", 0, "N", 0, 9007199254740991., "seed of random choices"),
	OPTION_HEADING("Latency"),
	OPTION_CHOICE(struct settings, place.statistic, "latency-stat", 0, "STAT", latency_rtt_statistic_names,
		      "column of the matrix to use"),
	OPTION_CHOICE(struct settings, place.reference, "latency-reference", 0, "KIND", references,
		      "added: subtract the testbed's own round trip; absolute: use it raw, as the papers do"),
	ROW_MAX_AGE(struct settings, place.max_age_s),
	OPTION_HEADING("Solving"),
	OPTION_CHOICE(struct settings, place.algorithm, "algorithm", 'a', "NAME", algorithm_names,
		      "flow solver; all of them find the same cost in each solve"),
	OPTION_INTEGER(struct settings, place.rounds, "rounds", 0, "N", 1, 100000,
		       "number of rounds; the last one is explained"),
	OPTION_DOUBLE(struct settings, place.round_s, "round-s", 0, "S", 0, 1e9, "time from one round to the next"),
	OPTION_FLAG(struct settings, place.verify, "verify", 'V', "prove each answer optimal"),
	OPTION_HEADING("Output"),
	OPTION_FLAG(struct settings, json, "json", 0, "print JSON, nomora.place/1"),
	OPTION_FLAG(struct settings, strict, "strict", 0, "exit 3 if a task waits"),
	OPTION_STRING(struct settings, place.dump_dimacs, "dump-dimacs", 0, "FILE",
		      "write the network of the last solve, in which the roots are placed, for 'nomora solve'"),
	OPTION_STRING(struct settings, place.draw, "draw", 0, "FILE", "draw that network with its flow: .dot or .json"),
	OPTION_END,
};

static const struct option_usage usage = {
	.command = "nomora place",
	.operands = "--cluster FILE --jobs FILE [--curves DIR] [--latency FILE]",
	.summary = "Place jobs by curve and latency matrix in one round, and explain it.",
	.teach = teach,
	.rows = rows,
};

/*
 * Fills the names for the option rows. The first two algorithm names, auto and structured, mean the solver that keeps
 * its state between rounds and builds the structure of the network directly. The others solve the whole network each
 * time, with one node per task. mcf_algorithms also has general solvers named auto and structured; they are left out,
 * because they would search for that structure.
 */
static void list_choices(void)
{
	for (int i = 0; i < CHOICES_MOST - 1 && policies[i]; i++)
		policy_names[i] = policies[i]->name;
	algorithm_names[0] = "auto";
	algorithm_names[1] = "structured";
	for (int i = 0, next = KEPT_SOLVER_NAMES; mcf_algorithms[i].name && next < CHOICES_MOST - 1; i++) {
		if (strcmp(mcf_algorithms[i].name, "auto") != 0 && strcmp(mcf_algorithms[i].name, "structured") != 0)
			algorithm_names[next++] = mcf_algorithms[i].name;
	}
}

static int check_settings(const struct settings *settings, struct error *err)
{
	static const char text[] = "missing option --%s; 'nomora place --help' has an example";

	if (!settings->place.cluster)
		return error_set(err, EINVAL, text, "cluster");
	if (!settings->place.jobs)
		return error_set(err, EINVAL, text, "jobs");
	if (settings->place.dump_dimacs && strcmp(settings->place.dump_dimacs, "-") == 0 && settings->json)
		return error_set(err, EINVAL,
				 "--dump-dimacs - and --json would both write to standard output; use "
				 "--dump-dimacs FILE");
	if (settings->place.draw)
		return command_check_ending("--draw", settings->place.draw, place_drawings, err);
	return 0;
}

static int run(void *context, const struct option_operands *operands, struct error *err)
{
	struct settings *settings = context;
	struct place_outcome outcome = {0};
	struct place_world world = {0};
	int code;

	(void)operands;
	if (!settings->place.curves)
		settings->place.curves = program_curves();
	if (settings->place.algorithm >= KEPT_SOLVER_NAMES)
		settings->place.algorithm_name = algorithm_names[settings->place.algorithm];
	if (check_settings(settings, err) != 0)
		return COMMAND_USAGE;
	world.progress = progress_create(stderr, "place", PLACE_STAGES);
	code = place_world_load(&world, &settings->place, err);
	if (code == 0)
		code = place_run(&world, &outcome, err);
	progress_destroy(world.progress);
	if (code == 0) {
		int printed = (settings->json ? place_print_json : place_print_table)(&world, &outcome, stdout);

		code = command_flush(err);
		if (code == 0 && printed != 0)
			code = error_set(err, ENOMEM, "out of memory");
	}
	if (code == 0 && settings->strict && outcome.explanation.totals.waiting > 0)
		code = COMMAND_NEGATIVE;
	place_outcome_free(&outcome);
	place_world_free(&world);
	return code;
}

int command_place(int argc, char **argv)
{
	struct settings settings = {0};
	bool paper = false;

	/* --paper only changes the defaults, so look for it first: other options override its values. */
	for (int i = 1; i < argc; i++)
		paper |= strcmp(argv[i], "--paper") == 0;
	place_settings_default(&settings.place, paper);
	list_choices();
	return command_run(&usage, argc, argv, &settings, run);
}
