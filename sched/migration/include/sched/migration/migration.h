/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rules by which a running task may move, the same for the live scheduler and the simulator. A round proposes a
 * move; migration_judge() allows it, or gives the reason against it. A task moves only if all of these hold:
 *
 * - Moves are on, its job allows them, and the windows are open.
 * - The predicted gain of performance has been at least `gain` for hold_s, also that on the machine that was proposed
 *   first. The best of many noisy round trips looks like a gain in each round; later rounds must confirm it.
 * - The gain times the expected remaining run time is at least restart_s. Run times are heavy-tailed, so a task is
 *   expected to run for as long again as it has run.
 * - The gain rests on measured round trips.
 * - Within the last no_return_s, the task has neither left the new machine nor failed to start there.
 * - Fewer tasks are moving than the limits allow: `rate` in all, per_machine from or to one machine, per_job of one
 * job.
 *
 * A task on a machine that is unreachable from its root needs neither the gain nor the run time; the unreachable state
 * must have lasted for hold_s. A task on a draining machine needs only the last rule.
 *
 * Times are seconds on the caller's clock. Pure functions.
 */
#ifndef SCHED_MIGRATION_MIGRATION_H
#define SCHED_MIGRATION_MIGRATION_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <base/error.h>
#include <base/options.h>
#include <sched/cost/latency_view.h>

/* MIGRATION_ADVISE: the moves that the rules allow are only reported; but tasks on draining machines do move. */
enum migration_mode { MIGRATION_OFF, MIGRATION_ADVISE, MIGRATION_ON };
extern const char *const migration_mode_names[]; /* "off", "advise", "on", NULL */

/* For ROWS_MIGRATION, the integers are int64_t. */
struct migration_settings {
	int mode;    /* enum migration_mode */
	double gain; /* minimum gain of predicted performance, 0..1 */
	double hold_s;
	int64_t rate;                 /* maximum number of moving tasks at a time, drains included; > 0 */
	int64_t per_machine, per_job; /* maximum numbers of moving tasks; 0: no limit */
	double restart_s;             /* seconds of work that a move loses, for jobs without their own value */
	double no_return_s;
};
/* The defaults of the options. */
#define MIGRATION_DEFAULTS                                                                                             \
	{                                                                                                              \
		.gain = 0.1, .hold_s = 5, .rate = 4, .no_return_s = 600                                                \
	}

/* Reasons for refusing a proposed move. */
enum migration_refusal {
	MIGRATION_ALLOWED,             /* not refused */
	MIGRATION_REFUSED_FORBIDDEN,   /* moves are off, or the job does not allow them */
	MIGRATION_REFUSED_CLOSED,      /* outside the windows */
	MIGRATION_REFUSED_GAIN,        /* the gain is below the minimum */
	MIGRATION_REFUSED_HOLD,        /* the gain has not yet lasted for hold_s */
	MIGRATION_REFUSED_RESTART,     /* the gain times the time that the task has run is below restart_s */
	MIGRATION_REFUSED_RETURN,      /* the task left that machine, or failed to start there, less than no_return_s
					  ago */
	MIGRATION_REFUSED_RATE,        /* too many tasks are moving, or this one has moved only now */
	MIGRATION_REFUSED_MACHINE,     /* too many tasks are moving from or to that machine */
	MIGRATION_REFUSED_JOB,         /* too many tasks of that job are moving */
	MIGRATION_REFUSED_UNREACHABLE, /* unreachable from the root, or unmeasured while only measured machines count */
	MIGRATION_REFUSED_UNMEASURED,  /* the round trip from the root to the current or the new machine is only the
					  topology's default; or the one to the current machine was measured, but no
					  longer is */
	MIGRATION_REFUSED_EVICTION,    /* the network proposed to stop the task in favour of another one; running tasks
					  are never evicted */
	MIGRATION_REFUSALS,
};
const char *migration_refusal_name(enum migration_refusal refusal); /* "none", "gain", "hold", ... */

/* A task's last proposal. Begin with MIGRATION_NOT_PROPOSED. */
struct migration_task {
	uint64_t round;  /* round of the proposal; 0: none */
	int32_t to;      /* machine; -1: the network proposed to stop the task */
	int32_t held_to; /* machine that was proposed at gain_since_s; meaningless if that is -1 */
	/* predicted gain, and the time since when it has been at least the minimum (-1: never) */
	double gain, gain_since_s;
	enum migration_refusal refusal;
	bool was_measured; /* the round trip from the root to the task's machine was measured when the task was placed
			      there, or at a later proposal of a move */
};
#define MIGRATION_NOT_PROPOSED                                                                                         \
	{                                                                                                              \
		.to = -1, .gain_since_s = -1                                                                           \
	}

/* What the rules must know of a proposed move. */
struct migration_proposal {
	uint64_t round; /* number of the round, from 1 */
	double now_s;
	int32_t to;
	/* predicted gains on `to` and, if the task's gain_since_s is not -1, on its held_to (-INFINITY: it is down) */
	double gain, held_gain;
	bool has_gain; /* false: the task is a root, or no root's machine is known, so no gain can be predicted */
	enum latency_origin here, there; /* of the round trips from the root to the present and the new machine */
	bool is_cut_off;                 /* the present machine is unreachable from the root */
	bool is_fit;                     /* the new machine is reachable and, if required, measured */
	bool is_allowed;                 /* the job allows moves */
	bool is_closed;                  /* outside the windows */
	bool drains;                     /* the present machine is draining */
	bool is_moving;                  /* the task is still moving, or a move of it ended at now_s */
	double started_s;                /* the task's first start since it last waited */
	int32_t came_from;               /* machine to which the task may not soon return, and since when */
	double moved_s;
	double minimum_gain, hold_s, restart_s; /* the job's own values or those of the settings */
	uint32_t job_limit;                     /* maximum number of moving tasks of the job; 0: no limit */
	uint32_t moving, moving_here, moving_there, moving_of_job; /* numbers of moving tasks */
};

/*
 * Decides on the proposal and stores it in *task. If the move is only too early, sets *again_s to the earliest time at
 * which it may be made, always after now_s; else to INFINITY.
 */
enum migration_refusal migration_judge(const struct migration_settings *settings, struct migration_task *task,
				       const struct migration_proposal *proposal, double *again_s);
/* True for LATENCY_ORIGIN_MEASURED and LATENCY_ORIGIN_SAME_MACHINE. */
bool migration_is_measured(enum latency_origin origin);
/* Stores that the network proposed to stop the task, which is always refused. */
void migration_refuse_eviction(struct migration_task *task, uint64_t round);

/*
 * Hours of the day, in local time: a list of at most 8 daily windows, such as "22:00-06:00,12:30-13:00". A window whose
 * end is before its beginning spans midnight.
 */

enum { WINDOWS_MOST = 8 };

struct windows {
	unsigned count; /* 0: the windows cover the whole day */
	struct {
		unsigned begin_min, end_min; /* minutes since midnight; the end is exclusive */
	} items[WINDOWS_MOST];
};

/* 0 or -EINVAL with err set. */
int windows_parse(const char *text, struct windows *windows, struct error *err);
bool windows_are_open(const struct windows *windows, const struct tm *local);

/*
 * The rows of option tables for moves of running tasks. type: the settings' type, which has a struct migration_settings
 * named `moves` and a const char *windows. letter: of --migrate; 0: none.
 */

/* clang-format off: one row a line, as in a table */
#define ROWS_MIGRATION(type, letter, help)                                                                             \
	OPTION_HEADING("Moves of running tasks"),                                                                      \
		OPTION_CHOICE(type, moves.mode, "migrate", letter, "WHEN", migration_mode_names, help),                \
		OPTION_DOUBLE(type, moves.gain, "migrate-gain", 0, "SHARE", 0, 1,                                      \
			      "minimum gain of predicted performance"),                                                \
		OPTION_DOUBLE(type, moves.hold_s, "migrate-hold", 0, "S", 0, 1e7,                                      \
			      "time for which the gain must have lasted before a move"),                               \
		OPTION_INTEGER(type, moves.rate, "migrate-rate", 0, "N", 1, 100000,                                    \
			       "maximum number of tasks that are moving at a time"),                                   \
		OPTION_INTEGER(type, moves.per_machine, "migrate-per-machine", 0, "N", 0, 100000,                      \
			       "maximum number of tasks that are moving from or to one machine; 0: no limit"),         \
		OPTION_INTEGER(type, moves.per_job, "migrate-per-job", 0, "N", 0, 100000,                              \
			       "maximum number of tasks of one job that are moving; 0: no limit"),                     \
		OPTION_STRING(type, windows, "migrate-window", 0, "HH:MM-HH:MM,...",                                   \
			      "local times at which tasks may move; default: always"),                                 \
		OPTION_DOUBLE(type, moves.restart_s, "restart-cost", 0, "S", 0, 1e7,                                   \
			      "seconds of work that a move loses, for jobs without a value of their own"),             \
		OPTION_DOUBLE(type, moves.no_return_s, "no-return", 0, "S", 0, 1e7,                                    \
			      "minimum time before a task returns to its previous machine")
/* clang-format on */

#endif
