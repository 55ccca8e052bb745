/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The note is the second line of the lock file (lock.c). If a sweep is killed, the next sweep reads the note, and
 * restores the delays that the killed sweep had found at its start, if
 * - the injector is the same one, as the inode and time of its control socket show, and
 * - the injector still has a delay that the killed sweep set. A delay that somebody else has set since then is not
 *   changed.
 */
#include "delay_note_priv.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOTE_BYTES = 400 };

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

void delay_note_write(int lock, const char *control, const struct delay_note *note)
{
	char socket[80], text[NOTE_BYTES];
	int length;

	identify(control, socket, sizeof socket);
	length = snprintf(text, sizeof text, "%d\nfound %.17g %.17g set %.17g %.17g before %.17g %.17g at %s\n",
			  (int)getpid(), note->found.ab_us, note->found.ba_us, note->set.ab_us, note->set.ba_us,
			  note->before.ab_us, note->before.ba_us, socket);
	/* Errors are ignored: the note matters only if the sweep is killed. */
	if (pwrite(lock, text, (size_t)length, 0) == length && ftruncate(lock, length) != 0)
		return;
}

static bool is_delay(struct delay_pair delay)
{
	return delay.ab_us >= 0 && delay.ab_us <= delay_maximum_us && delay.ba_us >= 0 &&
	       delay.ba_us <= delay_maximum_us;
}

bool delay_note_read(int lock, const char *control, struct delay_note *note)
{
	char text[NOTE_BYTES], socket[80], noted[80];
	ssize_t bytes = pread(lock, text, sizeof text - 1, 0);
	const char *line;

	text[bytes > 0 ? bytes : 0] = '\0';
	line = strchr(text, '\n');
	identify(control, socket, sizeof socket);
	return line &&
	       sscanf(line, "\nfound %lf %lf set %lf %lf before %lf %lf at %79s\n", &note->found.ab_us,
		      &note->found.ba_us, &note->set.ab_us, &note->set.ba_us, &note->before.ab_us, &note->before.ba_us,
		      noted) == 7 &&
	       strcmp(noted, socket) == 0 && is_delay(note->found) && is_delay(note->set) && is_delay(note->before);
}
