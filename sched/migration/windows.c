/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/migration/migration.h>

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

/* Reads "HH:MM", at most 24:00, and advances *text. */
static bool read_time(const char **text, unsigned *minutes)
{
	const char *at = *text;

	for (int i = 0; i < 5; i++)
		if (i == 2 ? at[i] != ':' : !isdigit((unsigned char)at[i]))
			return false;
	*minutes = (unsigned)((at[0] - '0') * 10 + at[1] - '0') * 60 + (unsigned)((at[3] - '0') * 10 + at[4] - '0');
	*text = at + 5;
	return at[3] < '6' && *minutes <= 24 * 60;
}

int windows_parse(const char *text, struct windows *windows, struct error *err)
{
	const char *at = text;

	*windows = (struct windows){0};
	while (windows->count < WINDOWS_MOST) {
		unsigned begin, end;

		if (!read_time(&at, &begin) || *at++ != '-' || !read_time(&at, &end) || begin == end)
			break;
		windows->items[windows->count].begin_min = begin;
		windows->items[windows->count++].end_min = end;
		if (*at == '\0')
			return 0;
		if (*at++ != ',')
			break;
	}
	return error_set(err, EINVAL, "bad windows '%.60s'; expected HH:MM-HH:MM,..., at most %d windows", text,
			 WINDOWS_MOST);
}

bool windows_are_open(const struct windows *windows, const struct tm *local)
{
	unsigned now = (unsigned)(local->tm_hour * 60 + local->tm_min);

	for (unsigned w = 0; w < windows->count; w++) {
		unsigned begin = windows->items[w].begin_min, end = windows->items[w].end_min;

		if (begin < end ? now >= begin && now < end : now >= begin || now < end)
			return true;
	}
	return windows->count == 0;
}
