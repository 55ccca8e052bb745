/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's side of a membership. */
#include "link_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/file.h>
#include <base/hash.h>
#include <base/log.h>
#include <probe/nats/bus.h>

enum {
	LOOK_MS = 100, /* interval of checks of the stop flag */
	FLUSH_MS = 5000,
	LIST_BYTES = 32 << 20,
};

struct member {
	const struct mesh_member_options *options;
	struct mesh_link link;
};

/* Announces the host, with the list that it has now. A message that is lost is repeated after every_s. */
static int announce(struct member *member, bool leaves, struct error *err)
{
	struct mesh_join join = {.host = member->options->host, .leaves = leaves};
	char subject[MESH_SUBJECT_BYTES], *payload, *list = NULL;
	struct error missing = {0};

	if (!leaves)
		list = file_read_all(member->options->peers_path, LIST_BYTES, NULL, &missing);
	if (!leaves && !list && missing.code != ENOENT) {
		*err = missing;
		return -missing.code;
	}
	join.list_hash = list ? hash_text(list) : 0;
	free(list);
	payload = mesh_join_encode(&join, member->options->bus.prefix, subject);
	if (!payload)
		return error_set(err, ENOMEM, "out of memory");
	natsConnection_PublishString(member->link.connection, subject, payload);
	free(payload);
	return 0;
}

/* Returns the number of hosts, or -errno with err set if it is no list of peers or lacks this host. */
static int64_t check_list(const struct peer *host, const char *text, struct error *err)
{
	struct file_lines *lines = file_lines_from_memory("the list received", text, strlen(text), err);
	struct peers peers = {0};
	const struct peer *own;
	int64_t count;

	if (!lines)
		return -ENOMEM;
	count = peers_parse(lines, &peers, err);
	file_lines_close(lines);
	if (count)
		return count;
	own = peers_find(&peers, host->address);
	count = (int64_t)peers.count;
	if (!own || strcmp(own->name, host->name) != 0)
		count = error_set(err, EINVAL, "the list received lacks this host");
	peers_free(&peers);
	return count;
}

static int write_list(const char *path, const char *text, struct error *err)
{
	struct file_writer *writer = file_writer_open(path, err);

	if (!writer)
		return error_code(err, EIO);
	fputs(text, file_writer_stream(writer));
	return file_writer_commit(writer, err);
}

static int take_list(struct member *member, const natsMsg *raw, struct error *err)
{
	const struct mesh_member_options *options = member->options;
	char host[LATENCY_NAME_BYTES], *list = NULL;
	struct error reason = {0};
	int64_t count = -EINVAL;
	int code = 0;

	if (!mesh_peers_decode(options->bus.prefix, natsMsg_GetSubject(raw), natsMsg_GetData(raw),
			       (size_t)natsMsg_GetDataLength(raw), host, &list, &reason))
		count = check_list(&options->host, list, &reason);
	if (count < 0)
		log_warning("list of peers refused: %s", reason.text);
	else
		code = write_list(options->peers_path, list, err);
	if (count >= 0 && code == 0)
		log_info("%s: %" PRId64 " hosts", options->peers_path, count);
	free(list);
	return code;
}

static int receive(struct member *member, struct error *err)
{
	natsMsg *raw = NULL;
	int code = mesh_link_next(&member->link, LOOK_MS, &raw, err);

	if (raw)
		code = take_list(member, raw, err);
	natsMsg_Destroy(raw);
	return code;
}

/* So that the agent can start: a list of this host alone, until a list has been received. */
static int write_first(const struct mesh_member_options *options, struct error *err)
{
	struct peer host = options->host;
	struct peers alone = {.count = 1, .capacity = 1, .items = &host};

	return access(options->peers_path, F_OK) == 0 ? 0 : peers_write(&alone, options->peers_path, err);
}

int mesh_member(const struct mesh_member_options *options, const volatile sig_atomic_t *stop, struct error *err)
{
	struct member member = {.options = options};
	int code = write_first(options, err);
	char subject[MESH_SUBJECT_BYTES];
	struct ns due = {0};

	if (code)
		return code;
	code = mesh_link_open(&member.link, &options->bus, stop, err);
	mesh_subject_of_host(options->bus.prefix, options->host.name, ".%peers", subject);
	code = code || *stop ? code : mesh_link_subscribe(&member.link, subject, err);
	while (!code && !*stop) {
		struct ns now = ns_now_monotonic();

		if (now.v >= due.v) {
			code = announce(&member, false, err);
			due.v = now.v + (int64_t)(options->every_s * 1e9);
		}
		code = code ? code : receive(&member, err);
	}
	mesh_link_close(&member.link);
	return code;
}

int mesh_leave(const struct mesh_member_options *options, const volatile sig_atomic_t *stop, struct error *err)
{
	struct member member = {.options = options};
	int code = mesh_link_open(&member.link, &options->bus, stop, err);
	natsStatus status;

	if (!code && !*stop) {
		code = announce(&member, true, err);
		status = natsConnection_FlushTimeout(member.link.connection, FLUSH_MS);
		if (!code && status != NATS_OK)
			code = error_set(err, EIO, "the NATS server has not confirmed the message: %s",
					 natsStatus_GetText(status));
	}
	mesh_link_close(&member.link);
	return code;
}
