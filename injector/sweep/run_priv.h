/* SPDX-License-Identifier: BSD-3-Clause */
/* One run: as many attempts as its gates ask for. */
#ifndef SWEEP_RUN_PRIV_H
#define SWEEP_RUN_PRIV_H

#include "sweeper_priv.h"

/* 0 = its rows are on the disk, or it was left out. -EINTR when stopped, -errno with err set. */
int run_make(struct sweeper *sweeper, const struct sweep_schedule_run *run, struct error *err);

#endif
