/* SPDX-License-Identifier: BSD-3-Clause */
/* The event loop: sends requests when they are due and receives answers. */
#include <injector/load/load.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "load_priv.h"

enum {
	EVENTS = 64,
	READ_BYTES = 65536,
	FILL_DEPTH = 64,         /* outstanding requests per connection while the keys are stored */
	OPEN_DEPTH_LEAST = 1024, /* lower bound for the limit of outstanding requests per connection in the open loop,
				    which does not wait for answers */
	PROGRESS_NS = 200000000,
};

struct engine {
	const struct load_settings *settings;
	struct load_result *result;
	struct workload workload;
	struct connection *connections;
	int connection_count, epoll;
	uint64_t under_way;
	bool filling;
	uint64_t next_key;        /* filling */
	struct arrivals arrivals; /* open loop */
	int next_connection;
	int64_t begin_ns, measure_ns, end_ns, last_answer_ns, last_progress_ns;
	char *buffer;
};

static int64_t now_ns(void)
{
	return ns_now_monotonic().v;
}

static bool is_open(const struct engine *engine)
{
	return !engine->filling && engine->settings->mode == LOAD_OPEN;
}

static int issue(struct engine *engine, struct connection *connection, int64_t due_ns, int64_t now)
{
	struct workload *workload = &engine->workload;
	struct request request = {.due_ns = due_ns, .sent_ns = now};
	bool is_set = engine->filling || workload_pick_update(workload);
	uint64_t key = engine->filling ? engine->next_key++ : workload_pick_key(workload);
	size_t value_bytes = is_set ? workload_pick_value_bytes(workload) : 0;

	if (is_set)
		engine->result->total.sets++;
	else
		engine->result->total.gets++;
	engine->under_way++;
	return connection_queue(connection, workload, key, is_set, value_bytes, request);
}

static bool in_window(const struct engine *engine, int64_t at_ns)
{
	return at_ns >= engine->measure_ns && at_ns < engine->end_ns;
}

/*
 * Records an answer. It counts as measured in the open loop if its request was due in the window, so that late answers
 * are included; in the closed loop, if the answer arrived in the window. `line`: the last line of the answer.
 */
static void record(struct engine *engine, const struct request *request, const struct reply *reply, const char *line,
		   int64_t now)
{
	int64_t place = is_open(engine) ? request->due_ns : now;

	result_add(engine->result, request, reply, line, now, !engine->filling && in_window(engine, place));
}

static bool may_issue(const struct engine *engine, int64_t now)
{
	if (engine->filling)
		return engine->next_key < engine->settings->keys;
	return engine->settings->mode == LOAD_CLOSED && now < engine->end_ns;
}

static int take_replies(struct engine *engine, struct connection *connection, const char *bytes, size_t count,
			struct error *err)
{
	int64_t now = now_ns();

	engine->last_answer_ns = now;
	while (count > 0) {
		struct reply reply;
		size_t used;
		int code = reply_parse(&connection->parser, bytes, count, &used, &reply);

		bytes += used;
		count -= used;
		if (code < 0 || (code == 1 && connection_under_way(connection) == 0))
			return error_set(err, EPROTO,
					 "the server does not speak memcached's text protocol; it said '%.60s'",
					 connection->parser.line);
		if (code == 0)
			break;
		record(engine, &connection->requests[connection->tail++ & connection->mask], &reply,
		       connection->parser.line, now);
		engine->under_way--;
		if (may_issue(engine, now) && issue(engine, connection, now, now) != 0)
			return error_set(err, ENOMEM, "out of memory");
	}
	return 0;
}

static int read_replies(struct engine *engine, struct connection *connection, struct error *err)
{
	for (;;) {
		ssize_t count = recv(connection->socket, engine->buffer, READ_BYTES, 0);
		int code;

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0 && errno == EAGAIN)
			return 0;
		if (count < 0)
			return error_set(err, errno, "cannot read from the server: %s", strerror(errno));
		if (count == 0)
			return error_set(err, ECONNRESET, "the server closed a connection");
		engine->result->total.bytes_in += (uint64_t)count;
		code = take_replies(engine, connection, engine->buffer, (size_t)count, err);
		if (code || count < READ_BYTES)
			return code;
	}
}

static int flush(struct engine *engine, struct connection *connection, struct error *err)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
	int64_t sent = connection_flush(connection, err);
	bool waits;

	if (sent < 0)
		return (int)sent;
	engine->result->total.bytes_out += (uint64_t)sent;
	waits = connection->out_begin < connection->out_end;
	if (waits == connection->wants_write)
		return 0;
	event.events = waits ? EPOLLIN | EPOLLOUT : EPOLLIN;
	if (epoll_ctl(engine->epoll, EPOLL_CTL_MOD, connection->socket, &event) != 0)
		return error_set(err, errno, "epoll: %s", strerror(errno));
	connection->wants_write = waits;
	return 0;
}

static uint32_t depth_of(const struct engine *engine)
{
	if (engine->filling)
		return FILL_DEPTH;
	if (engine->settings->mode == LOAD_OPEN)
		return engine->settings->depth > OPEN_DEPTH_LEAST ? (uint32_t)engine->settings->depth
								  : OPEN_DEPTH_LEAST;
	return (uint32_t)engine->settings->depth;
}

/* Returns the next connection, in round-robin order, that may send another request, or NULL. */
static struct connection *with_room(struct engine *engine)
{
	for (int i = 0; i < engine->connection_count; i++) {
		struct connection *connection = &engine->connections[engine->next_connection];

		engine->next_connection = (engine->next_connection + 1) % engine->connection_count;
		if (connection_under_way(connection) < depth_of(engine))
			return connection;
	}
	return NULL;
}

/*
 * Open loop: sends the requests that are due, while a connection has room for them. Sets *wait_ns to the time until the
 * next request is due, or to PROGRESS_NS if no connection has room or no request is left.
 */
static int issue_due(struct engine *engine, int64_t *wait_ns, struct error *err)
{
	int64_t now = now_ns();

	while (engine->arrivals.next_ns <= (double)now && engine->arrivals.next_ns < (double)engine->end_ns) {
		struct connection *connection = with_room(engine);
		int code;

		if (!connection) {
			*wait_ns = PROGRESS_NS;
			return 0;
		}
		if (issue(engine, connection, (int64_t)engine->arrivals.next_ns, now) != 0)
			return error_set(err, ENOMEM, "out of memory");
		code = flush(engine, connection, err);
		if (code)
			return code;
		arrivals_next(&engine->arrivals);
	}
	*wait_ns = engine->arrivals.next_ns < (double)engine->end_ns ? (int64_t)engine->arrivals.next_ns - now
								     : PROGRESS_NS;
	return 0;
}

/*
 * Closed loop, and while the keys are stored: sends requests on each connection until the permitted number is
 * outstanding.
 */
static int prime(struct engine *engine, struct error *err)
{
	for (int i = 0; i < engine->connection_count; i++) {
		struct connection *connection = &engine->connections[i];
		int code;

		while (connection_under_way(connection) < depth_of(engine) && may_issue(engine, now_ns()))
			if (issue(engine, connection, now_ns(), now_ns()) != 0)
				return error_set(err, ENOMEM, "out of memory");
		code = flush(engine, connection, err);
		if (code)
			return code;
	}
	return 0;
}

static int wait_and_read(struct engine *engine, int64_t wait_ns, struct error *err)
{
	struct timespec wait = {.tv_sec = 0,
				.tv_nsec = wait_ns < 0             ? 0
					   : wait_ns < PROGRESS_NS ? wait_ns
								   : PROGRESS_NS};
	struct epoll_event events[EVENTS];
	int count = epoll_pwait2(engine->epoll, events, EVENTS, &wait, NULL);

	if (count < 0)
		return errno == EINTR ? 0 : error_set(err, errno, "epoll: %s", strerror(errno));
	for (int i = 0; i < count; i++) {
		struct connection *connection = events[i].data.ptr;
		int code = read_replies(engine, connection, err);

		if (!code)
			code = flush(engine, connection, err);
		if (code)
			return code;
	}
	return 0;
}

static void show_progress(struct engine *engine, int64_t now)
{
	const struct load_settings *settings = engine->settings;
	double share;

	if (!settings->progress || now - engine->last_progress_ns < PROGRESS_NS)
		return;
	engine->last_progress_ns = now;
	share = engine->filling ? (double)engine->next_key / (double)settings->keys
				: (double)(now - engine->begin_ns) / (double)(engine->end_ns - engine->begin_ns);
	settings->progress(settings->progress_context,
			   engine->filling            ? "storing the keys"
			   : now < engine->measure_ns ? "warming up"
						      : "measuring",
			   share < 1 ? share : 1);
}

static bool finished(const struct engine *engine, int64_t now)
{
	if (engine->filling)
		return engine->next_key == engine->settings->keys && engine->under_way == 0;
	if (now < engine->end_ns)
		return false;
	if (is_open(engine) && now >= engine->end_ns + engine->settings->timeout.v)
		return true; /* the server is overloaded; the remaining requests count as unanswered */
	return engine->under_way == 0 && (!is_open(engine) || engine->arrivals.next_ns >= (double)engine->end_ns);
}

/* Stores the keys (engine->filling), or runs the load, until finished. */
static int run_phase(struct engine *engine, struct error *err)
{
	const struct load_settings *settings = engine->settings;
	int code = is_open(engine) ? 0 : prime(engine, err);
	int64_t now = now_ns(), wait_ns = PROGRESS_NS;

	engine->last_answer_ns = now;
	while (!code && !finished(engine, now)) {
		if (settings->stop && *settings->stop) {
			if (engine->filling || now < engine->measure_ns)
				return error_set(err, EINTR, "stopped before anything was measured");
			if (now < engine->end_ns)
				engine->end_ns = now;
		}
		if (is_open(engine))
			code = issue_due(engine, &wait_ns, err);
		if (!code)
			code = wait_and_read(engine, wait_ns, err);
		now = now_ns();
		if (!code && engine->under_way == 0)
			engine->last_answer_ns = now;
		if (!code && now - engine->last_answer_ns > settings->timeout.v &&
		    !(is_open(engine) && now >= engine->end_ns))
			code = error_set(err, ETIMEDOUT, "the server has not answered for %.3g s",
					 ns_to_s(settings->timeout));
		show_progress(engine, now);
	}
	return code;
}

static int open_all(struct engine *engine, struct error *err)
{
	const struct load_settings *settings = engine->settings;
	uint32_t room = settings->depth > OPEN_DEPTH_LEAST ? (uint32_t)settings->depth : OPEN_DEPTH_LEAST;

	engine->connections = calloc((size_t)settings->connections, sizeof *engine->connections);
	engine->buffer = malloc(READ_BYTES);
	if (!engine->connections || !engine->buffer)
		return error_set(err, ENOMEM, "out of memory");
	engine->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (engine->epoll < 0)
		return error_set(err, errno, "epoll: %s", strerror(errno));
	while (engine->connection_count < settings->connections) {
		struct connection *connection = &engine->connections[engine->connection_count++];
		struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
		int code;

		connection->socket = -1;
		code = connection_open(connection, settings->host, settings->port, room, err);
		if (code)
			return code;
		if (epoll_ctl(engine->epoll, EPOLL_CTL_ADD, connection->socket, &event) != 0)
			return error_set(err, errno, "epoll: %s", strerror(errno));
	}
	return 0;
}

/*
 * Used in the open loop, after its end. Returns the number of requests that were due in the window and have no answer,
 * including those that were not sent.
 */
static uint64_t count_unanswered(struct engine *engine)
{
	uint64_t count = 0;

	for (int i = 0; i < engine->connection_count; i++) {
		const struct connection *connection = &engine->connections[i];

		for (uint32_t at = connection->tail; at != connection->head; at++)
			count += in_window(engine, connection->requests[at & connection->mask].due_ns);
	}
	for (; engine->arrivals.next_ns < (double)engine->end_ns; arrivals_next(&engine->arrivals))
		count += in_window(engine, (int64_t)engine->arrivals.next_ns);
	return count;
}

static void conclude(struct engine *engine)
{
	struct load_result *result = engine->result;
	double seconds;

	result->elapsed.v = engine->end_ns - engine->measure_ns;
	seconds = ns_to_s(result->elapsed);
	if (is_open(engine))
		result->unanswered = count_unanswered(engine);
	if (seconds > 0) {
		double answered = (double)histogram_count(result->response_ns);

		result->request_rate_per_s = answered / seconds;
		if (is_open(engine))
			result->offered_rate_per_s = (answered + (double)result->unanswered) / seconds;
	}
}

static void engine_free(struct engine *engine)
{
	for (int i = 0; i < engine->connection_count; i++)
		connection_close(&engine->connections[i]);
	if (engine->epoll >= 0)
		close(engine->epoll);
	free(engine->connections);
	free(engine->buffer);
	workload_free(&engine->workload);
}

int load_run(const struct load_settings *settings, struct load_result *result, struct error *err)
{
	struct engine engine = {.settings = settings, .result = result, .epoll = -1};
	int code;

	memset(result, 0, sizeof *result);
	prctl(PR_SET_TIMERSLACK, 1); /* otherwise the kernel may end epoll's timeout up to 50 us late */
	code = result_init(result, err);
	if (!code)
		code = workload_init(&engine.workload, settings, err);
	if (!code)
		code = open_all(&engine, err);
	if (!code && settings->fill) {
		engine.filling = true;
		code = run_phase(&engine, err);
		engine.filling = false;
	}
	if (!code) {
		engine.begin_ns = now_ns();
		engine.measure_ns = engine.begin_ns + settings->warm_up.v;
		engine.end_ns = engine.measure_ns + settings->duration.v;
		arrivals_begin(&engine.arrivals, settings, engine.begin_ns);
		code = run_phase(&engine, err);
	}
	if (!code)
		conclude(&engine);
	engine_free(&engine);
	if (code)
		load_result_free(result);
	return code;
}
