/* SPDX-License-Identifier: BSD-3-Clause */
#include <injector/sweep/plan.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <base/hash.h>
#include <model/injector_state.h>

static const char *const directions[] = {"both", "ab", "ba", NULL};
static const char *const orders[] = {"random", "ascending", "descending", "as-given", NULL};
static const char *const restarts[] = {"sweep", "run", NULL};
static const char *const failures[] = {"stop", "skip", NULL};

const struct option_row sweep_plan_rows[] = {
	OPTION_HEADING("The sweep"),
	OPTION_STRING(struct sweep_plan, application, "application", 'a', "NAME",
		      "name of the application, for the log"),
	OPTION_STRING(struct sweep_plan, delays, "delays", 'd', "LIST",
		      "delays per direction, us: 0 5 10, 0..100/20 (from..to/step), log:1..1000*7 (from..to*count) or "
		      "a mixture"),
	OPTION_CHOICE(struct sweep_plan, direction, "direction", 0, "WAY", directions, "delayed direction"),
	OPTION_INTEGER(struct sweep_plan, repetitions, "repetitions", 'r', "N", 1, 10000, "runs at each delay"),
	OPTION_CHOICE(struct sweep_plan, order, "order", 0, "ORDER", orders,
		      "order of the delays within each repetition"),
	OPTION_INTEGER(struct sweep_plan, seed, "seed", 's', "N", 0, 0x1p53, "seed of the random order"),
	OPTION_INTEGER(
		struct sweep_plan, reference_every, "reference-every", 0, "N", 0, 1000,
		"number of runs between two reference runs at the smallest delay, with which 'nomora fit' corrects "
		"for drift of the machine; 0: no reference runs"),
	OPTION_HEADING("The path"),
	OPTION_STRING(struct sweep_plan, injector, "injector", 'i', "SOCKET", "control socket of a running injector"),
	OPTION_STRING(struct sweep_plan, lab, "lab", 'l', "NAME",
		      "create this lab with an injector for the sweep, then remove it"),
	OPTION_INTEGER(struct sweep_plan, lab_hosts, "lab-hosts", 0, "N", 1, 64, "hosts of the lab"),
	OPTION_INTEGER(struct sweep_plan, lab_racks, "lab-racks", 0, "N", 1, 16, "racks of the lab"),
	OPTION_STRING(struct sweep_plan, lab_inject, "lab-inject", 0, "PLACE",
		      "place of the injector: h1, rack1, core"),
	OPTION_STRING(struct sweep_plan, lab_injector_arguments, "lab-injector-arguments", 0, "WORDS",
		      "further arguments of 'nomora inject', such as --no-huge"),
	OPTION_STRING(struct sweep_plan, rule, "rule", 0, "'CONDITION [SETTING...]'",
		      "vary only the delay of this rule of the injector, such as tcp:11211 or 'udp:53 loss=1'"),
	OPTION_STRING(struct sweep_plan, server_host, "server-host", 0, "HOST",
		      "where the server runs: local, h1 (of the lab), netns:NAME, ssh:TARGET"),
	OPTION_STRING(struct sweep_plan, client_host, "client-host", 0, "HOST", "where the client runs"),
	OPTION_STRING(
		struct sweep_plan, server_address, "server-address", 0, "IP",
		"address that the client connects to, and to which rtt-check measures; default in a lab: the host's"),
	OPTION_STRING(struct sweep_plan, client_address, "client-address", 0, "IP",
		      "the client's address, which the commands get as NOMORA_CLIENT; default in a lab: the host's"),
	OPTION_STRING(struct sweep_plan, ssh_config, "ssh-config", 0, "FILE",
		      "ssh configuration for ssh: hosts (port, key, ...), as in ssh -F"),
	OPTION_HEADING(
		"Commands, for /bin/sh; they see NOMORA_SERVER, NOMORA_CLIENT, NOMORA_SERVER_NETNS, NOMORA_DELAY_US, "
		"NOMORA_RUN, NOMORA_SCRATCH, NOMORA_PLAN_FOLDER (warm-up and client NOMORA_SWEEP_CLIENT too)"),
	OPTION_STRING(struct sweep_plan, setup, "setup", 0, "COMMAND", "runs once at the start, where the server runs"),
	OPTION_STRING(struct sweep_plan, server, "server", 0, "COMMAND",
		      "runs in the background; is stopped at the end"),
	OPTION_STRING(struct sweep_plan, server_ready, "server-ready", 0, "COMMAND",
		      "repeated until it succeeds, which means that the server is ready; runs where the client runs"),
	OPTION_STRING(struct sweep_plan, before_run, "before-run", 0, "COMMAND",
		      "runs before each run, where the client runs"),
	OPTION_STRING(struct sweep_plan, warm_up, "warm-up", 0, "COMMAND",
		      "runs before each run, with the delay set, where the client runs; not measured"),
	OPTION_STRING(struct sweep_plan, client, "client", 0, "COMMAND", "the benchmark, whose output has the metrics"),
	OPTION_STRING(struct sweep_plan, after_run, "after-run", 0, "COMMAND",
		      "runs after each run, where the client runs"),
	OPTION_STRING(struct sweep_plan, teardown, "teardown", 0, "COMMAND",
		      "runs once at the end, where the server runs"),
	OPTION_CHOICE(struct sweep_plan, server_restart, "server-restart", 0, "WHEN", restarts,
		      "one server for the sweep, or a new one for each run"),
	OPTION_INTEGER(struct sweep_plan, nice, "nice", 0, "N", -20, 19, "scheduling priority of these commands"),
	OPTION_FLAG(struct sweep_plan, keep_awake, "keep-awake", 0,
		    "keep the processors from idling: waking up would add to every delay"),
	OPTION_DOUBLE(struct sweep_plan, settle_s, "settle-s", 0, "S", 0, 3600, "pause after setting the delay"),
	OPTION_DOUBLE(struct sweep_plan, timeout_s, "timeout-s", 0, "S", 0.01, 86400, "time limit of the client"),
	OPTION_DOUBLE(struct sweep_plan, ready_timeout_s, "ready-timeout-s", 0, "S", 0.01, 3600,
		      "time limit of the server's start and of each other command"),
	OPTION_HEADING("Metrics"),
	OPTION_LIST(struct sweep_plan, metrics, "metric", 'm', "'NAME UNIT BETTER HOW'",
		    "BETTER is higher or lower; HOW is regex:PATTERN, only:PATTERN, json:a.b[2], exit or elapsed; "
		    "several may be given"),
	OPTION_HEADING("Gates: a run that fails one is repeated"),
	OPTION_INTEGER(struct sweep_plan, attempts, "attempts", 0, "N", 1, 100,
		       "maximum attempts per run; if all fail, the least stalled one is kept and marked as disturbed"),
	OPTION_DOUBLE(struct sweep_plan, maximum_stall_percent, "max-stall-percent", 0, "%", 0, 100,
		      "maximum share of the run that the injector may be stalled, not counting its own transmit calls "
		      "(mean of "
		      "both threads)"),
	OPTION_DOUBLE(struct sweep_plan, maximum_disturbed_percent, "max-disturbed-percent", 0, "%", 0, 100,
		      "maximum share of packets that may have met a stall"),
	OPTION_DOUBLE(struct sweep_plan, maximum_steal_percent, "max-steal-percent", 0, "%", 0, 100,
		      "maximum share of the processors' time that the hypervisor may take"),
	OPTION_DOUBLE(
		struct sweep_plan, maximum_busy_percent, "max-busy-percent", 0, "%", 0, 100,
		"maximum share of the processors that other programs may use in the pause (settle-s) before a run"),
	OPTION_DOUBLE(struct sweep_plan, maximum_load, "max-load", 0, "N", 0, 100000,
		      "maximum 1-minute load average; 0: any"),
	OPTION_FLAG(struct sweep_plan, rtt_check, "rtt-check", 0,
		    "check by probes of our own, or by ping, that the round trip rose by the injected delay"),
	OPTION_DOUBLE(struct sweep_plan, rtt_tolerance_percent, "rtt-tolerance-percent", 0, "%", 0, 1000,
		      "accepted deviation of the round trip"),
	OPTION_DOUBLE(struct sweep_plan, rtt_tolerance_us, "rtt-tolerance-us", 0, "US", 0, 1e6,
		      "added to the deviation that rtt-tolerance-percent accepts"),
	OPTION_DOUBLE(struct sweep_plan, precision_percent, "precision-percent", 0, "%", 0, 100,
		      "required standard error of the first metric's mean at each delay; if exceeded, add runs, at "
		      "most doubling "
		      "them; 0: any"),
	OPTION_CHOICE(struct sweep_plan, on_failure, "on-failure", 0, "WHAT", failures,
		      "what to do if the client failed in every attempt at a run: stop, or skip the run"),
	OPTION_FLAG(struct sweep_plan, no_baseline, "no-baseline", 0,
		    "do not measure the round trip without delay at the start (column baseline_rtt_us)"),
	OPTION_HEADING("Trying a plan out"),
	OPTION_FLAG(struct sweep_plan, template, "template", 0, "print a commented plan as a starting point"),
	OPTION_FLAG(struct sweep_plan, try_once, "try", 0,
		    "one run without delay: print the value of each metric, write no sweep"),
	OPTION_FLAG(struct sweep_plan, debug, "debug", 0,
		    "stop at the first failure, leave the lab up and print the commands to repeat by hand"),
	OPTION_HEADING("Output"),
	OPTION_STRING(struct sweep_plan, output, "output", 'o', "SWEEP.csv",
		      "append rows here, and details to SWEEP.csv.log"),
	OPTION_FLAG(struct sweep_plan, keep_output, "keep-output", 0,
		    "keep the output of every command in SWEEP.csv.out/, not only of failures"),
	OPTION_FLAG(struct sweep_plan, dry_run, "dry-run", 'n', "print the schedule and stop"),
	OPTION_FLAG(struct sweep_plan, force, "force", 0,
		    "append although another plan made the file, or its log is missing"),
	OPTION_FLAG(struct sweep_plan, any_delays, "any-delays", 0,
		    "accept delays that give no curve: fewer than three, or without 0"),
	OPTION_FLAG(struct sweep_plan, share_machine, "share-machine", 0,
		    "do not wait for other sweeps on this machine"),
	OPTION_FLAG(struct sweep_plan, json, "json", 'j', "print the summary as JSON (nomora.sweep/1)"),
	OPTION_END,
};

void sweep_plan_defaults(struct sweep_plan *plan)
{
	*plan = (struct sweep_plan){
		.application = "application",
		.delays = "0 5 10 20 50 100 200 500",
		.repetitions = 3,
		.seed = 1,
		.lab_hosts = 2,
		.lab_racks = 1,
		.lab_inject = "h1",
		.server_host = "local",
		.client_host = "local",
		.settle_s = 0.2,
		.timeout_s = 120,
		.ready_timeout_s = 20,
		.attempts = 3,
		.maximum_stall_percent = 20,
		.maximum_disturbed_percent = 100,
		.maximum_steal_percent = 100,
		.maximum_busy_percent = 100,
		.rtt_tolerance_percent = 15,
		.rtt_tolerance_us = 30,
		.output = "sweep.csv",
	};
}

static bool is_rule_without_delay(const char *rule)
{
	char rest[INJECTOR_STATE_RULE_OF_SWEEP_BYTES];
	double delay_us;

	return injector_state_split_rule(rule, &delay_us, rest) == 0 && *rule && strcmp(rest, rule) == 0;
}

int sweep_plan_check(const struct sweep_plan *plan, const char *file, struct error *err)
{
	struct error_place place = {.file = file};

	place.field = "client";
	if (!plan->client || !*plan->client)
		return error_at(err, place, EINVAL,
				"no command: a plan needs a benchmark, as in 'client = nomora load ...'");
	place.field = "metric";
	if (plan->metrics.count == 0)
		return error_at(err, place, EINVAL,
				"no metric: expected at least one, as in 'metric = throughput 1/s higher json:qps'");
	place.field = "injector";
	if (!plan->injector && !plan->lab)
		return error_at(err, place, EINVAL,
				"no injector: give the control socket of a running one, or 'lab = NAME' to create one");
	if (plan->injector && plan->lab)
		return error_at(err, place, EINVAL, "'injector' and 'lab' are mutually exclusive");
	place.field = "rule";
	if (plan->rule && !is_rule_without_delay(plan->rule))
		return error_at(
			err, place, EINVAL,
			"'%s': expected the conditions and settings of a rule without its delay, separated by single "
			"blanks, at most %d bytes, as in 'rule = udp:53'",
			plan->rule, INJECTOR_STATE_RULE_OF_SWEEP_BYTES - 1);
	if (plan->rule && plan->direction != SWEEP_BOTH)
		return error_at(err, place, EINVAL,
				"a rule has the same delay in both directions: expected direction = both");
	place.field = "server-address";
	if (plan->rtt_check && !plan->server_address && !plan->lab)
		return error_at(err, place, EINVAL, "missing: rtt-check measures the round trip to it");
	return 0;
}

static void add_part(struct sweep_plan_parts *parts, const char *name, const char *text, char end)
{
	parts->items[parts->count++] = (struct sweep_plan_part){.name = name, .text = text ? text : "", .end = end};
}

/*
 * Adds a number to the parts. In the input of the hash, blanks separate the numbers, and a zero byte follows the last
 * one.
 */
static void add_number(struct sweep_plan_parts *parts, size_t index, const char *name, int64_t value)
{
	char *text = parts->numbers[index];

	snprintf(text, sizeof parts->numbers[index], "%" PRId64, value);
	add_part(parts, name, text, index + 1 < SWEEP_PLAN_PART_NUMBERS ? ' ' : '\0');
}

/*
 * The list does not contain
 * - settings that change only how often and how carefully something is measured: schedule, pauses, gates, time limits
 * - teardown, which runs after the last row
 * - ssh-config, which is only the name of a file
 * The fingerprint depends on the order of the parts.
 */
void sweep_plan_list_parts(const struct sweep_plan *plan, struct sweep_plan_parts *parts)
{
	const char *const texts[][2] = {{"application", plan->application}, {"server-host", plan->server_host},
					{"client-host", plan->client_host}, {"setup", plan->setup},
					{"server", plan->server},           {"server-ready", plan->server_ready},
					{"before-run", plan->before_run},   {"warm-up", plan->warm_up},
					{"client", plan->client},           {"after-run", plan->after_run},
					{"lab-inject", plan->lab_inject},   {"direction", directions[plan->direction]}};
	/* Other settings that affect the measurement. */
	const char *const conditions[][2] = {{"server-address", plan->server_address},
					     {"client-address", plan->client_address},
					     {"injector", plan->injector},
					     {"lab-injector-arguments", plan->lab_injector_arguments},
					     {"server-restart", restarts[plan->server_restart]}};

	_Static_assert(sizeof texts / sizeof *texts + sizeof conditions / sizeof *conditions == SWEEP_PLAN_PART_TEXTS,
		       "");
	parts->count = 0;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		add_part(parts, texts[i][0], texts[i][1], '\0');
	for (size_t i = 0; i < plan->metrics.count; i++)
		add_part(parts, "metric", plan->metrics.items[i], '\0');
	for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++)
		add_part(parts, conditions[i][0], conditions[i][1], '\0');
	add_number(parts, 0, "nice", plan->nice);
	add_number(parts, 1, "keep-awake", plan->keep_awake);
	add_number(parts, 2, "lab-hosts", plan->lab ? plan->lab_hosts : 0);
	add_number(parts, 3, "lab-racks", plan->lab ? plan->lab_racks : 0);
	if (plan->rule) /* plans without one keep the hash that they had before there were rules */
		add_part(parts, "rule", plan->rule, '\0');
}

uint64_t sweep_plan_fingerprint(const struct sweep_plan *plan)
{
	struct sweep_plan_parts parts;
	uint64_t hash = HASH_FNV_START;

	sweep_plan_list_parts(plan, &parts);
	for (size_t i = 0; i < parts.count; i++) {
		hash = hash_fnv_bytes(hash, parts.items[i].text, strlen(parts.items[i].text));
		/* The terminator makes "a","b" differ from "ab","". */
		hash = hash_fnv_add(hash, (unsigned char)parts.items[i].end);
	}
	return hash;
}

const char sweep_plan_template[] =
	"# A plan for nomora sweep: replace its commands with those of your application. See nomora-sweep(1).\n"
	"#   nomora sweep my.plan --try            one run without delay: does each metric have a value?\n"
	"#   nomora sweep my.plan -o sweep.csv     the sweep\n"
	"#   nomora fit sweep.csv -o curve.json    the curve\n"
	"\n"
	"application = my-application\n"
	"\n"
	"# Delays per direction, us: 0 (the baseline) and at least two more. The round trip grows by twice the delay.\n"
	"delays = 0 5 10 20 50 100 200 500\n"
	"repetitions = 3\n"
	"# A reference run at delay 0 before every 2 runs, with which nomora fit corrects for drift of the machine.\n"
	"reference-every = 2\n"
	"\n"
	"# A lab of two hosts with an injector between them; needs root. Instead, for real hosts:\n"
	"#   injector = /run/injector.sock         control socket of a running nomora inject\n"
	"#   server-host = ssh:server.example      or local, netns:NAME\n"
	"#   server-address = 192.0.2.1\n"
	"lab = mylab\n"
	"server-host = h1\n"
	"client-host = h2\n"
	"\n"
	"# Commands for /bin/sh. $NOMORA_SERVER is the server's address, $NOMORA_SCRATCH a folder that is removed at "
	"the end.\n"
	"# $NOMORA_PLAN_FOLDER is the folder of this file, for scripts of your own. A backslash at the end of a line "
	"continues it.\n"
	"# setup = prepare the data, once\n"
	"server = exec my-server --listen $NOMORA_SERVER\n"
	"server-ready = my-client --ping $NOMORA_SERVER\n"
	"client = my-benchmark --server $NOMORA_SERVER --seconds 10\n"
	"# teardown = remove the data, once\n"
	"\n"
	"# The metrics in the client's output: NAME UNIT higher|lower HOW. The curve is fitted to the first "
	"metric.\n"
	"metric = throughput 1/s higher regex:throughput: ([0-9.]+)\n"
	"# metric = latency_p99 us lower json:latency_us.p99\n"
	"\n"
	"# Gates: a run that fails one is repeated.\n"
	"rtt-check = true\n"
	"max-stall-percent = 4\n";
