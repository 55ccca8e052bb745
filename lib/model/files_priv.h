/* SPDX-License-Identifier: BSD-3-Clause */
/* What the readers and writers of several files share. */
#ifndef MODEL_FILES_PRIV_H
#define MODEL_FILES_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <model/jobs.h>
#include <model/rtt_series.h>

/*
 * Finds the lines of the elements of a top-level array, in JSON text that jansson has already accepted, so that an
 * error message about an element can give its line. The text is read once for all elements.
 */

struct json_lines {
	const char *at; /* NULL = not found or at the end */
	long line;      /* of `at`, from 1 */
};

/* Finds the array that is the value of `key` in the outermost object. */
struct json_lines json_lines_find(const char *text, const char *key);

/*
 * Returns the line of `key`, or 0 if it is not found. If `object` is NULL, searches the outermost object; else searches
 * the object that is the value of the key `object` there.
 */
long json_lines_key(const char *text, const char *object, const char *key);

/* Returns the line of the next element, or 0 if there is none. */
long json_lines_next(struct json_lines *lines);

/* Frees the memory of a job and clears it; the job may be incomplete. */
void job_free(struct job *job);

/* Returns true if the file holds a latency matrix, CSV or live. */
bool rtt_series_is_matrix(const char *path);
/* Reads nomora.mesh_history/1 and appends its values to the series. Returns 0, or -errno with err set. */
int rtt_series_read_points(struct rtt_series *series, const char *name, const char *text, size_t bytes,
			   struct error *err);
/* Adds the series to the set, which then owns its values. Returns 0 or -ENOMEM. */
int rtt_series_add(struct rtt_series_set *set, int kind, const struct rtt_series *series);
/*
 * Adds the levels of a matrix to the distance `kind`. If kind is -1, adds the level of each pair to the distance
 * between the pair's hosts; if the matrix contains no racks, adds all levels to all distances.
 */
int rtt_series_add_matrix(struct rtt_series_set *set, int kind, const char *path, struct error *err);

/* Shared by the reader and the writer of sweep.csv. */

#define SWEEP_COLUMNS "delay_us,direction,run,metric,unit,better,value"
#define SWEEP_HEADER SWEEP_COLUMNS ",started_at,disturbed,baseline_rtt_us\n"

/* A trace of the coflow benchmark, for the code that converts it (coflow.c, dataflow_coflow.c). */

struct coflow_reducer {
	uint32_t port;
	double MB;
};

struct coflow {
	int64_t id;
	double arrival_s;
	size_t first_mapper, mapper_count, first_reducer, reducer_count;
};

/* Ports have the numbers of the file, which begin with first_port (0 or 1). */
struct coflow_trace {
	uint32_t port_count, first_port;
	uint64_t flow_count;
	struct coflow *coflows;
	uint32_t *mappers; /* port of each mapper */
	struct coflow_reducer *reducers;
	size_t coflow_count, mapper_count, reducer_count;
	size_t coflow_capacity, mapper_capacity, reducer_capacity;
};

#endif
