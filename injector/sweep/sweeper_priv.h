/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of a sweep and its parts. Files call only files to the right of them: sweeper.c (the whole) -> run.c (one
 * run and its gates), levels.c (agreement of the runs) -> baseline.c, injector_client.c (delays), journal.c (FILE.log)
 * -> commands.c (the plan's commands) -> host.c -> scratch.c. This header has them from right to left.
 */
#ifndef SWEEP_SWEEPER_PRIV_H
#define SWEEP_SWEEPER_PRIV_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <base/error.h>
#include <base/ns.h>
#include <base/process.h>
#include <injector/sweep/plan.h>
#include <injector/sweep/sweeper.h>
#include <model/injector_state.h>
#include <model/sweep_log.h>

/* ---- injector_client.c: requests to the running injector, and the lock that keeps other sweeps from it ---- */

/* Delays of both directions, µs. */
struct delay_pair {
	double ab_us, ba_us;
};

/*
 * Reads the state of the plan's injector; if the plan has a rule, delay_us and delays are those of the rule. Returns 0,
 * or -errno with err set; -EBUSY if one of the injector's modes sets the delay.
 */
int injector_client_read(const struct sweep_plan *plan, struct injector_state_totals *state, struct error *err);
bool injector_client_has_delay(const struct injector_state_totals *state, struct delay_pair delay);

/* Parses the answer to "stats". Pure. */
int injector_client_parse(const struct sweep_plan *plan, const json_t *answer, struct injector_state_totals *state,
			  struct error *err);

/*
 * Locks this injector against other sweeps, in all network namespaces. Returns 0 and in *lock a descriptor for
 * injector_client_unlock() and the delay notes, or -errno with err set; with -EBUSY, err names the process that holds
 * the lock.
 */
int injector_client_lock(const char *control, int *lock, struct error *err);
void injector_client_unlock(const char *control, int lock);

/*
 * A note of an injector's delays in the injector's lock file, for the case that the sweep is killed:
 * - found: the delays at the start of the sweep
 * - set: the delays that the sweep set last
 * - before: the delays that the injector had before the sweep set those
 * The note is written before the delays are set. If the sweep is killed in between, the injector still has the delays
 * in `before`.
 */

struct delay_note {
	struct delay_pair found, set, before;
};

/* Writes the note about the plan's injector. `lock` is the descriptor from injector_client_lock(). */
void delay_note_write(int lock, const struct sweep_plan *plan, const struct delay_note *note);
/*
 * Reads the note. Returns false if there is no valid note, or it was written for an earlier injector with this control
 * socket, or by a sweep of another rule.
 */
bool delay_note_read(int lock, const struct sweep_plan *plan, struct delay_note *note);

/* ---- host.c: where commands run: this machine, a network namespace, or another machine by ssh ---- */

enum host_kind { HOST_LOCAL, HOST_NETNS, HOST_SSH };

struct ssh;

struct host {
	enum host_kind kind;
	const char *target; /* namespace or ssh target; borrowed */
	struct ssh *ssh;    /* connection to an ssh host; NULL before host_connect() */
};

/* Parses "local", "netns:NAME" or "ssh:TARGET". Returns 0, or -EINVAL with err set. */
int host_parse(const char *text, struct host *host, struct error *err);

/*
 * Connects to an ssh host; then its commands need no handshake. Does nothing for other hosts. `config` is the file for
 * ssh -F, or NULL. `scratch` is the sweep's folder: it holds the connection's socket, and must exist for as long as the
 * connection. `stop` may be NULL.
 */
int host_connect(struct host *host, const char *config, const char *scratch, const volatile sig_atomic_t *stop,
		 struct error *err);
void host_disconnect(struct host *host);

struct host_command {
	const char *phase;              /* for messages: "client" */
	const char *line;               /* for /bin/sh */
	const char *const *environment; /* NULL-terminated "NAME=value" */
	const char *output_path;        /* file for the command's output; NULL = captured in the result */
	bool ends_group;                /* when the command ends, kill the other processes of its process group */
	struct ns timeout;
	const volatile sig_atomic_t *stop; /* may be NULL */
};

/* Starts a command on a host. Returns its local process, or NULL with err set. */
struct process *host_start(const struct host *host, const struct host_command *command, struct error *err);

/*
 * Runs a command to its end. Returns 0 if the command ended by itself, with any exit code; or with err set, -ETIMEDOUT
 * if it took too long (the command and its children were stopped), -EINTR if *stop was set, or another -errno. After 0
 * and -ETIMEDOUT, the caller frees the result.
 */
int host_run(const struct host *host, const struct host_command *command, struct process_result *result,
	     struct error *err);

/* Like host_run(), but an exit code other than 0 is an error; its text quotes the last line of the output. */
int host_must_run(const struct host *host, const struct host_command *command, struct error *err);

/* Sleeps in slices; returns early when *stop is set. */
void host_sleep(struct ns time, const volatile sig_atomic_t *stop);

/* Returns true while the connection is believed to be up; false for NULL. */
bool ssh_is_open(struct ssh *ssh);

/* Parts of a command's output, to quote in messages. Pure. */

/*
 * Returns the last line that is not blank, or "no output" if there is none or `output` is NULL. Removes the blanks
 * after this line from `output`.
 */
const char *output_last_line(char *output);

/* Returns the beginning of the last `lines` lines, not counting blank lines at the end. NULL counts as empty. */
const char *output_tail(const char *output, size_t lines);

/* ---- machine.c: the load of this machine during a run, and who makes it ---- */

struct machine_state {
	double total_ticks, steal_ticks;  /* time of all processors since boot; the stolen part of it */
	double our_ticks, our_free_ticks; /* time of our processors (those that this process may use) since boot; the
					     idle or niced part of it */
	int our_processors;               /* number of those processors */
	double load;                      /* 1-minute average */
};

/* Fills *state; values that cannot be read from /proc are 0. */
void machine_state_read(struct machine_state *state);

/* Returns the share of the processors' time that the hypervisor took between two states, percent. */
double machine_steal_percent(const struct machine_state *before, const struct machine_state *after);

/* Describes this machine, and the ports of the injector with this control socket; what is not known is "" or 0. */
void machine_describe(const char *control, struct sweep_log_machine *machine);

struct awake;

/*
 * Keeps every processor that this process may use awake, until awake_stop() is called or this process ends. Returns
 * NULL with err set on failure.
 */
struct awake *awake_start(struct error *err);
void awake_stop(struct awake *awake); /* NULL is legal */

/* Returns the process that listens on a unix socket, or 0 if it is not known. */
int machine_find_listener(const struct sockaddr_un *address, socklen_t bytes);

/*
 * Watches the processor of the injector with this control socket for half a second. If another process takes 5 % of it
 * or more, returns true and a text such as "nomora-injector 2653 of lab usrx uses 49 % of CPU 1, which the injector
 * polls on".
 */
bool poller_find_rival(const char *control, char *text, size_t bytes);

/* ---- scratch.c: the sweep's temporary folder, which the plan's commands may use, and left processes ---- */

/*
 * Removes the folders of killed sweeps. Then makes a folder with a private folder "ssh" in it. Any user may create
 * files in the folder, but not remove those of others. Returns 0 and the path; or -errno with err set, and "" as the
 * path.
 */
int scratch_make(char *path, size_t bytes, struct error *err);
void scratch_remove(const char *path);

/*
 * Finds and kills the processes that a sweep's commands left behind (orphans). A mark is a variable in the environment
 * of a command, which its children inherit; it shows which sweep and which kind of command a process belongs to.
 */

/*
 * Kinds of processes, by the command that started them: the server; client or warm-up; guards of ssh connections
 * (host.c); any command of the sweep.
 */
enum orphans_of { ORPHANS_OF_SERVER, ORPHANS_OF_CLIENT, ORPHANS_OF_GUARD, ORPHANS_OF_SWEEP };

enum { ORPHANS_MARK_BYTES = 320, ORPHANS_LINE_BYTES = ORPHANS_MARK_BYTES + 256 };

/* Writes the mark, "NAME=value", of the processes of this kind in the sweep with this scratch folder. */
void orphans_mark(enum orphans_of of, const char *scratch, char *mark, size_t bytes);
/* Writes the path of the file to which the server prints its output. */
void orphans_name_log(const char *scratch, char *path, size_t bytes);
/* Kills the processes of this kind on this machine and waits for their end. */
void orphans_end(enum orphans_of of, const char *scratch);
/*
 * Writes a shell line that kills the processes of this kind on the machine where it runs. The shell must not have the
 * mark in its own environment, or it kills itself.
 */
void orphans_print_line(enum orphans_of of, const char *scratch, char *line, size_t bytes);

/* ---- the state of a sweep ---- */

enum { ENVIRONMENT_MAXIMUM = 10 };

struct journal;

struct sweeper {
	const struct sweep_plan *plan;
	const struct sweeper_hooks *hooks;
	struct sweeper_summary *summary;
	struct host server_host, client_host;
	size_t metric_count;
	struct sweep_metric_def metrics[SWEEP_METRICS_MAXIMUM];
	size_t delay_count;
	double delays_us[SWEEP_SCHEDULE_DELAYS_MAXIMUM];
	size_t run_count;                /* number of runs still to be made */
	struct sweep_schedule_run *runs; /* with capacity for all runs of the plan */
	struct sweep_writer *writer;
	struct journal *journal;
	struct process *server;
	int lock; /* descriptor of the lock on the injector */
	struct delay_note note;
	double baseline_rtt_us; /* NAN = not known */
	double rtt_without_us;  /* least of the baseline and of later round trips without delay; NAN = not known */
	bool set_up; /* prepare() was called: at the end, teardown must run and the delays must be restored */
	bool begun;  /* a run was started: the files are not removed, even if the sweep fails */
	char scratch[64];
	char *environment[ENVIRONMENT_MAXIMUM + 1]; /* "NAME=value", owned; NULL-terminated */
};

/* ---- injector_client.c: the delays of the path through the injector ---- */

/* Returns the delays of both directions for a run at `delay_us`, by the plan's direction. Pure. */
struct delay_pair path_split_delay(const struct sweep_plan *plan, double delay_us);

/* Sets the injector's delays, and notes them in the lock file. Returns 0, or -errno with err set. */
int path_set_delay(struct sweeper *sweeper, struct delay_pair delay, struct error *err);

/*
 * Remembers the injector's delays, so that path_restore() can set them again. If the injector has delays that a killed
 * sweep set, first restores the delays that the killed sweep had found, and remembers those. Returns 0, or -errno with
 * err set.
 */
int path_find_delays(struct sweeper *sweeper, struct error *err);
void path_restore(struct sweeper *sweeper);

/*
 * ---- levels.c: computes how well the runs at each delay agree, from the rows on the disk, which include those of
 * earlier sessions. A level is the set of all runs at one delay; it is repeatable if the standard error of the mean is
 * within the plan's precision.
 */

/* Statistics of the first metric's values at one delay, over all rows of the file. */
struct sweep_level {
	double delay_us;
	int64_t runs, next_run; /* number of runs; the next free run number */
	int64_t next_reference; /* the next free run number for a reference between extra runs */
	double mean, deviation; /* deviation: standard deviation of the values */
};

/* Returns true if the plan's OUTPUT file has rows after its header. */
bool levels_has_rows(const struct sweeper *sweeper);

/* Returns the standard error of the mean, in percent of the mean; INFINITY if it is not known. Pure. */
double level_error_percent(const struct sweep_level *level);
bool level_is_repeatable(const struct sweep_plan *plan, const struct sweep_level *level);
/*
 * Schedules one more run for each delay that is not precise enough, unless it already has twice the plan's repetitions,
 * and references between these runs. Returns the number of runs scheduled, or -errno with err set.
 */
int levels_schedule_extra(struct sweeper *sweeper, struct error *err);
/* Writes each level to the journal, and reports those that are not repeatable. Returns 0, or -errno with err set. */
int levels_conclude(struct sweeper *sweeper, struct error *err);

/*
 * ---- baseline.c: measures the round trip of the application's path without added delay. It uses our own STAMP prober
 * (nomora reflect, nomora probe), so that the result is comparable with a mesh, which the same prober measures.
 */

/*
 * Sets sweeper->baseline_rtt_us to the median round trip between the client's and the server's address while the
 * injector adds no delay. Sets NAN if the plan lacks an address or has no-baseline; also if the measurement fails, and
 * then reports the reason. Returns 0, or -EINTR with err set if stopped.
 */
int baseline_measure(struct sweeper *sweeper, struct error *err);

/*
 * Measures the median round trip of `count` STAMP probes from the client's to the server's address, µs: runs a
 * reflector on the server's host and the prober on the client's host. Returns 0, or -errno with err set.
 */
int probe_median(struct sweeper *sweeper, int64_t count, double *median_us, struct error *err);

/*
 * Finds the interface in the output of "ip -o route get". Returns false if there is none, or it is the loopback. Pure.
 */
bool baseline_parse_route(const char *output, char *interface, size_t bytes);

/* Returns why the round trips of this plan's runs are not checked, or NULL if they are. Pure. */
const char *rtt_unchecked_reason(const struct sweep_plan *plan);

/* With ping, where our prober cannot measure. */

/* Measures the median of `count` pings, µs. Returns 0, or -errno with err set. */
int ping_median(const struct host *host, const char *address, int64_t count, const volatile sig_atomic_t *stop,
		double *median_us, struct error *err);

/*
 * Computes the median of the "time=1.23 ms" in ping's output, µs. Returns 0, -ENOENT if there are none, or -ENOMEM.
 * Pure.
 */
int ping_parse(const char *output, double *median_us);

/*
 * ---- commands.c: runs the plan's commands: sets the variables of their environment, marks them (orphans_mark()), and
 * handles their output and failures.
 */

/* Prints a line for people. */
void sweeper_say(const struct sweeper *sweeper, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns true once the sweep was asked to stop. */
bool sweeper_is_stopped(const struct sweeper *sweeper);

/* Creates the scratch folder and sets the variables that the plan's commands see. Returns 0, or -errno with err set. */
int commands_prepare(struct sweeper *sweeper, struct error *err);
void commands_free(struct sweeper *sweeper);
/* Sets or replaces a variable of the plan's commands. Returns 0, or -errno with err set. */
int commands_set_variable(struct sweeper *sweeper, const char *name, const char *value, struct error *err);

/* Returns a command of the plan with the variables that the plan's commands see. `line` is its shell line. */
struct host_command commands_make(const struct sweeper *sweeper, const char *phase, const char *line, double timeout_s);

/*
 * Storage for the environment of a command, including its mark. It must exist until the command has
 * started.
 */
struct commands_marked {
	char mark[ORPHANS_MARK_BYTES];
	const char *items[ENVIRONMENT_MAXIMUM + 2];
};

/* Adds a mark of the kind `of` to the environment of `command`; `environment` is the storage for it. */
void commands_mark(const struct sweeper *sweeper, enum orphans_of of, struct commands_marked *environment,
		   struct host_command *command);

/*
 * The run and attempt that a command belongs to; the file with the command's output is named after them. run: NULL if
 * the command belongs to no run (setup, teardown).
 */
struct commands_occasion {
	const struct sweep_schedule_run *run;
	int attempt; /* from 1 */
};

/*
 * Like host_must_run(), for a command of the plan. If the command fails, keeps its output (commands_keep_output()).
 * Returns -ENOEXEC if the command cannot be started (exit code 126 or 127), because another attempt would fail too.
 */
int commands_must_run(struct sweeper *sweeper, const struct host *host, const struct host_command *command,
		      struct commands_occasion occasion, struct error *err);

/*
 * Call it if a command has ended with an exit code other than 0: keeps the command's output, sets err and returns the
 * error.
 */
int commands_fail(struct sweeper *sweeper, const struct host_command *command, struct commands_occasion occasion,
		  int exit_code, char *output, struct error *err);

/*
 * Writes the output of a command to a file in OUTPUT.out/ and, if the command failed, prints its last lines. A failure
 * to write the file is reported, but is no error.
 */
void commands_keep_output(struct sweeper *sweeper, const char *phase, struct commands_occasion occasion, bool failed,
			  const char *output);

/*
 * Kills the processes that a client or warm-up left behind on its host, including those that left its process group.
 * `stopped`: the client or warm-up was stopped before its end; over ssh, its processes then get one second to end
 * first.
 */
void commands_end_strays(const struct sweeper *sweeper, bool stopped);
/* Kills all processes that the sweep's commands left behind. */
void commands_end_all(struct sweeper *sweeper);

/* The plan's server process. */

/*
 * Starts the server and waits until server-ready succeeds. Returns 0, or -errno with err set; the server is then
 * stopped.
 */
int server_start(struct sweeper *sweeper, struct error *err);
/* Asks the server to end, kills it after a grace period, and waits for its end, also on an ssh host. */
void server_stop(struct sweeper *sweeper);

/* ---- run.c: one attempt at a run, and the gates (plan.h) that accept or refuse it ---- */

struct sweep_attempt {
	struct sweep_schedule_run run;
	int number; /* from 1 */
	char started_at[SWEEP_STAMP_BYTES];
	double elapsed_s;
	double values[SWEEP_METRICS_MAXIMUM];
	bool measured;             /* `values` is valid: the client printed all metrics */
	enum sweep_log_rtt rtt_by; /* SWEEP_LOG_RTT_UNCHECKED: the round trips are not valid */
	double rtt_us, rtt_expected_us, rtt_without_us;
	bool has_after; /* `after` is valid: the injector was read after the client */
	struct injector_state_totals before, after;
	double busy_percent; /* percent of our processors' time that other programs used in the pause before the run */
	struct machine_state machine_before, machine_after;
	char reasons[SWEEP_LOG_REASONS_BYTES]; /* why gates refused the attempt, separated by "; "; "" if none did */
};

/* Returns the injector's statistics during the attempt. Pure. */
static inline struct injector_interval attempt_injector(const struct sweep_attempt *attempt)
{
	return injector_interval_between(&attempt->before, &attempt->after, attempt->elapsed_s);
}

/* Applies the gates: fills attempt->reasons. Pure. */
void attempt_judge(const struct sweep_plan *plan, struct sweep_attempt *attempt);

/*
 * Checks that the injector kept the run's delay during the whole attempt and was not restarted. Returns 0, or -ESTALE
 * with err set: the delay was then wrong or is not known, so the attempt must not be accepted in any case. Pure.
 */
int attempt_check_delay(const struct sweep_plan *plan, const struct sweep_attempt *attempt, struct error *err);

/*
 * Compares two refused attempts. Returns true if `attempt` was measured, and `best` either was not measured or was
 * stalled for a larger share of its time. Pure.
 */
bool attempt_is_better(const struct sweep_attempt *attempt, const struct sweep_attempt *best);

/*
 * Makes attempts at a run until the gates accept one, or the plan allows no more. Returns 0 if the run's rows are on
 * the disk or the run was left out (on-failure); -EINTR if stopped, or another -errno, with err set.
 */
int run_make(struct sweeper *sweeper, const struct sweep_schedule_run *run, struct error *err);

/* ---- journal.c: OUTPUT.log has the plan that made the rows of OUTPUT, and the results of each attempt ---- */

/*
 * Opens OUTPUT.log and appends the plan. Returns 0, or -errno with err set. If OUTPUT has rows and the plan does not
 * say force: -EEXIST if the log's last plan has another fingerprint, -ENOENT if the log has no plan.
 */
int journal_open(const struct sweep_plan *plan, bool has_rows, struct journal **journal, struct error *err);
/* Returns true if the log's last plan, before journal_open() appended ours, has the fingerprint of our plan. */
bool journal_is_of_our_plan(const struct journal *journal);
/* Append an event. If the log cannot be written, the sweep goes on and journal_close() reports it once. */
void journal_attempt(const struct sweeper *sweeper, const struct sweep_attempt *attempt);
/* Writes what made the sweep: programs, machine, and the ports of the injector with this control socket. */
void journal_machine(struct journal *journal, const char *control);
void journal_accept(const struct sweeper *sweeper, const struct sweep_attempt *attempt);
void journal_level(const struct sweeper *sweeper, const struct sweep_log_level *level);
void journal_close(struct journal *journal); /* NULL is legal */
/* Closes the log, and removes it if journal_open() created it. NULL is legal. */
void journal_discard(struct journal *journal);

/* Returns the attempt in the form of the log. Pure. */
struct sweep_log_attempt journal_attempt_entry(const struct sweeper *sweeper, const struct sweep_attempt *attempt);

/* ---- metric.c: the size of a metric's regular expression ---- */

enum { PATTERN_BYTES_MAXIMUM = 1000, PATTERN_PARTS_MAXIMUM = 500 };

/*
 * Estimates the number of parts into which regcomp() expands an extended regular expression; the time to compile it
 * grows with the third power of this number. Returns PATTERN_PARTS_MAXIMUM + 1 if the expression has more than
 * PATTERN_PARTS_MAXIMUM parts or is longer than PATTERN_BYTES_MAXIMUM. Pure.
 */
size_t pattern_parts(const char *pattern);

#endif
