/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the sweep share: where commands run, what the injector and this machine did meanwhile. */
#ifndef SWEEP_SWEEP_PRIV_H
#define SWEEP_SWEEP_PRIV_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include <base/error.h>
#include <base/ns.h>
#include <base/process.h>
#include <model/sweep.h>

/* --- where a command runs ----------------------------------------------------------------------------------- */

enum host_kind { HOST_LOCAL, HOST_NETNS, HOST_SSH };

struct ssh;

struct host {
	enum host_kind kind;
	const char *target; /* namespace or ssh target; borrowed */
	struct ssh *ssh;    /* the connection of an ssh host; NULL before host_connect() */
};

int host_parse(const char *text, struct host *host, struct error *err);

/*
 * Connects to an ssh host, so that its commands need no handshake each; nothing for others. `config` is the file given
 * to ssh -F, or NULL; `scratch` is the sweep's folder, must live as long as the connection and holds its socket. `stop`
 * may be NULL.
 */
int host_connect(struct host *host, const char *config, const char *scratch, const volatile sig_atomic_t *stop,
		 struct error *err);
void host_disconnect(struct host *host);

struct command {
	const char *phase;              /* for messages: "client" */
	const char *line;               /* for /bin/sh */
	const char *const *environment; /* NULL-terminated "NAME=value" */
	const char *output_path;        /* NULL = captured */
	bool ends_group; /* what it has left running when it ends is killed, as far as it is in its group */
	struct ns timeout;
	const volatile sig_atomic_t *stop; /* may be NULL */
};

struct process *host_start(const struct host *host, const struct command *command, struct error *err);

/*
 * Runs a command to its end. 0 = it ended by itself, whatever its exit code; -ETIMEDOUT (it was stopped, with all its
 * children), -EINTR (we were told to stop) or -errno with err set. The result is to be freed when 0 or -ETIMEDOUT.
 */
int host_run(const struct host *host, const struct command *command, struct process_result *result, struct error *err);

/* host_run(), where anything but exit code 0 is an error that quotes the last line of its output. */
int host_must_run(const struct host *host, const struct command *command, struct error *err);

/* --- ssh hosts, for host.c ---------------------------------------------------------------------------------- */

struct ssh *ssh_open(const char *target, const char *config, const char *scratch, const volatile sig_atomic_t *stop,
		     struct error *err);
void ssh_close(struct ssh *ssh); /* NULL is legal */
/* Starts a command over the connection, which is made anew if it has ended. `stop` is the command's. */
struct process *ssh_start(struct ssh *ssh, const struct command *command, struct error *err);
/* Is the connection there, so far as is known? NULL is none. */
bool ssh_is_open(struct ssh *ssh);
/* After exit code 255: was it the command's own? Then the line that says so is taken off its output. */
bool ssh_is_own_code(char *output);
/* After ssh's own exit code: why the connection ended, or what ssh said last if it did not end. */
int ssh_explain(struct ssh *ssh, const char *phase, char *output, struct error *err);

/* The last line with something on it, in place; "it printed nothing" if there is none. */
const char *last_line(char *output);

/* Sleeps in slices; returns early when *stop is set. */
void sleep_unless(struct ns time, const volatile sig_atomic_t *stop);

/* --- the round trip ----------------------------------------------------------------------------------------- */

/* Median of `count` pings, µs. */
int rtt_ping(const struct host *host, const char *address, int64_t count, const volatile sig_atomic_t *stop,
	     double *median_us, struct error *err);

/* Median of the "time=1.23 ms" in ping's output, in µs; -ENOENT if there are none. Pure. */
int rtt_parse_ping(const char *output, double *median_us);

/* --- a metric's pattern ------------------------------------------------------------------------------------- */

enum { PATTERN_BYTES_MAXIMUM = 1000, PATTERN_PARTS_MAXIMUM = 500 };

/*
 * Into how many parts, about, an extended regular expression is compiled; PATTERN_PARTS_MAXIMUM + 1 for any that is
 * longer than PATTERN_BYTES_MAXIMUM or has more parts: its time grows by their third power. Pure.
 */
size_t pattern_parts(const char *pattern);

/* --- the injector ------------------------------------------------------------------------------------------- */

struct injector_state {
	double uptime_s; /* since it was started, or its counters were reset */
	double delay_ab_us, delay_ba_us;
	double delay_changes; /* how often it was set; 0 of an injector that does not tell */
	double packets;       /* sent, both ways */
	double dropped;       /* ring full, no buffer; missed, refused or not sent by a port */
	double disturbed;     /* packets whose stay met a stall */
	double stalls;
	double lcores;            /* busy threads; 1 of an injector that does not tell */
	double stall_us;          /* of all of them */
	double transmit_stall_us; /* of these, in its own calls that send: what waking a receiver costs it */
};

struct delay_pair {
	double ab_us, ba_us;
};

bool injector_has_delay(const struct injector_state *state, struct delay_pair delay);

/* From the answer to "stats"; `control` is named in messages. 0 or -errno with err set. Pure. */
int injector_state_parse(const char *control, const json_t *answer, struct injector_state *state, struct error *err);
int injector_read(const char *control, struct injector_state *state, struct error *err);
/*
 * Keeps other sweeps from this injector, whatever network namespace they run in. 0 and a descriptor for
 * injector_unlock() and the delay notes, or -errno with err set: EBUSY names the process that has it.
 */
int injector_lock(const char *control, int *lock, struct error *err);
void injector_unlock(const char *control, int lock);
/*
 * What a sweep notes in the lock's file: the delays that it found, the ones it set last, and those before, which the
 * injector still has if the sweep is killed on its way to it.
 */
struct delay_note {
	struct delay_pair found, set, before;
};

void delay_note_write(int lock, const char *control, const struct delay_note *note);
/* False: there is none, it is garbage, or of an injector that was there before this one. */
bool delay_note_read(int lock, const char *control, struct delay_note *note);
int injector_set(const char *control, double delay_ab_us, double delay_ba_us, struct error *err);

/* --- this machine ------------------------------------------------------------------------------------------- */

struct host_state {
	double total_ticks, steal_ticks;  /* of all processors, since boot */
	double our_ticks, our_free_ticks; /* of those that this process may use; free: idle, or for niced work */
	int our_processors;               /* those */
	double load;                      /* 1-minute average */
};

void host_state_read(struct host_state *state); /* zeros where /proc does not tell */

/*
 * A new folder that anybody may write to (nobody may remove another's files), and in it "ssh", which is ours alone. Its
 * path, or "" when that failed.
 */
int scratch_make(char *path, size_t bytes, struct error *err);
void scratch_remove(const char *path);

/* Whose children: the server's, those of client and warm-up, ssh's guards (ssh.c), of any of a sweep's commands. */
enum orphans_of { ORPHANS_OF_SERVER, ORPHANS_OF_CLIENT, ORPHANS_OF_GUARD, ORPHANS_OF_SWEEP };

enum { ORPHANS_MARK_BYTES = 320, ORPHANS_LINE_BYTES = ORPHANS_MARK_BYTES + 256 };

/*
 * What these have in their environment, "NAME=value", and nobody else has, of a sweep with this folder; the file that a
 * server's print to.
 */
void orphans_mark(enum orphans_of of, const char *scratch, char *mark, size_t bytes);
void orphans_name_log(const char *scratch, char *path, size_t bytes);
/* Ends what is left of them on this machine once the command itself runs no more; waits for that. */
void orphans_end(enum orphans_of of, const char *scratch);
/* A line for another machine's /bin/sh that does so there; it must not have the mark in its own environment. */
void orphans_print_line(enum orphans_of of, const char *scratch, char *line, size_t bytes);

/* Keeps every processor that this process may use from idling, until stopped or until this process ends. */
struct awake;
struct awake *awake_start(struct error *err);
void awake_stop(struct awake *awake); /* NULL is legal */

#endif
