/* SPDX-License-Identifier: BSD-3-Clause */
#include "doctor_priv.h"

#include <stdarg.h>
#include <stdio.h>

void doctor_add(struct doctor *doctor, const char *check, enum finding_level level, const char *note, const char *fix,
		const char *format, ...)
{
	struct finding *finding = findings_add(doctor->findings);
	va_list arguments;

	if (!finding) {
		doctor->out_of_memory = true;
		return;
	}
	finding->level = level;
	snprintf(finding->check, sizeof finding->check, "%s", check);
	snprintf(finding->note, sizeof finding->note, "%s", note);
	if (fix && level != FINDING_OK)
		snprintf(finding->fix, sizeof finding->fix, "%s", fix);
	va_start(arguments, format);
	vsnprintf(finding->found, sizeof finding->found, format, arguments);
	va_end(arguments);
}

enum finding_level doctor_serious(const struct doctor *doctor)
{
	return doctor->purpose == FINDINGS_FOR_NIC ? FINDING_FAIL : FINDING_WARN;
}

void doctor_unclear(struct doctor *doctor, const char *check, const char *note, const char *path)
{
	char fix[128];

	snprintf(fix, sizeof fix, "cat %.100s", path);
	doctor_add(doctor, check, FINDING_WARN, note, fix, "%s cannot be read or understood: not checked", path);
}

bool doctor_is_live(const struct doctor *doctor)
{
	return doctor->root[0] == '\0';
}
