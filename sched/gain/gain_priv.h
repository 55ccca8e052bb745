/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCHED_GAIN_PRIV_H
#define SCHED_GAIN_PRIV_H

#include <sched/gain/gain.h>

/* Fills rows, tasks and means from gain->world, whose jobs run. Returns 0, or -errno with err set. */
int gain_compare(const struct gain_settings *settings, struct gain *gain, struct error *err);

#endif
