/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A curve "added round-trip latency (µs) -> normalised performance" and its file, curve.json `nomora.curve/1`.
 * Performance is relative to the baseline, higher is better, 1 = no latency added. Schedulers use the table, which has
 * p at 0, 10, 20, ... µs: curve_eval() interpolates, curve_interpolate() also keeps a jump, and curve_eval_nearest()
 * takes the nearest entry, as NoMora's paper does. The other fields document the fit. A loaded curve is read-only: any
 * number of threads may evaluate it.
 */
#ifndef MODEL_CURVE_H
#define MODEL_CURVE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include <base/error.h>
#include <model/sweep.h>

#define CURVE_SCHEMA "nomora.curve/1"
#define CURVE_STEP_US 10.0
/*
 * NoMora §6: performance does not drop below 0.1, so that no cost exceeds 1000, which is less than gamma = 1001, the
 * cost of waiting.
 */
#define CURVE_FLOOR 0.1

enum { CURVE_TABLE_MAXIMUM = 100001 }; /* number of entries, up to 1 s of added round trip */

enum curve_form {
	CURVE_FORM_NONE,  /* no threshold */
	CURVE_FORM_JUMP,  /* 1 below the threshold, the model from there on */
	CURVE_FORM_HINGE, /* as CURVE_FORM_JUMP, but continuous at the threshold */
};
enum { CURVE_FORMS = 3 };

struct curve_threshold {
	enum curve_form form;
	double at_us;
	bool has_interval;
	double low_us, high_us, confidence;
	/*
	 * Probability of each form, given the sweep; indexed by enum curve_form. NAN = not known, or the user chose the
	 * form.
	 */
	double probability[CURVE_FORMS];
};

struct curve_coefficient {
	char name[16];
	double value;
	double standard_error; /* NAN = not known */
};

/* One latency level of the sweep. */
struct curve_level {
	double x_us, measured, deviation; /* deviation: standard deviation of a single run; 0 = not known */
	double fitted;
	long runs, outliers;
};

struct curve_goodness {
	bool known;
	long points, parameters;
	double rss, chi_square, r_squared, aicc, bic;
};

/* Strings are owned and never NULL in a curve that was loaded; arrays are owned. NAN = not known. */
struct curve {
	char *application, *metric, *unit;
	enum sweep_better better; /* of the metric before it was normalised */
	bool predicted;           /* computed from a recorded run (nomora predict), not measured */
	double baseline_value, baseline_deviation;
	double baseline_rtt_us; /* of the testbed without added delay; NAN = not known */
	long disturbed_runs;    /* number of runs in the fit that failed a check of the sweep */
	double domain_low_us, domain_high_us;
	struct curve_threshold threshold;
	char *model;    /* "polynomial-3", "log", "monotone-spline", ... */
	char *equation; /* for people, with the threshold */
	char *note;     /* why this model was chosen, and warnings; "" = none */
	size_t coefficient_count;
	struct curve_coefficient *coefficients;
	double *covariance; /* coefficient_count squared, row by row; NULL = not known */
	struct curve_goodness goodness;
	size_t level_count;
	struct curve_level *levels;
	size_t table_count;           /* entries at 0, 10, 20, ... µs; at least 1 */
	double *table;                /* p (performance) at each entry, not clamped */
	double *band_low, *band_high; /* table_count entries each; NULL = not known */
	double band_confidence;       /* 0.95 */
	/* With probability band_confidence, the whole curve is in the band widened by this factor; NAN = not known. */
	double band_whole_factor;
	/* Computed by curve_prepare(), for curve_eval() and curve_interpolate(). */
	double smallest;   /* smallest entry of `evaluated`; used as p beyond the end of the table */
	double *evaluated; /* the table, each entry clamped to CURVE_FLOOR..1 */
	double last_us;    /* x of the last entry: the end of the table, a multiple of 10 µs; or domain_high_us, if the
			      domain ends within the table's last step */
	double jump_us;    /* x of the jump; NAN = none */
	double jump_p;     /* p right after the jump */
};

/* These return NULL with err set on failure (file, field, what was expected). */
struct curve *curve_load(const char *path, struct error *err);
struct curve *curve_from_memory(const char *name, const char *text, size_t bytes, struct error *err);

/* Writes curve.json whole or not at all ("-" = stdout). Returns 0, or -errno with err set. */
int curve_save(const struct curve *curve, const char *path, struct error *err);
/* Returns the text of curve.json, which the caller frees; or NULL with err set. */
char *curve_to_text(const struct curve *curve, struct error *err);

/* Returns a curve whose fields are all 0, except for the unknown numbers, which are NAN; or NULL with errno set. */
struct curve *curve_create(void);
/* Returns a curve that has only a table, p[i] at i * 10 µs; p is copied. NULL with err set (p not finite, count 0). */
struct curve *curve_from_table(const char *application, const double *p, size_t count, struct error *err);
/* Computes the fields from `smallest` on; the table, the domain and the threshold must be set. Returns 0 or -errno. */
int curve_prepare(struct curve *curve, struct error *err);
void curve_destroy(struct curve *curve); /* NULL is legal */

const char *curve_form_name(enum curve_form form); /* "none", "jump", "hinge" */

/*
 * Returns p at an added round trip of x_us, in constant time, interpolated in the 10 µs table. Beyond the table, and
 * for NAN, p is the smallest entry; for x_us < 0 it is the first. p is within CURVE_FLOOR..1.
 */
static inline double curve_eval(const struct curve *curve, double x_us)
{
	double index = x_us / CURVE_STEP_US;
	size_t below;
	double p;

	if (index <= 0)
		return curve->evaluated[0];
	if (!(index <= (double)(curve->table_count - 1)))
		return curve->smallest;
	below = (size_t)index;
	if (below + 1 == curve->table_count)
		return curve->evaluated[below];
	p = curve->evaluated[below] + (index - (double)below) * (curve->evaluated[below + 1] - curve->evaluated[below]);
	return p < curve->smallest ? curve->smallest : p > 1 ? 1 : p; /* rounding */
}

/*
 * Writes the bounds of the curve's band at an added round trip of x_us, with the same interpolation and limits as
 * curve_eval(): *low <= curve_eval() <= *high. Both are NAN if the curve has no band.
 */
void curve_band_at(const struct curve *curve, double x_us, double *low, double *high);

/*
 * The papers' look-up: returns the nearest entry of the table (halves round up), or the smallest entry if x_us is
 * beyond the table (NoMora §6).
 */
static inline double curve_eval_nearest(const struct curve *curve, double x_us)
{
	double index = x_us / CURVE_STEP_US + 0.5;

	if (index < 0)
		return curve->evaluated[0];
	if (index < (double)curve->table_count)
		return curve->evaluated[(size_t)index];
	return curve->smallest;
}

/*
 * Returns p at an added round trip of x_us, in constant time, linear between the table's entries. A jump between two
 * entries stays a jump: up to it, p is the entry before it; after it, p is on the line through the next two entries,
 * which is extended back to the jump. From the last entry to the end of the domain, p is the last entry; beyond both,
 * and for NAN, the smallest. For x_us < 0, p is the first entry. p is within CURVE_FLOOR..1.
 */
static inline double curve_interpolate(const struct curve *curve, double x_us)
{
	const double *p = curve->evaluated;
	double left_us, right_us, from;
	size_t i;

	if (x_us <= 0)
		return p[0];
	if (!(x_us < curve->last_us))
		return x_us <= fmax(curve->last_us, curve->domain_high_us) ? p[curve->table_count - 1]
									   : curve->smallest;
	i = (size_t)(x_us / CURVE_STEP_US);
	if (i + 1 >= curve->table_count)
		return p[i];
	left_us = CURVE_STEP_US * (double)i;
	right_us = fmin(left_us + CURVE_STEP_US, curve->last_us);
	from = p[i];
	if (curve->jump_us > left_us && curve->jump_us <= right_us) {
		if (x_us < curve->jump_us)
			return from;
		left_us = curve->jump_us;
		from = curve->jump_p;
	}
	return right_us > left_us ? from + (p[i + 1] - from) * (x_us - left_us) / (right_us - left_us) : from;
}

/*
 * Returns the cost of a machine at this added round trip: lround(100 / p), so 100..1000 for p in 1..0.1 (NoMora §5.2;
 * its "rounded to two significant digits, then times 100" can only mean two decimals).
 */
static inline long curve_cost(const struct curve *curve, double x_us)
{
	return lround(100.0 / curve_eval(curve, x_us));
}

/*
 * Returns the added part of a measured round trip: the round trip minus the testbed's baseline (0 if not known), at
 * least 0.
 */
static inline double curve_added_rtt_us(const struct curve *curve, double measured_rtt_us)
{
	double added_us = isnan(curve->baseline_rtt_us) ? measured_rtt_us : measured_rtt_us - curve->baseline_rtt_us;

	return added_us > 0 ? added_us : 0;
}

#endif
