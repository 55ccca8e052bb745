/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora: the offline commands; commands that need DPDK are passed to their programs. */
#include "commands.h"

static const struct command commands[] = {
	{"inject", "hold every packet between two ports for exactly D us", NULL, "nomora-injector"},
	{"reflect", "answer STAMP probes on a port", NULL, "nomora-probe"},
	{"probe", "measure round trips to the peers of a list", NULL, "nomora-probe"},
	{"doctor", "check whether this host is ready to measure; each finding has the command that fixes it",
	 command_doctor, NULL},
	{"lab", "make, show and remove the virtual rack", command_lab, NULL},
	{"inject-ctl", "talk to a running injector: stats, set delay_us=..., stop", command_inject_ctl, NULL},
	{"inject-check", "recompute every packet's delay from an injector's capture", command_inject_check, NULL},
	{"sweep", "step the injector through delays and benchmark an application at each", command_sweep, NULL},
	{"load", "memcached client with Facebook's ETC workload", command_load, NULL},
	{"fit", "fit a sweep to a curve: added round trip -> normalised performance", command_fit, NULL},
	{"rtt", "round-trip times from a capture file", command_rtt, NULL},
	{"ptp", "measure the delay to a PTP clock, and the offset of our clock from it", command_ptp, NULL},
	{"mesh", "the latency matrix: measure, watch, serve, merge, show, draw", command_mesh, NULL},
	{"solve", "solve a min-cost flow problem in DIMACS form", command_solve, NULL},
	{"place", "place jobs by curve and latency matrix: one round, explained", command_place, NULL},
	{"recover", "choose new servers for tasks of failed ones, and a rate for every flow", command_recover, NULL},
	{"dataflow", "place dataflow jobs and choose their routes", command_dataflow, NULL},
	{"simulate", "a trace-driven day under one or more scheduling policies", command_simulate, NULL},
	{"tracegen", "write a synthetic trace in Google's schema", command_tracegen, NULL},
	{"schedd", "place and move jobs by curve and live mesh", NULL, "nomora-schedd"},
	{"submit", "hand jobs to a running schedd", command_submit, NULL},
	{"jobs", "jobs and tasks of a running schedd", command_jobs, NULL},
	{"nodes", "machines of a running schedd", command_nodes, NULL},
	{"drain", "place no more tasks on a machine of a running schedd", command_drain, NULL},
	{"top", "show the state of a running schedd on a terminal, and refresh it", command_top, NULL},
	{"what-if", "what a running schedd would do after changes", command_what_if, NULL},
	{"explain", "where a task of a running schedd could run, and why it waits", command_explain, NULL},
	{"slurm-agent", "place Slurm's jobs where a running schedd decides", NULL, "nomora-slurm"},
	{"slurm-hostfile", "the machines of a placed Slurm job, a line per task", NULL, "nomora-slurm"},
	{"k8s-agent", "report nodes and pods of Kubernetes to a running schedd", command_k8s_agent, NULL},
	{"report", "put the files of a run together into one page of HTML", command_report, NULL},
	{NULL, NULL, NULL, NULL},
};

int main(int argc, char **argv)
{
	return command_dispatch("nomora", "Latency-aware placement, from the wire to the scheduler.", commands, argc,
				argv);
}
