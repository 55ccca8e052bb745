/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <errno.h>
#include <string.h>

#include <base/json.h>

static void print_finding(FILE *out, struct json_reader *reader, const json_t *finding)
{
	const char *level = json_need_string(reader, finding, "findings", "level");
	const char *check = json_need_string(reader, finding, "findings", "check");
	const char *found = json_need_string(reader, finding, "findings", "found");
	const char *fix = json_may_string(reader, finding, "findings", "fix", "");

	if (reader->failed)
		return;
	fprintf(out, "<tr><td class=\"tag %s\">%s</td><td>",
		strcmp(level, "ok") == 0 || strcmp(level, "fail") == 0 ? level : "warn",
		strcmp(level, "ok") == 0     ? "ok"
		: strcmp(level, "fail") == 0 ? "in the way"
					     : "to mend");
	report_text(out, check);
	fputs("</td><td>", out);
	report_text(out, found);
	fputs("</td><td>", out);
	if (fix[0]) {
		fputs("<code>", out);
		report_text(out, fix);
		fputs("</code>", out);
	}
	fputs("</td></tr>\n", out);
}

int report_doctor(FILE *out, const char *path, struct error *err)
{
	json_t *root = json_read_file(path, err);
	struct json_reader reader = {path, 0, err, false};
	const json_t *findings;

	if (!root)
		return err ? -err->code : -EINVAL;
	json_need_schema(&reader, root, "nomora.doctor/1");
	findings = json_need_array(&reader, root, "", "findings");
	fprintf(out, "<p>%lld checks are well, %lld could be better, %lld stand in the way of a measurement.</p>\n",
		(long long)json_may_integer(&reader, root, "", "ok", 0, 100000, 0),
		(long long)json_may_integer(&reader, root, "", "warn", 0, 100000, 0),
		(long long)json_may_integer(&reader, root, "", "fail", 0, 100000, 0));
	fputs("<table><tr><th></th><th>check</th><th>found</th><th>what mends it</th></tr>\n", out);
	for (size_t i = 0; !reader.failed && i < json_array_size(findings); i++)
		print_finding(out, &reader, json_array_get(findings, i));
	fputs("</table>\n", out);
	json_decref(root);
	return reader.failed ? -EINVAL : 0;
}
