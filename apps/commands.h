/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands of all programs: each parses argv, runs, prints, and returns the exit code (enum command_exit). */
#ifndef APPS_COMMANDS_H
#define APPS_COMMANDS_H

#include "command.h"

/* nomora */
int command_doctor(int argc, char **argv);
int command_lab(int argc, char **argv);
int command_lab_up(int argc, char **argv);
int command_lab_down(int argc, char **argv);
int command_lab_status(int argc, char **argv);
int command_lab_exec(int argc, char **argv);
int command_lab_link(int argc, char **argv);
int command_lab_inventory(int argc, char **argv);
int command_inject_ctl(int argc, char **argv);
int command_inject_check(int argc, char **argv);
int command_sweep(int argc, char **argv);
int command_load(int argc, char **argv);
int command_fit(int argc, char **argv);
int command_ptp(int argc, char **argv);
int command_ptp_port(int argc, char **argv);
int command_rtt(int argc, char **argv);
int command_mesh(int argc, char **argv);
int command_mesh_top(int argc, char **argv);
int command_mesh_serve(int argc, char **argv);
int command_mesh_plan(int argc, char **argv);
int command_mesh_drain(int argc, char **argv);
int command_mesh_history(int argc, char **argv);
int command_mesh_publish(int argc, char **argv);
int command_mesh_collect(int argc, char **argv);
int command_solve(int argc, char **argv);
int command_place(int argc, char **argv);
int command_report(int argc, char **argv);
int command_submit(int argc, char **argv);
int command_jobs(int argc, char **argv);
int command_nodes(int argc, char **argv);
int command_drain(int argc, char **argv);
int command_top(int argc, char **argv);
int command_what_if(int argc, char **argv);
int command_explain(int argc, char **argv);
int command_k8s_agent(int argc, char **argv);
int command_dataflow(int argc, char **argv);
int command_dataflow_worker(int argc, char **argv);
int command_recover(int argc, char **argv);
int command_simulate(int argc, char **argv);
int command_tracegen(int argc, char **argv);

/* nomora-injector */
int command_inject(int argc, char **argv);

/* nomora-schedd */
int command_schedd_export(int argc, char **argv);

/* nomora-slurm */
int command_slurm_agent(int argc, char **argv);
int command_slurm_hostfile(int argc, char **argv);

/* nomora-probe */
int command_probe(int argc, char **argv);
int command_reflect(int argc, char **argv);
int command_mesh_agent(int argc, char **argv);

#endif
