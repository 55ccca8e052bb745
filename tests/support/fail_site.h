/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The site of a call, for preloaded libraries that make calls fail: the caller, and the innermost return address inside
 * the program itself. Its key is the same in every run of the same programs. glibc only.
 */
#ifndef FAIL_SITE_H
#define FAIL_SITE_H

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { SITE_MAXIMUM = 1 << 14, SITE_FRAMES = 24, SITE_OBJECTS = 64 };

/* The code of the program, which is the first, and of its libraries. dladdr() takes too long for each call. */
static struct site_object {
	uintptr_t low, high, base;
} site_objects[SITE_OBJECTS];
static int site_object_count;

static int site_add_object(struct dl_phdr_info *info, size_t bytes, void *unused)
{
	(void)bytes;
	(void)unused;
	for (int i = 0; i < info->dlpi_phnum && site_object_count < SITE_OBJECTS; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uintptr_t low = info->dlpi_addr + header->p_vaddr;

		if (header->p_type == PT_LOAD && (header->p_flags & PF_X))
			site_objects[site_object_count++] =
				(struct site_object){low, low + header->p_memsz, info->dlpi_addr};
	}
	return 0;
}

static void site_begin(void)
{
	void *frame;

	dl_iterate_phdr(site_add_object, NULL);
	backtrace(&frame, 1); /* loads the unwinder, which allocates memory */
}

/* Returns the address without the place where its object is loaded. */
static uintptr_t site_offset(uintptr_t address)
{
	for (int o = 0; o < site_object_count; o++)
		if (address >= site_objects[o].low && address < site_objects[o].high)
			return address - site_objects[o].base;
	return 0;
}

struct site {
	uint64_t key;  /* 0: no return address inside the program */
	uintptr_t own; /* the innermost one, as addr2line wants it */
	void *frames[SITE_FRAMES];
	int first, end; /* frames of libraries between the call and the program */
};

static bool site_is_own(const void *frame)
{
	return (uintptr_t)frame >= site_objects[0].low && (uintptr_t)frame < site_objects[0].high;
}

/*
 * skip: number of frames of the preloaded library itself, with this function. A function of the program that a library
 * calls to allocate (json_set_alloc_funcs()) is left out, too.
 */
static __attribute__((noinline)) struct site site_find(int skip)
{
	struct site site = {.first = skip, .end = skip};
	int count = backtrace(site.frames, SITE_FRAMES);

	if (count > skip + 1 && site_is_own(site.frames[skip]) && !site_is_own(site.frames[skip + 1]))
		site.first = site.end = skip + 1;
	for (; site.end < count; site.end++) {
		if (!site_is_own(site.frames[site.end]))
			continue;
		site.own = (uintptr_t)site.frames[site.end] - site_objects[0].base;
		site.key = site_offset((uintptr_t)site.frames[site.first]) * 31 + site.own;
		break;
	}
	return site;
}

/*
 * False for allocations by libraries that end, crash or hang if out of memory: drawing, or anything that libslurm,
 * libnats, libcrypto or jansson's parser calls.
 */
static bool site_survives(const struct site *site)
{
	static const char *const direct[] = {"libcairo", "libpixman", "libfontconfig", "libfreetype", "libexpat"},
				 *const indirect[] = {"libslurm", "libnats", "libcrypto"};
	Dl_info info;

	for (int i = site->first; i < site->end; i++) {
		if (!dladdr(site->frames[i], &info))
			continue;
		for (size_t k = 0; i == site->first && info.dli_fname && k < sizeof direct / sizeof *direct; k++)
			if (strstr(info.dli_fname, direct[k]))
				return false;
		for (size_t k = 0; info.dli_fname && k < sizeof indirect / sizeof *indirect; k++)
			if (strstr(info.dli_fname, indirect[k]))
				return false;
		if (info.dli_sname && strncmp(info.dli_sname, "json_load", 9) == 0)
			return false;
	}
	return true;
}

static uint64_t site_table[SITE_MAXIMUM];
static unsigned site_count;
static atomic_flag site_busy = ATOMIC_FLAG_INIT;

/* Returns the number of the site, counted from 1, if it is new; 0 if not. A full table counts no further sites. */
static unsigned site_add(uint64_t key)
{
	size_t at = (key * UINT64_C(0x9e3779b97f4a7c15)) >> 50;
	unsigned number = 0;

	while (atomic_flag_test_and_set(&site_busy))
		;
	while (site_table[at] != 0 && site_table[at] != key)
		at = (at + 1) % SITE_MAXIMUM;
	if (site_table[at] != key && site_count <= SITE_MAXIMUM / 2) {
		site_table[at] = key;
		number = ++site_count;
	}
	atomic_flag_clear(&site_busy);
	return number;
}

#endif
