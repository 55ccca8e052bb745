/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An allocator for LD_PRELOAD that fails once, for tests of out-of-memory paths. An allocation is identified by its
 * site: the caller, and the innermost return address inside the program itself. FAIL_MALLOC_SITE=N fails the first
 * allocation of the N-th site, counted from 1 in the order in which the program first reaches them. With
 * FAIL_MALLOC_COUNT=FILE nothing fails and the number of sites is written to FILE at the end. glibc only.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);

enum { SITES = 1 << 14, FRAMES = 24, OWN_FRAMES = 2 };

static uint64_t sites[SITES];
static unsigned site_count, failing_site;
static uintptr_t program_low, program_high;
static const char *count_file;
static bool ready;
static pid_t owner;
static atomic_flag busy = ATOMIC_FLAG_INIT;
static __thread bool inside;

static int find_program(struct dl_phdr_info *info, size_t bytes, void *unused)
{
	(void)bytes;
	(void)unused;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];

		if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
			continue;
		program_low = info->dlpi_addr + header->p_vaddr;
		program_high = program_low + header->p_memsz;
	}
	return 1; /* the first object is the program */
}

/* True if this site is new. Open addressing; a full table counts no further sites. */
static bool add_site(uint64_t key)
{
	size_t at = (key * UINT64_C(0x9e3779b97f4a7c15)) >> 50;

	while (sites[at] != 0 && sites[at] != key)
		at = (at + 1) % SITES;
	if (sites[at] == key || site_count > SITES / 2)
		return false;
	sites[at] = key;
	site_count++;
	return true;
}

/* True for allocations by libraries that crash or hang if out of memory: a drawing library, or jansson's parser. */
static bool is_beyond_help(void *const *frames, int count)
{
	static const char *const libraries[] = {"libcairo", "libpixman", "libfontconfig", "libfreetype", "libexpat"};
	Dl_info info;

	for (int i = 0; i < count; i++) {
		if (!dladdr(frames[i], &info))
			continue;
		for (size_t k = 0; i == 0 && info.dli_fname && k < sizeof libraries / sizeof libraries[0]; k++)
			if (strstr(info.dli_fname, libraries[k]))
				return true;
		if (info.dli_sname && strncmp(info.dli_sname, "json_load", 9) == 0)
			return true;
	}
	return false;
}

static bool fails(void)
{
	void *frames[FRAMES];
	uint64_t key;
	bool failing = false;
	int count;

	if (!ready || inside || (failing_site == 0 && !count_file))
		return false;
	inside = true;
	count = backtrace(frames, FRAMES);
	key = count > OWN_FRAMES ? (uintptr_t)frames[OWN_FRAMES] : 1;
	for (int i = OWN_FRAMES; i < count; i++) {
		uintptr_t address = (uintptr_t)frames[i];

		if (address >= program_low && address < program_high) {
			key = key * 31 + address;
			while (atomic_flag_test_and_set(&busy))
				;
			failing = add_site(key) && site_count == failing_site &&
				  !is_beyond_help(frames + OWN_FRAMES, i - OWN_FRAMES);
			atomic_flag_clear(&busy);
			break;
		}
	}
	inside = false;
	return failing;
}

__attribute__((constructor)) static void begin(void)
{
	const char *site = getenv("FAIL_MALLOC_SITE");
	void *frame;

	failing_site = site ? (unsigned)atoi(site) : 0;
	count_file = getenv("FAIL_MALLOC_COUNT");
	owner = getpid();
	dl_iterate_phdr(find_program, NULL);
	backtrace(&frame, 1); /* loads the unwinder, which allocates memory */
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
