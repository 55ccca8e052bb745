/* SPDX-License-Identifier: BSD-3-Clause */
/* Helpers for all requests: replies, rights, names. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/array.h>

#include "schedd_priv.h"

void schedd_reply(struct schedd *schedd, struct serve_call *call, unsigned status, char *text)
{
	struct reply *replies =
		array_grow(schedd->replies, schedd->reply_count, &schedd->reply_capacity, sizeof *replies);

	if (!replies || !text) {
		serve_reply(call, 500, "text/plain", "", 0);
		free(text);
		return;
	}
	schedd->replies = replies;
	replies[schedd->reply_count++] = (struct reply){.call = call, .status = status, .text = text};
}

bool schedd_is_admin(const struct schedd *schedd, const struct serve_call *call)
{
	return call->remote || call->uid == 0 || call->uid == geteuid() ||
	       (schedd->admin_gid != (gid_t)-1 && serve_call_in_group(call, schedd->admin_gid));
}

void schedd_reply_json(struct schedd *schedd, struct serve_call *call, unsigned status, json_t *value)
{
	char *text = json_dump_whole(value, 0);

	json_decref(value);
	schedd_reply(schedd, call, text ? status : 500, text ? text : strdup("{\"error\": \"out of memory\"}"));
}

bool schedd_query_is(const struct serve_call *call, const char *name, const char *value)
{
	const char *given = serve_query(call, name);

	return given && strcmp(given, value) == 0;
}

int schedd_changed(struct schedd *schedd, int code)
{
	if (code == -ENOMEM)
		store_give_up(schedd->store);
	return code;
}

bool schedd_need_admin(const struct schedd *schedd, struct serve_call *call)
{
	struct error err = {0};

	if (schedd_is_admin(schedd, call))
		return true;
	error_set(&err, EPERM, "only root, the daemon's user and its admin group may do this");
	serve_reply_error(call, &err);
	return false;
}

const char *schedd_machine_name(const struct schedd *schedd, int32_t machine)
{
	return machine < 0 ? NULL : live_cluster(schedd->live)->machines[machine].name;
}
