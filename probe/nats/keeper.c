/* SPDX-License-Identifier: BSD-3-Clause */
/* The keeper of a mesh's list of members. */
#include "link_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/file.h>
#include <base/hash.h>
#include <base/log.h>
#include <base/number.h>
#include <probe/nats/bus.h>

enum {
	LOOK_MS = 100, /* interval of checks of the stop flag */
	LIST_BYTES = 32 << 20,
	PATH_BYTES = 4096,
};

struct keeper {
	const struct mesh_keeper_options *options;
	struct mesh_link link;
	struct peers members;
	char *all;            /* the list of all members, as text; NULL = no member */
	struct error refusal; /* the last that was logged */
};

static void log_refusal(struct keeper *keeper, const char *subject, const struct error *reason)
{
	if (strcmp(reason->text, keeper->refusal.text) != 0)
		log_warning("announcement refused: %s: %s", subject, reason->text);
	keeper->refusal = *reason;
}

static int read_all(struct keeper *keeper, struct error *err)
{
	free(keeper->all);
	keeper->all =
		keeper->members.count ? file_read_all(keeper->options->members_path, LIST_BYTES, NULL, err) : NULL;
	return keeper->all || keeper->members.count == 0 ? 0 : error_code(err, EIO);
}

/* An empty list is no file, because a file of peers without a host is invalid. */
static int store(struct keeper *keeper, struct error *err)
{
	const char *path = keeper->options->members_path;
	int code = 0;

	if (keeper->members.count > 0)
		code = peers_write(&keeper->members, path, err);
	else if (unlink(path) != 0 && errno != ENOENT)
		code = error_set(err, errno, "%s: cannot remove it: %s", path, strerror(errno));
	return code ? code : read_all(keeper, err);
}

/* Returns the list of a host, which the caller frees; NULL if there is none or it cannot be read. */
static char *list_of(const struct keeper *keeper, const char *host)
{
	const char *folder = keeper->options->lists_path;
	char path[PATH_BYTES], *list = NULL;
	struct error missing = {0};

	if (folder && !strchr(host, '/')) {
		snprintf(path, sizeof path, "%s/%s.peers", folder, host);
		list = file_read_all(path, LIST_BYTES, NULL, &missing);
	}
	return list || !keeper->all ? list : strdup(keeper->all);
}

static void send_list(struct keeper *keeper, const struct mesh_join *join)
{
	char subject[MESH_SUBJECT_BYTES], *payload, *list = list_of(keeper, join->host.name);
	natsStatus status;

	if (list && hash_text(list) != join->list_hash) {
		payload = mesh_peers_encode(join->host.name, list, keeper->options->bus.prefix, subject);
		status = payload ? natsConnection_PublishString(keeper->link.connection, subject, payload)
				 : NATS_NO_MEMORY;
		if (status != NATS_OK)
			log_warning("%s: its list of peers was not sent: %s%s", join->host.name,
				    natsStatus_GetText(status),
				    status == NATS_MAX_PAYLOAD ? "; use --lists with the folder of 'nomora mesh plan'"
							       : "");
		free(payload);
	}
	free(list);
}

/* So that a host that has left raises no alarm, and one that comes back does. */
static void send_status(struct keeper *keeper, const struct mesh_join *join)
{
	char subject[MESH_SUBJECT_BYTES];
	char *payload = mesh_status_encode(join->host.name, join->leaves ? LATENCY_HOST_GONE : LATENCY_HOST_ACTIVE,
					   keeper->options->bus.prefix, subject);

	if (payload)
		natsConnection_PublishString(keeper->link.connection, subject, payload);
	free(payload);
}

static int take(struct keeper *keeper, const natsMsg *raw, struct error *err)
{
	const char *subject = natsMsg_GetSubject(raw);
	struct mesh_join join;
	struct error reason = {0};
	int changed = -EINVAL, code = 0;

	if (!mesh_join_decode(keeper->options->bus.prefix, subject, natsMsg_GetData(raw),
			      (size_t)natsMsg_GetDataLength(raw), &join, &reason))
		changed = mesh_members_take(&keeper->members, &join, &reason);
	if (changed == -ENOMEM)
		return error_set(err, ENOMEM, "out of memory");
	if (changed < 0) {
		log_refusal(keeper, subject, &reason);
		return 0;
	}
	if (changed) {
		code = store(keeper, err);
		log_info("%s %s: %zu member%s", join.host.name, join.leaves ? "has left" : "is a member",
			 keeper->members.count, number_s(keeper->members.count));
		send_status(keeper, &join);
	}
	if (!code && !join.leaves)
		send_list(keeper, &join);
	return code;
}

static int receive(struct keeper *keeper, struct error *err)
{
	natsMsg *raw = NULL;
	int code = mesh_link_next(&keeper->link, LOOK_MS, &raw, err);

	if (raw)
		code = take(keeper, raw, err);
	natsMsg_Destroy(raw);
	return code;
}

static int prepare(struct keeper *keeper, struct error *err)
{
	const char *path = keeper->options->members_path;
	int code = 0;

	if (access(path, F_OK) == 0)
		code = peers_read(path, &keeper->members, err);
	return code ? code : read_all(keeper, err);
}

int mesh_keeper(const struct mesh_keeper_options *options, const volatile sig_atomic_t *stop, struct error *err)
{
	struct keeper keeper = {.options = options};
	char subject[MESH_PREFIX_BYTES + sizeof ".*.%join"];
	int code = prepare(&keeper, err);

	if (code) {
		peers_free(&keeper.members);
		return code;
	}
	code = mesh_link_open(&keeper.link, &options->bus, stop, err);
	snprintf(subject, sizeof subject, "%s.*.%%join", options->bus.prefix);
	code = code || *stop ? code : mesh_link_subscribe(&keeper.link, subject, err);
	while (!code && !*stop)
		code = receive(&keeper, err);
	mesh_link_close(&keeper.link);
	peers_free(&keeper.members);
	free(keeper.all);
	return code;
}
