/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds what Nomora loads into MPI programs or runs as one: there is a file for each MPI library for which Nomora was
 * built, as their types differ. Any thread.
 */
#ifndef PREDICT_MPI_H
#define PREDICT_MPI_H

#include <base/error.h>

/*
 * Sets path (PATH_MAX bytes) to the file of a room of predict/ for the MPI library of a command (NULL-terminated words,
 * looked up in PATH): MPICH's if one of its words is MPICH's launcher or is linked with MPICH, else that of the default
 * MPI. `ending`: of the file's name. Returns 0, or -errno with err set.
 */
int mpi_find(const char *room, const char *ending, char *const *words, char *path, struct error *err);

#endif
