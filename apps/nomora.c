/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora: the offline commands, and the door to the programs that need DPDK. */
#include "command.h"

#ifdef HAVE_COMMAND_DOCTOR
int command_doctor(int argc, char **argv);
#endif
#ifdef HAVE_COMMAND_LAB
int command_lab(int argc, char **argv);
#endif
#ifdef HAVE_COMMAND_INJECT_CTL
int command_inject_ctl(int argc, char **argv);
#endif
#ifdef HAVE_COMMAND_INJECT_CHECK
int command_inject_check(int argc, char **argv);
#endif
#ifdef HAVE_COMMAND_SWEEP
int command_sweep(int argc, char **argv);
#endif
#ifdef HAVE_COMMAND_LOAD
int command_load(int argc, char **argv);
#endif
#ifdef HAVE_COMMAND_FIT
int command_fit(int argc, char **argv);
#endif
#ifdef HAVE_COMMAND_RTT
int command_rtt(int argc, char **argv);
#endif
#ifdef HAVE_COMMAND_MESH
int command_mesh(int argc, char **argv);
#endif
#ifdef HAVE_COMMAND_SOLVE
int command_solve(int argc, char **argv);
#endif
#ifdef HAVE_COMMAND_PLACE
int command_place(int argc, char **argv);
#endif
#ifdef HAVE_COMMAND_REPORT
int command_report(int argc, char **argv);
#endif

static const struct command commands[] = {
	{"inject", "hold every packet between two ports for exactly D us", NULL, "nomora-injector"},
	{"reflect", "answer STAMP probes on a port", NULL, "nomora-probe"},
	{"probe", "measure round trips to the peers of a list", NULL, "nomora-probe"},
#ifdef HAVE_COMMAND_DOCTOR
	{"doctor", "is this host ready to measure? each finding with the line that fixes it", command_doctor, NULL},
#endif
#ifdef HAVE_COMMAND_LAB
	{"lab", "make, show and remove the virtual rack", command_lab, NULL},
#endif
#ifdef HAVE_COMMAND_INJECT_CTL
	{"inject-ctl", "talk to a running injector: stats, set delay_us=..., stop", command_inject_ctl, NULL},
#endif
#ifdef HAVE_COMMAND_INJECT_CHECK
	{"inject-check", "recompute every packet's delay from an injector's capture", command_inject_check, NULL},
#endif
#ifdef HAVE_COMMAND_SWEEP
	{"sweep", "step the injector through delays and benchmark an application at each", command_sweep, NULL},
#endif
#ifdef HAVE_COMMAND_LOAD
	{"load", "memcached client with Facebook's ETC workload", command_load, NULL},
#endif
#ifdef HAVE_COMMAND_FIT
	{"fit", "fit a sweep to a curve: added round trip -> normalised performance", command_fit, NULL},
#endif
#ifdef HAVE_COMMAND_RTT
	{"rtt", "round-trip times from a capture file", command_rtt, NULL},
#endif
#ifdef HAVE_COMMAND_MESH
	{"mesh", "merge, show, export and draw latency matrices", command_mesh, NULL},
#endif
#ifdef HAVE_COMMAND_SOLVE
	{"solve", "solve a min-cost flow problem in DIMACS form", command_solve, NULL},
#endif
#ifdef HAVE_COMMAND_PLACE
	{"place", "place jobs by curve and latency matrix: one round, explained", command_place, NULL},
#endif
#ifdef HAVE_COMMAND_REPORT
	{"report", "put the files of a run together into one page of HTML", command_report, NULL},
#endif
	{NULL, NULL, NULL, NULL},
};

int main(int argc, char **argv)
{
	return command_dispatch("nomora", "Latency-aware placement, from the wire to the scheduler.", commands, argc,
				argv);
}
