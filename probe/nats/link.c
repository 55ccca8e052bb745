/* SPDX-License-Identifier: BSD-3-Clause */
#include "link_priv.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include <base/log.h>

enum { RECONNECT_WAIT_MS = 500, CLOSE_WAIT_MS = 10000 };

static void on_connect(natsConnection *connection, void *closure)
{
	struct mesh_link *link = closure;

	(void)connection;
	atomic_fetch_add(&link->connects, 1);
	log_info("connected to the NATS server");
}

static void on_disconnect(natsConnection *connection, void *closure)
{
	(void)connection;
	(void)closure;
	log_warning("no connection to the NATS server; trying again");
}

/* libnats prints errors itself unless there is a handler. */
static void on_error(natsConnection *connection, natsSubscription *subscription, natsStatus status, void *closure)
{
	(void)connection;
	(void)subscription;
	(void)closure;
	log_warning("NATS: %s", natsStatus_GetText(status));
}

static int fail(struct error *err, const char *what, natsStatus status)
{
	const char *text = nats_GetLastError(NULL);

	return error_set(err, ECONNREFUSED, "%s: %s%s%s", what, natsStatus_GetText(status), text && *text ? ": " : "",
			 text ? text : "");
}

/* Credentials are in a file, and libnats looks at it only when it connects. */
static int set_security(natsOptions *nats, const struct mesh_bus_options *options, struct error *err)
{
	natsStatus status = NATS_OK;

	if (options->creds && access(options->creds, R_OK) != 0)
		return error_set(err, errno, "%s: %s", options->creds, strerror(errno));
	if (options->creds)
		status = natsOptions_SetUserCredentialsFromFiles(nats, options->creds, NULL);
	if (status != NATS_OK)
		return fail(err, options->creds, status);
	if (options->tls_ca || strncmp(options->url, "tls://", 6) == 0)
		status = natsOptions_SetSecure(nats, true);
	if (status == NATS_OK && options->tls_ca)
		status = natsOptions_LoadCATrustedCertificates(nats, options->tls_ca);
	return status == NATS_OK ? 0 : fail(err, options->tls_ca ? options->tls_ca : "TLS", status);
}

static natsStatus set_callbacks(natsOptions *nats, struct mesh_link *link)
{
	natsStatus status = natsOptions_SetRetryOnFailedConnect(nats, true, on_connect, link);

	if (status == NATS_OK)
		status = natsOptions_SetReconnectedCB(nats, on_connect, link);
	if (status == NATS_OK)
		status = natsOptions_SetDisconnectedCB(nats, on_disconnect, link);
	if (status == NATS_OK)
		status = natsOptions_SetErrorHandler(nats, on_error, link);
	if (status == NATS_OK)
		status = natsOptions_SetMaxReconnect(nats, INT_MAX);
	return status == NATS_OK ? natsOptions_SetReconnectWait(nats, RECONNECT_WAIT_MS) : status;
}

/* The server's word for it. Of what failed here (TLS, no server) libnats says more to a connection that does not retry.
 */
static void note_reason(struct mesh_link *link, natsOptions *nats)
{
	natsConnection *once = NULL;
	const char *text = NULL;
	natsStatus status = natsConnection_GetLastError(link->connection, &text);

	/* "No server": its thread has given up already. */
	if (!text || !*text || status == NATS_NO_SERVER) {
		status = natsOptions_SetRetryOnFailedConnect(nats, false, NULL, NULL);
		status = status == NATS_OK ? natsConnection_Connect(&once, nats) : status;
		text = nats_GetLastError(NULL);
		if (status != NATS_OK && (!text || !*text))
			text = natsStatus_GetText(status);
	}
	/* Without the place in libnats's source. */
	if (text && text[0] == '(' && strstr(text, "): "))
		text = strstr(text, "): ") + 3;
	snprintf(link->reason, sizeof link->reason, "%s", text && *text ? text : "no reason given");
	natsConnection_Destroy(once);
	log_warning("not connected to the NATS server yet: %s; trying again", link->reason);
}

int mesh_link_open(struct mesh_link *link, const struct mesh_bus_options *options, struct error *err)
{
	natsOptions *nats = NULL;
	natsStatus status = natsOptions_Create(&nats);
	int code;

	*link = (struct mesh_link){0};
	if (status != NATS_OK)
		return error_set(err, ENOMEM, "out of memory");
	status = natsOptions_SetURL(nats, options->url);
	code = status == NATS_OK ? set_security(nats, options, err) : fail(err, "--server", status);
	status = code ? NATS_OK : set_callbacks(nats, link);
	if (!code && status == NATS_OK)
		status = natsConnection_Connect(&link->connection, nats);
	if (!code && status == NATS_NOT_YET_CONNECTED)
		note_reason(link, nats);
	natsOptions_Destroy(nats);
	if (code || status == NATS_NOT_YET_CONNECTED)
		return code;
	if (status != NATS_OK)
		return fail(err, "cannot connect to the NATS server", status);
	else
		on_connect(link->connection, link);
	return 0;
}

void mesh_link_close(struct mesh_link *link)
{
	natsConnection_Destroy(link->connection);
	link->connection = NULL;
	/* Its threads must not call back into a link that is gone. */
	nats_CloseAndWait(CLOSE_WAIT_MS);
}

int mesh_link_check(const struct mesh_link *link, struct error *err)
{
	const char *text = NULL;

	if (!natsConnection_IsClosed(link->connection))
		return 0;
	natsConnection_GetLastError(link->connection, &text);
	/* libnats gives up with its own word for it when the same refusal comes twice. */
	if (link->reason[0] && atomic_load(&link->connects) == 0)
		text = link->reason;
	return error_set(err, ECONNREFUSED, "the NATS server refused the connection: %s",
			 text && *text ? text : "no reason given");
}
