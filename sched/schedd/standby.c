/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A daemon on standby waits until the daemon that uses the state ends, for any reason: the lock on the state's file is
 * released then. Meanwhile it answers each request with status 421 and the reason.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include <systemd/sd-daemon.h>

#include <base/log.h>

#include "schedd_priv.h"

enum { RETRY_MS = 250 };

static void refuse(void *context, struct serve_call *call)
{
	const struct schedd *schedd = context;
	struct error err;

	error_set(&err, EREMOTE, "this daemon is on standby: another daemon uses %s", schedd->options.state);
	serve_reply_error(call, &err);
}

static const struct serve_route routes[] = {
	{"GET", "/", refuse},    {"GET", "/healthz", refuse}, {"GET", "/metrics", refuse}, {"GET", "/v1", refuse},
	{"POST", "/v1", refuse}, {"PUT", "/v1", refuse},      {"DELETE", "/v1", refuse},   {NULL, NULL, NULL},
};

/* Listens as the daemon will. On the other daemon's own host and socket, it cannot: then returns 0, too. */
static int listen_meanwhile(const struct serve_options *options, struct serve **serve, struct error *err)
{
	struct serve_options own = *options;

	own.routes = routes;
	*serve = serve_create(&own, err);
	if (*serve)
		return 0;
	return err->code == EADDRINUSE ? 0 : error_code(err, EIO);
}

static void answer_until_retry(struct serve *serve, const volatile int *stop)
{
	const struct ns end = ns_add(ns_now_monotonic(), (struct ns){RETRY_MS * NS_PER_MS});
	struct pollfd polled = {.fd = serve ? serve_fd(serve) : -1, .events = POLLIN}; /* poll() ignores -1 */

	for (int64_t left = RETRY_MS * NS_PER_MS; left > 0 && !*stop; left = ns_sub(end, ns_now_monotonic()).v) {
		poll(&polled, 1, (int)(left / NS_PER_MS) + 1);
		if (serve)
			serve_run(serve);
	}
	sd_notify(0, "WATCHDOG=1");
}

/*
 * Opens the state if the other daemon has ended. It must exist: where its file system is not mounted any more, a new
 * state would be one without jobs. Returns -EBUSY also if the file cannot be reached now, and logs that once.
 */
static int try_state(struct schedd *schedd, struct error *said, struct error *err)
{
	int code;

	*err = (struct error){0};
	code = schedd_open_state(schedd, false, err);
	if (code == 0 || code == -EBUSY || code == -EINVAL || schedd->store)
		return code;
	if (strcmp(said->text, err->text) != 0)
		log_warning("on standby: %s", err->text);
	*said = *err;
	return -EBUSY;
}

int schedd_wait_for_state(struct schedd *schedd, const struct serve_options *options, const volatile int *stop,
			  struct error *err)
{
	struct serve *serve = NULL;
	struct error said = {0};
	int code = schedd_open_state(schedd, true, err);

	if (code != -EBUSY || !schedd->options.standby)
		return code;
	*err = (struct error){0};
	code = listen_meanwhile(options, &serve, err);
	if (code == 0) {
		log_info("on standby: another daemon uses %s", schedd->options.state);
		sd_notify(0, "READY=1\nSTATUS=on standby: another daemon uses the state");
		code = -EBUSY;
	}
	while (code == -EBUSY && !*stop) {
		answer_until_retry(serve, stop);
		code = try_state(schedd, &said, err);
	}
	serve_destroy(serve);
	if (code == -EBUSY)
		return error_set(err, ECANCELED, "stopped on standby");
	if (code == 0)
		log_info("took over %s", schedd->options.state);
	return code;
}
