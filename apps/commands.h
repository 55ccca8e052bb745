/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands of all programs: each parses argv, runs, prints, and returns the exit code (enum command_exit). */
#ifndef APPS_COMMANDS_H
#define APPS_COMMANDS_H

#include "command.h"

/*
 * The commands of nomora, in the order of its help: COMMAND(name, function, summary) runs in nomora itself,
 * PROGRAM(name, program, summary) in another program, because it needs DPDK, for example.
 */
#define NOMORA_COMMANDS(COMMAND, PROGRAM)                                                                              \
	PROGRAM("inject", "nomora-injector", "hold every packet between two ports for exactly D us")                   \
	PROGRAM("reflect", "nomora-probe", "answer STAMP probes on a port")                                            \
	PROGRAM("probe", "nomora-probe", "measure round trips to the peers of a list")                                 \
	COMMAND("doctor", command_doctor,                                                                              \
		"check whether this host is ready to measure; each finding has the command that fixes it")             \
	COMMAND("lab", command_lab, "make, show and remove the virtual rack")                                          \
	COMMAND("inject-ctl", command_inject_ctl, "talk to a running injector: stats, set delay_us=..., stop")         \
	COMMAND("inject-check", command_inject_check, "recompute every packet's delay from an injector's capture")     \
	COMMAND("sweep", command_sweep, "step the injector through delays and benchmark an application at each")       \
	COMMAND("load", command_load, "memcached client with Facebook's ETC workload")                                 \
	COMMAND("fit", command_fit, "fit a sweep to a curve: added round trip -> normalised performance")              \
	COMMAND("rtt", command_rtt, "round-trip times from a capture file")                                            \
	COMMAND("ptp", command_ptp, "measure the delay to a PTP clock, and the offset of our clock from it")           \
	COMMAND("mesh", command_mesh, "the latency matrix: measure, watch, serve, merge, show, draw")                  \
	COMMAND("solve", command_solve, "solve a min-cost flow problem in DIMACS form")                                \
	COMMAND("place", command_place, "place jobs by curve and latency matrix: one round, explained")                \
	COMMAND("recover", command_recover, "choose new servers for tasks of failed ones, and a rate for every flow")  \
	COMMAND("dataflow", command_dataflow, "place dataflow jobs and choose their routes")                           \
	COMMAND("simulate", command_simulate, "a trace-driven day under one or more scheduling policies")              \
	COMMAND("tracegen", command_tracegen, "write a synthetic trace in Google's schema")                            \
	PROGRAM("schedd", "nomora-schedd", "place and move jobs by curve and live mesh")                               \
	COMMAND("submit", command_submit, "hand jobs to a running schedd")                                             \
	COMMAND("jobs", command_jobs, "jobs and tasks of a running schedd")                                            \
	COMMAND("nodes", command_nodes, "machines of a running schedd")                                                \
	COMMAND("drain", command_drain, "place no more tasks on a machine of a running schedd")                        \
	COMMAND("top", command_top, "show the state of a running schedd on a terminal, and refresh it")                \
	COMMAND("what-if", command_what_if, "what a running schedd would do after changes")                            \
	COMMAND("explain", command_explain, "where a task of a running schedd could run, and why it waits")            \
	PROGRAM("slurm-agent", "nomora-slurm", "place Slurm's jobs where a running schedd decides")                    \
	PROGRAM("slurm-hostfile", "nomora-slurm", "the machines of a placed Slurm job, a line per task")               \
	COMMAND("k8s-agent", command_k8s_agent, "report nodes and pods of Kubernetes to a running schedd")             \
	COMMAND("report", command_report, "put the files of a run together into one page of HTML")

typedef int command_main(int argc, char **argv);

#define COMMAND_DECLARATION(name, function, summary) command_main function;
#define COMMAND_NOT_HERE(name, program, summary)
NOMORA_COMMANDS(COMMAND_DECLARATION, COMMAND_NOT_HERE)
#undef COMMAND_DECLARATION
#undef COMMAND_NOT_HERE

/* subcommands of nomora's commands */
command_main command_lab_up, command_lab_down, command_lab_status, command_lab_exec, command_lab_link,
	command_lab_inventory, command_ptp_port, command_mesh_top, command_mesh_serve, command_mesh_plan,
	command_mesh_drain, command_mesh_history, command_mesh_publish, command_mesh_collect, command_dataflow_worker;

/* commands of other programs: nomora-injector, nomora-probe, nomora-schedd, nomora-slurm */
command_main command_inject;
command_main command_probe, command_reflect, command_mesh_agent;
command_main command_schedd_export;
command_main command_slurm_agent, command_slurm_hostfile;

#endif
