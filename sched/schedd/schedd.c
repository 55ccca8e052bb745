/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon's loop. A turn handles requests, runs rounds, commits, and sends the replies. */
#include <errno.h>
#include <grp.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <systemd/sd-daemon.h>

#include "schedd_priv.h"

/*
 * If a turn takes longer than this, in seconds, the process is assumed to have been stopped, for example by a debugger
 * or while the machine was suspended.
 */
#define STALL_S 2
enum { EXPORT_BYTES = 1 << 20 };

static bool find_group(struct schedd *schedd, struct error *err)
{
	const struct group *group = getgrnam(schedd->options.admin_group);

	if (group)
		schedd->admin_gid = group->gr_gid;
	else
		error_set(err, ENOENT, "unknown group '%s'", schedd->options.admin_group);
	return group;
}

static int read_network(struct schedd *schedd, struct error *err)
{
	const struct schedd_options *options = &schedd->options;

	if (!options->network)
		return 0;
	schedd->network = recovery_network_read(options->network, options->link_MBps, err);
	schedd->options.live.network = schedd->network;
	return schedd->network ? 0 : error_code(err, EINVAL);
}

struct schedd *schedd_create(const struct schedd_options *options, const volatile int *stop, struct error *err)
{
	struct schedd *schedd = calloc(1, sizeof *schedd);
	struct serve_options serve = {.unix_path = options->socket,
				      .address = options->address,
				      .port = options->port,
				      .token = options->token,
				      .routes = schedd_routes,
				      .context = schedd,
				      .connections = options->connections,
				      .body_bytes = 8 << 20};
	int code;

	if (!schedd) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	schedd->options = *options;
	/*
	 * The clock of `live` begins at 3600 s, so that a task that has run for less than an hour when the daemon
	 * starts has a start time >= 0.
	 */
	schedd->start = ns_sub(ns_now_monotonic(), ns_from_us(3600e6));
	schedd->admin_gid = (gid_t)-1;
	schedd->machine_version = (uint64_t)(ns_now_wall().v / 1000);
	code = options->admin_group && !find_group(schedd, err) ? error_code(err, ENOENT) : read_network(schedd, err);
	if (code == 0)
		code = schedd_wait_for_state(schedd, &serve, stop, err);
	if (code == 0 && options->latency) {
		schedd->mesh = mesh_create(options->latency, options->statistic);
		code = schedd->mesh ? 0 : error_set(err, ENOMEM, "out of memory");
	}
	if (code == 0)
		schedd->serve = serve_create(&serve, err);
	if (schedd->serve && options->extender_address) {
		schedd->extender = api_extender_create(schedd, options, err);
		code = schedd->extender ? 0 : error_code(err, EINVAL);
	}
	if (schedd->serve && code == 0)
		return schedd;
	schedd_destroy(schedd);
	return NULL;
}

void schedd_destroy(struct schedd *schedd)
{
	if (!schedd)
		return;
	forecast_stop(schedd->forecasts);
	schedd_refuse_submissions(schedd);
	api_extender_destroy(schedd->extender);
	serve_destroy(schedd->serve);
	for (size_t r = 0; r < schedd->reply_count; r++)
		free(schedd->replies[r].text);
	free(schedd->replies);
	free(schedd->polls);
	free(schedd->submissions);
	free(schedd->overview);
	free(schedd->machine_versions);
	record_destroy(schedd->record);
	mesh_destroy(schedd->mesh);
	live_destroy(schedd->live);
	recovery_destroy(schedd->network);
	store_close(schedd->store);
	free(schedd);
}

uint16_t schedd_port(const struct schedd *schedd)
{
	return serve_port(schedd->serve);
}

uint16_t schedd_extender_port(const struct schedd *schedd)
{
	return api_extender_port(schedd->extender);
}

static void send_replies(struct schedd *schedd, bool committed)
{
	static const char failed[] = "{\"error\": \"the state cannot be written; nothing was changed\"}";

	for (size_t r = 0; r < schedd->reply_count; r++) {
		struct reply *reply = &schedd->replies[r];

		if (committed || strcmp(reply->call->method, "GET") == 0)
			serve_reply(reply->call, reply->status, "application/json", reply->text, strlen(reply->text));
		else
			serve_reply(reply->call, 503, "application/json", failed, sizeof failed - 1);
		free(reply->text);
	}
	schedd->reply_count = 0;
}

static void answer_polls(struct schedd *schedd, double now_s)
{
	size_t kept = 0;

	for (size_t p = 0; p < schedd->poll_count; p++) {
		struct poll_call *poll = &schedd->polls[p];
		char *text;

		if (live_last_decision(schedd->live) <= poll->after && now_s < poll->until_s) {
			schedd->polls[kept++] = *poll;
			continue;
		}
		text = schedd_decisions_text(schedd, poll->after);
		serve_reply(poll->call, text ? 200 : 500, "application/json", text ? text : "",
			    text ? strlen(text) : 0);
		free(text);
	}
	schedd->poll_count = kept;
}

/* Maximum time to sleep, in milliseconds. */
static int sleep_ms(struct schedd *schedd, double now_s)
{
	double wait_s = live_next_s(schedd->live, now_s),
	       until_round_s = schedd->last_round_s + schedd->options.round_ms / 1e3 - now_s;
	int http_ms = serve_timeout_ms(schedd->serve), extender_ms = api_extender_timeout_ms(schedd->extender);

	if (http_ms < 0 || (extender_ms >= 0 && extender_ms < http_ms))
		http_ms = extender_ms;
	wait_s = fmax(wait_s, until_round_s);
	if (schedd->mesh)
		wait_s = fmin(wait_s, fmax(0, schedd->next_mesh_s - now_s));
	for (size_t p = 0; p < schedd->poll_count; p++)
		wait_s = fmin(wait_s, fmax(0, schedd->polls[p].until_s - now_s));
	if (wait_s > 1)
		wait_s = 1;
	if (schedd->reply_count > 0 || schedd->submission_count > 0)
		return 0;
	return http_ms >= 0 && http_ms < wait_s * 1e3 ? http_ms : (int)ceil(wait_s * 1e3);
}

/* Reports to systemd's watchdog from the loop that places tasks, so that systemd restarts a daemon that hangs. */
static void feed_watchdog(struct schedd *schedd, double now_s)
{
	uint64_t period_us;

	if (now_s < schedd->next_feed_s)
		return;
	schedd->next_feed_s = sd_watchdog_enabled(0, &period_us) > 0 ? now_s + (double)period_us / 4e6 : INFINITY;
	if (schedd->next_feed_s < INFINITY)
		sd_notifyf(0, "WATCHDOG=1\nSTATUS=%llu decisions%s%s",
			   (unsigned long long)live_last_decision(schedd->live), schedd->trouble[0] ? "; " : "",
			   schedd->trouble);
}

static void open_moves(struct schedd *schedd)
{
	time_t wall = time(NULL);
	struct tm local;

	if (schedd->options.windows.count > 0 && localtime_r(&wall, &local))
		live_open_moves(schedd->live, windows_are_open(&schedd->options.windows, &local));
}

int schedd_export(const char *state, FILE *out, struct error *err)
{
	struct store *store = store_open_old(state, err);
	uint64_t after = 0, next = 0;
	int code = store ? 0 : error_code(err, EIO);

	while (code == 0) {
		char *lines = store_journal_page(store, after, EXPORT_BYTES, &next);

		if (!lines || fputs(lines, out) == EOF)
			code = error_set(err, EIO, "%s: cannot export: %s", state, strerror(errno));
		free(lines);
		if (next == after)
			break;
		after = next;
	}
	store_close(store);
	return code;
}

/*
 * If the process was stopped since last_s, postpones the rounds: the reports that arrived meanwhile must be read before
 * a round treats overdue starts as failed. Returns the current time.
 */
static double end_stall(struct schedd *schedd, double last_s)
{
	double now_s = schedd_now_s(schedd);

	if (now_s - last_s > STALL_S)
		schedd->last_round_s = now_s + SCHEDD_PAUSE_S;
	return now_s;
}

int schedd_run(struct schedd *schedd, const volatile int *stop, struct error *err)
{
	struct pollfd polled[2 + FORECASTS_MOST] = {
		{.fd = serve_fd(schedd->serve), .events = POLLIN},
		{.fd = api_extender_fd(schedd->extender), .events = POLLIN}}; /* poll() ignores -1 */

	double now_s = schedd_now_s(schedd);
	int code = 0;

	sd_notify(0, "READY=1");
	while (!*stop) {
		size_t count = 2 + forecast_poll(schedd->forecasts, polled + 2);

		if (poll(polled, count, sleep_ms(schedd, now_s)) < 0 && errno != EINTR)
			return error_set(err, errno, "poll: %s", strerror(errno));
		now_s = end_stall(schedd, now_s);
		forecast_read(schedd->forecasts);
		serve_run(schedd->serve);
		api_extender_run(schedd->extender);
		open_moves(schedd);
		schedd_take_submissions(schedd);
		now_s = end_stall(schedd, now_s); /* again, because the process may have been stopped since the first
						     check */
		if (schedd->mesh)
			schedd->next_mesh_s = mesh_work(schedd->mesh, schedd->live, now_s);
		schedd_check_slots(schedd, now_s);
		schedd_step(schedd, now_s);
		code = schedd_commit(schedd, err);
		if (code != 0)
			schedd_refuse_submissions(schedd);
		send_replies(schedd, code == 0);
		if (code < 0)
			return code;
		answer_polls(schedd, now_s);
		schedd_sample(schedd, now_s);
		feed_watchdog(schedd, now_s);
	}
	sd_notify(0, "STOPPING=1");
	return 0;
}
