/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands of nomora-probe. */
#ifndef APPS_NOMORA_PROBE_H
#define APPS_NOMORA_PROBE_H

int command_probe(int argc, char **argv);
int command_reflect(int argc, char **argv);

#endif
