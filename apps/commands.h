/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands of all programs: each parses argv, runs, prints, and returns the exit code (enum command_exit). */
#ifndef APPS_COMMANDS_H
#define APPS_COMMANDS_H

#include <jansson.h>

#include <base/error.h>
#include <base/options.h>

/* Shared by all subcommands: table rows, exit codes, error reports. */

enum command_exit {
	COMMAND_OK = 0,
	COMMAND_FAILED = 1,
	COMMAND_USAGE = 2,
	COMMAND_NEGATIVE = 3, /* a valid answer that says no, such as infeasible or over a limit */
};

/* A row without a summary is the title of the group of commands that follows it. */
struct command {
	const char *name;
	const char *summary;
	int (*run)(int argc, char **argv); /* NULL: execute `program` instead */
	const char *program;               /* "nomora-injector" */
};

/* Prints "program: error: text" on stderr; returns `code`. */
int command_fail(const struct error *err, enum command_exit code);

/*
 * The part of a command that runs after its options were parsed into `settings`. Returns an exit code, or -errno, which
 * the process reports as COMMAND_FAILED. If the code is not COMMAND_OK and err is set, command_run() prints err.
 */
typedef int command_body(void *settings, const struct option_operands *operands, struct error *err);

/* Parses the command line into `settings`, which must hold the defaults, and runs `body`; returns the exit code. */
int command_run(const struct option_usage *usage, int argc, char **argv, void *settings, command_body *body);

/* Sets err to EINVAL with the formatted text; returns COMMAND_USAGE. */
int command_misused(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Calls options_parse() and prints its error. Returns -1 if the command should go on, or the exit code if it should end
 * (--help, or an error).
 */
int command_parse(const struct option_usage *usage, int argc, char **argv, void *settings,
		  struct option_operands *operands);

/*
 * Checks that a file name has one of `endings` (a NULL-terminated list) after at least one other character; upper and
 * lower case are equal. The ending selects the format of the output, so a wrong ending is a usage error and is reported
 * before any file is read. Returns 0, or -EINVAL with err set.
 */
int command_check_ending(const char *option, const char *path, const char *const *endings, struct error *err);
/* For command_check_ending(): the endings of pictures, .svg and .png. */
extern const char *const command_pictures[];

/*
 * Prints JSON on standard output and calls json_decref(); NULL counts as out of memory. Returns COMMAND_OK or
 * COMMAND_FAILED.
 */
int command_print_json(json_t *value);

/* Flushes standard output. Returns 0 or -errno with err set. */
int command_flush(struct error *err);

/*
 * Option for the completion scripts of shells. `nomora --complete` prints a line per command, `nomora COMMAND
 * --complete` a line per option, both in the form of options_complete().
 */
#define COMMAND_COMPLETE "--complete"

/*
 * Replaces this process by `program`, with main()'s argv; argv[1] is its command. Returns COMMAND_FAILED if that fails.
 */
int command_exec(const char *program, char **argv);

/* Runs the command that argv[1] names; for --help prints the table. The table ends with a row whose name is NULL. */
int command_dispatch(const char *program, const char *summary, const struct command *commands, int argc, char **argv);

/*
 * The commands of nomora, in the order of its help: GROUP(title) begins a group of them, COMMAND(name, function,
 * summary) runs in nomora itself, PROGRAM(name, program, summary) in another program, because it needs
 * libraries that make a program start slowly (DPDK, libcurl, libnats, libmicrohttpd) or are not on every host (Slurm).
 * The command's own help and its man page begin with the same summary.
 */
#define NOMORA_COMMANDS(GROUP, COMMAND, PROGRAM)                                                                       \
	GROUP("Start here")                                                                                            \
	COMMAND("doctor", command_doctor,                                                                              \
		"check whether this host is ready to measure; each finding has the command that fixes it")             \
	COMMAND("lab", command_lab,                                                                                    \
		"make a virtual rack on this host: hosts, switches and injector in network namespaces")                \
	COMMAND("sweep", command_sweep, "run an application's benchmark at each of several injected delays")           \
	COMMAND("fit", command_fit, "fit a curve to a sweep: performance by added round trip")                         \
	COMMAND("mesh", command_mesh, "measure, watch, serve, merge, show and export the latency matrix of a rack")    \
	COMMAND("place", command_place, "place jobs by curve and latency matrix in one round, and explain it")         \
	COMMAND("gain", command_gain, "compare the placement of the running jobs with the best one and a random one")  \
	GROUP("Measure")                                                                                               \
	PROGRAM("inject", "nomora-injector",                                                                           \
		"hold every packet between two ports for exactly D us, in both directions")                            \
	COMMAND("inject-ctl", command_inject_ctl, "read or change a running injector")                                 \
	COMMAND("inject-check", command_inject_check, "recompute every packet's delay from an injector's capture")     \
	COMMAND("load", command_load, "load memcached with Facebook's ETC workload")                                   \
	PROGRAM("reflect", "nomora-probe", "answer STAMP probes on a port")                                            \
	PROGRAM("probe", "nomora-probe", "measure round trips to the peers of a list with STAMP probes")               \
	COMMAND("rtt", command_rtt, "compute round trips from a capture: STAMP, ICMP echo, TCP or PTP")                \
	COMMAND("ptp", command_ptp, "measure the delay to a PTP clock, and the offset of our clock from it")           \
	COMMAND("trace", command_trace, "record the MPI calls of a program, for nomora predict")                       \
	COMMAND("predict", command_predict,                                                                            \
		"predict an application's curve from one recorded run, without an injector")                           \
	COMMAND("report", command_report, "put the files of a run together into one page of HTML")                     \
	GROUP("Live")                                                                                                  \
	COMMAND("setup", command_setup, "configure and start this host's part of a live mesh")                         \
	PROGRAM("schedd", "nomora-schedd", "place and move jobs by curve and live mesh, continuously")                 \
	COMMAND("submit", command_submit, "submit jobs to a running schedd")                                           \
	COMMAND("jobs", command_jobs, "show the jobs of a running schedd, or cancel one")                              \
	COMMAND("nodes", command_nodes, "show the machines of a running schedd")                                       \
	COMMAND("drain", command_drain, "place no more tasks on machines of a running schedd")                         \
	COMMAND("top", command_top, "show the state of a running schedd on a terminal, and refresh it")                \
	COMMAND("what-if", command_what_if, "show what a running schedd would do after changes, without making them")  \
	COMMAND("explain", command_explain, "show where a task of a running schedd could run, and why it waits")       \
	PROGRAM("slurm-agent", "nomora-slurm", "place and move Slurm's jobs as a running schedd decides")              \
	PROGRAM("slurm-hostfile", "nomora-slurm", "print the machine of each task of a placed Slurm job")              \
	PROGRAM("k8s-agent", "nomora-live", "report the nodes and pods of Kubernetes to a running schedd")             \
	COMMAND("local-agent", command_local_agent,                                                                    \
		"run the commands of a running schedd's jobs as processes, here or over ssh")                          \
	GROUP("Research")                                                                                              \
	COMMAND("simulate", command_simulate, "simulate a day of a cluster under one or more scheduling policies")     \
	COMMAND("tracegen", command_tracegen, "write a synthetic trace in Google's schema")                            \
	COMMAND("solve", command_solve, "solve a minimum-cost flow problem in DIMACS form, exactly")                   \
	COMMAND("recover", command_recover,                                                                            \
		"choose new servers for the tasks of failed ones, and a rate for every flow")                          \
	COMMAND("dataflow", command_dataflow, "place dataflow jobs and choose their routes")

typedef int command_main(int argc, char **argv);

#define COMMAND_DECLARATION(name, function, summary) command_main function;
#define COMMAND_GROUP(title)
#define COMMAND_NOT_HERE(name, program, summary)
NOMORA_COMMANDS(COMMAND_GROUP, COMMAND_DECLARATION, COMMAND_NOT_HERE)
#undef COMMAND_DECLARATION
#undef COMMAND_GROUP
#undef COMMAND_NOT_HERE

/* subcommands of nomora's commands */
command_main command_lab_up, command_lab_down, command_lab_status, command_lab_exec, command_lab_link,
	command_lab_inventory, command_ptp_port, command_mesh_top, command_mesh_plan, command_mesh_drain,
	command_mesh_history, command_dataflow_plan, command_dataflow_simulate, command_dataflow_apply,
	command_dataflow_run, command_dataflow_openflow, command_dataflow_worker;

/* commands of other programs: nomora-injector, nomora-live, nomora-probe, nomora-schedd, nomora-slurm */
command_main command_inject;
command_main command_k8s_agent, command_mesh_serve, command_mesh_publish, command_mesh_collect, command_mesh_join,
	command_mesh_leave, command_mesh_members;
command_main command_probe, command_reflect, command_mesh_agent;
command_main command_schedd_export;
command_main command_slurm_agent, command_slurm_hostfile;

#endif
