/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora gain: what better placement would give to the jobs that run now. Reads files, changes nothing. */
#include <errno.h>
#include <stdio.h>

#include <base/file.h>
#include <base/json.h>
#include <base/log.h>
#include <base/number.h>
#include <base/program.h>
#include <integrations/kubernetes/agent.h>
#include <integrations/slurm/agent.h>
#include <model/latency_live.h>
#include <sched/gain/gain.h>

#include "commands.h"

struct settings {
	struct gain_settings gain;
	const char *sacct, *kubectl;
	bool json;
};

static const char teach[] =
	"Compares where your running jobs are today with the best placement that 'nomora place' finds, and with a "
	"random "
	"one,\n"
	"by the round trips of a measured mesh. It only reads files. Example:\n"
	"\n"
	"  $ scontrol -o -d show job >jobs.txt\n"
	"  $ nomora gain --sacct jobs.txt --latency mesh.csv --curve memcached\n"
	"  $ kubectl get pods -A -o json >pods.json\n"
	"  $ nomora gain --kubectl pods.json --latency mesh.csv --curve memcached\n"
	"\n"
	"A job's curve is that of its comment (sbatch --comment=nomora:curve=NAME) or label (nomora.io/curve), else "
	"--curve.\n"
	"Jobs that cannot be compared are listed with the reason. Exit status: 0; 1 failed; 2 usage; 3 no job can be "
	"compared.\n";

static const char *const references[] = {"added", "absolute", NULL};

static const struct option_row rows[] = {
	OPTION_HEADING("Files"),
	OPTION_STRING(struct settings, sacct, "sacct", 's', "FILE",
		      "running jobs: output of scontrol -o -d show job, squeue -o or sacct -P"),
	OPTION_STRING(struct settings, kubectl, "kubectl", 'k', "FILE",
		      "running pods, as kubectl get pods -A -o json prints them"),
	OPTION_STRING(struct settings, gain.place.latency, "latency", 'l', "FILE", "measured round trips (CSV)"),
	OPTION_STRING(struct settings, gain.place.curves, "curves", 'C', "DIR",
		      "folder of the jobs' curves, NAME.json; default: the curves that come with nomora"),
	OPTION_STRING(struct settings, gain.place.cluster, "cluster", 'c', "FILE",
		      "machines, racks, slots (JSON); without it, the hosts of the mesh"),
	OPTION_HEADING("Jobs and slots"),
	OPTION_STRING(struct settings, gain.curve, "curve", 0, "NAME", "curve of the jobs that name none"),
	OPTION_INTEGER(struct settings, gain.slots, "slots", 0, "N", 0, CLUSTER_SLOTS_MAXIMUM,
		       "tasks that fit on each host; 0: as many as run there today"),
	OPTION_INTEGER(struct settings, gain.seeds, "seeds", 0, "N", 1, 10000, "number of random placements"),
	OPTION_HEADING("Latency"),
	OPTION_CHOICE(struct settings, gain.place.statistic, "latency-stat", 0, "STAT", latency_rtt_statistic_names,
		      "column of the matrix to use"),
	OPTION_CHOICE(struct settings, gain.place.reference, "latency-reference", 0, "KIND", references,
		      "added: subtract the testbed's own round trip; absolute: use it raw, as the papers do"),
	ROW_MAX_AGE(struct settings, gain.place.max_age_s),
	OPTION_HEADING("Output"),
	OPTION_FLAG(struct settings, json, "json", 0, "print JSON, nomora.gain/1"),
	OPTION_END,
};

static const struct option_usage usage = {
	.command = "nomora gain",
	.operands = "--sacct FILE | --kubectl FILE --latency FILE",
	.summary = "Compare the placement of the running jobs with the best one and a random one.",
	.teach = teach,
	.rows = rows,
};

static json_t *read_kubectl(const char *path, struct error *err)
{
	struct k8s_running_report report;
	json_t *list = json_read_file(path, err), *jobs = list ? k8s_running_jobs(path, list, &report, err) : NULL;

	if (jobs && report.bound_to_node > 0)
		log_info("%s: left out %llu pod%s of DaemonSets and nodes", path,
			 (unsigned long long)report.bound_to_node, number_s(report.bound_to_node));
	if (jobs && report.alone > 0)
		log_warning("%s: left out %llu pod%s without a controller and without the label nomora.io/job", path,
			    (unsigned long long)report.alone, number_s(report.alone));
	json_decref(list);
	return jobs;
}

static json_t *read_sacct(const char *path, struct error *err)
{
	struct slurm_running_report report;
	struct file_lines *lines = file_lines_open(path, err);
	json_t *jobs = lines ? slurm_running_read(lines, &report, err) : NULL;

	if (jobs && report.guessed > 0)
		log_warning("%s: the tasks on each node of %llu job%s are not known and were divided evenly; use the "
			    "output "
			    "of scontrol -o -d show job",
			    path, (unsigned long long)report.guessed, number_s(report.guessed));
	file_lines_close(lines);
	return jobs;
}

static int print(const struct settings *settings, const struct gain *gain, struct error *err)
{
	int code = 0;

	if (settings->json)
		return command_print_json(gain_to_json(&settings->gain, gain));
	gain_print_table(&settings->gain, gain, stdout);
	code = command_flush(err);
	return code;
}

static int run(void *context, const struct option_operands *operands, struct error *err)
{
	struct settings *settings = context;
	struct gain gain = {0};
	json_t *jobs;
	int code;

	(void)operands;
	if (!settings->sacct == !settings->kubectl)
		return command_misused(err,
				       "expected one of --sacct and --kubectl; 'nomora gain --help' has an example");
	if (!settings->gain.place.latency)
		return command_misused(err, "missing option --latency; 'nomora gain --help' has an example");
	if (settings->gain.place.cluster && settings->gain.slots > 0)
		return command_misused(err, "--cluster and --slots are mutually exclusive");
	if (!settings->gain.place.curves)
		settings->gain.place.curves = program_curves();
	jobs = settings->sacct ? read_sacct(settings->sacct, err) : read_kubectl(settings->kubectl, err);
	if (!jobs)
		return COMMAND_FAILED;
	code = gain_run(&settings->gain, jobs, &gain, err);
	if (code == 0)
		code = print(settings, &gain, err);
	if (code == 0 && gain.job_count == 0)
		code = COMMAND_NEGATIVE;
	json_decref(jobs);
	gain_free(&gain);
	return code;
}

int command_gain(int argc, char **argv)
{
	struct settings settings = {.gain.seeds = 20};

	place_settings_default(&settings.gain.place, false);
	return command_run(&usage, argc, argv, &settings, run);
}
