/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The work of `nomora predict`: reads a recorded run, or several runs of the same program, computes its run time at
 * every latency, and gives the answer as text, JSON, a curve and a line of jobs.jsonl. One thread.
 */
#ifndef PREDICT_PREDICTION_H
#define PREDICT_PREDICTION_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <base/error.h>
#include <model/curve.h>
#include <predict/calls/calls.h>
#include <predict/graph/graph.h>
#include <predict/turns/turns.h>

enum { PREDICTION_RUNS_MAXIMUM = 1000 };

enum prediction_format {
	PREDICTION_AUTO,
	PREDICTION_GOAL,
	PREDICTION_ALLPROF,
	PREDICTION_TRACE,
	PREDICTION_CAPTURE,
	PREDICTION_INTERFACE, /* the path is an interface, which is captured for duration_s */
};

struct prediction_settings {
	char *const *paths; /* of each run: one schedule in GOAL or capture, or one trace of calls for each rank */
	uint32_t path_count;
	uint32_t runs; /* how many runs the paths are, run by run; 0 counts as 1 */
	enum prediction_format format;
	struct loggps model; /* its latency is that of the recorded run; a capture has its own, and no model else */
	bool model_stated;   /* by the user, so that a capture is refused */
	double longest_us;   /* the largest added round trip */
	const char *application;
	uint16_t port;                        /* of the servers in a capture; 0 = that with the most messages */
	double duration_s;                    /* of a capture of an interface, */
	const volatile sig_atomic_t *stop;    /* which ends earlier if *stop is not 0 */
	struct collective_choice collectives; /* of recorded calls */
	const char *hosts;                    /* of each rank: "a,b,a"; NULL: each rank has a host of its own */
};

/* The answer of one of several runs. */
struct prediction_run {
	struct runtime runtime;
	double latency_ns; /* without added latency */
};

/* Pieces, pairs, others, turns and recorded_s are those of the run whose run time without added latency is the median.
 */
struct prediction {
	struct prediction_settings settings; /* model.hosts and host_count: from hosts */
	uint32_t *hosts;
	uint32_t ranks;
	size_t nodes;
	struct mpi_other *others; /* calls that are not modelled */
	size_t other_count;
	uint64_t collectives[COLLECTIVE_ALGORITHMS]; /* number of collectives by their algorithm */
	double recorded_s;                           /* NAN = not known: GOAL */
	struct turns turns;                          /* of a capture; else without connections */
	struct runtime runtime;
	struct runtime_pair *pairs; /* at the latency of the recorded run */
	size_t pair_count;
	struct prediction_run *runs; /* the other runs */
	size_t run_count;            /* without that one */
};

/* The median over the runs, and an interval that has the median of all possible runs; both ends are NAN for one run. */
struct prediction_range {
	double median, low, high;
};

/* Fills an uninitialised prediction. Returns 0, or -errno with err set. prediction_free() is legal after both. */
int prediction_make(const struct prediction_settings *settings, struct prediction *prediction, struct error *err);
void prediction_free(struct prediction *prediction);

/* Run time in s, and performance, at an added round trip of 0 to longest_us. */
struct prediction_range prediction_run_time_s(const struct prediction *prediction, double added_us);
struct prediction_range prediction_performance(const struct prediction *prediction, double added_us);
/*
 * The probability that such an interval has the median, whatever the distribution of the runs: its ends are the run's
 * values in order, as near to the median as 95 % allow; all values if that is not reached (fewer than 6 runs). 0 for
 * one run.
 */
double prediction_confidence(const struct prediction *prediction);

void prediction_print(const struct prediction *prediction, FILE *out);
json_t *prediction_json(const struct prediction *prediction); /* nomora.predict/1; NULL: out of memory */
/* The job of a file jobs.jsonl, with the messages on the longest path as its graph; NULL: out of memory. */
json_t *prediction_job_json(const struct prediction *prediction);
struct curve *prediction_curve(const struct prediction *prediction, struct error *err); /* NULL with err set */

#endif
