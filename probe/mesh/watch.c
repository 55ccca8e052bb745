/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/mesh/watch.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <base/log.h>
#include <base/rng.h>
#include <base/spsc.h>
#include <probe/mesh/row.h>

enum { ROWS = 16, ADDRESSES_MAXIMUM = PEERS_MAXIMUM };

static const struct timespec publisher_nap = {.tv_nsec = 2 * NS_PER_MS};
static const struct ns retry_gap = {NS_PER_S}; /* interval at which a peers file is read that cannot be used */

struct watch {
	struct mesh_watch *options;
	struct agent *agent;
	atomic_bool stop;
	atomic_bool list_lost; /* set by the agent's thread: there was no memory for the last list's peers */
	/*
	 * Queues between the two threads:
	 *   - full: filled rows, to the publisher
	 *   - empty: the same rows, back to the agent's thread
	 *   - lists: new lists of peers, to the agent's thread
	 */
	struct spsc *full, *empty, *lists;
	struct agent_row *rows[ROWS];
	pthread_t publisher;
	bool publishing;
	/* Used by the agent's thread. */
	struct stamp next_window;
	size_t next_peer;
	uint64_t late;
	struct peers known;
	/* Used by the publisher. */
	struct timespec peers_changed;
	struct ns next_read;  /* of the peers file, on the monotonic clock */
	struct error refusal; /* the last that was logged */
	struct culprits *culprits;
	struct mesh_watch_state state;
	ip_address unreachable[ADDRESSES_MAXIMUM];
	uint64_t published_of_round;
	int said; /* the error of publishing that was logged last */
};

/* --- the publisher --- */

static void note_reach(struct watch *watch, ip_address address, bool unreachable)
{
	uint64_t count = watch->state.unreachable, i = 0;

	while (i < count && watch->unreachable[i] != address)
		i++;
	if (unreachable && i == count && count < ADDRESSES_MAXIMUM)
		watch->unreachable[watch->state.unreachable++] = address;
	else if (!unreachable && i < count)
		watch->unreachable[i] = watch->unreachable[--watch->state.unreachable];
}

static int64_t add_self(struct watch *watch, const struct peers *peers)
{
	const struct peer *self = peers_find(peers, watch->options->address);

	return latency_live_add_host(watch->options->live, watch->options->host, self ? self->rack : "", "");
}

static int publish_pair(struct watch *watch, const struct mesh_pair *pair, int64_t source)
{
	struct latency_matrix *live = watch->options->live;
	int64_t destination = latency_live_add_host(live, pair->peer.name, pair->peer.rack, "");
	struct latency_entry entry = mesh_pair_entry(pair), old;

	if (destination < 0)
		return (int)destination;
	entry.source = (uint32_t)source;
	entry.destination = (uint32_t)destination;
	entry.error_us = (float)watch->options->error_us;
	/* A window in which no probe was answered or lost does not change a pair that is already in the matrix. */
	if (entry.state == LATENCY_STATE_NEVER && latency_matrix_load_pair(live, entry.source, entry.destination, &old))
		return 0;
	if (entry.state == LATENCY_STATE_UNREACHABLE &&
	    latency_matrix_load_pair(live, entry.source, entry.destination, &old))
		entry.answered_at = old.answered_at;
	if (culprits_take(watch->culprits, pair))
		return -ENOMEM;
	if (entry.state == LATENCY_STATE_MEASURED)
		culprits_name(watch->culprits, pair->peer.address, &entry);
	if (entry.state != LATENCY_STATE_NEVER)
		note_reach(watch, pair->peer.address, entry.state == LATENCY_STATE_UNREACHABLE);
	return latency_matrix_set(live, &entry);
}

/* Logs once that rows were not published, and again only for another reason. */
static void say_unpublished(struct watch *watch, int code)
{
	if (code == -ENOSPC && watch->said != code)
		log_warning("the live matrix is full; some hosts or racks are missing");
	else if (code != 0 && watch->said != code)
		log_warning("some rows are missing in the live matrix: %s", strerror(-code));
	watch->said = code ? code : watch->said;
}

/* Publishes all rows in the queue in one batch. */
static void publish(struct watch *watch)
{
	struct latency_matrix *live = watch->options->live;
	struct mesh_row row = {0};
	struct error err = {0};
	struct agent_row *window;
	int64_t source;
	int code = 0;

	while (spsc_take(watch->full, &window)) {
		code = code ? code : mesh_row_add(&row, window);
		spsc_put(watch->empty, &window);
	}
	if (!row.count || latency_live_begin(live, &err)) {
		mesh_row_clear(&row);
		return;
	}
	source = latency_live_add_host(live, watch->options->host, "", "");
	for (size_t i = 0; source >= 0 && !code && i < row.count; i++)
		code = publish_pair(watch, &row.pairs[i], source);
	watch->state.windows += row.count;
	watch->published_of_round += row.count;
	if (watch->published_of_round >= watch->state.peers) {
		latency_live_update_maxima(live);
		watch->published_of_round = 0;
		if (watch->options->on_round)
			watch->options->on_round(watch->options->context, &watch->state);
	}
	latency_live_end(live);
	mesh_row_clear(&row);
	say_unpublished(watch, code ? code : source < 0 ? (int)source : 0);
}

static bool has_changed(const struct watch *watch, struct timespec *changed)
{
	struct stat status;

	if (!watch->options->peers_path || stat(watch->options->peers_path, &status) != 0)
		return false;
	*changed = status.st_mtim;
	return changed->tv_sec != watch->peers_changed.tv_sec || changed->tv_nsec != watch->peers_changed.tv_nsec;
}

/* Returns a new list, which the caller frees, or NULL with err set. */
static struct peers *read_list(const char *path, struct error *err)
{
	struct peers *peers = calloc(1, sizeof *peers);

	if (!peers)
		error_set(err, ENOMEM, "out of memory");
	else if (peers_read(path, peers, err) == 0)
		return peers;
	free(peers);
	return NULL;
}

/*
 * Reads the peers file if it has changed. If it is bad or cannot be read, the peers remain as they are, and it is read
 * again later, as the reason may be temporary.
 */
static void read_peers(struct watch *watch)
{
	struct ns now = ns_now_monotonic();
	struct timespec changed;
	struct peers *peers;
	struct error err = {0};

	if (atomic_exchange(&watch->list_lost, false)) {
		watch->peers_changed = (struct timespec){0};
		watch->next_read = ns_add(now, retry_gap);
	}
	if (now.v < watch->next_read.v || !has_changed(watch, &changed))
		return;
	watch->next_read = ns_add(now, retry_gap);
	peers = read_list(watch->options->peers_path, &err);
	if (!peers) {
		if (strcmp(err.text, watch->refusal.text) != 0)
			log_warning("keeping the current peers: %s", err.text);
		watch->refusal = err;
		return;
	}
	watch->state.peers = peers->count - (peers_find(peers, watch->options->address) != NULL);
	culprits_keep(watch->culprits, peers);
	if (!spsc_put(watch->lists, &peers)) {
		peers_free(peers);
		free(peers);
		return;
	}
	watch->peers_changed = changed;
	watch->refusal = err;
	watch->next_read = now;
}

static void *run_publisher(void *context)
{
	struct watch *watch = context;

	while (!atomic_load(&watch->stop)) {
		publish(watch);
		read_peers(watch);
		nanosleep(&publisher_nap, NULL);
	}
	publish(watch);
	return NULL;
}

/* --- the agent's thread --- */

/*
 * Adds the peers in a random order of our own, in which their windows end. If all probers had the same order, the first
 * bad windows of a fault would all be of the same peers, and these would seem to be the culprits.
 */
static int add_new_peers(struct watch *watch, const struct peers *peers, struct error *err)
{
	size_t *order = calloc(peers->count + 1, sizeof *order);
	struct rng rng;
	int code = order ? 0 : error_set(err, ENOMEM, "out of memory");

	rng_seed(&rng, (uint64_t)watch->options->address);
	for (size_t i = 0; order && i < peers->count; i++)
		order[i] = i;
	if (order)
		rng_shuffle(&rng, order, peers->count, sizeof *order);
	for (size_t i = 0; !code && i < peers->count; i++) {
		const struct peer *peer = &peers->items[order[i]];

		if (peer->address == watch->options->address || peers_find(&watch->known, peer->address))
			continue;
		code = agent_add_peer(watch->agent, peer, err);
	}
	free(order);
	return code;
}

/* If the new peers cannot all be added, the peers remain as they are. */
static void take_list(struct watch *watch)
{
	struct error err = {0};
	struct peers *peers;
	const struct peers *gone = &watch->known, *kept;
	int code;

	if (!spsc_take(watch->lists, &peers))
		return;
	code = add_new_peers(watch, peers, &err);
	kept = code ? &watch->known : peers;
	if (code) {
		log_warning("keeping the current peers: %s", err.text);
		gone = peers;
		atomic_store(&watch->list_lost, code == -ENOMEM);
	}
	for (size_t i = 0; i < gone->count; i++)
		if (!peers_find(kept, gone->items[i].address))
			agent_remove_peer(watch->agent, gone->items[i].address);
	if (code) {
		peers_free(peers);
	} else {
		peers_free(&watch->known);
		watch->known = *peers;
	}
	free(peers);
}

static struct ns window_gap(const struct watch *watch)
{
	size_t peers = agent_peer_count(watch->agent);

	return (struct ns){watch->options->window.v / (int64_t)(peers ? peers : 1)};
}

/* Ends the next peer's window if it is due and a row is free. */
static void end_window(struct watch *watch, struct stamp now)
{
	struct agent_row *row;

	if (now.ns < watch->next_window.ns || !agent_peer_count(watch->agent) || !spsc_take(watch->empty, &row))
		return;
	if (now.ns - watch->next_window.ns > watch->options->window.v / 10) {
		watch->late++;
		watch->next_window = now;
	}
	watch->next_window = stamp_after(watch->next_window, window_gap(watch));
	if (watch->next_peer >= agent_peer_count(watch->agent))
		watch->next_peer = 0;
	agent_window(watch->agent, watch->next_peer++, row);
	spsc_put(watch->full, &row);
}

static int loop(struct watch *watch, const volatile sig_atomic_t *stop, struct error *err)
{
	struct stamp now = agent_now(watch->agent);
	int code = 0;

	agent_set_mode(watch->agent, AGENT_MEASURING);
	watch->next_window = stamp_after(now, watch->options->window);
	while (!*stop && !code) {
		bool busy = agent_step(watch->agent, now);

		take_list(watch);
		if (now.ns >= watch->next_window.ns)
			code = agent_check_port(watch->agent, err);
		end_window(watch, now);
		if (!busy) {
			struct stamp wake = agent_wake_at(watch->agent);

			agent_sleep(watch->agent, wake.ns < watch->next_window.ns ? wake : watch->next_window);
		}
		now = agent_now(watch->agent);
	}
	return code;
}

static int remember(struct watch *watch, const struct peers *peers)
{
	watch->known.items = calloc(peers->count + 1, sizeof *watch->known.items);
	if (!watch->known.items)
		return -ENOMEM;
	memcpy(watch->known.items, peers->items, peers->count * sizeof *watch->known.items);
	watch->known.count = watch->known.capacity = peers->count;
	return 0;
}

static int create_queues(struct watch *watch)
{
	watch->full = spsc_create(ROWS, sizeof(struct agent_row *));
	watch->empty = spsc_create(ROWS, sizeof(struct agent_row *));
	watch->lists = spsc_create(4, sizeof(struct peers *));
	if (!watch->full || !watch->empty || !watch->lists)
		return -ENOMEM;
	for (size_t i = 0; i < ROWS; i++) {
		watch->rows[i] = agent_row_create(watch->agent);
		if (!watch->rows[i])
			return -ENOMEM;
		spsc_put(watch->empty, &watch->rows[i]);
	}
	return 0;
}

/* Adds the pairs that the matrix does not have yet, with the state "never". */
static int announce(struct watch *watch, const struct peers *peers, struct error *err)
{
	struct latency_matrix *live = watch->options->live;
	int code = latency_live_begin(live, err);
	int64_t source;

	if (code)
		return code;
	source = add_self(watch, peers);
	code = source < 0 ? (int)source : 0;
	for (size_t i = 0; !code && i < peers->count; i++) {
		struct mesh_pair pair = {.peer = peers->items[i]};

		if (peers->items[i].address != watch->options->address)
			code = publish_pair(watch, &pair, source);
	}
	latency_live_end(live);
	return code ? error_set(err, -code, "cannot add our pairs to the live matrix: %s", strerror(-code)) : 0;
}

static void stop_publisher(struct watch *watch)
{
	if (!watch->publishing)
		return;
	atomic_store(&watch->stop, true);
	pthread_join(watch->publisher, NULL);
	watch->publishing = false;
}

static void release(struct watch *watch)
{
	struct peers *peers;

	while (watch->lists && spsc_take(watch->lists, &peers)) {
		peers_free(peers);
		free(peers);
	}
	for (size_t i = 0; i < ROWS; i++)
		agent_row_destroy(watch->rows[i]);
	culprits_destroy(watch->culprits);
	free(watch->full);
	free(watch->empty);
	free(watch->lists);
	peers_free(&watch->known);
	free(watch);
}

int mesh_watch_run(struct agent *agent, const struct peers *peers, struct mesh_watch *options,
		   const volatile sig_atomic_t *stop, struct error *err)
{
	struct watch *watch = calloc(1, sizeof *watch);
	int code = watch ? 0 : -ENOMEM;

	if (watch) {
		watch->options = options;
		watch->agent = agent;
		watch->culprits = culprits_create();
		code = watch->culprits ? create_queues(watch) : -ENOMEM;
	}
	if (code) {
		if (watch)
			release(watch);
		return error_set(err, ENOMEM, "out of memory");
	}
	watch->state.peers = peers->count - (peers_find(peers, options->address) != NULL);
	code = announce(watch, peers, err);
	if (!code)
		code = add_new_peers(watch, peers, err);
	if (!code)
		code = remember(watch, peers) ? error_set(err, ENOMEM, "out of memory") : 0;
	if (!code && pthread_create(&watch->publisher, NULL, run_publisher, watch) != 0)
		code = error_set(err, EAGAIN, "cannot start a thread");
	watch->publishing = !code;
	if (!code)
		code = loop(watch, stop, err);
	stop_publisher(watch);
	options->state = watch->state;
	options->state.late = watch->late;
	release(watch);
	return code;
}
