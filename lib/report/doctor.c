/* SPDX-License-Identifier: BSD-3-Clause */
#include "report_priv.h"

#include <model/findings.h>

static void print_finding(FILE *out, const struct finding *finding)
{
	static const char *const tags[FINDING_LEVELS] = {"ok", "warning", "failure"};

	fprintf(out, "<tr><td class=\"tag %s\">%s</td><td>", finding_level_name(finding->level), tags[finding->level]);
	xml_print(out, finding->check);
	fputs("</td><td>", out);
	xml_print(out, finding->found);
	fputs("</td><td>", out);
	if (finding->fix[0]) {
		fputs("<code>", out);
		xml_print(out, finding->fix);
		fputs("</code>", out);
	}
	fputs("</td></tr>\n", out);
}

int report_doctor(FILE *out, const char *path, struct error *err)
{
	struct findings findings;
	int code = findings_read(path, &findings, err);

	if (code)
		return code;
	fprintf(out, "<p>%zu checks are ok; %zu warnings, %zu failures.</p>\n", findings_count(&findings, FINDING_OK),
		findings_count(&findings, FINDING_WARN), findings_count(&findings, FINDING_FAIL));
	fputs("<table><tr><th></th><th>check</th><th>found</th><th>fix</th></tr>\n", out);
	for (size_t i = 0; i < findings.count; i++)
		print_finding(out, &findings.items[i]);
	fputs("</table>\n", out);
	findings_free(&findings);
	return 0;
}
