/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/paths/paths.h>

#include <math.h>
#include <stdlib.h>

#include <base/array.h>

enum { ATTEMPTS = 3, SILENT_MAXIMUM = 3, NO_PATH = -1 };

struct trace {
	struct path path;  /* the hops found so far */
	int known;         /* index of the path that this port took before, or NO_PATH */
	uint32_t attempts; /* number of probes sent with the current TTL, which is hop_count + 1 */
	uint32_t silent;   /* number of hops at the end of the path that did not answer */
	bool running;
	struct ns sent_at;
};

struct paths {
	struct paths_options options;
	struct path *list;
	size_t capacity;
	uint32_t count, generation;
	bool learning;
	uint32_t cursor;  /* the next candidate to trace, modulo options.candidates */
	uint32_t arrived; /* number of traces that reached the destination, each from a different port */
	uint32_t checked; /* number of traces of known paths so far; selects the path that is checked next */
	bool check_next;  /* the newest trace checks a known path, so the following one traces a candidate */
	struct trace trace;
	struct ns next_at;
};

struct paths *paths_create(const struct paths_options *options)
{
	struct paths *paths;

	if (options->candidates == 0 || options->candidates > PATHS_CANDIDATES_MAXIMUM || !(options->miss > 0))
		return NULL;
	paths = calloc(1, sizeof *paths);
	if (!paths)
		return NULL;
	paths->options = *options;
	paths->learning = true;
	paths->next_at.v = INT64_MIN;
	return paths;
}

void paths_destroy(struct paths *paths)
{
	if (paths)
		free(paths->list);
	free(paths);
}

static double miss_probability(uint32_t known, uint32_t arrived)
{
	double k = known;

	return known == 0 ? 1 : fmin(1, (k + 1) * pow(k / (k + 1), arrived));
}

double paths_confidence(const struct paths *paths)
{
	return 1 - miss_probability(paths->count, paths->arrived);
}

uint32_t paths_count(const struct paths *paths)
{
	return paths->count;
}

uint32_t paths_generation(const struct paths *paths)
{
	return paths->generation;
}

const struct path *paths_get(const struct paths *paths, uint32_t number)
{
	return &paths->list[number];
}

bool paths_known(const struct paths *paths)
{
	return !paths->learning;
}

struct ns paths_due(const struct paths *paths)
{
	if (paths->trace.running && paths->trace.attempts > 0)
		return ns_add(paths->trace.sent_at, paths->options.timeout);
	return paths->next_at;
}

static bool same_hop(ip_address a, ip_address b)
{
	return !a || !b || a == b;
}

static bool same_path(const struct path *a, const struct path *b)
{
	const struct path *shorter = a->hop_count < b->hop_count ? a : b;

	if (a->hop_count != b->hop_count && !shorter->open_end)
		return false;
	for (uint32_t i = 0; i < shorter->hop_count; i++)
		if (!same_hop(a->hops[i], b->hops[i]))
			return false;
	return true;
}

static int find_path(const struct paths *paths, const struct path *path)
{
	for (uint32_t i = 0; i < paths->count; i++)
		if (same_path(&paths->list[i], path))
			return (int)i;
	return NO_PATH;
}

static void learn_hops(struct path *known, const struct path *seen)
{
	for (uint32_t i = 0; i < seen->hop_count; i++)
		if (i >= known->hop_count || !known->hops[i])
			known->hops[i] = seen->hops[i];
	if (seen->hop_count > known->hop_count)
		known->hop_count = seen->hop_count;
	known->open_end = known->open_end && seen->open_end;
}

/* If out of memory, or if there are too many paths, the path is not added; a later trace will find it again. */
static void add_path(struct paths *paths, const struct path *path)
{
	struct path *list = paths->count < PATHS_MAXIMUM
				    ? array_grow(paths->list, paths->count, &paths->capacity, sizeof *list)
				    : NULL;

	if (!list)
		return;
	paths->list = list;
	list[paths->count++] = *path;
	paths->learning = true;
}

static void forget(struct paths *paths)
{
	paths->count = paths->arrived = paths->cursor = paths->checked = 0;
	paths->generation++;
	paths->learning = true;
}

/* Evaluates a trace that reached the destination. */
static void take_path(struct paths *paths)
{
	struct trace *trace = &paths->trace;
	int found;

	/*
	 * Removes the silent hops at the end: the destination may be nearer than the last hop probed, because the
	 * destination's answers may be lost, too.
	 */
	for (; trace->silent > 0; trace->silent--) {
		trace->path.hop_count--;
		trace->path.open_end = true;
	}
	found = trace->known != NO_PATH && same_path(&paths->list[trace->known], &trace->path)
			? trace->known
			: find_path(paths, &trace->path);

	if (trace->known != NO_PATH && found != trace->known) {
		forget(paths);
		found = NO_PATH;
	}
	if (found == NO_PATH)
		add_path(paths, &trace->path);
	else
		learn_hops(&paths->list[found], &trace->path);
	if (trace->known == NO_PATH && paths->arrived < paths->options.candidates)
		paths->arrived++;
}

static void end_trace(struct paths *paths, bool arrived, struct ns now)
{
	if (arrived)
		take_path(paths);
	paths->trace.running = false;
	if (paths->learning && paths->count > 0 &&
	    (paths->arrived >= paths->options.candidates ||
	     miss_probability(paths->count, paths->arrived) <= paths->options.miss))
		paths->learning = false;
	paths->next_at = paths->learning && arrived ? now : ns_add(now, paths->options.pause);
}

/*
 * Begins the next trace. While paths are being learned, traces the next candidate; later, the port of a known path and
 * the next candidate alternately.
 */
static void begin_trace(struct paths *paths)
{
	struct trace *trace = &paths->trace;

	*trace = (struct trace){.running = true, .known = NO_PATH};
	paths->check_next = !paths->learning && paths->count > 0 && !paths->check_next;
	if (paths->check_next) {
		trace->known = (int)(paths->checked++ % paths->count);
		trace->path.candidate = paths->list[trace->known].candidate;
		return;
	}
	trace->path.candidate = paths->cursor++ % paths->options.candidates;
	for (uint32_t i = 0; i < paths->count; i++)
		if (paths->list[i].candidate == trace->path.candidate)
			trace->known = (int)i;
}

static void next_hop(struct paths *paths, ip_address router, struct ns now)
{
	struct trace *trace = &paths->trace;

	trace->silent = router ? 0 : trace->silent + 1;
	trace->path.hops[trace->path.hop_count++] = router;
	trace->attempts = 0;
	paths->next_at = now;
	if (trace->silent == SILENT_MAXIMUM || trace->path.hop_count == PATHS_HOPS_MAXIMUM)
		end_trace(paths, false, now);
}

bool paths_take(struct paths *paths, struct ns now, struct paths_probe *probe)
{
	struct trace *trace = &paths->trace;

	if (now.v < paths_due(paths).v)
		return false;
	if (trace->running && trace->attempts == ATTEMPTS) {
		next_hop(paths, 0, now);
		if (now.v < paths_due(paths).v)
			return false;
	}
	if (!trace->running)
		begin_trace(paths);
	trace->attempts++;
	trace->sent_at = now;
	*probe = (struct paths_probe){trace->path.candidate, (uint8_t)(trace->path.hop_count + 1)};
	return true;
}

static bool is_outstanding(const struct paths *paths, const struct paths_probe *probe)
{
	const struct trace *trace = &paths->trace;

	return trace->running && trace->attempts > 0 && probe->candidate == trace->path.candidate &&
	       probe->ttl == trace->path.hop_count + 1;
}

void paths_expired(struct paths *paths, const struct paths_probe *probe, ip_address router, struct ns now)
{
	if (is_outstanding(paths, probe))
		next_hop(paths, router, now);
}

void paths_reached(struct paths *paths, const struct paths_probe *probe, struct ns now)
{
	if (is_outstanding(paths, probe))
		end_trace(paths, true, now);
}
