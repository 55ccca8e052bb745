/* SPDX-License-Identifier: BSD-3-Clause */
#include "kubernetes_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include <base/array.h>
#include <base/file.h>
#include <base/json.h>
#include <base/ns.h>

enum {
	PAGE = 500,
	WATCH_S = 290, /* seconds; sent to the server (timeoutSeconds), which ends a watch after this time */
	CONNECT_MS = 3000,
	LIST_MS = 60000,
	BYTES_MOST = 256 << 20,
	TOKEN_BYTES = 64 << 10,
	URL_BYTES = 4096
};
#define PAUSE_S 1 /* seconds before a request is repeated after a failure */

struct watch {
	struct k8s_watches *all;
	enum k8s_kind kind;
	CURL *curl;
	struct curl_slist *headers;
	bool running, listing;
	char *bytes; /* received bytes of a list, or of an incomplete line of a watch */
	size_t count, capacity;
	json_t *listed;      /* items of the pages of the list that were received so far */
	char *page;          /* token of the next page ("continue"); NULL: the first */
	char *version;       /* resourceVersion from which to watch; NULL: list first */
	struct error failed; /* error found in the content of the answer; code 0: none */
	struct ns next;      /* time of the next request */
};

struct k8s_watches {
	const struct k8s_agent_options *options;
	struct k8s_objects *objects;
	CURLM *multi;
	bool answered; /* the server has answered during this call of k8s_watches_run() */
	struct watch watches[K8S_KINDS];
};

static const char *const paths[] = {
	[K8S_NODES] = "/api/v1/nodes?", [K8S_PODS] = "/api/v1/pods?labelSelector=nomora.io%2Fcurve,nomora.io%2Fjob&"};
static const char *const names[] = {[K8S_NODES] = "nodes", [K8S_PODS] = "pods"};

static void keep_text(char **text, const char *value)
{
	free(*text);
	*text = value && value[0] ? strdup(value) : NULL;
}

static void take_line(struct watch *watch, const char *line, size_t bytes)
{
	json_t *event = json_read_text("the API server's watch", 0, line, bytes, &watch->failed);
	const char *version = NULL;

	if (!event)
		return;
	k8s_objects_take(watch->all->objects, watch->kind, event, &version, &watch->failed);
	watch->all->answered = true;
	if (version && !watch->failed.code)
		keep_text(&watch->version, version);
	json_decref(event);
}

/* Processes the complete lines received so far; keeps the rest. */
static void take_lines(struct watch *watch)
{
	char *at = watch->bytes, *end;

	while (!watch->failed.code && (end = memchr(at, '\n', watch->count - (size_t)(at - watch->bytes)))) {
		take_line(watch, at, (size_t)(end - at));
		at = end + 1;
	}
	watch->count -= (size_t)(at - watch->bytes);
	memmove(watch->bytes, at, watch->count);
}

static size_t take_bytes(char *data, size_t size, size_t count, void *context)
{
	struct watch *watch = context;
	size_t fresh = size * count;
	long status = 0;
	char *bytes = watch->count + fresh <= BYTES_MOST
			      ? array_reserve(watch->bytes, watch->count + fresh, &watch->capacity, 1)
			      : NULL;

	if (!bytes) {
		error_set(&watch->failed, ENOMEM, "the API server's answer is too long");
		return 0;
	}
	watch->bytes = bytes;
	memcpy(bytes + watch->count, data, fresh);
	watch->count += fresh;
	curl_easy_getinfo(watch->curl, CURLINFO_RESPONSE_CODE, &status);
	if (!watch->listing && status == 200)
		take_lines(watch);
	return watch->failed.code ? 0 : fresh;
}

/*
 * Sets the header "Authorization: Bearer TOKEN". Reads the token each time, because Kubernetes replaces the tokens of
 * service accounts while we run.
 */
static int set_token(struct watch *watch, struct error *err)
{
	const char *path = watch->all->options->token_file;
	char *token, *header = NULL;
	size_t bytes;

	curl_slist_free_all(watch->headers);
	watch->headers = NULL;
	if (!path)
		return 0;
	token = file_read_all(path, TOKEN_BYTES, &bytes, err);
	if (!token)
		return error_code(err, EIO);
	token[strcspn(token, "\r\n")] = '\0';
	if (asprintf(&header, "Authorization: Bearer %s", token) >= 0)
		watch->headers = curl_slist_append(NULL, header);
	free(header);
	free(token);
	return watch->headers ? 0 : error_set(err, ENOMEM, "out of memory");
}

static void write_url(const struct watch *watch, char url[static URL_BYTES])
{
	const char *server = watch->all->options->server, *path = paths[watch->kind];
	char *page = watch->page ? curl_easy_escape(watch->curl, watch->page, 0) : NULL;

	if (watch->listing)
		snprintf(url, URL_BYTES, "%s%slimit=%d%s%s", server, path, PAGE, page ? "&continue=" : "",
			 page ? page : "");
	else
		snprintf(url, URL_BYTES, "%s%swatch=1&allowWatchBookmarks=true&timeoutSeconds=%d&resourceVersion=%s",
			 server, path, WATCH_S, watch->version);
	curl_free(page);
}

static int begin(struct watch *watch, struct error *err)
{
	const char *ca_file = watch->all->options->ca_file;
	char url[URL_BYTES];

	if (set_token(watch, err) < 0)
		return error_code(err, EIO);
	watch->listing = watch->version == NULL;
	watch->count = 0;
	watch->failed = (struct error){0};
	curl_easy_reset(watch->curl);
	write_url(watch, url);
	curl_easy_setopt(watch->curl, CURLOPT_URL, url);
	curl_easy_setopt(watch->curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(watch->curl, CURLOPT_PROXY, "");
	curl_easy_setopt(watch->curl, CURLOPT_HTTPHEADER, watch->headers);
	curl_easy_setopt(watch->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	curl_easy_setopt(watch->curl, CURLOPT_TIMEOUT_MS, watch->listing ? (long)LIST_MS : (WATCH_S + 60) * 1000L);
	curl_easy_setopt(watch->curl, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(watch->curl, CURLOPT_WRITEFUNCTION, take_bytes);
	curl_easy_setopt(watch->curl, CURLOPT_WRITEDATA, watch);
	curl_easy_setopt(watch->curl, CURLOPT_PRIVATE, watch);
	if (ca_file)
		curl_easy_setopt(watch->curl, CURLOPT_CAINFO, ca_file);
	if (curl_multi_add_handle(watch->all->multi, watch->curl) != CURLM_OK)
		return error_set(err, ENOMEM, "out of memory");
	watch->running = true;
	return 0;
}

/* Processes a page of a list. After the last page, the list replaces the table of this kind. */
static int take_page(struct watch *watch, struct error *err)
{
	json_t *list = json_read_text("the API server's list", 0, watch->bytes ? watch->bytes : "", watch->count, err);
	const json_t *metadata = json_object_get(list, "metadata");
	const char *version = json_string_value(json_object_get(metadata, "resourceVersion"));

	if (!list)
		return error_code(err, EINVAL);
	if (!version || !version[0] || strspn(version, "0123456789") != strlen(version)) {
		json_decref(list);
		return error_set(err, EINVAL, "the API server's list has no metadata.resourceVersion");
	}
	if (!watch->listed)
		watch->listed = json_array();
	json_array_extend(watch->listed, json_object_get(list, "items"));
	keep_text(&watch->page, json_string_value(json_object_get(metadata, "continue")));
	if (!watch->page) {
		k8s_objects_replace(watch->all->objects, watch->kind, watch->listed);
		json_decref(watch->listed);
		watch->listed = NULL;
		keep_text(&watch->version, version);
	}
	json_decref(list);
	watch->all->answered = true;
	return 0;
}

/* Evaluates the result of a request that has ended. Returns 0, or -errno with err set. */
static int judge(struct watch *watch, CURLcode result, struct error *err)
{
	long status = 0;

	curl_easy_getinfo(watch->curl, CURLINFO_RESPONSE_CODE, &status);
	if (watch->failed.code)
		return error_set(err, watch->failed.code, "%s", watch->failed.text);
	if (result != CURLE_OK)
		return error_set(err, EIO, "%s", curl_easy_strerror(result));
	if (status == 410)
		return error_set(err, ESTALE, "the resourceVersion is too old");
	if (status != 200)
		return error_set(err, status == 401 || status == 403 ? EPERM : EIO, "HTTP status %ld", status);
	return watch->listing ? take_page(watch, err) : 0;
}

static void end(struct watch *watch, CURLcode result, struct error *err)
{
	struct error reason = {0};

	if (judge(watch, result, &reason) < 0) {
		/*
		 * After an error, a list begins again at its first page. A watch continues at `version` after an I/O
		 * error; after other errors, the objects are listed again.
		 */
		keep_text(&watch->page, NULL);
		json_decref(watch->listed);
		watch->listed = NULL;
		if (reason.code != EIO)
			keep_text(&watch->version, NULL);
		watch->next = ns_add(ns_now_monotonic(), ns_from_us(PAUSE_S * 1e6));
		if (reason.code != ESTALE)
			error_set(err, reason.code, "%s: %s", names[watch->kind], reason.text);
	}
	curl_multi_remove_handle(watch->all->multi, watch->curl);
	watch->running = false;
}

struct k8s_watches *k8s_watches_create(const struct k8s_agent_options *options, struct k8s_objects *objects,
				       struct error *err)
{
	struct k8s_watches *watches = calloc(1, sizeof *watches);
	bool ready = watches && (watches->multi = curl_multi_init());

	if (watches)
		watches->options = options, watches->objects = objects;
	for (int kind = 0; ready && kind < K8S_KINDS; kind++) {
		watches->watches[kind] = (struct watch){.all = watches, .kind = (enum k8s_kind)kind};
		ready = (watches->watches[kind].curl = curl_easy_init()) != NULL;
	}
	if (ready)
		return watches;
	error_set(err, ENOMEM, "out of memory");
	k8s_watches_destroy(watches);
	return NULL;
}

void k8s_watches_destroy(struct k8s_watches *watches)
{
	if (!watches)
		return;
	for (int kind = 0; kind < K8S_KINDS; kind++) {
		struct watch *watch = &watches->watches[kind];

		if (watch->running)
			curl_multi_remove_handle(watches->multi, watch->curl);
		curl_easy_cleanup(watch->curl);
		curl_slist_free_all(watch->headers);
		json_decref(watch->listed);
		free(watch->bytes);
		free(watch->page);
		free(watch->version);
	}
	curl_multi_cleanup(watches->multi);
	free(watches);
}

int k8s_watches_run(struct k8s_watches *watches, int wait_ms, struct error *err)
{
	struct error reason = {0};
	struct watch *watch;
	CURLMsg *message;
	int running, left;

	watches->answered = false;
	for (int kind = 0; kind < K8S_KINDS; kind++) {
		watch = &watches->watches[kind];
		if (!watch->running && ns_now_monotonic().v >= watch->next.v && begin(watch, &reason) < 0)
			watch->next = ns_add(ns_now_monotonic(), ns_from_us(PAUSE_S * 1e6));
	}
	curl_multi_perform(watches->multi, &running);
	curl_multi_poll(watches->multi, NULL, 0, wait_ms, NULL);
	curl_multi_perform(watches->multi, &running);
	while ((message = curl_multi_info_read(watches->multi, &left)))
		if (message->msg == CURLMSG_DONE &&
		    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &watch) == CURLE_OK)
			end(watch, message->data.result, &reason);
	return reason.code ? error_set(err, reason.code, "%s", reason.text) : watches->answered;
}
