/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shows the files of a run on one page of HTML that needs no other file. Each section is made from a file that a
 * command wrote; the section of a file that is NULL is left out. One thread.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include <base/error.h>
#include <base/options.h>

/* Paths; NULL = no such file. */
struct report_settings {
	const char *title;
	bool summary;              /* the placement by job instead of by task */
	struct option_list curves; /* curve.json */
	const char *curve_plot;    /* SVG or PNG instead of the page's own chart of the curves */
	const char *sweep_log;     /* SWEEP.csv.log */
	/* SWEEP.csv: the page contains it with its log (sweep_log, or `sweep`.log), its plan, the curves and `attached`
	 */
	const char *sweep;
	struct option_list attached; /* further files in the page, such as the scripts of the plan */
	const char *latency;         /* latency matrix */
	const char *mesh_plot;       /* SVG or PNG */
	const char *cluster;         /* machines and racks (cluster.json), for the latency matrix and the placement */
	const char *injector;        /* nomora.inject/1 */
	const char *placement;       /* nomora.place/1 */
	const char *random;          /* nomora.place/1 of the random policy, to compare with */
	const char *measured;        /* CSV: placement,job,task,predicted,measured */
	const char *doctor;          /* nomora.doctor/1 */
	const char *steps;           /* lines of seconds, command, purpose, separated by tabs */
};

/* Returns true if the file of at least one section is given. (title, `cluster` and `random` make no section.) */
bool report_has_input(const struct report_settings *settings);

/* Writes the page to `path` whole or not at all. 0 or -errno with err set. */
int report_save(const struct report_settings *settings, const char *path, struct error *err);

/*
 * Writes the files that a page contains into a folder, which is created if it is missing; prints their paths to `list`,
 * one per line. Replaces no file: if one of them exists, writes none. Returns 0, or -errno with err set.
 */
int report_extract(const char *page, const char *folder, FILE *list, struct error *err);

#endif
