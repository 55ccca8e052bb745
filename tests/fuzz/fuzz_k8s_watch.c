/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lists and watches of a Kubernetes API server, request by request: their bytes in parts, their status and their
 * end are the input's. How a stream is cut into parts changes nothing. The functions are static, hence the include.
 */
#include <curl/curl.h>

#include "fuzz_events.h"

#undef curl_easy_getinfo
#define curl_easy_getinfo(handle, what, value) ((void)(handle), get_info(value))

static long status_now;

/* Only the status of an answer is asked for. */
static CURLcode get_info(void *value)
{
	*(long *)value = status_now;
	return CURLE_OK;
}

#include "../../integrations/kubernetes/watch.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define POD(name)                                                                                                      \
	"{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"s\",\"resourceVersion\":\"8\",\"labels\":"               \
	"{\"nomora.io/job\":\"web\",\"nomora.io/curve\":\"m\",\"nomora.io/role\":\"root\"}},"                          \
	"\"spec\":{\"nodeName\":\"n1\"},\"status\":{\"phase\":\"Running\"}}"

#define NODE "{\"metadata\":{\"name\":\"n1\"},\"status\":{\"allocatable\":{\"pods\":\"1k\"}}}"

static const char *const pieces[] = {
	"{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[" POD("a") "]}",
	"{\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"more\"},\"items\":[" POD("b") "]}",
	"{\"type\":\"ADDED\",\"object\":" POD("c") "}\n",
	"{\"type\":\"DELETED\",\"object\":" POD("a") "}\n",
	"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"9\"}}}\n",
	"{\"type\":\"ERROR\",\"object\":{\"code\":410}}\n",
	"{\"type\":\"MODIFIED\",\"object\":" NODE "}\n",
	"\n",
};

struct world {
	struct k8s_objects objects;
	struct k8s_watches *watches;
	bool in_parts;
};

static void check(const struct watch *watch)
{
	law(!watch->version || strspn(watch->version, "0123456789") == strlen(watch->version));
	law(!watch->listed || watch->page);
	law(watch->running || watch->count <= watch->capacity);
	law(!watch->version || watch->all->objects->listed[watch->kind]);
}

static void take_parts(struct world *world, struct watch *watch, const char *bytes, size_t count, uint8_t cuts)
{
	size_t part = world->in_parts && cuts ? cuts : count;

	for (size_t at = 0; at < count; at += part)
		if (take_bytes((char *)(uintptr_t)bytes + at, 1, part < count - at ? part : count - at, watch) == 0)
			return;
}

/* A request from its beginning to its end. */
static void request(struct world *world, struct events *events)
{
	static const long statuses[] = {200, 200, 200, 200, 200, 410, 403, 500};
	uint8_t kind = events_byte(events);
	struct watch *watch = &world->watches->watches[kind & 1];
	struct error err = {0};

	status_now = statuses[kind >> 1 & 7];
	law(begin(watch, &err) == 0 && watch->running);
	for (uint32_t parts = kind >> 4 & 7; parts > 0 && !watch->failed.code; parts--) {
		uint8_t piece = events_byte(events), cuts = events_byte(events);
		const char *bytes = pieces[piece & 7];
		size_t count = strlen(bytes);

		if (piece & 64)
			bytes = (const char *)events_bytes(events, events_byte(events), &count);
		take_parts(world, watch, bytes, count, cuts);
	}
	end(watch, watch->failed.code ? CURLE_WRITE_ERROR : kind & 128 ? CURLE_RECV_ERROR : CURLE_OK, &err);
	law(!watch->running);
	check(watch);
}

static void make(struct world *world, bool in_parts)
{
	static const struct k8s_agent_options options = {.server = "http://127.0.0.1:1"};
	struct error err = {0};

	world->in_parts = in_parts;
	law(k8s_objects_init(&world->objects, &err) == 0);
	world->watches = k8s_watches_create(&options, &world->objects, &err);
	law(world->watches);
}

static void run(struct world *world, const uint8_t *data, size_t size, bool in_parts)
{
	struct events events = {data, size};

	make(world, in_parts);
	for (int i = 0; i < 16 && events_left(&events); i++)
		request(world, &events);
}

static void end_world(struct world *world)
{
	k8s_watches_destroy(world->watches);
	k8s_objects_free(&world->objects);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world whole, parts;

	run(&whole, data, size, false);
	run(&parts, data, size, true);
	for (int kind = 0; kind < K8S_KINDS; kind++) {
		const char *a = whole.watches->watches[kind].version, *b = parts.watches->watches[kind].version;

		law(json_equal(whole.objects.tables[kind], parts.objects.tables[kind]));
		law(whole.objects.listed[kind] == parts.objects.listed[kind]);
		law(a && b ? strcmp(a, b) == 0 : a == b);
	}
	end_world(&whole);
	end_world(&parts);
	return 0;
}
