/* SPDX-License-Identifier: BSD-3-Clause */
/* The sections of the page. They write HTML to a stream and own nothing that they are given. */
#ifndef REPORT_REPORT_PRIV_H
#define REPORT_REPORT_PRIV_H

#include <stdbool.h>
#include <stdio.h>

#include <base/error.h>
#include <base/xml.h>
#include <model/cluster.h>
#include <model/curve.h>
#include <model/latency_summary.h>

/* An SVG or PNG file as an <img> that needs no other file. */
int report_picture(FILE *out, const char *path, const char *alt, struct error *err);

/* The page's head with its style, up to the title; and its end. */
void report_begin(FILE *out, const char *title);
void report_end(FILE *out);

/* Steps: tab-separated lines "seconds<TAB>command<TAB>what it is for". */
int report_steps(FILE *out, const char *path, struct error *err);

/*
 * The sweep's log (SWEEP.csv.log): the verdict, which comes first, says whether runs were disturbed; the details say
 * whether ping confirms the injected delay, and how many runs were disturbed, repeated or left out. NULL with err set.
 */
struct report_sweep;
struct report_sweep *report_sweep_load(const char *path, struct error *err);
void report_sweep_destroy(struct report_sweep *sweep); /* NULL is legal */
void report_sweep_verdict(FILE *out, const struct report_sweep *sweep);
void report_sweep_details(FILE *out, struct report_sweep *sweep);

/* The curves in one chart, drawn into the page as SVG. 0 or -errno with err set. */
int report_curves_chart(FILE *out, const struct curve *const *curves, size_t count, struct error *err);

/* Equation, baseline and levels of a curve: measured, deviation, fitted. With the application's name if `named`. */
void report_curve(FILE *out, const struct curve *curve, bool named);

/* The main figures at the top of the page; curves: count of them, groups: NULL = no mesh. */
void report_cards(FILE *out, const struct curve *const *curves, size_t count,
		  const struct latency_group groups[LATENCY_RELATIONS], bool has_cluster);

/* The mesh by racks: within a rack and between racks, p50 and p99. Without a cluster all pairs are in one group. */
void report_mesh(FILE *out, const struct latency_group groups[LATENCY_RELATIONS], bool has_cluster);

/*
 * nomora.place/1, compared with a random draw (random_path, cluster: NULL is legal); with `summary` a line per job
 * instead of a line per task.
 */
int report_placement(FILE *out, const char *path, const char *random_path, const struct cluster *cluster, bool summary,
		     struct error *err);

/*
 * Statistics of the injector that stood between the racks while the mesh was measured: nomora.inject/1. With the mesh
 * (NULL is legal): is it the injected delay that was measured?
 */
int report_injector(FILE *out, const char *path, const struct latency_group groups[LATENCY_RELATIONS],
		    struct error *err);

/*
 * What the application did in its placements, beside what was predicted: CSV lines of placement, job, task, predicted
 * and measured performance, the names of these first.
 */
int report_measured(FILE *out, const char *path, struct error *err);

/* nomora.doctor/1. */
int report_doctor(FILE *out, const char *path, struct error *err);

#endif
