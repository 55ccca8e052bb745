/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates the live state from the store, the cluster's file and the curves; runs its rounds; writes its changes to the
 * store.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/log.h>

#include "schedd_priv.h"

#define CHECK_S 60

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
	} else {
		code = error_code(err, ENOMEM); /* jobs with a curve that is not stored could not be loaded again */
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

void schedd_renew_machines(struct schedd *schedd)
{
	schedd->whole_since = ++schedd->machine_version;
}

static void note_machine(struct schedd *schedd, uint32_t number)
{
	size_t known = schedd->machine_versions_capacity;
	uint64_t *versions = array_reserve(schedd->machine_versions, (size_t)number + 1,
					   &schedd->machine_versions_capacity, sizeof *versions);

	if (!versions) {
		schedd_renew_machines(schedd);
		return;
	}
	schedd->machine_versions = versions;
	memset(versions + known, 0, (schedd->machine_versions_capacity - known) * sizeof *versions);
	versions[number] = ++schedd->machine_version;
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
	note_machine(schedd, number);
}

/*
 * Adds the machines of the cluster's file, or updates their slots. Machines that are not in the file remain, because
 * they may have tasks; the states of known machines (up, draining, down) remain, too.
 */
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
	schedd_renew_machines(schedd);
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

/* Opens the store. If it is damaged and the options ask for it, first rebuilds it from its readable rows. */
static struct store *open_store(const struct schedd_options *options, bool create, struct error *err)
{
	struct store *store = create ? store_open(options->state, err) : store_open_old(options->state, err);
	struct store_salvaged salvaged = {0};

	if (store || !options->salvage || err->code != EINVAL)
		return store;
	log_warning("%s", err->text);
	*err = (struct error){0};
	if (store_salvage(options->state, &salvaged, err) < 0)
		return NULL;
	log_warning("the damaged state was renamed to %s; recovered %llu machines, %llu curves, %llu jobs, %llu tasks; "
		    "%llu rows left out",
		    salvaged.aside, (unsigned long long)salvaged.machines, (unsigned long long)salvaged.curves,
		    (unsigned long long)salvaged.jobs, (unsigned long long)salvaged.tasks,
		    (unsigned long long)salvaged.dropped);
	return store_open(options->state, err);
}

/* Creates the live state from the store, the cluster's file and the curves. */
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

int schedd_open_state(struct schedd *schedd, bool create, struct error *err)
{
	int code;

	schedd->store = open_store(&schedd->options, create, err);
	code = schedd->store ? begin(schedd, err) : error_code(err, EINVAL);
	return code == 0 ? store_commit(schedd->store, err) : code;
}

static void run_round(struct schedd *schedd, double now_s)
{
	struct error err = {0};

	schedd->last_round_s = now_s;
	if (live_step(schedd->live, now_s, &err) < 0)
		log_warning("the round failed; rebuilding the network: %s", err.text);
}

void schedd_check_slots(struct schedd *schedd, double now_s)
{
	int64_t machine;

	if (now_s < schedd->next_check_s)
		return;
	schedd->next_check_s = now_s + CHECK_S;
	machine = live_find_mismatch(schedd->live);
	if (machine < 0)
		return;
	schedd->mismatches++;
	log_warning(
		"machine %s: the network holds %u slots, but other tasks than these are there; rebuilding the network",
		live_cluster(schedd->live)->machines[machine].name,
		live_machine_tasks(schedd->live, (uint32_t)machine));
	live_rebuild(schedd->live, now_s);
}

/*
 * Runs a round only if there is something to do, so that after an idle time the last round is long ago and a request
 * leads to a round at once.
 */
void schedd_step(struct schedd *schedd, double now_s)
{
	if (now_s - schedd->last_round_s >= schedd->options.round_ms / 1e3 && live_next_s(schedd->live, now_s) <= 0)
		run_round(schedd, now_s);
}

void schedd_run_due_rounds(struct schedd *schedd)
{
	double now_s = schedd_now_s(schedd);

	/* Decisions that are confirmed at once can make another round due; the number of rounds is limited. */
	for (int round = 0; round < 100 && live_next_s(schedd->live, now_s) <= 0 && now_s >= schedd->last_round_s;
	     round++)
		run_round(schedd, now_s);
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

/*
 * After an I/O error, the lock on the file may be lost: a file system of two hosts gives it to the other daemon if this
 * host is cut off, and may let this one write again later. Opening the file takes the lock or fails.
 */
static int open_again(struct schedd *schedd, struct error *err)
{
	*err = (struct error){0};
	store_close(schedd->store);
	schedd->store = store_open_old(schedd->options.state, err);
	return schedd->store ? 0 : error_code(err, EIO);
}

int schedd_commit(struct schedd *schedd, struct error *lost)
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
	schedd->last_round_s = schedd_now_s(schedd) + SCHEDD_PAUSE_S;
	if (schedd->trouble[0] == '\0')
		log_warning("%s; changes are refused until it can be written again", err.text);
	snprintf(schedd->trouble, sizeof schedd->trouble, "%.250s\n", err.text);
	code = err.code == EIO ? open_again(schedd, &err) : 0;
	if (code == 0)
		code = read_state(schedd, &err);
	return code == 0 ? 1 : error_set(lost, -code, "the state can neither be written nor read again: %s", err.text);
}
