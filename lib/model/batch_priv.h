/* SPDX-License-Identifier: BSD-3-Clause */
/* What batch_rows.c, batch_csv.c and batch_trace.c share. Private. */
#ifndef BATCH_PRIV_H
#define BATCH_PRIV_H

#include <model/batch_trace.h>

enum { BATCH_TASKS_MAXIMUM = 1000000 };
#define BATCH_SECONDS_MAXIMUM 1e11

struct job {
	uint64_t id;
	size_t row;                      /* rows that were kept before it; CSV: the number of its line */
	double submit_s, start_s, run_s; /* run_s: NAN if the job never ran, INFINITY if its end is unknown */
	uint32_t tasks;
	uint32_t first_task; /* index of its first task within the job; not 0 only in CSV */
	uint32_t gang;       /* CSV: number of the job's tasks that start together; 0: not stated */
	uint32_t graph;      /* CSV: position in reading.graphs, plus 1; 0: not stated */
	bool has_root;       /* CSV: its first task is the job's root */
};

/* The columns of sacct that we use, by their names. reading.place[] has their positions, -1 = absent. */
enum column { JOB_ID, SUBMIT, START, END, N_TASKS, ALLOC_CPUS, N_CPUS, N_NODES, ELAPSED, COLUMNS };

/* The columns of the CSV. The first four must be there. */
enum csv_column { CSV_JOB, CSV_SUBMIT, CSV_RUN, CSV_TASKS, CSV_CURVE, CSV_ROOT, CSV_GANG, CSV_GRAPH, CSV_COLUMNS };

struct reading {
	struct batch_report *report;
	struct file_lines *lines;
	struct error *err;
	bool strict;
	int place[COLUMNS]; /* sacct */
	struct workload *workload;
	size_t csv_columns;         /* number of columns; 0 = the header was not read yet */
	int csv_place[CSV_COLUMNS]; /* as place[], by enum csv_column */
	char **graphs;              /* CSV: the different texts of the column graph */
	size_t graph_count, graph_capacity;
	bool has_header;
	/* sacct: JobID of the last row that is no step, without the component of a heterogeneous job; "": not kept */
	char last_id[64];
	bool last_is_component; /* the last such row is a component of a heterogeneous job */
	uint32_t step_tasks;    /* largest NTasks of a step of the last job so far */
	struct job *jobs;
	size_t count, capacity;
};

/* Counts the problem and records the first of its kind. Returns 0, or -EINVAL if `strict`. */
int batch_note(struct reading *reading, enum batch_problem problem, const char *text);
/* Adds the job, or notes a problem. 0 or -errno. */
int batch_keep(struct reading *reading, const struct job *job);
/* For qsort(): by id, then by row; by row. */
int batch_compare_ids(const void *left, const void *right);
int batch_compare_rows(const void *left, const void *right);

/* batch_csv.c: 0, or -errno with err set. */
int batch_csv_read(struct reading *reading, char *line);
/* Numbers the tasks of each job: those of the row with the root first, then by line. */
int batch_csv_number_tasks(struct reading *reading);
void batch_csv_free(struct reading *reading);

#endif
