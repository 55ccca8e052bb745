/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweeper_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <client/request.h>
#include <injector/sweep/sweeper.h>

static const struct ns patience = {5 * NS_PER_S};

static const double delay_rounding_us = 1e-3;

int injector_client_parse(const struct sweep_plan *plan, const json_t *answer, struct injector_state_totals *state,
			  struct error *err)
{
	const char *control = plan->injector;
	int code = injector_state_from_json(control, answer, state, err);

	if (!code && plan->rule)
		return injector_state_take_rule(control, answer, plan->rule, state, err);
	if (code || !state->delay_set_by[0])
		return code;
	return error_set(
		err, EBUSY,
		"%s: delay_set_by: --%s sets this injector's delay, but a sweep must set it: start the injector "
		"without --%s",
		control, state->delay_set_by, state->delay_set_by);
}

bool injector_client_has_delay(const struct injector_state_totals *state, struct delay_pair delay)
{
	return fabs(state->delay_us[0] - delay.ab_us) < delay_rounding_us &&
	       fabs(state->delay_us[1] - delay.ba_us) < delay_rounding_us;
}

int injector_client_read(const struct sweep_plan *plan, struct injector_state_totals *state, struct error *err)
{
	json_t *answer = client_ask_injector(plan->injector, "stats", NULL, patience, err);
	int code;

	if (!answer)
		return error_prefix(err, "the injector at %s", plan->injector);
	code = injector_client_parse(plan, answer, state, err);
	json_decref(answer);
	return code;
}

/* Returns the body of the request; NULL if out of memory. A rule has one delay for both directions. */
static json_t *make_request(const struct sweep_plan *plan, struct delay_pair delay)
{
	char rule[INJECTOR_STATE_RULE_OF_SWEEP_BYTES + 32];

	if (!plan->rule)
		return json_pack("{s:f, s:f}", "delay_ab_us", delay.ab_us, "delay_ba_us", delay.ba_us);
	snprintf(rule, sizeof rule, "%s delay=%.10g", plan->rule, delay.ab_us);
	return json_pack("{s:s}", "rule", rule);
}

static int injector_client_set(const struct sweep_plan *plan, struct delay_pair delay, struct error *err)
{
	json_t *answer = client_ask_injector(plan->injector, "set", make_request(plan, delay), patience, err);

	if (!answer)
		return error_prefix(err, "the injector at %s, request 'set' of %g us from A to B and %g us back",
				    plan->injector, delay.ab_us, delay.ba_us);
	json_decref(answer);
	return 0;
}

/*
 * Only one sweep at a time uses an injector: two would change the delay during each other's runs. The lock is on a file
 * next to the injector's control socket (in a lab, in the lab's state folder), which all network namespaces see. The
 * kernel releases the lock when its holder ends. The file contains the holder's process number and its note of delays.
 */

enum { FILE_BYTES = 600 }; /* longer than the whole file: process number and note of delays */

static void name_file(const char *control, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s.sweep", control);
}

static pid_t read_holder(int descriptor)
{
	char text[24] = "";
	ssize_t bytes = pread(descriptor, text, sizeof text - 1, 0);

	return bytes > 0 ? (pid_t)strtol(text, NULL, 10) : 0;
}

/* Writes our process number to the first line. Keeps the second line, the note of delays that a killed sweep left. */
static int write_holder(int descriptor)
{
	char old[FILE_BYTES], text[FILE_BYTES + 24];
	ssize_t bytes = pread(descriptor, old, sizeof old - 1, 0);
	const char *line;
	int length;

	old[bytes > 0 ? bytes : 0] = '\0';
	line = strchr(old, '\n');
	length = snprintf(text, sizeof text, "%d\n%s", (int)getpid(), line ? line + 1 : "");
	return ftruncate(descriptor, 0) == 0 && pwrite(descriptor, text, (size_t)length, 0) == length ? 0 : -errno;
}

/* Returns 0 and sets *descriptor; -EWOULDBLOCK and sets *holder to the process that has the lock; or another -errno. */
static int try_lock(const char *path, int *descriptor, pid_t *holder)
{
	struct stat held, named;
	int code;

	for (;;) {
		*descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
		if (*descriptor < 0)
			return -errno;
		if (flock(*descriptor, LOCK_EX | LOCK_NB) != 0) {
			code = errno;
			*holder = read_holder(*descriptor);
			close(*descriptor);
			return -code;
		}
		/*
		 * The last holder may have removed the file that we locked. Then tries again, with the file that has
		 * the name now.
		 */
		if (fstat(*descriptor, &held) == 0 && stat(path, &named) == 0 && held.st_ino == named.st_ino &&
		    held.st_dev == named.st_dev)
			break;
		close(*descriptor);
	}
	code = write_holder(*descriptor);
	if (code)
		close(*descriptor);
	return code;
}

int injector_client_lock(const char *control, int *lock, struct error *err)
{
	char path[PATH_MAX];
	pid_t holder = 0;
	int code;

	name_file(control, path);
	code = try_lock(path, lock, &holder);
	if (code == -EWOULDBLOCK)
		return error_set(err, EBUSY,
				 "another sweep, process %d, uses the injector at %s: wait until it has ended, or stop "
				 "it by 'kill %d'",
				 (int)holder, control, (int)holder);
	return code ? error_set(err, -code, "cannot lock %s: %s", path, strerror(-code)) : 0;
}

void injector_client_unlock(const char *control, int lock)
{
	char path[PATH_MAX];

	name_file(control, path);
	unlink(path);
	close(lock);
}

int sweeper_find_other(const char *control)
{
	char path[PATH_MAX];
	pid_t holder = 0;
	int descriptor;

	name_file(control, path);
	descriptor = open(path, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0)
		return 0;
	if (flock(descriptor, LOCK_SH | LOCK_NB) != 0)
		holder = read_holder(descriptor);
	close(descriptor);
	return (int)holder;
}

/*
 * The note is the second line of the lock file. If a sweep is killed, the next sweep reads the note, and
 * restores the delays that the killed sweep had found at its start, if
 * - the injector is the same one, as the inode and time of its control socket show, and
 * - the injector still has a delay that the killed sweep set. A delay that somebody else has set since then is not
 *   changed.
 */

enum { NOTE_BYTES = 500 };

static const double delay_maximum_us = 1e9;

/* Writes a text that identifies the socket, or "" if there is none. */
static void identify(const char *control, char *text, size_t bytes)
{
	struct stat status;

	*text = '\0';
	if (stat(control, &status) == 0)
		snprintf(text, bytes, "%llu@%lld.%09ld", (unsigned long long)status.st_ino,
			 (long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

/* The rule in a note; "-" for a sweep of all packets. */
static const char *rule_of(const struct sweep_plan *plan)
{
	return plan->rule ? plan->rule : "-";
}

void delay_note_write(int lock, const struct sweep_plan *plan, const struct delay_note *note)
{
	char socket[80], text[NOTE_BYTES];
	int length;

	identify(plan->injector, socket, sizeof socket);
	length = snprintf(text, sizeof text, "%d\nfound %.17g %.17g set %.17g %.17g before %.17g %.17g at %s %s\n",
			  (int)getpid(), note->found.ab_us, note->found.ba_us, note->set.ab_us, note->set.ba_us,
			  note->before.ab_us, note->before.ba_us, socket, rule_of(plan));
	/* Errors are ignored: the note matters only if the sweep is killed. */
	if (pwrite(lock, text, (size_t)length, 0) == length && ftruncate(lock, length) != 0)
		return;
}

static bool is_delay(struct delay_pair delay)
{
	return delay.ab_us >= 0 && delay.ab_us <= delay_maximum_us && delay.ba_us >= 0 &&
	       delay.ba_us <= delay_maximum_us;
}

bool delay_note_read(int lock, const struct sweep_plan *plan, struct delay_note *note)
{
	char text[NOTE_BYTES], socket[80], noted[80], rule[INJECTOR_STATE_RULE_OF_SWEEP_BYTES];
	ssize_t bytes = pread(lock, text, sizeof text - 1, 0);
	const char *line;

	text[bytes > 0 ? bytes : 0] = '\0';
	line = strchr(text, '\n');
	identify(plan->injector, socket, sizeof socket);
	return line &&
	       sscanf(line, "\nfound %lf %lf set %lf %lf before %lf %lf at %79s %99[^\n]", &note->found.ab_us,
		      &note->found.ba_us, &note->set.ab_us, &note->set.ba_us, &note->before.ab_us, &note->before.ba_us,
		      noted, rule) == 8 &&
	       strcmp(noted, socket) == 0 && strcmp(rule, rule_of(plan)) == 0 && is_delay(note->found) &&
	       is_delay(note->set) && is_delay(note->before);
}

struct delay_pair path_split_delay(const struct sweep_plan *plan, double delay_us)
{
	return (struct delay_pair){.ab_us = plan->direction == SWEEP_BA ? 0 : delay_us,
				   .ba_us = plan->direction == SWEEP_AB ? 0 : delay_us};
}

int path_set_delay(struct sweeper *sweeper, struct delay_pair delay, struct error *err)
{
	struct delay_note *note = &sweeper->note;
	int code;

	note->before = note->set;
	note->set = delay;
	delay_note_write(sweeper->lock, sweeper->plan, note);
	code = injector_client_set(sweeper->plan, delay, err);
	if (code)
		note->set = note->before;
	return code;
}

int path_find_delays(struct sweeper *sweeper, struct error *err)
{
	struct injector_state_totals now;
	struct delay_note *note = &sweeper->note, left;
	int code = injector_client_read(sweeper->plan, &now, err);

	if (code)
		return code;
	note->found = note->set = (struct delay_pair){now.delay_us[0], now.delay_us[1]};
	if (!delay_note_read(sweeper->lock, sweeper->plan, &left) || injector_client_has_delay(&now, left.found) ||
	    !(injector_client_has_delay(&now, left.set) || injector_client_has_delay(&now, left.before)))
		return 0;
	note->found = left.found;
	sweeper_say(sweeper,
		    "a killed sweep left delays of %.10g us from A to B and %.10g us back: restored %.10g and %.10g",
		    now.delay_us[0], now.delay_us[1], left.found.ab_us, left.found.ba_us);
	return path_set_delay(sweeper, left.found, err);
}

void path_restore(struct sweeper *sweeper)
{
	injector_client_set(sweeper->plan, sweeper->note.found, NULL);
}
