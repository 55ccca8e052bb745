/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/schedd/schedd.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <base/file.h>
#include <model/latency_matrix.h>
#include <model/latency_live.h>
#include <sched/migration/migration.h>
#include <sched/policy/policy.h>

enum { POLICIES_MOST = 16 };

static const char *policy_names[POLICIES_MOST]; /* filled by schedd_settings_default() */

const struct option_row schedd_option_rows[] = {
	OPTION_STRING(struct schedd_settings, state, "state", 'S', "FILE",
		      "SQLite file with the state; created if absent (required)"),
	OPTION_STRING(struct schedd_settings, socket, "socket", 's', "PATH", "unix socket to serve on"),
	OPTION_STRING(struct schedd_settings, listen, "listen", 0, "ADDRESS:PORT",
		      "serve on TCP instead; needs --token-file"),
	OPTION_STRING(struct schedd_settings, token_file, "token-file", 0, "FILE",
		      "file with the token of TCP clients; needs mode 0600"),
	OPTION_STRING(struct schedd_settings, extender, "extender", 0, "ADDRESS:PORT",
		      "serve kube-scheduler's extender requests on this address"),
	OPTION_STRING(struct schedd_settings, extender_token_file, "extender-token-file", 0, "FILE",
		      "file with the token that kube-scheduler has in its URL; needs mode 0600"),
	OPTION_STRING(struct schedd_settings, admin_group, "admin-group", 0, "GROUP",
		      "group whose members are admins, besides root and the daemon's user"),
	OPTION_INTEGER(struct schedd_settings, user_tasks, "user-tasks", 0, "N", 0, 100000000,
		       "tasks that one user may have at a time; 0: no limit"),
	OPTION_INTEGER(struct schedd_settings, connections, "connections", 0, "N", 1, 100000,
		       "connections served at a time"),
	OPTION_FLAG(struct schedd_settings, salvage, "salvage", 0,
		    "rename a damaged state and recover its readable part"),
	OPTION_FLAG(struct schedd_settings, standby, "standby", 0,
		    "if another daemon uses the state, wait until it ends, and take over"),
	OPTION_DOUBLE(struct schedd_settings, journal_days, "journal-days", 0, "DAYS", 0, 36500,
		      "how long the journal is kept; see nomora schedd export"),
	OPTION_FLAG(struct schedd_settings, journal_brief, "journal-brief", 0,
		    "leave round trips and calls out of the journal: for meshes of 100,000 pairs and more"),
	OPTION_HEADING("Cluster"),
	OPTION_STRING(struct schedd_settings, cluster, "cluster", 'c', "FILE",
		      "machines to add or change at the start (nomora.cluster/1)"),
	OPTION_STRING(struct schedd_settings, curves, "curves", 'C', "DIR",
		      "curves to add or replace at the start; default for a new state: those that come with nomora"),
	OPTION_STRING(struct schedd_settings, latency, "latency", 'l', "FILE",
		      "the mesh: a live matrix in shared memory, or CSV, read again whenever it is replaced"),
	OPTION_CHOICE(struct schedd_settings, statistic, "latency-stat", 0, "NAME", latency_rtt_statistic_names,
		      "statistic of the round trips of a pair to use"),
	ROW_MAX_AGE(struct schedd_settings, max_age_s),
	OPTION_FLAG(struct schedd_settings, require_measured, "require-measured", 0,
		    "let tasks wait rather than use a machine without a measured round trip"),
	OPTION_STRING(struct schedd_settings, network, "network", 'n', "NETWORK",
		      "the machines' links: tasks of failed machines are placed by their flows, see Recovery"),
	OPTION_DOUBLE(struct schedd_settings, link_MBps, "link-MBps", 0, "R", 1e-3, 1e9,
		      "speed of the network's links for which none is known, in MB/s"),
	OPTION_HEADING("Decisions"),
	OPTION_CHOICE(struct schedd_settings, policy, "policy", 'p', "NAME", policy_names,
		      "policy that places the tasks"),
	OPTION_INTEGER(struct schedd_settings, round_ms, "round-ms", 0, "MS", 0, 3600000,
		       "minimum time between rounds"),
	ROW_WEIGHTS(struct schedd_settings, weights),
	ROW_OMEGA(struct schedd_settings, omega_per_s),
	ROW_BETA(struct schedd_settings, beta_per_s),
	OPTION_FLAG(struct schedd_settings, gap, "gap", 0,
		    "prove how far the tasks of each round can be from the least cost; slow in large clusters"),
	OPTION_FLAG(struct schedd_settings, no_executor, "no-executor", 0,
		    "without an executor: count each task as started once it is placed"),
	OPTION_DOUBLE(struct schedd_settings, start_timeout_s, "start-timeout", 0, "S", 0.1, 1e6,
		      "a decision fails if the task's start is not reported within this time"),
	OPTION_DOUBLE(struct schedd_settings, retry_s, "retry", 0, "S", 0, 1e6,
		      "pause after a task's first failure; doubles with each further failure"),
	OPTION_INTEGER(struct schedd_settings, attempts, "attempts", 0, "N", 1, 1000,
		       "failures after which a task is given up"),
	OPTION_INTEGER(struct schedd_settings, recovery_ms, "recovery-ms", 0, "MS", 1, 60000,
		       "with --network: time limit of a recovery; at the limit, the best placement so far counts"),
	OPTION_INTEGER(struct schedd_settings, recovery_hold_ms, "recovery-hold-ms", 0, "MS", 0, 60000,
		       "with --network: time for which a recovery waits for further machines that fail"),
	ROWS_MIGRATION(struct schedd_settings, 'm',
		       "move running tasks of jobs submitted with --move; advise: only report the moves"),
	OPTION_END,
};

/* A token that other users can read is not secret. */
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

static struct live_settings live_settings(const struct schedd_settings *settings)
{
	struct live_settings live;

	live_settings_default(&live);
	live.policy = policies[settings->policy];
	live.policy_settings.weights = (enum policy_weights)settings->weights;
	live.policy_settings.flow.omega_per_s = settings->omega_per_s;
	live.policy_settings.flow.beta_per_s = settings->beta_per_s;
	live.confirm_at_once = settings->no_executor;
	live.bound = settings->gap;
	live.start_timeout_s = settings->start_timeout_s;
	live.retry_s = settings->retry_s;
	live.attempts_maximum = (uint32_t)settings->attempts;
	live.max_age_s = settings->max_age_s;
	live.require_measured = settings->require_measured;
	live.moves = settings->moves;
	live.recovery_ms = (double)settings->recovery_ms;
	live.recovery_hold_s = (double)settings->recovery_hold_ms / 1e3;
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
	if (!colon || end == colon + 1 || *end != '\0' || number < 0 || number > UINT16_MAX || length == 0 ||
	    length >= 64)
		return error_set(err, EINVAL, "bad address '%s'; expected ADDRESS:PORT", text);
	snprintf(address, 64, "%.*s", (int)length, text);
	*port = (uint16_t)number;
	return 0;
}

int schedd_setup_read(const struct schedd_settings *settings, struct schedd_setup *setup, struct error *err)
{
	struct schedd_options *options = &setup->options;

	*setup = (struct schedd_setup){.options = {.live = live_settings(settings),
						   .state = settings->state,
						   .cluster = settings->cluster,
						   .curves = settings->curves,
						   .latency = settings->latency,
						   .network = settings->network,
						   .link_MBps = settings->link_MBps,
						   .statistic = (enum latency_statistic)settings->statistic,
						   .salvage = settings->salvage,
						   .standby = settings->standby,
						   .admin_group = settings->admin_group,
						   .user_tasks = (uint32_t)settings->user_tasks,
						   .connections = (uint32_t)settings->connections,
						   .journal_days = settings->journal_days,
						   .journal_brief = settings->journal_brief,
						   .round_ms = (uint32_t)settings->round_ms,
						   .socket = settings->listen ? NULL : settings->socket}};
	if (!settings->state)
		return error_set(err, EINVAL, "missing option --state FILE");
	if (settings->listen && !settings->token_file)
		return error_set(err, EINVAL, "--listen needs --token-file");
	if (settings->extender_token_file && !settings->extender)
		return error_set(err, EINVAL, "--extender-token-file needs --extender");
	if (settings->listen && split_listen(settings->listen, setup->address, &options->port, err) < 0)
		return -EINVAL;
	if (settings->extender && split_listen(settings->extender, setup->extender, &options->extender_port, err) < 0)
		return -EINVAL;
	options->address = settings->listen ? setup->address : NULL;
	options->extender_address = settings->extender ? setup->extender : NULL;
	if (settings->windows && windows_parse(settings->windows, &options->windows, err))
		return error_prefix(err, "--migrate-window");
	return 0;
}

int schedd_setup_read_token(const struct schedd_settings *settings, struct schedd_setup *setup, struct error *err)
{
	if (settings->listen)
		setup->options.token = setup->token = read_token(settings->token_file, err);
	if (settings->listen && !setup->token)
		return error_code(err, EIO);
	if (settings->extender_token_file)
		setup->options.extender_token = setup->extender_token = read_token(settings->extender_token_file, err);
	return settings->extender_token_file && !setup->extender_token ? error_code(err, EIO) : 0;
}

void schedd_setup_free(struct schedd_setup *setup)
{
	free(setup->token);
	free(setup->extender_token);
}

void schedd_settings_default(struct schedd_settings *settings)
{
	struct live_settings live;

	live_settings_default(&live);
	*settings = (struct schedd_settings){
		.statistic = LATENCY_STATISTIC_P99,
		.round_ms = 10,
		.journal_days = 7,
		.connections = 512,
		.start_timeout_s = live.start_timeout_s,
		.retry_s = live.retry_s,
		.attempts = live.attempts_maximum,
		.max_age_s = live.max_age_s,
		.link_MBps = 125,
		.recovery_ms = (int64_t)live.recovery_ms,
		.recovery_hold_ms = 100,
		.moves = MIGRATION_DEFAULTS,
	};
	for (int p = 0; p < POLICIES_MOST - 1 && policies[p]; p++)
		policy_names[p] = policies[p]->name;
}
