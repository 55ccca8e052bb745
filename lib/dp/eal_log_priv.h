/* SPDX-License-Identifier: BSD-3-Clause */
/* Captures the log of DPDK and its drivers: keeps the last line for error messages, prints the rest only on request. */
#ifndef DP_EAL_LOG_PRIV_H
#define DP_EAL_LOG_PRIV_H

#include <stdbool.h>

/* Starts capturing the log. `verbose`: also print it on stderr. Call it before rte_eal_init(). */
void dp_eal_log_capture(bool verbose);

/* Call it after rte_eal_init(): silences libxdp and libbpf, which af_xdp's driver loads and which print on stderr. */
void dp_eal_log_quiet_libraries(void);

/*
 * Mutes stdout and stderr, or restores them. If EAL does not start, it prints its whole usage on stdout and alerts on
 * stderr, although our error message contains the reason. Mute only around rte_eal_init(), while the process has one
 * thread. Does nothing if the log is verbose.
 */
void dp_eal_log_mute(bool mute);

void dp_eal_log_release(void);

#endif
