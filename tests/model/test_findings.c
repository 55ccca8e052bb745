/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <model/findings.h>

static int parse(const char *text, struct findings *findings, struct error *err)
{
	return findings_parse("d.json", text, strlen(text), findings, err);
}

Test(findings, what_is_written_reads_back_the_same)
{
	char path[] = "/tmp/nomora-findings-XXXXXX";
	struct findings findings = {.purpose = FINDINGS_FOR_NIC}, again;
	struct error err = {0};

	close(mkstemp(path));
	for (int i = 0; i < 50; i++) {
		struct finding *finding = findings_add(&findings);

		finding->level = (enum finding_level)(i % FINDING_LEVELS);
		snprintf(finding->check, sizeof finding->check, "check%d", i);
		snprintf(finding->found, sizeof finding->found, "\"%d\" <found>", i);
		snprintf(finding->note, sizeof finding->note, "clock");
		if (finding->level != FINDING_OK)
			strcpy(finding->fix, "echo 1 > /sys/x");
	}
	cr_assert_eq(findings_count(&findings, FINDING_OK), 17);
	cr_assert_eq(findings_write(&findings, path, &err), 0, "%s", err.text);
	cr_assert_eq(findings_read(path, &again, &err), 0, "%s", err.text);
	cr_assert_eq(again.purpose, FINDINGS_FOR_NIC);
	cr_assert_eq(again.count, findings.count);
	cr_assert_arr_eq(again.items, findings.items, findings.count * sizeof *findings.items);
	unlink(path);
	findings_free(&findings);
	findings_free(&again);
}

#define HEAD "{\"schema\": \"nomora.doctor/1\", \"purpose\": \"lab\", \"findings\": [\n"

Test(findings, refuses_bad_files_with_their_place)
{
	static const char *const bad[][2] = {
		{"{}", "d.json: schema"},
		{"{\"schema\": \"nomora.doctor/1\", \"purpose\": \"x\", \"findings\": []}",
		 "d.json: purpose: expected"},
		{HEAD "1]}", "d.json:2: findings[0]"},
		{HEAD "{\"level\": \"good\", \"check\": \"c\", \"found\": \"f\", \"note\": \"n\"}]}",
		 "d.json:2: findings[0].level: expected ok, warn or fail, found 'good'"},
		{HEAD "{\"level\": \"ok\", \"check\": \"a check with a name that is too long\", \"found\": \"f\", "
		      "\"note\": \"n\"}]}",
		 "d.json:2: findings[0].check: longer than 31 bytes"},
	};

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct findings findings;
		struct error err = {0};

		cr_assert_lt(parse(bad[i][0], &findings, &err), 0, "%s", bad[i][0]);
		cr_assert(strncmp(err.text, bad[i][1], strlen(bad[i][1])) == 0, "'%s' gave '%s'", bad[i][0], err.text);
		cr_assert_null(findings.items);
		cr_assert_lt(parse(bad[i][0], &findings, NULL), 0);
	}
}
