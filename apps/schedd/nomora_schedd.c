/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora-schedd: the live scheduler's daemon. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <base/file.h>
#include <base/log.h>
#include <base/stop.h>
#include <sched/schedd/schedd.h>

#include "../client/client.h"
#include "../commands.h"
#include "../rows.h"

struct settings {
	const char *state, *socket, *listen, *token_file, *extender, *cluster, *curves, *latency;
	int statistic, policy, migrate;
	const char *windows, *admin_group;
	int64_t user_tasks, connections;
	bool salvage;
	int64_t round_ms, migrate_rate, migrate_per_machine, migrate_per_job, attempts;
	double migrate_hold_s, restart_s, journal_days, start_timeout_s, retry_s, max_age_s, migrate_gain, no_return_s,
		omega_per_s, beta_per_s;
	bool require_measured, no_executor, journal_brief;
};

static const char teach[] =
	"  # nomora schedd --state /var/lib/nomora/state --cluster cluster.json --curves curves --latency latency.csv\n"
	"  $ nomora submit jobs.jsonl; nomora jobs; nomora explain web/client1\n"
	"  $ nomora schedd export >day.jsonl\n"
	"\n"
	"An executor reads decisions (GET /v1/decisions?after=N&wait=1), starts the tasks, and reports them (POST "
	"/v1/events).\n"
	"Exit status: 0 ended by a signal, 1 failed, 2 usage.\n";

/* A token that others can read is no secret. */
static char *read_token(const char *path, struct error *err)
{
	struct stat status;
	size_t bytes;
	char *token;

	if (stat(path, &status) == 0 && (status.st_mode & 077) != 0) {
		error_set(err, EPERM, "%s: others can read it; expected mode 0600", path);
		return NULL;
	}
	token = file_read_all(path, 4096, &bytes, err);
	if (token)
		token[strcspn(token, "\r\n")] = '\0';
	if (token && token[0] == '\0') {
		error_set(err, EINVAL, "%s: the token is empty", path);
		free(token);
		return NULL;
	}
	return token;
}

static struct live_settings live_settings(const struct settings *settings)
{
	struct live_settings live;

	live_settings_default(&live);
	live.policy = policies[settings->policy];
	live.policy_settings.flow.omega_per_s = settings->omega_per_s;
	live.policy_settings.flow.beta_per_s = settings->beta_per_s;
	live.confirm_at_once = settings->no_executor;
	live.start_timeout_s = settings->start_timeout_s;
	live.retry_s = settings->retry_s;
	live.attempts_maximum = (uint32_t)settings->attempts;
	live.max_age_s = settings->max_age_s;
	live.require_measured = settings->require_measured;
	live.migration = (enum live_migration)settings->migrate;
	live.migrate_gain = settings->migrate_gain;
	live.migrate_rate = (uint32_t)settings->migrate_rate;
	live.migrate_hold_s = settings->migrate_hold_s;
	live.migrate_per_machine = (uint32_t)settings->migrate_per_machine;
	live.migrate_per_job = (uint32_t)settings->migrate_per_job;
	live.restart_s = settings->restart_s;
	live.no_return_s = settings->no_return_s;
	return live;
}

/* "ADDRESS:PORT", "[ADDRESS]:PORT" */
static int split_listen(const char *text, char address[64], uint16_t *port, struct error *err)
{
	const char *colon = strrchr(text, ':');
	char *end;
	long number = colon ? strtol(colon + 1, &end, 10) : -1;
	size_t length = colon ? (size_t)(colon - text) : 0;

	if (length > 2 && text[0] == '[' && text[length - 1] == ']') {
		text++;
		length -= 2;
	}
	if (!colon || *end != '\0' || number < 0 || number > UINT16_MAX || length == 0 || length >= 64)
		return error_set(err, EINVAL, "bad address '%s'; expected ADDRESS:PORT", text);
	snprintf(address, 64, "%.*s", (int)length, text);
	*port = (uint16_t)number;
	return 0;
}

static int serve(const struct settings *settings)
{
	struct schedd_options options = {.live = live_settings(settings),
					 .state = settings->state,
					 .cluster = settings->cluster,
					 .curves = settings->curves,
					 .latency = settings->latency,
					 .statistic = (enum latency_statistic)settings->statistic,
					 .salvage = settings->salvage,
					 .admin_group = settings->admin_group,
					 .user_tasks = (uint32_t)settings->user_tasks,
					 .connections = (uint32_t)settings->connections,
					 .journal_days = settings->journal_days,
					 .journal_brief = settings->journal_brief,
					 .round_ms = (uint32_t)settings->round_ms,
					 .socket = settings->listen ? NULL : settings->socket};
	struct error err = {0};
	char address[64], extender[64], shipped[PATH_MAX], *token = NULL;
	struct schedd *schedd;
	int code;

	if (settings->listen && !settings->token_file)
		error_set(&err, EINVAL, "--listen needs --token-file");
	else if (settings->listen && split_listen(settings->listen, address, &options.port, &err) == 0)
		options.address = address;
	if (!err.code && settings->extender &&
	    split_listen(settings->extender, extender, &options.extender_port, &err) == 0)
		options.extender_address = extender;
	if (!err.code && settings->windows)
		windows_parse(settings->windows, &options.windows, &err);
	if (err.code)
		return command_fail(&err, COMMAND_USAGE);
	if (settings->listen && !(token = read_token(settings->token_file, &err)))
		return command_fail(&err, COMMAND_FAILED);
	options.token = token;
	command_find_data(".", "curves", "", shipped);
	if (access(shipped, R_OK) == 0)
		options.default_curves = shipped;
	stop_catch_signals();
	schedd = schedd_create(&options, &err);
	code = schedd ? 0 : -1;
	if (schedd && settings->listen)
		log_info("serving on %s port %u", address, schedd_port(schedd));
	else if (schedd)
		log_info("serving on %s", settings->socket);
	if (schedd && settings->extender)
		log_info("extender on %s port %u", extender, schedd_extender_port(schedd));
	if (schedd)
		code = schedd_run(schedd, stop_flag(), &err);
	schedd_destroy(schedd);
	free(token);
	return code < 0 ? command_fail(&err, COMMAND_FAILED) : COMMAND_OK;
}

enum { POLICIES_MOST = 16 };

static const char *const statistics[] = {"max", "p99", "p50", NULL};
static const char *const migrations[] = {"off", "advise", "on", NULL};
static const char *policy_names[POLICIES_MOST]; /* listed at the start */

static const struct option_row rows[] = {
	OPTION_STRING(struct settings, state, "state", 'S', "FILE",
		      "SQLite file with the state; created if absent (needed)"),
	OPTION_STRING(struct settings, socket, "socket", 's', "PATH", "unix socket to serve on"),
	OPTION_STRING(struct settings, listen, "listen", 0, "ADDRESS:PORT", "serve on TCP instead; needs --token-file"),
	OPTION_STRING(struct settings, token_file, "token-file", 0, "FILE", "secret of TCP clients, mode 0600"),
	OPTION_STRING(struct settings, extender, "extender", 0, "ADDRESS:PORT",
		      "Kubernetes' scheduler extender, without a token"),
	OPTION_STRING(struct settings, admin_group, "admin-group", 0, "GROUP",
		      "its members are admins, as root and the daemon's user are"),
	OPTION_INTEGER(struct settings, user_tasks, "user-tasks", 0, "N", 0, 100000000,
		       "that one user may have at a time; 0: no limit"),
	OPTION_INTEGER(struct settings, connections, "connections", 0, "N", 1, 100000, "at a time"),
	OPTION_FLAG(struct settings, salvage, "salvage", 0, "put a damaged state aside and take over what can be read"),
	OPTION_DOUBLE(struct settings, journal_days, "journal-days", 0, "DAYS", 0, 36500,
		      "how long the journal is kept; see nomora schedd export"),
	OPTION_FLAG(struct settings, journal_brief, "journal-brief", 0,
		    "no round trips and calls in the journal: for meshes of 100,000 pairs and more"),
	OPTION_HEADING("Cluster:"),
	OPTION_STRING(struct settings, cluster, "cluster", 'c', "FILE",
		      "machines to add or change at the start (nomora.cluster/1)"),
	OPTION_STRING(struct settings, curves, "curves", 'C', "DIR",
		      "curves to add or replace at the start; without it a new state has those that come with nomora"),
	OPTION_STRING(struct settings, latency, "latency", 'l', "FILE",
		      "the mesh: a live matrix in shared memory, or CSV, read again whenever it is replaced"),
	OPTION_CHOICE(struct settings, statistic, "latency-stat", 0, "NAME", statistics,
		      "which figure of a pair counts"),
	ROW_MAX_AGE(struct settings, max_age_s),
	OPTION_FLAG(struct settings, require_measured, "require-measured", 0,
		    "tasks wait instead of going where nothing was measured"),
	OPTION_HEADING("Decisions:"),
	OPTION_CHOICE(struct settings, policy, "policy", 'p', "NAME", policy_names, "how to place"),
	OPTION_INTEGER(struct settings, round_ms, "round-ms", 0, "MS", 0, 3600000, "shortest time from round to round"),
	ROW_OMEGA(struct settings, omega_per_s),
	ROW_BETA(struct settings, beta_per_s),
	OPTION_FLAG(struct settings, no_executor, "no-executor", 0, "a decision counts as started at once"),
	OPTION_DOUBLE(struct settings, start_timeout_s, "start-timeout", 0, "S", 0.1, 1e6,
		      "a decision not confirmed by then has failed"),
	OPTION_DOUBLE(struct settings, retry_s, "retry", 0, "S", 0, 1e6, "pause after a failure; doubles each time"),
	OPTION_INTEGER(struct settings, attempts, "attempts", 0, "N", 1, 1000, "then a task is given up"),
	OPTION_HEADING("Moves of running tasks:"),
	OPTION_CHOICE(struct settings, migrate, "migrate", 'm', "WHEN", migrations,
		      "move tasks of jobs submitted with --move"),
	OPTION_DOUBLE(struct settings, migrate_gain, "migrate-gain", 0, "SHARE", 0, 1,
		      "least gain of predicted performance"),
	OPTION_DOUBLE(struct settings, migrate_hold_s, "migrate-hold", 0, "S", 0, 1e7,
		      "for which the gain must have been there"),
	OPTION_INTEGER(struct settings, migrate_rate, "migrate-rate", 0, "N", 1, 100000, "tasks on the move at a time"),
	OPTION_INTEGER(struct settings, migrate_per_machine, "migrate-per-machine", 0, "N", 0, 100000,
		       "of them from or to one machine; 0: no limit"),
	OPTION_INTEGER(struct settings, migrate_per_job, "migrate-per-job", 0, "N", 0, 100000,
		       "of them of one job; 0: no limit"),
	OPTION_STRING(struct settings, windows, "migrate-window", 0, "HH:MM-HH:MM,...",
		      "local times at which tasks may move; default: always"),
	OPTION_DOUBLE(struct settings, restart_s, "restart-cost", 0, "S", 0, 1e7,
		      "work that a move loses, of jobs that do not say"),
	OPTION_DOUBLE(struct settings, no_return_s, "no-return", 0, "S", 0, 1e7,
		      "a task does not go back where it was within this time"),
	OPTION_END,
};

static const struct option_usage usage = {
	.command = "nomora schedd",
	.operands = "",
	.summary = "Place and move jobs by curve and live mesh, day and night.",
	.teach = teach,
	.rows = rows,
};

int command_schedd(int argc, char **argv)
{
	struct live_settings defaults;
	struct settings settings = {.socket = CLIENT_SOCKET,
				    .statistic = LATENCY_STATISTIC_P99,
				    .round_ms = 10,
				    .journal_days = 7,
				    .connections = 512};
	struct option_operands operands;
	struct error err = {0};
	int code;

	live_settings_default(&defaults);
	settings.start_timeout_s = defaults.start_timeout_s;
	settings.retry_s = defaults.retry_s;
	settings.attempts = defaults.attempts_maximum;
	settings.max_age_s = defaults.max_age_s;
	settings.migrate_gain = defaults.migrate_gain;
	settings.migrate_rate = defaults.migrate_rate;
	settings.no_return_s = defaults.no_return_s;
	if (argc > 1 && strcmp(argv[1], "export") == 0)
		return command_schedd_export(argc - 1, argv + 1);
	for (int p = 0; p < POLICIES_MOST - 1 && policies[p]; p++)
		policy_names[p] = policies[p]->name;
	code = command_parse(&usage, argc, argv, &settings, &operands);
	if (code >= 0)
		return code;
	options_free(&operands);
	if (settings.state)
		return serve(&settings);
	error_set(&err, EINVAL, "missing option --state FILE");
	return command_fail(&err, COMMAND_USAGE);
}

static const struct command commands[] = {
	{"schedd", "place and move jobs by curve and live mesh", command_schedd, NULL},
	{NULL, NULL, NULL, NULL},
};

int main(int argc, char **argv)
{
	return command_dispatch("nomora-schedd", "The live scheduler.", commands, argc, argv);
}
