/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora doctor: is this host ready to measure? */
#include "command.h"
#include "doctor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int command_doctor(int argc, char **argv);

struct doctor_settings {
	const char *root, *port, *cpus;
	double stalls_s;
	int purpose;
	bool json, brief;
};

static const char *const purpose_names[] = {"lab", "nic", NULL};

static const struct option_row rows[] = {
	OPTION_CHOICE(struct doctor_settings, purpose, "for", 'f', "PURPOSE", purpose_names,
		      "lab: the virtual rack; nic: a NIC of its own, where more is a must"),
	OPTION_STRING(struct doctor_settings, port, "port", 'p', "NAME", "look at this network interface only"),
	OPTION_DOUBLE(struct doctor_settings, stalls_s, "stalls", 's', "SECONDS", 0.01, 3600,
		      "measure too: poll on each isolated CPU (on all, where none is) and count stalls over 1 us"),
	OPTION_STRING(struct doctor_settings, cpus, "cpus", 'c', "LIST", "the CPUs that --stalls polls on, as 2-3,5"),
	OPTION_FLAG(struct doctor_settings, brief, "brief", 'b', "leave out what is in order"),
	OPTION_FLAG(struct doctor_settings, json, "json", 'j', "print JSON"),
	OPTION_STRING(struct doctor_settings, root, "root", 0, "DIR",
		      "look at the /proc, /sys, /dev and /usr below DIR (a copy of another host's)"),
	OPTION_END,
};

static const char teach[] =
	"Each finding is ok, warn (works, but figures suffer) or fail (does not work), with the line that\n"
	"mends it and the note in firmware-notes/ that says why.\n"
	"\n"
	"  nomora doctor --brief\n"
	"  nomora doctor --stalls 2 --cpus 1\n"
	"  nomora doctor --for nic --json | jq '.findings[] | select(.level != \"ok\")'\n"
	"\n"
	"Exit code 3: something is in the way (a fail).\n";

static int examine(struct doctor *doctor, const struct doctor_settings *settings, struct error *err)
{
	struct stat status;

	if (settings->root && (stat(settings->root, &status) != 0 || !S_ISDIR(status.st_mode)))
		return error_set(err, ENOTDIR, "--root: expected a folder, found '%s'", settings->root);
	if (settings->root && settings->stalls_s > 0)
		return error_set(err, EINVAL, "--stalls measures this host: not with --root");
	if (settings->cpus && !(settings->stalls_s > 0))
		return error_set(err, EINVAL, "--cpus is for --stalls");
	if (settings->port && !doctor_exists(doctor, "/sys/class/net/%s", settings->port))
		return error_set(err, ENODEV, "--port: there is no network interface '%s'", settings->port);
	doctor_check_cpu(doctor);
	doctor_check_memory(doctor);
	doctor_check_host(doctor);
	doctor_check_kernel(doctor);
	doctor_check_nic(doctor);
	doctor_check_quiet(doctor);
	if (settings->stalls_s > 0 && doctor_measure_stalls(doctor, settings->stalls_s, settings->cpus, err) != 0)
		return -err->code;
	if (doctor->out_of_memory)
		return error_set(err, ENOMEM, "out of memory");
	if (settings->json)
		return doctor_print_json(doctor, err);
	doctor_print(doctor, !settings->brief, stdout);
	return 0;
}

int command_doctor(int argc, char **argv)
{
	const struct option_usage usage = {
		.command = "nomora doctor",
		.operands = "",
		.summary = "Is this host ready to measure? Each finding with the line that mends it.",
		.teach = teach,
		.rows = rows,
	};
	struct doctor_settings settings = {0};
	struct option_operands operands;
	struct doctor doctor = {0};
	struct error err = {0};
	int code = command_parse(&usage, argc, argv, &settings, &operands);

	if (code >= 0)
		return code;
	doctor.root = settings.root && strcmp(settings.root, "/") != 0 ? settings.root : "";
	doctor.purpose = (enum doctor_purpose)settings.purpose;
	doctor.port = settings.port;
	if (examine(&doctor, &settings, &err))
		code = command_fail(&err, err.code == EINVAL ? COMMAND_USAGE : COMMAND_FAILED);
	else
		code = doctor_count(&doctor, FINDING_FAIL) ? COMMAND_NEGATIVE : COMMAND_OK;
	free(doctor.findings);
	options_free(&operands);
	return code;
}
