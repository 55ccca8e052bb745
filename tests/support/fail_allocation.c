/* SPDX-License-Identifier: BSD-3-Clause */
#include "fail_allocation.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/json.h>

#include "fail_site.h"

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void *block);

enum { OWN_FRAMES = 3, CALLERS = 2, TEXT_BYTES = 1 << 20 };

static bool counting;         /* a scenario runs */
static unsigned failing_site; /* 0: none */
static struct site failed;    /* the last one that failed */
static long blocks;           /* allocated and not freed */
static char usual[TEXT_BYTES], text[TEXT_BYTES];

/* Calls that were looked up: return address and stack. Most of the time is that of looking up. */
static uint64_t known[SITE_MAXIMUM];

static bool is_known(const void *caller, const void *frame)
{
	uint64_t key = (uintptr_t)caller * UINT64_C(0x9e3779b97f4a7c15) ^ (uintptr_t)frame, at = key % SITE_MAXIMUM;

	for (int tries = 0; tries < 16 && known[at] != key; tries++, at = (at + 1) % SITE_MAXIMUM)
		if (known[at] == 0) {
			known[at] = key;
			return false;
		}
	return known[at] == key;
}

static __attribute__((noinline)) bool fails(const void *caller, const void *frame)
{
	struct site site;
	bool failing;

	if (!counting || failed.own != 0 || is_known(caller, frame))
		return false;
	counting = false;
	site = site_find(OWN_FRAMES);
	/* with the callers, as some functions allocate for many */
	for (int i = site.end + 1; site.key != 0 && i <= site.end + CALLERS && i < SITE_FRAMES; i++)
		site.key = site.key * 31 + site_offset((uintptr_t)site.frames[i]);
	failing = site.key != 0 && site_add(site.key) == failing_site && failing_site != 0 && site_survives(&site);
	if (failing)
		failed = site;
	counting = true;
	return failing;
}

static void *count(void *block)
{
	blocks += block != NULL;
	return block;
}

static void *none(void)
{
	errno = ENOMEM;
	return NULL;
}

void *malloc(size_t bytes)
{
	return fails(__builtin_return_address(0), __builtin_frame_address(0)) ? none() : count(__libc_malloc(bytes));
}

void *calloc(size_t items, size_t bytes)
{
	return fails(__builtin_return_address(0), __builtin_frame_address(0)) ? none()
									      : count(__libc_calloc(items, bytes));
}

void *realloc(void *old, size_t bytes)
{
	void *block;

	if (fails(__builtin_return_address(0), __builtin_frame_address(0)))
		return none();
	block = __libc_realloc(old, bytes);
	if (!old && block)
		blocks++;
	else if (old && bytes == 0)
		blocks--;
	return block;
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	return fails(__builtin_return_address(0), __builtin_frame_address(0))
		       ? none()
		       : count(__libc_memalign(alignment, bytes));
}

void free(void *block)
{
	blocks -= block != NULL;
	__libc_free(block);
}

void fail_allocation_pause(void)
{
	counting = false;
}

void fail_allocation_go_on(void)
{
	counting = true;
}

static int run(allocating *scenario, unsigned site, char *into)
{
	FILE *out = fmemopen(into, TEXT_BYTES, "w");
	int code;

	cr_assert_not_null(out);
	setvbuf(out, NULL, _IONBF, 0);
	memset(site_table, 0, sizeof site_table);
	memset(known, 0, sizeof known);
	site_count = 0;
	free(json_dump_whole(NULL, 0)); /* forgets that the scenario before ran out of memory */
	failing_site = site;
	failed.own = 0;
	counting = true;
	code = scenario(out);
	counting = false;
	cr_assert(ftell(out) < TEXT_BYTES - 1 && !ferror(out), "the result is too long");
	fclose(out);
	return code;
}

/* The failed allocation and its callers, for addr2line. */
static const char *place(unsigned s, unsigned sites)
{
	static char at[128];
	int n = snprintf(at, sizeof at, "allocation %u of %u, at", s, sites);

	for (int i = failed.end; i <= failed.end + CALLERS && i < SITE_FRAMES; i++)
		n += snprintf(at + n, sizeof at - (size_t)n, " %#lx",
			      (unsigned long)site_offset((uintptr_t)failed.frames[i]));
	return at;
}

/* Where the results differ, and a little before. */
static size_t difference(void)
{
	size_t at = 0;

	while (text[at] && text[at] == usual[at])
		at++;
	return at < 100 ? 0 : at - 100;
}

unsigned fail_each_allocation(allocating *scenario)
{
	unsigned sites;

	if (site_object_count == 0)
		site_begin();
	cr_assert_eq(run(scenario, 0, usual), 0); /* also allocates what libraries keep */
	cr_assert_eq(run(scenario, 0, text), 0);
	cr_assert_str_eq(text, usual, "the scenario gives another result each time");
	sites = site_count;
	for (unsigned s = 1; s <= sites; s++) {
		long before = blocks;
		int code = run(scenario, s, text);
		long leaked = blocks - before; /* a failed expectation allocates, too */

		if (code == 0)
			cr_expect_str_eq(text, usual, "%s: no error, and another result: %.400s", place(s, sites),
					 text + difference());
		cr_expect_eq(leaked, 0, "%s: %ld blocks leak", place(s, sites), leaked);
	}
	return sites;
}
