/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The doctor's findings about a host, file form "nomora.doctor/1" (docs/formats.md). Plain data, owned by the caller;
 * readers may share it between threads.
 */
#ifndef MODEL_FINDINGS_H
#define MODEL_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <base/error.h>

enum finding_level {
	FINDING_OK,
	FINDING_WARN, /* works, but measured figures are worse or less reliable */
	FINDING_FAIL, /* does not work, or gives wrong figures */
	FINDING_LEVELS,
};

enum findings_purpose {
	FINDINGS_FOR_LAB, /* the virtual rack, af_packet and af_xdp */
	FINDINGS_FOR_NIC, /* a NIC driven by DPDK: some warnings of the lab are failures here */
};

struct finding {
	enum finding_level level;
	char check[32]; /* such as "hugepages"; a check may have several findings */
	char found[256];
	char fix[320]; /* the command or setting that fixes it; "" for FINDING_OK */
	char note[32]; /* name of a file in firmware-notes/, without ".md" */
};

struct findings {
	enum findings_purpose purpose;
	struct finding *items;
	size_t count, capacity;
};

/* Appends an empty finding and returns it, valid until the next call; NULL if out of memory. */
struct finding *findings_add(struct findings *findings);
size_t findings_count(const struct findings *findings, enum finding_level level);
void findings_free(struct findings *findings);

/* "ok", "warn", "fail". */
const char *finding_level_name(enum finding_level level);

/*
 * These return 0, or -errno with err set (file, line, field). "-" = stdin and stdout; a file is written whole or not at
 * all. A text ends with a NUL, which is not in `bytes`.
 */
int findings_read(const char *path, struct findings *findings, struct error *err);
int findings_parse(const char *name, const char *text, size_t bytes, struct findings *findings, struct error *err);
int findings_write(const struct findings *findings, const char *path, struct error *err);
/* Prints the findings as text for people; `brief` leaves out FINDING_OK. */
void findings_print(const struct findings *findings, bool brief, FILE *out);

#endif
