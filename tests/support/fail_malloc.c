/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An allocator for LD_PRELOAD that fails once, for tests of out-of-memory paths. FAIL_MALLOC_SITE=N fails the first
 * allocation of the N-th site (fail_site.h), counted from 1 in the order in which the program first reaches them. With
 * FAIL_MALLOC_COUNT=FILE nothing fails and the number of sites is written to FILE at the end. With
 * FAIL_MALLOC_EACH=N/STEP the program runs once for each site 1, 1 + STEP, ... up to N in a folder of that name, with
 * its standard output and error; to fork before main() takes a fifth of the time of a start. Sites and wait statuses go
 * to the file statuses. glibc only.
 */
#include "fail_site.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);

enum { OWN_FRAMES = 3, PATIENCE_S = 100 };

static atomic_uint survivable; /* sites so far whose failure the libraries survive */
static unsigned failing_site;
static const char *count_file;
static bool ready;
static pid_t owner;
static __thread bool inside;

static __attribute__((noinline)) bool fails(void)
{
	struct site site;
	bool failing = false;

	if (!ready || inside || (failing_site == 0 && !count_file))
		return false;
	inside = true;
	site = site_find(OWN_FRAMES);
	if (site.key != 0 && site_add(site.key) > 0 && site_survives(&site))
		failing = ++survivable == failing_site;
	inside = false;
	return failing;
}

/* Returns in a process in the folder `site`. */
static bool run_site(unsigned site, int *status)
{
	char folder[16];
	pid_t child = fork();

	if (child > 0) {
		waitpid(child, status, 0);
		return false;
	}
	snprintf(folder, sizeof folder, "%u", site);
	if (child < 0 || mkdir(folder, 0755) < 0 || chdir(folder) < 0 ||
	    dup2(open("stdout", O_WRONLY | O_CREAT, 0644), STDOUT_FILENO) < 0 ||
	    dup2(open("stderr", O_WRONLY | O_CREAT, 0644), STDERR_FILENO) < 0)
		abort();
	alarm(PATIENCE_S);
	failing_site = site;
	return true;
}

static void run_each(const char *each)
{
	FILE *statuses = fopen("statuses", "we");
	unsigned sites, step;

	if (!statuses || sscanf(each, "%u/%u", &sites, &step) != 2)
		abort();
	for (unsigned site = 1; site <= sites; site += step) {
		int status = 0;

		if (run_site(site, &status))
			return;
		fprintf(statuses, "%u %d\n", site, status);
		fflush(statuses);
	}
	_exit(0);
}

__attribute__((constructor)) static void begin(void)
{
	const char *site = getenv("FAIL_MALLOC_SITE"), *each = getenv("FAIL_MALLOC_EACH");

	failing_site = site ? (unsigned)atoi(site) : 0;
	count_file = getenv("FAIL_MALLOC_COUNT");
	site_begin();
	if (each) {
		unsetenv("FAIL_MALLOC_EACH"); /* for programs that it starts */
		run_each(each);
	}
	owner = getpid();
	ready = true;
}

__attribute__((destructor)) static void end(void)
{
	FILE *file;

	ready = false;
	if (count_file && owner == getpid() && (file = fopen(count_file, "w"))) {
		fprintf(file, "%u\n", survivable);
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
