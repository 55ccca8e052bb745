/* SPDX-License-Identifier: BSD-3-Clause */
/* What DPDK and its drivers say goes through us: the last line is kept for error messages, the rest only when asked. */
#ifndef DP_EAL_LOG_PRIV_H
#define DP_EAL_LOG_PRIV_H

#include <stdbool.h>

/* Before rte_eal_init(). */
void dp_eal_log_capture(bool verbose);

/* After it: libxdp and libbpf, which af_xdp's driver brings along, print on stderr by themselves; not any more. */
void dp_eal_log_quiet_libraries(void);

void dp_eal_log_release(void);

#endif
