/* SPDX-License-Identifier: BSD-3-Clause */
/* The sections of the page. The functions write HTML to a stream; their arguments stay the caller's. */
#ifndef REPORT_REPORT_PRIV_H
#define REPORT_REPORT_PRIV_H

#include <stdbool.h>
#include <stdio.h>

#include <base/error.h>
#include <base/name.h>
#include <model/cluster.h>
#include <model/curve.h>
#include <model/latency_table.h>

/* Prints an SVG or PNG file as an <img> that needs no other file. */
int report_picture(FILE *out, const char *path, const char *alt, struct error *err);

/* report_begin() prints the page's head with its style and title, report_end() the page's end. */
void report_begin(FILE *out, const char *title);
void report_end(FILE *out);

/* Prints the steps of the run, from a file of lines "seconds<TAB>command<TAB>what it is for". */
int report_steps(FILE *out, const char *path, struct error *err);

/*
 * Reads the sweep's log (SWEEP.csv.log); returns NULL with err set on failure. report_sweep_verdict() prints whether
 * runs were disturbed; report_sweep_details() prints whether ping confirms the injected delay, and how many runs were
 * disturbed, repeated or left out.
 */
struct report_sweep;
struct report_sweep *report_sweep_load(const char *path, struct error *err);
void report_sweep_destroy(struct report_sweep *sweep); /* NULL is legal */
void report_sweep_verdict(FILE *out, const struct report_sweep *sweep);
void report_sweep_details(FILE *out, struct report_sweep *sweep);

/* Draws the curves in one chart, as SVG in the page. Returns 0 or -errno with err set. */
int report_curves_chart(FILE *out, const struct curve *const *curves, size_t count, struct error *err);

/*
 * Prints a curve's equation, baseline and levels (measured, deviation, fitted); with the application's name if `named`.
 */
void report_curve(FILE *out, const struct curve *curve, bool named);

/*
 * Prints the main figures at the top of the page: for each of `count` curves the round trip up to which the application
 * keeps 90 % of its performance, and the median round trips of the latency matrix (groups; NULL = no matrix).
 */
void report_cards(FILE *out, const struct curve *const *curves, size_t count,
		  const struct latency_group groups[LATENCY_RELATIONS], bool has_cluster);

/*
 * Prints the latency matrix's p50 and p99 within a rack and between racks; without a cluster all pairs are in one
 * group.
 */
void report_mesh(FILE *out, const struct latency_group groups[LATENCY_RELATIONS], bool has_cluster);

/*
 * Prints a placement (nomora.place/1) and compares it with a random placement. random_path and cluster may be NULL.
 * With `summary`, prints a line per job instead of a line per task.
 */
int report_placement(FILE *out, const char *path, const char *random_path, const struct cluster *cluster, bool summary,
		     struct error *err);

/*
 * Prints the statistics (nomora.inject/1) of the injector that was between the racks while the latency matrix was
 * measured. With the matrix (groups, may be NULL), also checks that it shows the injected delay.
 */
int report_injector(FILE *out, const char *path, const struct latency_group groups[LATENCY_RELATIONS],
		    struct error *err);

/*
 * Prints the measured performance of the application in its placements beside the predicted one. The file has CSV lines
 * of placement, job, task, predicted and measured performance, after a line with these names.
 */
int report_measured(FILE *out, const char *path, struct error *err);

/* Prints the findings of a file nomora.doctor/1. */
int report_doctor(FILE *out, const char *path, struct error *err);

#endif
