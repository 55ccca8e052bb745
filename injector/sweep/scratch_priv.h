/* SPDX-License-Identifier: BSD-3-Clause */
/* The sweep's temporary folder, which the plan's commands may use. */
#ifndef SWEEP_SCRATCH_PRIV_H
#define SWEEP_SCRATCH_PRIV_H

#include <stddef.h>

#include <base/error.h>

/*
 * Makes a folder that any user may write to (not remove others' files from), with a private "ssh" in it. Removes the
 * folders of killed sweeps first. 0 and its path; -errno with err set and "".
 */
int scratch_make(char *path, size_t bytes, struct error *err);
void scratch_remove(const char *path);

#endif
