/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hours of the day, in local time: a list of at most 8 daily windows, such as "22:00-06:00,12:30-13:00". A window whose
 * end is before its beginning spans midnight.
 */
#ifndef SCHED_MIGRATION_WINDOWS_H
#define SCHED_MIGRATION_WINDOWS_H

#include <stdbool.h>
#include <time.h>

#include <base/error.h>

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

#endif
