/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/metrics.h>

#include <math.h>

#include <base/name.h>

void metric_head(FILE *out, const char *name, const char *type, const char *unit, const char *help)
{
	fprintf(out, "# HELP %s %s\n", name, help);
	if (unit)
		fprintf(out, "# UNIT %s %s\n", name, unit);
	fprintf(out, "# TYPE %s %s\n", name, type);
}

void metric_sample(FILE *out, const char *name, const char *const *labels, double value)
{
	if (isnan(value))
		return;
	fputs(name, out);
	for (const char *const *label = labels; label && *label; label += 2) {
		fprintf(out, "%c%s=", label == labels ? '{' : ',', label[0]);
		name_print_quoted(out, label[1]);
	}
	fprintf(out, "%s %.15g\n", labels ? "}" : "", value);
}

void metrics_print(FILE *out, const char *prefix, const struct metric *metrics, size_t count)
{
	char name[128];

	for (size_t m = 0; m < count; m++) {
		if (isnan(metrics[m].value))
			continue;
		snprintf(name, sizeof name, "%s%s", prefix, metrics[m].name);
		metric_head(out, name, metrics[m].type, NULL, metrics[m].help);
		metric_sample(out, name, NULL, metrics[m].value);
	}
}
