/* SPDX-License-Identifier: BSD-3-Clause */
/* What DPDK and its drivers say goes through us: the last line is kept for error messages, the rest only when asked. */
#ifndef DP_EAL_LOG_PRIV_H
#define DP_EAL_LOG_PRIV_H

#include <stdbool.h>

/* Before rte_eal_init(). */
void dp_eal_log_capture(bool verbose);

/* After it: libxdp and libbpf, which af_xdp's driver brings along, print on stderr by themselves; not any more. */
void dp_eal_log_quiet_libraries(void);

/*
 * EAL prints its whole usage on stdout and alerts on stderr when it does not start; what matters of it is in the error.
 * Mute around rte_eal_init() alone, while the process has one thread. Does nothing when verbose.
 */
void dp_eal_log_mute(bool mute);

void dp_eal_log_release(void);

#endif
