/* SPDX-License-Identifier: BSD-3-Clause */
/* The sweep's temporary folder, which the plan's commands may use. */
#ifndef SWEEP_SCRATCH_PRIV_H
#define SWEEP_SCRATCH_PRIV_H

#include <stddef.h>

#include <base/error.h>

/*
 * Removes the folders of killed sweeps. Then makes a folder with a private folder "ssh" in it. Any user may create
 * files in the folder, but not remove those of others. Returns 0 and the path; or -errno with err set, and "" as the
 * path.
 */
int scratch_make(char *path, size_t bytes, struct error *err);
void scratch_remove(const char *path);

#endif
