/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands of all programs: each parses argv, runs, prints, and returns the exit code (enum command_exit). */
#ifndef APPS_COMMANDS_H
#define APPS_COMMANDS_H

#include "command.h"

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
