/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora doctor: checks whether this host is ready to measure. */
#include "commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <doctor/doctor.h>

struct doctor_settings {
	const char *root, *port, *cpus;
	double stalls_s;
	int purpose;
	bool json, brief;
};

static const char *const purpose_names[] = {"lab", "nic", NULL};

static const struct option_row rows[] = {
	OPTION_CHOICE(struct doctor_settings, purpose, "for", 'f', "PURPOSE", purpose_names,
		      "lab: checks for the virtual rack; nic: also those for a NIC driven by DPDK"),
	OPTION_STRING(struct doctor_settings, port, "port", 'p', "NAME", "examine this network interface only"),
	OPTION_DOUBLE(struct doctor_settings, stalls_s, "stalls", 's', "SECONDS", 0.01, 3600,
		      "also poll on each isolated CPU (on all CPUs if none is isolated) and count stalls over 1 us"),
	OPTION_STRING(struct doctor_settings, cpus, "cpus", 'c', "LIST", "CPUs for --stalls, such as 2-3,5"),
	OPTION_FLAG(struct doctor_settings, brief, "brief", 'b', "leave out findings that are ok"),
	OPTION_FLAG(struct doctor_settings, json, "json", 'j', "print JSON"),
	OPTION_STRING(struct doctor_settings, root, "root", 0, "DIR",
		      "examine /proc, /sys, /dev and /usr below DIR (a copy of another host's)"),
	OPTION_END,
};

static const char teach[] =
	"Each finding is ok, warn (works, but figures are worse) or fail (does not work), with the command that\n"
	"fixes it and the note in firmware-notes/ that explains it.\n"
	"\n"
	"  nomora doctor --brief\n"
	"  nomora doctor --stalls 2 --cpus 1\n"
	"  nomora doctor --for nic --json | jq '.findings[] | select(.level != \"ok\")'\n"
	"\n"
	"Exit code 3: at least one finding has the level fail.\n";

static int check_settings(const struct doctor_settings *settings, const struct doctor_options *options,
			  struct error *err)
{
	struct stat status;

	if (settings->root && (stat(settings->root, &status) != 0 || !S_ISDIR(status.st_mode)))
		return error_set(err, ENOTDIR, "--root: expected a folder, found '%s'", settings->root);
	if (settings->root && settings->stalls_s > 0)
		return error_set(err, EINVAL, "--stalls measures this host; it excludes --root");
	if (settings->cpus && !(settings->stalls_s > 0))
		return error_set(err, EINVAL, "--cpus needs --stalls");
	if (settings->port && !doctor_has_port(options, settings->port))
		return error_set(err, ENODEV, "--port: there is no network interface '%s'", settings->port);
	return 0;
}

static int examine(const struct doctor_settings *settings, struct findings *findings, struct error *err)
{
	const struct doctor_options options = {
		.root = settings->root && strcmp(settings->root, "/") != 0 ? settings->root : "",
		.purpose = (enum findings_purpose)settings->purpose,
		.port = settings->port,
	};
	int code = check_settings(settings, &options, err);

	if (code == 0)
		code = doctor_examine(&options, findings, err);
	if (code == 0 && settings->stalls_s > 0 &&
	    doctor_measure_stalls(settings->stalls_s, settings->cpus, findings, err) != 0)
		code = settings->cpus ? error_prefix(err, "--cpus") : error_code(err, EIO);
	return code;
}

static int run(void *context, const struct option_operands *operands, struct error *err)
{
	const struct doctor_settings *settings = context;
	struct findings findings = {0};
	int code = examine(settings, &findings, err);

	(void)operands;
	if (code == 0 && settings->json)
		code = findings_write(&findings, "-", err);
	else if (code == 0)
		findings_print(&findings, settings->brief, stdout);
	if (code)
		code = code == -EINVAL ? COMMAND_USAGE : COMMAND_FAILED;
	else
		code = findings_count(&findings, FINDING_FAIL) ? COMMAND_NEGATIVE : COMMAND_OK;
	findings_free(&findings);
	return code;
}

int command_doctor(int argc, char **argv)
{
	const struct option_usage usage = {
		.command = "nomora doctor",
		.operands = "",
		.summary = "Check whether this host is ready to measure; each finding has the command that fixes it.",
		.teach = teach,
		.rows = rows,
	};
	struct doctor_settings settings = {0};

	return command_run(&usage, argc, argv, &settings, run);
}
