/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sweep.csv: an application's metrics at each injected delay, one row per delay, run and metric:
 *
 *   delay_us,direction,run,metric,unit,better,value[,started_at][,disturbed][,baseline_rtt_us]
 *
 * delay_us is the delay injected per direction (µs); direction is both, ab or ba; run counts from 0 within a delay;
 * better is higher or lower; disturbed is 1 for a run that was kept although it failed a check in every attempt, else
 * 0; baseline_rtt_us is the round trip of the application's path without added delay (µs), as Nomora's STAMP prober
 * measured it, empty if it is not known. The x of a curve is the ADDED ROUND TRIP: sweep_row_added_rtt_us(). The reader
 * also accepts a plain form: two to four columns (added round trip in µs, normalised performance, its deviation, runs);
 * a header is optional, and its words do not matter; the separator is a comma, a semicolon, a tab or blanks.
 * '#' starts a comment line. A sweep owns its memory; it is not shared between threads.
 */
#ifndef MODEL_SWEEP_H
#define MODEL_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/file.h>

enum {
	SWEEP_ROWS_MAXIMUM = 100000, /* a file with more is a log, not a sweep, and is refused */
	SWEEP_METRICS_MAXIMUM = 64,
	SWEEP_NAME_BYTES = 64,
	SWEEP_STAMP_BYTES = 40,
};

#define SWEEP_DELAY_MAXIMUM_US 500e3 /* per direction */

/*
 * Runs with this number or a higher one are reference runs. They are made at the smallest delay, between the other
 * runs, to record how fast the machine was at that time.
 */
#define SWEEP_REFERENCE_RUN 1000000

enum sweep_direction { SWEEP_BOTH, SWEEP_AB, SWEEP_BA };
enum sweep_better { SWEEP_HIGHER, SWEEP_LOWER };

struct sweep_metric {
	char name[SWEEP_NAME_BYTES];
	char unit[SWEEP_NAME_BYTES];
	enum sweep_better better;
};

struct sweep_row {
	double delay_us; /* per direction; in the plain form the added round trip itself */
	enum sweep_direction direction;
	int64_t run;
	size_t metric; /* index into the sweep's metrics */
	double value;
	double deviation;                   /* plain form: standard deviation of `value`; 0 = not given */
	int64_t runs;                       /* plain form: number of runs that `value` summarises; 1 = not given */
	char started_at[SWEEP_STAMP_BYTES]; /* ISO 8601, "" = not given */
	bool disturbed;                     /* the run failed a check of the sweep in every attempt */
	double baseline_rtt_us;             /* > 0; NAN = not known */
	long line;                          /* of the file, from 1 */
};

struct sweep {
	char *file; /* for messages */
	bool plain; /* plain form: metric 0 is "performance", normalised already */
	size_t metric_count;
	struct sweep_metric metrics[SWEEP_METRICS_MAXIMUM];
	size_t count;
	struct sweep_row *rows; /* in file order */
};

/*
 * Closes the lines; NULL: they could not be opened, as err says. Returns NULL with err set (file, line, field, what was
 * expected).
 */
struct sweep *sweep_read(struct file_lines *lines, struct error *err);
void sweep_destroy(struct sweep *sweep); /* NULL is legal */

/* Returns the round trip that the row's delay added, µs: twice the delay if both directions were delayed. */
double sweep_row_added_rtt_us(const struct sweep *sweep, const struct sweep_row *row);

/* Returns the index of a metric, or -ENOENT. */
int sweep_find_metric(const struct sweep *sweep, const char *name);

/*
 * Returns true if the sweep has a row of this run, whatever its metric. A resumed sweep must not make such a run again,
 * because its rows would be duplicates.
 */
bool sweep_has_run(const struct sweep *sweep, double delay_us, enum sweep_direction direction, int64_t run);

const char *sweep_direction_name(enum sweep_direction direction); /* "both", "ab", "ba" */
const char *sweep_better_name(enum sweep_better better);          /* "higher", "lower" */
int sweep_parse_direction(const char *text);                      /* the enum, or -EINVAL */
int sweep_parse_better(const char *text);                         /* the enum, or -EINVAL */

/* One row to be written. Texts are borrowed for the call; started_at may be NULL. */
struct sweep_record {
	double delay_us;
	enum sweep_direction direction;
	int64_t run;
	const char *metric;
	const char *unit;
	enum sweep_better better;
	double value;
	const char *started_at;
	bool disturbed;
	double baseline_rtt_us; /* 0, negative or NAN = not known */
};

/*
 * Appends to a sweep.csv that must survive SIGKILL and power loss. Opening creates the file with its header, or
 * continues an existing one: its header is checked, and a last line without its newline (a writer died there) is cut
 * off. A second writer on the same file is refused (-EWOULDBLOCK in err) by an advisory lock.
 */
struct sweep_writer;
struct sweep_writer *sweep_writer_open(const char *path, struct error *err);

/*
 * Removes the last run if it is incomplete, so that it can be made again. `metrics` are the metrics that a run writes,
 * in this order. A run is incomplete if it has rows for only the first few of these metrics: its write was cut off
 * between two lines. Returns the number of rows removed, or -errno with err set (also if the file cannot be read as a
 * sweep).
 */
int sweep_writer_cut_torn_run(struct sweep_writer *writer, const char *const *metrics, size_t count, struct error *err);

/*
 * Appends all records of one run in a single write, then calls fdatasync(): when it returns 0, they are on the disk.
 * After a failure, the file is truncated to its previous length. Returns -EINVAL and writes nothing if a name does not
 * fit a CSV field (comma, quote, line end, empty, too long) or a value is not finite.
 */
int sweep_writer_append(struct sweep_writer *writer, const struct sweep_record *records, size_t count,
			struct error *err);
void sweep_writer_close(struct sweep_writer *writer); /* NULL is legal */
/* Closes the writer; if it created the file and nothing was appended, also removes the file. NULL is legal. */
void sweep_writer_discard(struct sweep_writer *writer);

#endif
