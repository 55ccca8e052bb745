/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the reader and the writer of sweep.csv. */
#ifndef MODEL_SWEEP_PRIV_H
#define MODEL_SWEEP_PRIV_H

#define SWEEP_COLUMNS "delay_us,direction,run,metric,unit,better,value"
#define SWEEP_HEADER SWEEP_COLUMNS ",started_at,disturbed,baseline_rtt_us\n"

#endif
