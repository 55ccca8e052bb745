/* SPDX-License-Identifier: BSD-3-Clause */
/* The sections of the page. The functions write HTML to a stream; their arguments stay the caller's. */
#ifndef REPORT_REPORT_PRIV_H
#define REPORT_REPORT_PRIV_H

#include <stdbool.h>
#include <stdio.h>

#include <base/error.h>
#include <base/name.h>
#include <base/options.h>
#include <model/cluster.h>
#include <model/curve.h>
#include <model/latency_table.h>
#include <report/report.h>

#include <jansson.h>

/* Prints an SVG or PNG file as an <img> that needs no other file. */
int report_picture(FILE *out, const char *path, const char *alt, struct error *err);

/* report_begin() prints the page's head with its style and title, report_end() the page's end. */
void report_begin(FILE *out, const char *title);
void report_end(FILE *out);

/* Prints the steps of the run, from a file of lines "seconds<TAB>command<TAB>what it is for". */
int report_steps(FILE *out, const char *path, struct error *err);

/*
 * Reads the sweep's log (SWEEP.csv.log); returns NULL with err set on failure. report_sweep_verdict() prints in green
 * or red whether the curve can be trusted; report_sweep_details() prints whether ping confirms the injected delay, and
 * how many runs were disturbed, repeated or left out.
 */
struct report_sweep;
struct report_sweep *report_sweep_load(const char *path, struct error *err);
void report_sweep_destroy(struct report_sweep *sweep); /* NULL is legal */
void report_sweep_verdict(FILE *out, const struct report_sweep *sweep);
void report_sweep_details(FILE *out, struct report_sweep *sweep);

/* Files within the page, nomora.page/1 (docs/formats.md). Functions return 0 or -errno with err set. */
struct report_bundle;
struct report_bundle *report_bundle_create(struct error *err); /* NULL on failure */
void report_bundle_destroy(struct report_bundle *bundle);      /* NULL is legal */
/* Adds a text; its name in the page is the last part of `path`. `text` ends with NUL. */
int report_bundle_add(struct report_bundle *bundle, const char *path, const char *text, size_t bytes,
		      struct error *err);
int report_bundle_add_file(struct report_bundle *bundle, const char *path, struct error *err);
bool report_bundle_has(const struct report_bundle *bundle, const char *name);
int report_bundle_print(const struct report_bundle *bundle, FILE *out, struct error *err);
/* Returns the checked nomora.page/1 of a page's text, which the caller releases; NULL with err set on failure. */
json_t *report_bundle_parse(const char *name, const char *text, struct error *err);

/*
 * Reads settings->sweep, its log, and the other files for the page. Warns of scripts of the plan that are not attached.
 * report_again_print() prints the section on how the sweep was made and how to repeat it, with the files. `curves` are
 * paths. Returns NULL with err set, or 0 or -errno with err set.
 */
struct report_again;
struct report_again *report_again_load(const struct report_settings *settings, const char *log, struct error *err);
void report_again_destroy(struct report_again *again); /* NULL is legal */
int report_again_print(FILE *out, const struct report_again *again, const struct option_list *curves,
		       struct error *err);

struct chart;
/* Puts the chart into the page, as SVG with this id, and destroys it. NULL: err is set. Returns 0 or -errno. */
int report_chart(FILE *out, struct chart *chart, const char *id, struct error *err);
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
