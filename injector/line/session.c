/* SPDX-License-Identifier: BSD-3-Clause */
#include <injector/line/session.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <base/log.h>
#include <base/ns.h>
#include <dp/eal.h>
#include <dp/port.h>
#include <injector/line/capture.h>
#include <injector/line/line.h>
#include <injector/line/monitor.h>
#include <serve/serve.h>

#include "line_priv.h"

enum {
	POLL_NS = 100000000,
	DRAIN_NS =
		1000000000, /* the longest delay is 10 ms, but --rate or a port that is full may hold packets longer */
	SUMMARY_BYTES = 800,
};

const struct injector_session_settings injector_session_defaults = {
	.delay_ab_us = -1,
	.delay_ba_us = -1,
	.late_limit_us = 1e6,
	.mtu = 1500,
	.lcores = 1,
	.nice = -10,
	.seed = 1,
	.modes.replay_interval_us = 1e6,
};

struct session {
	const struct injector_session_settings *settings;
	double delay_us[INJECTOR_DIRECTIONS];
	uint32_t slots;
	struct dp_clock clock;
	struct dp_pool *pool;
	struct dp_port *ports[2];
	bool bursts_are_system_calls;
	struct injector_modes *modes[INJECTOR_DIRECTIONS];
	struct injector_rules *rules[INJECTOR_DIRECTIONS];
	_Atomic uint64_t modes_start; /* TSC of the first packet of either direction (mode.h) */
	struct injector_capture *capture;
	struct injector *injector;
	struct injector_monitor *monitor;
	struct injector_nic_tracker tracker;
	struct serve *control;
	struct interface interfaces[2]; /* Linux interfaces behind ports A and B */
	bool eal;
};

static int check_settings(const struct session *session, struct error *err)
{
	const struct injector_session_settings *settings = session->settings;
	const char *setter = injector_modes_setter(&settings->modes);
	bool delayed = session->delay_us[INJECTOR_AB] > 0 || session->delay_us[INJECTOR_BA] > 0;

	if (setter && delayed)
		return error_set(err, EINVAL, "a fixed delay and --%s are mutually exclusive", setter);
	if (settings->calibrate && settings->subtract_ns > 0)
		return error_set(err, EINVAL, "--calibrate and --subtract-ns are mutually exclusive");
	if (strcmp(settings->ports[0], settings->ports[1]) == 0)
		return error_set(err, EINVAL, "PORT_A and PORT_B are both %s: expected two ports", settings->ports[0]);
	return 0;
}

/* Refuses an interface that the host uses, unless the settings allow it: a remote user would lose the connection. */
static int check_interfaces(struct session *session, struct error *err)
{
	const struct injector_session_settings *settings = session->settings;
	int status = 0;

	for (int i = 0; i < 2 && !status && !settings->take_interface; i++) {
		char name[IF_NAMESIZE];

		interface_of_port(settings->ports[i], name);
		if (name[0])
			status = interface_check_unused(name, err);
	}
	for (int i = 0; i < 2 && !status; i++)
		interface_note(settings->ports[i], &session->interfaces[i]);
	return status;
}

static void answer_call(void *context, struct serve_call *call)
{
	struct session *session = context;
	struct error err = {0};
	json_t *answer = NULL;
	char *text;

	if (session->monitor)
		answer = injector_monitor_request(session->monitor, call->path + strlen("/v1/"), call->body, &err);
	else
		error_set(&err, EAGAIN, "the injector is starting");
	text = answer ? json_dumps(answer, JSON_COMPACT | JSON_REAL_PRECISION(12)) : NULL;
	json_decref(answer);
	if (text)
		serve_reply(call, 200, "application/json", text, strlen(text));
	else
		serve_reply_error(call, err.code ? &err : &(struct error){ENOMEM, "out of memory"});
	free(text);
}

static int open_control(struct session *session, struct error *err)
{
	static const struct serve_route routes[] = {
		{"GET", "/v1/stats", answer_call}, {"GET", "/v1/metrics", answer_call},
		{"POST", "/v1/set", answer_call},  {"POST", "/v1/reset", answer_call},
		{"POST", "/v1/stop", answer_call}, {0},
	};
	const struct serve_options options = {
		.unix_path = session->settings->control, .unix_mode = 0600, .routes = routes, .context = session};

	if (!session->settings->control)
		return 0;
	session->control = serve_create(&options, err);
	return session->control ? 0 : error_prefix(err, "control socket");
}

static int start_clock(struct session *session, struct error *err)
{
	const struct ns baseline = {50 * NS_PER_MS};

	if (!session->settings->trust_counter)
		return dp_clock_calibrate(&session->clock, baseline, err);
	dp_clock_calibrate_trusting(&session->clock, baseline);
	if (session->clock.trusted)
		log_warning("this CPU does not report an invariant time stamp counter; using it because of "
			    "--trust-counter: check the delays with another tool");
	return 0;
}

static int start_eal(struct session *session, struct error *err)
{
	const struct injector_session_settings *settings = session->settings;
	uint16_t mbuf_bytes = dp_pool_bytes((uint16_t)settings->mtu);
	struct injector_memory memory = injector_memory_needed(session->slots, mbuf_bytes);
	struct dp_eal_options options = {
		.program = "nomora-injector",
		.ports = settings->ports,
		.port_count = 2,
		.workers = (unsigned int)settings->lcores,
		.cpus = settings->cpus,
		.memory_MiB = memory.MiB,
		.extra = settings->eal_arguments,
		.extra_count = settings->eal_argument_count,
		.verbose = settings->verbose,
	};
	int status = dp_eal_start(&options, err);

	if (status)
		return status;
	session->eal = true;
	session->pool = dp_pool_create("packets", memory.mbufs, mbuf_bytes, err);
	return session->pool ? start_clock(session, err) : error_code(err, ENOMEM);
}

static int create_modes(struct session *session, struct error *err)
{
	const struct injector_session_settings *settings = session->settings;
	struct injector_mode_settings modes = settings->modes;
	bool wanted = injector_modes_wanted(&modes) || modes.reorder;

	modes.start = &session->modes_start;
	for (unsigned int d = 0; d < INJECTOR_DIRECTIONS; d++) {
		modes.seed = (uint64_t)settings->seed + d;
		if (wanted) {
			session->modes[d] = injector_modes_create(&modes, &session->clock, err);
			if (!session->modes[d])
				return error_code(err, EINVAL);
		}
		if (settings->rule_count > 0) {
			session->rules[d] = injector_rules_create(settings->rules, settings->rule_count, &modes,
								  &session->clock, err);
			if (!session->rules[d])
				return error_code(err, EINVAL);
		}
	}
	return 0;
}

static void warn_mtus(const struct dp_port_report report[2])
{
	if (report[0].mtu && report[1].mtu && report[0].mtu != report[1].mtu)
		log_warning(
			"%s has an MTU of %u, %s of %u: longer frames than the smaller one are dropped (tx_mtu): give "
			"both the same MTU",
			report[0].name, report[0].mtu, report[1].name, report[1].mtu);
}

/* One line for each port: the other lcore, if there are two, uses the same ports. */
static void warn_numa_node(const struct dp_port_report *report, int lcores)
{
	for (int i = 0; i < lcores; i++) {
		int node = dp_lcore_numa_node(dp_eal_worker((unsigned int)i));

		if (report->numa_node < 0 || node < 0 || node == report->numa_node)
			continue;
		log_warning("%s is at NUMA node %d, the CPU that polls it at node %d: each packet crosses between "
			    "them (use --cpus with CPUs of node %d)",
			    report->name, report->numa_node, node, report->numa_node);
		return;
	}
}

static int open_ports(struct session *session, struct error *err)
{
	const struct injector_session_settings *settings = session->settings;
	struct dp_port_report report[2];
	int status = 0;

	for (int i = 0; i < 2; i++) {
		struct dp_port_options options = {
			.name = settings->ports[i],
			.driver = (enum dp_port_driver)settings->driver,
			.descriptors = INJECTOR_DESCRIPTORS,
			.mtu = (uint16_t)settings->mtu,
			.pool = session->pool,
			.promiscuous = true,
			.hardware_rx_stamps = settings->hardware_stamps,
		};

		session->ports[i] = dp_port_open(&options, err);
		if (!session->ports[i])
			return error_code(err, ENODEV);
	}
	for (int i = 0; i < 2 && !status; i++) {
		status = dp_port_start(session->ports[i], err);
		dp_port_report(session->ports[i], &report[i]);
		session->bursts_are_system_calls |= report[i].sends_by_system_call;
		warn_numa_node(&report[i], (int)settings->lcores);
	}
	if (!status && dp_port_interface(session->ports[0])[0] && dp_port_interface(session->ports[1])[0])
		warn_mtus(report);
	return status;
}

/*
 * Measures the rates of the NICs' clocks (with hardware_stamps) and the period of the loop (with calibrate), before the
 * traffic.
 */
static int measure(struct session *session, struct error *err)
{
	int status = 0;

	if (session->settings->hardware_stamps) {
		status = injector_track_nic_clocks(session->injector, &session->tracker, session->ports, err);
		if (status)
			return status;
		nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
		status = injector_track_nic_clocks(session->injector, &session->tracker, session->ports, err);
	}
	if (!status && session->settings->calibrate)
		log_info("a packet waits %.0f ns on average before it is received: subtracted from the delay",
			 injector_calibrate(session->injector));
	return status;
}

static int create_injector(struct session *session, struct error *err)
{
	const struct injector_session_settings *settings = session->settings;
	struct injector_thresholds thresholds =
		injector_thresholds_of(settings->stall_us, settings->hiccup_ns, session->bursts_are_system_calls);
	unsigned int lcores[2] = {dp_eal_worker(0), dp_eal_worker(1)};
	struct injector_settings line = {
		.port_a = dp_port_id(session->ports[0]),
		.port_b = dp_port_id(session->ports[1]),
		.lcores = lcores,
		.lcore_count = (unsigned int)settings->lcores,
		.slots = session->slots,
		.delay_us = {session->delay_us[0], session->delay_us[1]},
		.subtract_ns = settings->subtract_ns,
		.transmit_is_system_call = session->bursts_are_system_calls,
		.stall_us = thresholds.stall_us,
		.hiccup_ns = thresholds.hiccup_ns,
		.late_limit_us = settings->late_limit_us,
		.nice = (int)settings->nice,
		.expected_pps = settings->expected_pps,
		.modes = {session->modes[0], session->modes[1]},
		.rules = {session->rules[0], session->rules[1]},
		.stamps = {{.offset = -1}, {.offset = -1}},
	};

	if (settings->capture) {
		session->capture = injector_capture_create(settings->capture, &session->clock, err);
		if (!session->capture)
			return error_code(err, ENOMEM);
		line.capture = session->capture;
	}
	for (int i = 0; i < INJECTOR_DIRECTIONS && settings->hardware_stamps; i++) {
		if (dp_port_stamps(session->ports[i], &line.stamps[i]) != 0)
			return error_set(err, ENOTSUP, "--hardware-stamps: %s does not stamp received packets",
					 settings->ports[i]);
	}
	session->injector = injector_create(&line, &session->clock, err);
	return session->injector ? 0 : error_code(err, EINVAL);
}

static int start_injector(struct session *session, struct error *err)
{
	int status = create_injector(session, err);

	if (!status)
		status = measure(session, err);
	if (status)
		return status;
	session->monitor =
		injector_monitor_create(session->injector, session->ports[0], session->ports[1], session->capture, err);
	if (!session->monitor)
		return error_code(err, ENOMEM);
	if (session->capture)
		status = injector_capture_start(session->capture, err);
	return status ? status : injector_start(session->injector, err);
}

static void announce(const struct session *session)
{
	const char *setter = injector_delay_setter(session->injector, INJECTOR_AB);
	struct dp_port_report a, b;
	char delay[64];

	if (setter)
		snprintf(delay, sizeof delay, "delays of --%s", setter);
	else
		snprintf(delay, sizeof delay, "%g us and %g us", session->delay_us[0], session->delay_us[1]);
	dp_port_report(session->ports[0], &a);
	dp_port_report(session->ports[1], &b);
	log_info("%s (%s) <-> %s (%s), %s, memory %s", a.name, a.driver, b.name, b.driver, delay,
		 dp_eal_has_hugepages() ? "from hugepages" : "without hugepages");
}

static bool pass_on(const struct session *session, const struct injector_state *state)
{
	const struct injector_session_settings *settings = session->settings;

	return !settings->on_sample || settings->on_sample(settings->context, state);
}

/* Called once a second. Returns false to end the session. */
static bool tick(struct session *session)
{
	struct injector_state state;
	struct error err = {0};

	if (session->settings->hardware_stamps &&
	    injector_track_nic_clocks(session->injector, &session->tracker, session->ports, &err))
		log_warning("%s", err.text);
	if (injector_monitor_sample(session->monitor, &state, &err)) {
		log_warning("%s", err.text);
		return true;
	}
	return pass_on(session, &state);
}

/* Waits `wait_ns`, or until calls have arrived, and answers them. */
static void answer_calls(struct serve *control, int64_t wait_ns)
{
	struct pollfd calls = {control ? serve_fd(control) : -1, POLLIN, 0};
	int64_t control_ms = control ? serve_timeout_ms(control) : -1;

	if (control_ms >= 0 && control_ms * NS_PER_MS < wait_ns)
		wait_ns = control_ms * NS_PER_MS;
	ppoll(&calls, 1, &(struct timespec){.tv_nsec = wait_ns}, NULL);
	if (control)
		serve_run(control);
}

static void watch(struct session *session)
{
	struct ns start = ns_now_monotonic(), next = ns_add(start, (struct ns){NS_PER_S});
	struct ns end = {start.v + (int64_t)(session->settings->duration_s * 1e9)};

	while (!*session->settings->stop && !injector_monitor_stopped(session->monitor)) {
		struct ns now = ns_now_monotonic();
		int64_t wait_ns = POLL_NS;

		if (session->settings->duration_s > 0) {
			if (now.v >= end.v)
				return;
			if (end.v - now.v < wait_ns)
				wait_ns = end.v - now.v;
		}
		answer_calls(session->control, wait_ns);
		if (ns_now_monotonic().v < next.v)
			continue;
		next = ns_add(next, (struct ns){NS_PER_S});
		if (!tick(session))
			return;
	}
}

/* Logs the summary. Called after the loop has stopped: packets that it still holds are never transmitted. */
static void conclude(struct session *session)
{
	struct injector_state state;
	struct error err = {0};
	char text[SUMMARY_BYTES];

	if (injector_monitor_sample(session->monitor, &state, &err)) {
		log_warning("%s", err.text);
		return;
	}
	pass_on(session, &state);
	injector_monitor_summary(&state, text, sizeof text);
	log_info("%s", text);
}

static int run(struct session *session, struct error *err)
{
	int status = check_settings(session, err);

	if (!status)
		status = open_control(session, err);
	if (!status)
		status = check_interfaces(session, err);
	if (!status)
		status = start_eal(session, err);
	if (!status)
		status = create_modes(session, err);
	if (!status)
		status = open_ports(session, err);
	if (!status)
		status = start_injector(session, err);
	if (status)
		return status;
	announce(session);
	watch(session);
	injector_drain(session->injector, (struct ns){DRAIN_NS}, session->settings->hurry);
	status = injector_capture_finish(session->capture, err); /* before conclude() prints the capture's counters */
	conclude(session);
	return status;
}

static int close_session(struct session *session, struct error *err)
{
	int status;

	serve_destroy(session->control);
	if (session->injector)
		injector_stop(session->injector);
	status = injector_capture_close(session->capture, err);
	injector_monitor_destroy(session->monitor);
	injector_destroy(session->injector);
	for (int i = 0; i < 2; i++) {
		injector_modes_destroy(session->modes[i]);
		injector_rules_destroy(session->rules[i]);
		dp_port_close(session->ports[i]);
		interface_restore(&session->interfaces[i]);
	}
	if (session->eal) {
		dp_pool_free(session->pool);
		dp_eal_stop();
	}
	return status;
}

int injector_session_run(const struct injector_session_settings *settings, struct error *err)
{
	struct session session = {.settings = settings};
	struct error reason = {0};
	int status, close_status;

	session.delay_us[INJECTOR_AB] = settings->delay_ab_us < 0 ? settings->delay_us : settings->delay_ab_us;
	session.delay_us[INJECTOR_BA] = settings->delay_ba_us < 0 ? settings->delay_us : settings->delay_ba_us;
	session.slots = settings->slots > 0 ? (uint32_t)settings->slots
					    : injector_slots_default(settings->expected_pps,
								     injector_modes_wanted(&settings->modes) ||
									     settings->rule_count > 0);
	status = run(&session, err);
	close_status = close_session(&session, &reason);
	if (status || !close_status)
		return status;
	if (err)
		*err = reason;
	return close_status;
}
