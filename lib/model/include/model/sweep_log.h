/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SWEEP.csv.log: one JSON object a line about a sweep. Events: the plan, the machine, each attempt at a run, each
 * accepted run, and at the end each delay (level). The sweep appends events, the report reads them; a line that a
 * killed sweep left incomplete is skipped. Docs: docs/formats.md. One thread.
 */
#ifndef MODEL_SWEEP_LOG_H
#define MODEL_SWEEP_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include <base/file.h>
#include <model/injector_state.h>
#include <model/sweep.h>

enum {
	SWEEP_LOG_REASONS_BYTES = 600,
	SWEEP_LOG_UNCHECKED_BYTES = 64,
	SWEEP_LOG_MACHINE_BYTES = 320,
	SWEEP_LOG_ATTEMPTS_MAXIMUM = 1000,
};

/* What measured the round trip: nothing; our STAMP prober; ping. */
enum sweep_log_rtt { SWEEP_LOG_RTT_UNCHECKED, SWEEP_LOG_RTT_PROBE, SWEEP_LOG_RTT_PING };

const char *sweep_log_rtt_name(enum sweep_log_rtt by); /* "none", "probe", "ping" */

enum sweep_log_kind {
	SWEEP_LOG_OTHER, /* an event that this version does not know */
	SWEEP_LOG_PLAN,
	SWEEP_LOG_MACHINE,
	SWEEP_LOG_ATTEMPT,
	SWEEP_LOG_ACCEPTED,
	SWEEP_LOG_LEVEL,
};

/* Identifies an attempt, and says whether a check refused it. */
struct sweep_log_run {
	double delay_us;
	enum sweep_direction direction;
	int64_t run;
	int64_t attempt; /* from 1 */
	bool disturbed;
	char reasons[SWEEP_LOG_REASONS_BYTES]; /* separated by "; "; "" = no check refused it */
};

struct sweep_log_attempt {
	struct sweep_log_run run;
	char started_at[SWEEP_STAMP_BYTES];
	double elapsed_s;
	size_t metric_count; /* 0 = nothing was measured; the reader leaves the metrics out */
	const char *metric_names[SWEEP_METRICS_MAXIMUM];
	double metric_values[SWEEP_METRICS_MAXIMUM];
	enum sweep_log_rtt rtt_by;
	double rtt_us, rtt_expected_us;                /* measured, and expected; NAN = not checked */
	char rtt_unchecked[SWEEP_LOG_UNCHECKED_BYTES]; /* why the plan has no check; "" = it has one */
	bool has_injector; /* false: `injector` is not known, because the client was stopped before the injector's state
			      was read again */
	struct injector_interval injector;
	/*
	 * steal_percent: share of the processors' time that the hypervisor took during the attempt. busy_percent: share
	 * that other programs used in the pause before it. load: 1-minute load average at its start.
	 */
	double steal_percent, busy_percent, load;
	double processors, processors_used; /* number that the sweep may use; mean number in use. NAN = not known */
};

/* How well the runs at one delay agree. */
struct sweep_log_level {
	double delay_us;
	enum sweep_direction direction;
	const char *metric; /* the first metric; the reader leaves it NULL */
	int64_t runs;
	double mean, deviation, standard_error_percent; /* standard_error_percent: INFINITY = not known */
	bool repeatable;
};

struct sweep_log_plan {
	char fingerprint[32];
	const char *application;     /* valid until the reader's next event; "" = not given */
	const char *client, *server; /* for people; the reader leaves them NULL */
	int64_t seed;
	json_t *parts; /* object: the settings that must be the same for all rows of a file */
	const char
		*file; /* the whole plan, as a plan's file with all settings; "" = not known; valid as `application` */
};

/* Programs and machine of the sweep; "" and 0 = not known. */
struct sweep_log_machine {
	char version[SWEEP_LOG_MACHINE_BYTES]; /* of nomora */
	char kernel[SWEEP_LOG_MACHINE_BYTES];  /* as uname -srvm */
	char cpu[SWEEP_LOG_MACHINE_BYTES];
	char started_at[SWEEP_STAMP_BYTES];
	int64_t processors;                                         /* number that the sweep may use */
	struct injector_state_port port[INJECTOR_STATE_DIRECTIONS]; /* of the injector: name, driver and speed */
};

/* Return new objects, or NULL if out of memory. */
json_t *sweep_log_plan_to_json(const struct sweep_log_plan *plan); /* does not take ownership of `parts` */
json_t *sweep_log_machine_to_json(const struct sweep_log_machine *machine);
json_t *sweep_log_attempt_to_json(const struct sweep_log_attempt *attempt);
json_t *sweep_log_accepted_to_json(const struct sweep_log_run *run);
json_t *sweep_log_level_to_json(const struct sweep_log_level *level);

struct sweep_log_event {
	enum sweep_log_kind kind;
	struct sweep_log_plan plan;
	struct sweep_log_machine machine;
	struct sweep_log_attempt attempt;
	struct sweep_log_run accepted;
	struct sweep_log_level level;
};

struct sweep_log_reader;

/* Takes the lines; NULL: they could not be opened, as err says. NULL with err set on failure. */
struct sweep_log_reader *sweep_log_open(struct file_lines *lines, struct error *err);
/*
 * Reads the next event. Returns 1, 0 at the end, or -errno with err set (file, line, field, what was expected).
 * plan.parts is borrowed, and valid until the next call.
 */
int sweep_log_next(struct sweep_log_reader *reader, struct sweep_log_event *event, struct error *err);
void sweep_log_close(struct sweep_log_reader *reader); /* NULL is legal */

#endif
