/* SPDX-License-Identifier: BSD-3-Clause */
#include "doctor.h"

#include <errno.h>

#include <base/json.h>

static const char *const level_names[] = {"ok", "warn", "fail"};

size_t doctor_count(const struct doctor *doctor, enum finding_level level)
{
	size_t count = 0;

	for (size_t i = 0; i < doctor->count; i++)
		count += doctor->findings[i].level == level;
	return count;
}

void doctor_print(const struct doctor *doctor, bool all, FILE *out)
{
	for (size_t i = 0; i < doctor->count; i++) {
		const struct finding *finding = &doctor->findings[i];

		if (finding->level == FINDING_OK && !all)
			continue;
		fprintf(out, "%-4s  %-12s %s\n", level_names[finding->level], finding->check, finding->found);
		if (finding->fix[0])
			fprintf(out, "      %-12s fix: %s\n      %-12s see: firmware-notes/%s.md\n", "", finding->fix,
				"", finding->note);
	}
	fprintf(out, "%zu ok, %zu to mend, %zu in the way: %s\n", doctor_count(doctor, FINDING_OK),
		doctor_count(doctor, FINDING_WARN), doctor_count(doctor, FINDING_FAIL),
		doctor_count(doctor, FINDING_FAIL) ? "not usable like this" : "usable");
}

int doctor_print_json(const struct doctor *doctor, struct error *err)
{
	json_t *root, *findings = json_array();
	int code;

	for (size_t i = 0; i < doctor->count; i++) {
		const struct finding *finding = &doctor->findings[i];

		json_array_append_new(findings, json_pack("{s:s,s:s,s:s,s:o,s:s}", "check", finding->check, "level",
							  level_names[finding->level], "found", finding->found, "fix",
							  finding->fix[0] ? json_string(finding->fix) : json_null(),
							  "note", finding->note));
	}
	root = json_pack("{s:s,s:s,s:b,s:i,s:i,s:i,s:o}", "schema", "nomora.doctor/1", "purpose",
			 doctor->purpose == DOCTOR_NIC ? "nic" : "lab", "usable", !doctor_count(doctor, FINDING_FAIL),
			 "ok", (int)doctor_count(doctor, FINDING_OK), "warn", (int)doctor_count(doctor, FINDING_WARN),
			 "fail", (int)doctor_count(doctor, FINDING_FAIL), "findings", findings);
	if (!root)
		return error_set(err, ENOMEM, "out of memory");
	code = json_write_file("-", root, err);
	json_decref(root);
	return code;
}
