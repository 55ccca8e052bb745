/* SPDX-License-Identifier: BSD-3-Clause */
/* The window, the settings as JSON, and the output folder. Private. */
#ifndef SIMULATE_PRIV_H
#define SIMULATE_PRIV_H

#include <jansson.h>

#include <sched/simulate/simulate.h>

/* window.c: checks --from, --until and --hours as far as possible without the workload. 0 or -EINVAL. */
int simulate_check_window(const struct simulate_options *options, struct error *err);
/* True if the window depends neither on the tasks nor on the date of the workload. */
bool simulate_window_is_known(const struct simulate_options *options);
/*
 * Sets the times of the filter, and begin_us and end_us of `simulate`: --from to --until or --hours. Without them, a
 * recorded workload is simulated from its first submission to its last end, a synthetic one for 24 hours. A trace that
 * begins after the window's end is simulated from its first submission. 0 or -EINVAL.
 */
int simulate_set_window(struct simulate *simulate, struct workload_filter *filter, struct error *err);
/* Prints the window as a line, with dates if the workload states them. */
void simulate_print_window(const struct simulate *simulate, FILE *out);

/* output.c: prints a cell of a table: percent, or "-" for NAN, as of a workload whose jobs all have one task. */
void simulate_print_share(FILE *out, double share);

/* run.c: sets up and runs the policies, without files. 0 or -errno; a signal is an error. Free `simulate` in both
 * cases. */
int simulate_whole(struct simulate *simulate, const struct simulate_options *options, struct error *err);

/*
 * run.c: makes the folder if it does not exist, and sets *made to whether it made it. Does nothing if `folder` is NULL.
 * 0 or -errno with err set.
 */
int simulate_make_folder(const char *folder, bool *made, struct error *err);
/* For a run that failed: removes the folder if this run made it (`made`) and it is empty. */
void simulate_drop_folder(const char *folder, bool made);

#endif
