/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop: requests, rounds, the commit, replies. */
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <systemd/sd-daemon.h>

#include <base/array.h>
#include <base/log.h>

#include "schedd_priv.h"

/* Pause of the rounds after the state could not be written, and after the loop was stopped for STALL_S. */
#define PAUSE_S 1
#define STALL_S 2
enum { EXPORT_BYTES = 1 << 20 };

/* Wall clock minus the clock of live. */
static double offset_s(const struct schedd *schedd)
{
	return ns_to_s(ns_now_wall()) - schedd_now_s(schedd);
}

static int read_curve(struct schedd *schedd, const char *folder, const char *file, struct error *err)
{
	char path[4096], name[256];
	size_t length = strlen(file);
	struct curve *curve;
	char *text;
	int code;

	if (length < 6 || strcmp(file + length - 5, ".json") != 0 || length >= sizeof name)
		return 0;
	snprintf(path, sizeof path, "%s/%s", folder, file);
	snprintf(name, sizeof name, "%.*s", (int)(length - 5), file);
	curve = curve_load(path, err);
	if (!curve)
		return error_code(err, EINVAL);
	code = live_curve_set(schedd->live, name, curve, err);
	text = code == 0 ? curve_to_text(curve, err) : NULL;
	if (text) {
		store_put_curve(schedd->store, name, text);
		record_curve(schedd->record, name, text);
	}
	free(text);
	curve_destroy(curve);
	return code;
}

static int read_curves(struct schedd *schedd, const char *folder, struct error *err)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, NULL, alphasort), code = 0;

	if (count < 0)
		return error_set(err, errno, "%s: %s", folder, strerror(errno));
	for (int i = 0; i < count; i++) {
		if (code == 0)
			code = read_curve(schedd, folder, entries[i]->d_name, err);
		free(entries[i]);
	}
	free(entries);
	return code;
}

/* Machines that are not in the file remain, as they may have tasks. States remain, too. */
static int take_cluster(struct schedd *schedd, const struct cluster *cluster, struct error *err)
{
	int code = 0;

	for (uint32_t m = 0; code == 0 && m < cluster->machine_count; m++) {
		const struct cluster_machine *machine = &cluster->machines[m];
		const struct cluster_rack *rack = &cluster->racks[machine->rack];
		int64_t number = cluster_find_machine(live_cluster(schedd->live), machine->name);
		enum live_machine_state state =
			number < 0 ? LIVE_UP : live_machine_state_of(schedd->live, (uint32_t)number);

		code = live_machine_set(schedd->live, machine->name, rack->name, cluster->pods[rack->pod],
					machine->slots, state, err);
		if (code == 0)
			schedd_keep_machine(schedd,
					    (uint32_t)cluster_find_machine(live_cluster(schedd->live), machine->name));
	}
	return code;
}

/* Makes a new live state from the store. */
static int read_state(struct schedd *schedd, struct error *err)
{
	int code;

	live_destroy(schedd->live);
	record_destroy(schedd->record);
	schedd->live = NULL;
	schedd->record = record_create(schedd->store, schedd->options.journal_days, &schedd->options.live.default_rtt);
	schedd->options.live.measured = schedd->options.journal_brief ? NULL : record_latency;
	schedd->options.live.called = schedd->options.journal_brief ? NULL : record_call;
	schedd->options.live.context = schedd->record;
	if (schedd->record)
		schedd->live = live_create(&schedd->options.live, err);
	if (!schedd->live)
		return error_code(err, ENOMEM);
	code = store_load(schedd->store, schedd->live, offset_s(schedd), schedd_now_s(schedd), err);
	record_state(schedd->record, schedd->live);
	schedd->stored_decision = live_last_decision(schedd->live);
	if (schedd->mesh)
		mesh_read_again(schedd->mesh);
	return code;
}

/* Rebuilds a damaged state from its readable rows, if the options ask for it. */
static struct store *open_state(const struct schedd_options *options, struct error *err)
{
	struct store *store = store_open(options->state, err);
	struct store_salvaged salvaged = {0};

	if (store || !options->salvage || err->code != EINVAL)
		return store;
	log_warning("%s", err->text);
	*err = (struct error){0};
	if (store_salvage(options->state, &salvaged, err) < 0)
		return NULL;
	log_warning("the damaged state is %s; took over %llu machines, %llu curves, %llu jobs, %llu tasks",
		    salvaged.aside, (unsigned long long)salvaged.machines, (unsigned long long)salvaged.curves,
		    (unsigned long long)salvaged.jobs, (unsigned long long)salvaged.tasks);
	return store_open(options->state, err);
}

/* The live state from the store, the cluster's file and the curves. */
static int begin(struct schedd *schedd, struct error *err)
{
	const struct schedd_options *options = &schedd->options;
	struct cluster *cluster = options->cluster ? cluster_read(options->cluster, err) : NULL;
	int code = options->cluster && !cluster ? error_code(err, EINVAL) : 0;

	if (cluster) {
		schedd->options.live.default_rtt = cluster->default_rtt;
		store_put_default_rtt(schedd->store, &cluster->default_rtt);
	} else if (code == 0) {
		code = store_load_default_rtt(schedd->store, &schedd->options.live.default_rtt, err);
	}
	if (code == 0)
		code = read_state(schedd, err);
	if (code == 0 && cluster)
		code = take_cluster(schedd, cluster, err);
	if (code == 0 && options->curves)
		code = read_curves(schedd, options->curves, err);
	else if (code == 0 && options->default_curves && !live_curve_name(schedd->live, 0))
		code = read_curves(schedd, options->default_curves, err);
	cluster_destroy(cluster);
	return code;
}

static bool find_group(struct schedd *schedd, struct error *err)
{
	const struct group *group = getgrnam(schedd->options.admin_group);

	if (group)
		schedd->admin_gid = group->gr_gid;
	else
		error_set(err, ENOENT, "unknown group '%s'", schedd->options.admin_group);
	return group;
}

struct schedd *schedd_create(const struct schedd_options *options, struct error *err)
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
	 * The clock of live never shows less than the stored times: an hour is added for tasks that have run since
	 * before the start.
	 */
	schedd->start = ns_sub(ns_now_monotonic(), ns_from_us(3600e6));
	schedd->store = open_state(options, err);
	schedd->admin_gid = (gid_t)-1;
	if (schedd->store && options->admin_group && !find_group(schedd, err)) {
		schedd_destroy(schedd);
		return NULL;
	}
	code = schedd->store ? begin(schedd, err) : error_code(err, EINVAL);
	if (code == 0)
		code = store_commit(schedd->store, err);
	if (code == 0 && options->latency) {
		schedd->mesh = mesh_create(options->latency, options->statistic);
		code = schedd->mesh ? 0 : error_set(err, ENOMEM, "out of memory");
	}
	if (code == 0)
		schedd->serve = serve_create(&serve, err);
	if (schedd->serve && options->extender_address) {
		schedd->extender = api_extender_create(schedd, options->extender_address, options->extender_port,
						       options->state, err);
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
	record_destroy(schedd->record);
	mesh_destroy(schedd->mesh);
	live_destroy(schedd->live);
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

static void run_round(struct schedd *schedd, double now_s)
{
	struct error err = {0};

	schedd->last_round_s = now_s;
	if (live_step(schedd->live, now_s, &err) < 0)
		log_warning("the round failed, the network is built again: %s", err.text);
}

/* Only a round that did something delays the next one: a request after an idle time is handled at once. */
static void step(struct schedd *schedd, double now_s)
{
	if (now_s - schedd->last_round_s >= schedd->options.round_ms / 1e3 && live_next_s(schedd->live, now_s) <= 0)
		run_round(schedd, now_s);
}

void schedd_run_due_rounds(struct schedd *schedd)
{
	double now_s = schedd_now_s(schedd);

	/*
	 * Rounds make decisions whose confirmations may make another round due; the number of repetitions is limited.
	 */
	for (int round = 0; round < 100 && live_next_s(schedd->live, now_s) <= 0 && now_s >= schedd->last_round_s;
	     round++)
		run_round(schedd, now_s);
}

void schedd_keep_machine(void *context, uint32_t number)
{
	struct schedd *schedd = context;
	const struct cluster *cluster = live_cluster(schedd->live);
	const struct cluster_machine *machine = &cluster->machines[number];
	const struct cluster_rack *rack = &cluster->racks[machine->rack];

	store_put_machine(schedd->store, machine->name, rack->name, cluster->pods[rack->pod], machine->slots,
			  live_machine_state_name(live_machine_state_of(schedd->live, number)));
	record_machine(schedd->record, schedd->live, number);
}

static void put_job(void *context, const struct live_job *job)
{
	struct schedd *schedd = context;

	store_put_tasks(schedd->store, schedd->live, job, offset_s(schedd));
	record_tasks(schedd->record, schedd->live, job, false);
}

static void remove_job(void *context, const struct live_job *job)
{
	struct schedd *schedd = context;

	store_remove_job(schedd->store, job->id);
	record_tasks(schedd->record, schedd->live, job, true);
}

/* Writes the changes. On failure the live state is read back from the store. */
static int commit(struct schedd *schedd)
{
	struct error err = {0};
	struct ns begun;
	size_t count;
	const struct live_decision *decisions = live_decisions(schedd->live, schedd->stored_decision, &count);
	int code;

	for (size_t d = 0; d < count; d++) {
		store_put_decision(schedd->store, &decisions[d], offset_s(schedd));
		record_decision(schedd->record, &decisions[d]);
	}
	live_take_changes(schedd->live, put_job, remove_job, schedd);
	record_put(schedd->record, schedd->store, schedd->live);
	if (!store_pending(schedd->store))
		return 0;
	begun = ns_now_monotonic();
	code = store_commit(schedd->store, &err);
	schedd->commit_s += ns_to_s(ns_sub(ns_now_monotonic(), begun));
	if (code == 0) {
		for (size_t d = 0; d < count; d++)
			schedd_count_decision(schedd, &decisions[d]);
		schedd->stored_decision = live_last_decision(schedd->live);
		schedd->commits++;
		schedd->trouble[0] = '\0';
		return 0;
	}
	schedd->commit_failures++;
	schedd_refuse_submissions(schedd);
	schedd->last_round_s = schedd_now_s(schedd) + PAUSE_S;
	if (schedd->trouble[0] == '\0')
		log_warning("%s; changes are refused until it can be written again", err.text);
	snprintf(schedd->trouble, sizeof schedd->trouble, "%.250s\n", err.text);
	if (read_state(schedd, &err) < 0)
		log_warning("%s", err.text);
	return code;
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
 * After the process was stopped, reads the reports that arrived meanwhile before rounds treat overdue starts as failed.
 */
static double end_stall(struct schedd *schedd, double last_s)
{
	double now_s = schedd_now_s(schedd);

	if (now_s - last_s > STALL_S)
		schedd->last_round_s = now_s + PAUSE_S;
	return now_s;
}

int schedd_run(struct schedd *schedd, const volatile int *stop, struct error *err)
{
	struct pollfd polled[2 + FORECASTS_MOST] = {
		{.fd = serve_fd(schedd->serve), .events = POLLIN},
		{.fd = api_extender_fd(schedd->extender), .events = POLLIN}}; /* poll() passes over -1 */

	double now_s = schedd_now_s(schedd);

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
		now_s = end_stall(schedd, now_s); /* must come after the events just served, as the process may have
						     been stopped between */
		if (schedd->mesh)
			schedd->next_mesh_s = mesh_work(schedd->mesh, schedd->live, now_s);
		step(schedd, now_s);
		send_replies(schedd, commit(schedd) == 0);
		answer_polls(schedd, now_s);
		schedd_sample(schedd, now_s);
		feed_watchdog(schedd, now_s);
	}
	sd_notify(0, "STOPPING=1");
	return 0;
}
