/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An allocator for LD_PRELOAD that fails once, for tests of out-of-memory paths. FAIL_MALLOC_SITE=N fails the first
 * allocation of the N-th site (fail_site.h), counted from 1 in the order in which the program first reaches them. With
 * FAIL_MALLOC_COUNT=FILE nothing fails and the number of sites is written to FILE at the end. glibc only.
 */
#include "fail_site.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);

enum { OWN_FRAMES = 3 };

static unsigned failing_site;
static const char *count_file;
static bool ready;
static pid_t owner;
static __thread bool inside;

static __attribute__((noinline)) bool fails(void)
{
	struct site site;
	bool failing;

	if (!ready || inside || (failing_site == 0 && !count_file))
		return false;
	inside = true;
	site = site_find(OWN_FRAMES);
	failing = site.key != 0 && site_add(site.key) == failing_site && failing_site != 0 && site_survives(&site);
	inside = false;
	return failing;
}

__attribute__((constructor)) static void begin(void)
{
	const char *site = getenv("FAIL_MALLOC_SITE");

	failing_site = site ? (unsigned)atoi(site) : 0;
	count_file = getenv("FAIL_MALLOC_COUNT");
	owner = getpid();
	site_begin();
	ready = true;
}

__attribute__((destructor)) static void end(void)
{
	FILE *file;

	ready = false;
	if (count_file && owner == getpid() && (file = fopen(count_file, "w"))) {
		fprintf(file, "%u\n", site_count);
		fclose(file);
	}
}

void *malloc(size_t bytes)
{
	if (fails()) {
		errno = ENOMEM;
		return NULL;
	}
	return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	if (fails()) {
		errno = ENOMEM;
		return NULL;
	}
	return __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
	if (fails()) {
		errno = ENOMEM;
		return NULL;
	}
	return __libc_realloc(old, bytes);
}
