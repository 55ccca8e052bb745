/* SPDX-License-Identifier: BSD-3-Clause */
#include "link_priv.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include <base/log.h>

enum {
	RECONNECT_WAIT_MS = 500,
	CLOSE_WAIT_MS = 10000,
	REASON_BYTES = 160,
	/* Limits of libnats's queue while messages are handled: a million rows, or short messages with 0.2 kB of its
	   own each. */
	PENDING_BYTES = 256 << 20,
	PENDING_MESSAGES = 1 << 20,
};

static void on_connect(natsConnection *connection, void *closure)
{
	struct mesh_link *link = closure;

	(void)connection;
	atomic_fetch_add(&link->connects, 1);
	log_info("connected to the NATS server");
}

static void on_disconnect(natsConnection *connection, void *closure)
{
	struct mesh_link *link = closure;

	(void)connection;
	if (!atomic_load(&link->closing))
		log_warning("lost the connection to the NATS server; trying again");
}

/* libnats prints errors itself unless there is a handler. Messages may be dropped often: the counts tell how many. */
static void on_error(natsConnection *connection, natsSubscription *subscription, natsStatus status, void *closure)
{
	struct mesh_link *link = closure;

	(void)connection;
	(void)subscription;
	if (atomic_exchange(&link->error, (int)status) != (int)status)
		log_warning("NATS: %s", natsStatus_GetText(status));
}

static int fail(struct error *err, const char *what, natsStatus status)
{
	const char *text = nats_GetLastError(NULL);

	return error_set(err, ECONNREFUSED, "%s: %s%s%s", what, natsStatus_GetText(status), text && *text ? ": " : "",
			 text ? text : "");
}

/* Checks that the credentials file is readable, because libnats reads it only when it connects. */
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
	natsStatus status = natsOptions_SetReconnectedCB(nats, on_connect, link);

	if (status == NATS_OK)
		status = natsOptions_SetDisconnectedCB(nats, on_disconnect, link);
	if (status == NATS_OK)
		status = natsOptions_SetErrorHandler(nats, on_error, link);
	if (status == NATS_OK)
		status = natsOptions_SetMaxReconnect(nats, INT_MAX);
	return status == NATS_OK ? natsOptions_SetReconnectWait(nats, RECONNECT_WAIT_MS) : status;
}

/* True if the server is absent or went away during a handshake: another attempt may succeed. */
static bool is_away(natsStatus status)
{
	return status == NATS_NO_SERVER || status == NATS_IO_ERROR || status == NATS_CONNECTION_CLOSED ||
	       status == NATS_CONNECTION_DISCONNECTED || status == NATS_STALE_CONNECTION || status == NATS_TIMEOUT;
}

/* Stores the error text of libnats or of the server. Returns true if the text differs from the previous one. */
static bool note_reason(natsStatus status, char *reason, size_t bytes)
{
	const char *text = nats_GetLastError(NULL);
	char before[REASON_BYTES];

	snprintf(before, sizeof before, "%s", reason);
	if (!text || !*text)
		text = natsStatus_GetText(status);
	/* Removes the position in libnats's source from the beginning of the text. */
	if (text[0] == '(' && strstr(text, "): "))
		text = strstr(text, "): ") + 3;
	snprintf(reason, bytes, "%s", text);
	return strcmp(before, reason) != 0;
}

/*
 * Tries to connect until the server accepts. natsOptions_SetRetryOnFailedConnect() is not sufficient: libnats 3.4
 * forgets a server that goes away in the middle of the first handshake, and gives up. A refusal is final if it happens
 * twice in a row.
 */
static int connect_first(struct mesh_link *link, natsOptions *nats, const volatile sig_atomic_t *stop,
			 struct error *err)
{
	char reason[REASON_BYTES] = "";
	int refusals = 0;

	while (!*stop) {
		natsStatus status = natsConnection_Connect(&link->connection, nats);

		if (status == NATS_OK) {
			on_connect(link->connection, link);
			return 0;
		}
		if (note_reason(status, reason, sizeof reason))
			log_warning("not connected to the NATS server yet: %s; trying again", reason);
		refusals = is_away(status) ? 0 : refusals + 1;
		if (refusals == 2)
			return error_set(err, ECONNREFUSED, "the NATS server refused the connection: %s", reason);
		nats_Sleep(RECONNECT_WAIT_MS);
	}
	return 0;
}

int mesh_link_open(struct mesh_link *link, const struct mesh_bus_options *options, const volatile sig_atomic_t *stop,
		   struct error *err)
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
	if (status != NATS_OK)
		code = fail(err, "cannot connect to the NATS server", status);
	code = code ? code : connect_first(link, nats, stop, err);
	natsOptions_Destroy(nats);
	return code;
}

int mesh_link_subscribe(struct mesh_link *link, const char *subject, struct error *err)
{
	natsStatus status = natsConnection_SubscribeSync(&link->subscription, link->connection, subject);
	int code;

	if (status == NATS_OK)
		status = natsSubscription_SetPendingLimits(link->subscription, PENDING_MESSAGES, PENDING_BYTES);
	if (status == NATS_OK)
		return 0;
	code = mesh_link_check(link, err); /* the server may have refused the credentials meanwhile */
	return code ? code : error_set(err, EIO, "cannot subscribe: %s", natsStatus_GetText(status));
}

int mesh_link_next(struct mesh_link *link, int64_t wait_ms, natsMsg **message, struct error *err)
{
	natsStatus status = natsSubscription_NextMsg(message, link->subscription, wait_ms);
	int code;

	if (status == NATS_OK)
		return 0;
	*message = NULL;
	code = mesh_link_check(link, err);
	/* NATS_SLOW_CONSUMER: libnats dropped messages and counted them. */
	if (code || status == NATS_TIMEOUT || status == NATS_SLOW_CONSUMER)
		return code;
	return error_set(err, EIO, "NATS: %s", natsStatus_GetText(status));
}

void mesh_link_close(struct mesh_link *link)
{
	atomic_store(&link->closing, true);
	/* First ends the thread that receives: until libnats 3.6, it may use a subscription after its end. */
	natsConnection_Close(link->connection);
	natsSubscription_Destroy(link->subscription);
	natsConnection_Destroy(link->connection);
	link->subscription = NULL;
	link->connection = NULL;
	/* Waits for libnats's threads: they must not call back into a destroyed link. */
	nats_CloseAndWait(CLOSE_WAIT_MS);
}

int mesh_link_check(const struct mesh_link *link, struct error *err)
{
	const char *text = NULL;

	if (!natsConnection_IsClosed(link->connection))
		return 0;
	natsConnection_GetLastError(link->connection, &text);
	return error_set(err, ECONNREFUSED, "the NATS server refused the connection: %s",
			 text && *text ? text : "no reason given");
}

int mesh_bus_check(const struct mesh_bus_options *bus, struct error *err)
{
	if (!bus->url)
		return error_set(err, EINVAL, "missing option --server: expected nats://HOST:PORT or tls://HOST:PORT");
	if (!mesh_prefix_is_valid(bus->prefix))
		return error_set(err, EINVAL,
				 "--subject: '%s': expected words of letters, digits, '-' and '_' with dots between",
				 bus->prefix);
	return 0;
}
