/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All readers of a live matrix that is damaged before or while they read: entries, census, patterns, snapshot, pages
 * and metrics. What leaves the mapping is valid, and pages show no bytes that are no text.
 */
#include <model/latency_table.h>
#include <probe/serve/pages.h>
#include <probe/verdict/patterns.h>

#include "fuzz_live.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct ns __wrap_ns_now_wall(void);

static struct serve_call call;
static const char *from, *to;
static bool replied;

struct ns __wrap_ns_now_wall(void)
{
	return (struct ns){live_now_ns + NS_PER_S};
}

const char *serve_query(const struct serve_call *of, const char *name)
{
	(void)of;
	return strcmp(name, "from") == 0 ? from : strcmp(name, "to") == 0 ? to : NULL;
}

/* A name of the file may have any bytes; all else is ours. */
void serve_reply(struct serve_call *of, unsigned status, const char *content_type, const char *text, size_t bytes)
{
	(void)content_type;
	law(of == &call && !replied);
	law(status == 200 || status == 400 || status == 404);
	law(strlen(text) == bytes);
	replied = true;
}

void serve_reply_error(struct serve_call *of, const struct error *err)
{
	/* Memory is not short: the page failed for another reason. */
	(void)err;
	law(of != &call);
}

static void ask(const struct mesh_pages *pages, const char *path, const char *first, const char *second)
{
	const struct serve_route *route = mesh_pages_routes;

	call = (struct serve_call){.method = "GET", .path = path, .tail = "", .body = ""};
	from = first;
	to = second;
	replied = false;
	while (route->method && strcmp(route->prefix, path) != 0)
		route++;
	law(route->method);
	route->handle((void *)(uintptr_t)pages, &call);
	law(replied);
}

/* A name that the matrix has, or any text. */
static const char *some_name(struct events *events, char text[static 32])
{
	static const char *const names[] = {"h1", "h2", "h5", "r1", "r2", "p1", "p2", ""};
	uint8_t kind = events_byte(events);
	const uint8_t *bytes;
	size_t count;

	if (kind >= 64)
		return kind >= 250 ? NULL : names[kind & 7];
	bytes = events_bytes(events, kind & 31, &count);
	memcpy(text, bytes, count);
	text[count] = '\0';
	return text;
}

static void ask_all(const struct latency_matrix *live, struct events *events)
{
	static const char *const paths[] = {"/racks", "/pods", "/pair", "/pair"};
	char one[32], two[32];
	struct mesh_pages pages = {live,
				   (enum latency_statistic)events_below(events, 4),
				   {events_byte(events) & 1 ? 10 * NS_PER_S : 0},
				   NULL};

	ask(&pages, "/", NULL, NULL);
	ask(&pages, "/metrics", NULL, NULL);
	ask(&pages, "/racks", "r1", "r2");
	ask(&pages, "/pods", "p1", "p2");
	ask(&pages, "/pair", "h1", "h2");
	for (size_t i = 0; i < 4; i++) {
		const char *first = some_name(events, one);

		ask(&pages, paths[i], first, some_name(events, two));
	}
}

static void count(const struct latency_matrix *live, enum latency_statistic statistic)
{
	struct ns now = {live_now_ns};
	struct latency_census census;
	uint64_t sum = 0;
	json_t *json;
	FILE *out;

	law(latency_census_take(live, statistic, now, (struct ns){60 * NS_PER_S}, &census) == 0);
	for (int i = 0; i < LATENCY_STATES; i++)
		sum += census.by_state[i];
	law(sum == census.pairs && census.worst_count <= LATENCY_WORST && census.lost_count <= LIVE_HOSTS);
	for (size_t i = 0; i < census.worst_count; i++)
		live_check_entry(live, &census.worst[i]);
	out = fopen("/dev/null", "w");
	latency_census_print(&census, live, now, out);
	fclose(out);
	json = latency_census_to_json(&census, live);
	(void)json; /* NULL if a name is no UTF-8 */
	json_decref(json);
	latency_census_free(&census);
}

static void search(const struct latency_matrix *live, enum latency_statistic statistic)
{
	struct patterns patterns;
	FILE *out = fopen("/dev/null", "w");

	law(patterns_find(live, statistic, (struct ns){live_now_ns}, (struct ns){0}, &patterns) == 0);
	law(patterns.unexplained <= patterns.bad);
	for (size_t i = 0; i < patterns.count; i++) {
		law(patterns.items[i].bad <= patterns.items[i].pairs);
		pattern_print(live, &patterns.items[i], out);
	}
	patterns_free(&patterns);
	fclose(out);
}

static void read_all(const struct latency_matrix *live)
{
	struct latency_matrix *copy = latency_live_snapshot(live);
	struct latency_maximum maximum;
	struct latency_entry entry;

	law(copy && latency_matrix_count(copy) <= latency_matrix_count(live));
	for (size_t i = 0; i < latency_matrix_count(live); i++)
		if (latency_matrix_load(live, i, &entry))
			live_check_entry(live, &entry);
	for (uint32_t a = 0; a < LIVE_RACKS; a++)
		for (uint32_t b = 0; b < LIVE_RACKS; b++)
			(void)latency_live_maximum(live, a, b, &maximum);
	for (size_t i = 0; i < latency_matrix_count(copy); i++) {
		law(latency_matrix_load(copy, i, &entry));
		live_check_entry(copy, &entry);
	}
	latency_matrix_destroy(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct events events = {data, size};
	struct error err = {0};
	struct latency_matrix *live;

	live_begin(&events);
	live = latency_live_map(live_file.path, &err);
	law(live || err.text[0]);
	for (int i = 0; live && i < 3; i++) {
		read_all(live);
		count(live, (enum latency_statistic)(i & 3));
		search(live, (enum latency_statistic)(i & 3));
		ask_all(live, &events);
		if (!events_left(&events))
			break;
		live_damage(&events);
	}
	latency_matrix_destroy(live);
	return 0;
}
