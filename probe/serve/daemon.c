/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <poll.h>
#include <string.h>

#include <base/file.h>
#include <probe/serve/pages.h>

static int serve_until(struct serve *serve, const volatile sig_atomic_t *stop, const char *address, FILE *out,
		       struct error *err)
{
	int code;

	fprintf(out, "http://%s:%u/\n", address, serve_port(serve));
	code = file_stream_flush(out);
	if (code)
		return error_set(err, -code, "cannot write to standard output: %s", strerror(-code));
	while (!*stop) {
		struct pollfd readable = {serve_fd(serve), POLLIN, 0};

		poll(&readable, 1, serve_timeout_ms(serve));
		serve_run(serve);
	}
	return 0;
}

int mesh_pages_run(const struct mesh_pages_daemon *daemon, const volatile sig_atomic_t *stop, FILE *out,
		   struct error *err)
{
	struct latency_matrix *live = latency_live_await(daemon->live_path, stop, err);
	struct mesh_pages pages = {live, daemon->statistic, daemon->max_age, daemon->history.store_path};
	struct serve_options options = {
		.address = daemon->address, .port = daemon->port, .routes = mesh_pages_routes, .context = &pages};
	struct serve *serve = live ? serve_create(&options, err) : NULL;
	struct mesh_recorder_options record = daemon->history;
	struct mesh_recorder *recorder = NULL;
	int code = serve ? 0 : error_code(err, EIO);

	if (!live && *stop)
		return 0;
	if (serve && record.store_path) {
		record.live_path = daemon->live_path;
		recorder = mesh_recorder_start(&record, err);
		code = recorder ? 0 : error_code(err, EIO);
	}
	if (!code)
		code = serve_until(serve, stop, daemon->address, out, err);
	mesh_recorder_stop(recorder);
	serve_destroy(serve);
	latency_matrix_destroy(live);
	return code;
}
