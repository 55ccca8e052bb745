/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora inject: opens two ports, runs the delay line between them, tells what it does. */
#include "commands.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <base/control.h>
#include <base/log.h>
#include <base/number.h>
#include <dp/eal.h>
#include <dp/port.h>
#include <injector/line/capture.h>
#include <injector/line/line.h>
#include <injector/line/monitor.h>

enum {
	SLOTS_DEFAULT = 16384,
	DESCRIPTORS = 1024,
	SPARE_MBUFS = 2048, /* bursts under way, copies, the lcores' caches */
	POLL_NS = 100000000,
};

/* Under this a gap is the ordinary cost of a system call, which af_packet, af_xdp and pcap make in every burst. */
#define STALL_SYSCALL_US 20.0
#define STALL_POLLED_US 1.0
#define HICCUP_POLLED_NS 300.0
#define NOT_GIVEN (-1.0)

struct settings {
	double delay_us, delay_ab_us, delay_ba_us, subtract_ns, stall_us, hiccup_ns, duration_s, expected_pps;
	int64_t slots, lcores, nice, mtu;
	const char *control, *capture, *cpus;
	bool json, verbose, calibrate, hardware_stamps, trust_counter;
	int driver;
	struct injector_mode_settings modes;
	int64_t seed;
};

#define ROW(kind, ...) OPTION_##kind(struct settings, __VA_ARGS__)

static const struct option_row rows[] = {
	ROW(DOUBLE, delay_us, "delay-us", 'd', "US", 0, INJECTOR_DELAY_MAXIMUM_US,
	    "delay of each direction, steps of 0.1 us"),
	ROW(DOUBLE, delay_ab_us, "delay-ab-us", 0, "US", -1, INJECTOR_DELAY_MAXIMUM_US,
	    "from PORT_A to PORT_B (-1: as --delay-us)"),
	ROW(DOUBLE, delay_ba_us, "delay-ba-us", 0, "US", -1, INJECTOR_DELAY_MAXIMUM_US,
	    "from PORT_B to PORT_A (-1: as --delay-us)"),
	ROW(DOUBLE, duration_s, "duration", 't', "S", 0, 1e9, "stop after so long; 0: when told to"),
	ROW(STRING, control, "control", 'c', "PATH", "control socket, for nomora inject-ctl and nomora sweep"),
	ROW(FLAG, json, "json", 0, "one line of JSON a second on stdout, schema nomora.inject/1"),
	ROW(STRING, capture, "capture", 0, "FILE", "pcapng of what enters and leaves, for nomora inject-check"),
	OPTION_HEADING("Modes"),
	ROW(STRING, modes.steps, "steps", 0, "LIST|FILE", "schedule SECOND:US,SECOND:US... instead of a fixed delay"),
	ROW(STRING, modes.jitter, "jitter", 0, "KIND", "on top: uniform:W, normal:S or pareto:S,A (us, shape)"),
	ROW(STRING, modes.replay, "replay", 0, "FILE", "recorded latencies, us, one a line, instead of a fixed delay"),
	ROW(DOUBLE, modes.replay_interval_us, "replay-interval-us", 0, "US", 1, 1e12,
	    "how long each value of --replay holds"),
	ROW(FLAG, modes.reorder, "reorder", 0, "let packets of --jitter or --replay overtake each other"),
	ROW(STRING, modes.loss, "loss", 0, "PERCENT", "lose packets, each alone"),
	ROW(STRING, modes.gilbert, "gilbert", 0, "P,R[,LB[,LG]]", "lose packets in bursts (Gilbert-Elliott), percent"),
	ROW(STRING, modes.duplicate, "duplicate", 0, "PERCENT", "send packets twice"),
	ROW(STRING, modes.rate, "rate", 0, "MBPS", "limit each direction to so many Mbit/s on the wire"),
	ROW(STRING, modes.only, "only", 0, "RULES", "delay only tcp:PORT,udp:PORT,port:PORT,host:ADDRESS,proto:NAME"),
	ROW(INTEGER, seed, "seed", 0, "N", 0, 9007199254740992.0, "of the random modes"),
	OPTION_HEADING("Ports and memory"),
	ROW(CHOICE, driver, "driver", 0, "NAME", dp_port_driver_names, "for a Linux interface"),
	ROW(INTEGER, mtu, "mtu", 0, "BYTES", 68, DP_MTU_MAXIMUM,
	    "carried at least; the interfaces' own stays as it is"),
	ROW(INTEGER, slots, "slots", 0, "N", 1024, 4194304, "packets held per direction (default 16384)"),
	ROW(DOUBLE, expected_pps, "expect-pps", 0, "N", 0, 1e9,
	    "refuse delays, and a --rate, that so many packets would overflow; 0: unknown"),
	ROW(INTEGER, lcores, "lcores", 0, "N", 1, 2, "busy CPUs: one for both directions, or one for each"),
	ROW(STRING, cpus, "cpus", 0, "LIST", "which CPUs; default: isolated ones if there are any, else any"),
	ROW(INTEGER, nice, "nice", 0, "N", -20, 19, "priority of the busy threads, where we may set it; 0: leave it"),
	ROW(DOUBLE, stall_us, "stall-us", 0, "US", 0, 1e6,
	    "gap that counts as a stall; 0: 1, or 20 where bursts are system calls"),
	ROW(DOUBLE, hiccup_ns, "hiccup-ns", 0, "NS", 0, 1e9,
	    "shorter gap that disturbs what arrives or leaves in it; 0: 300, or as --stall-us where bursts are system "
	    "calls"),
	ROW(DOUBLE, subtract_ns, "subtract-ns", 0, "NS", 0, 1e6, "the path at D = 0, taken off the delay"),
	ROW(FLAG, calibrate, "calibrate", 0, "measure the mean wait to be received first, and take it off"),
	ROW(FLAG, hardware_stamps, "hardware-stamps", 0, "count the delay from the NIC's receive stamps"),
	ROW(FLAG, trust_counter, "trust-counter", 0, "use a time stamp counter that the CPU does not call invariant"),
	ROW(FLAG, verbose, "verbose", 'v', "let DPDK's own messages through"),
	OPTION_END,
};

static const char teach[] =
	"A port is a PCI address (0000:03:00.0), a virtual device with its arguments\n"
	"(net_af_packet0,iface=va) or a Linux interface (va). Words after -- go to DPDK's EAL.\n"
	"The round trip grows by twice the delay. A stall is a gap in the polling; packets whose stay\n"
	"met one are counted as disturbed, and a measurement that saw many is worth repeating.\n\n"
	"  ip netns exec tor nomora inject va vb --delay-us 20 --control /run/inj.sock --json\n"
	"  nomora inject-ctl /run/inj.sock set delay_us=50\n"
	"  nomora inject 0000:03:00.0 0000:03:00.1 --delay-us 100 --cpus 3 -- -n 4\n";

static const struct option_usage usage = {
	.command = "nomora inject",
	.operands = "PORT_A PORT_B [-- EAL-ARGUMENT...]",
	.summary = "Holds every packet between two ports for exactly the delay, both ways, on one CPU.",
	.teach = teach,
	.rows = rows,
	.operands_minimum = 2,
	.operands_maximum = 2,
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	interrupted = number;
}

struct session {
	struct settings settings;
	const char *names[2];
	struct dp_clock clock;
	struct dp_pool *pool;
	struct dp_port *ports[2];
	struct injector_modes *modes[INJECTOR_DIRECTIONS];
	_Atomic uint64_t modes_start; /* of both directions' */
	struct injector_capture *capture;
	struct injector *injector;
	struct injector_monitor *monitor;
	struct injector_nic_tracker tracker;
	struct control_server *control;
	bool eal;
};

static json_t *answer_request(void *context, const char *line, struct error *err)
{
	struct session *session = context;

	if (!session->monitor) {
		error_set(err, EAGAIN, "the injector is starting");
		return NULL;
	}
	return injector_monitor_request(session->monitor, line, err);
}

static int open_control(struct session *session, struct error *err)
{
	if (!session->settings.control)
		return 0;
	session->control = control_server_create(session->settings.control, answer_request, session, err);
	return session->control ? 0 : -1;
}

/*
 * Unless given: fewer than usual where the rate to expect leaves most of them empty at the longest delay there is, as a
 * buffer is set aside for each. A mode may hold packets for longer than that.
 */
static uint32_t slots(const struct settings *settings)
{
	uint32_t needed = injector_slots_needed(INJECTOR_DELAY_MAXIMUM_US, settings->expected_pps);

	if (settings->slots > 0)
		return (uint32_t)settings->slots;
	if (needed > SLOTS_DEFAULT || !(settings->expected_pps > 0) || injector_modes_wanted(&settings->modes))
		return SLOTS_DEFAULT;
	return needed;
}

static int start_eal(struct session *session, const struct option_operands *operands, struct error *err)
{
	const struct settings *settings = &session->settings;
	uint16_t mbuf_bytes = dp_pool_bytes((uint16_t)settings->mtu, session->names, 2);
	uint64_t mbufs = 2 * ((uint64_t)slots(settings) + 2 * DESCRIPTORS) + SPARE_MBUFS;
	struct dp_eal_options options = {
		.program = "nomora-injector",
		.ports = session->names,
		.port_count = 2,
		.workers = (unsigned int)settings->lcores,
		.cpus = settings->cpus,
		/* A buffer takes its data, headroom and about 300 bytes of header; af_xdp's frames come on top. */
		.memory_MiB = (unsigned int)((mbufs * (mbuf_bytes + 512U)) >> 20) + 96,
		.extra = operands->rest,
		.extra_count = operands->rest_count,
		.verbose = settings->verbose,
	};
	const struct ns baseline = {50 * NS_PER_MS};
	int status = dp_eal_start(&options, err);

	if (status)
		return status;
	session->eal = true;
	session->pool = dp_pool_create("packets", (unsigned int)mbufs, mbuf_bytes, err);
	if (!session->pool)
		return -ENOMEM;
	if (!settings->trust_counter)
		return dp_clock_calibrate(&session->clock, baseline, err);
	dp_clock_calibrate_trusting(&session->clock, baseline);
	if (session->clock.trusted)
		log_warning("this CPU does not call its time stamp counter invariant: trusted because --trust-counter "
			    "was given; check the delays by other means");
	return 0;
}

static int open_ports(struct session *session, struct error *err)
{
	for (int i = 0; i < 2; i++) {
		struct dp_port_options options = {
			.name = session->names[i],
			.driver = (enum dp_port_driver)session->settings.driver,
			.descriptors = DESCRIPTORS,
			.mtu = (uint16_t)session->settings.mtu,
			.pool = session->pool,
			.promiscuous = true,
			.hardware_rx_stamps = session->settings.hardware_stamps,
		};

		session->ports[i] = dp_port_open(&options, err);
		if (!session->ports[i])
			return -1;
	}
	for (int i = 0; i < 2; i++) {
		if (dp_port_start(session->ports[i], err))
			return -1;
	}
	return 0;
}

static bool bursts_are_system_calls(const struct session *session)
{
	for (int i = 0; i < 2; i++) {
		struct dp_port_report report;

		dp_port_report(session->ports[i], &report);
		if (strstr(report.driver, "af_") || strstr(report.driver, "pcap") || strstr(report.driver, "tap"))
			return true;
	}
	return false;
}

static double stall_threshold_us(const struct session *session)
{
	if (session->settings.stall_us > 0)
		return session->settings.stall_us;
	return bursts_are_system_calls(session) ? STALL_SYSCALL_US : STALL_POLLED_US;
}

static double hiccup_threshold_ns(const struct session *session)
{
	if (session->settings.hiccup_ns > 0)
		return session->settings.hiccup_ns;
	return bursts_are_system_calls(session) ? stall_threshold_us(session) * 1e3 : HICCUP_POLLED_NS;
}

static int create_modes(struct session *session, struct error *err)
{
	for (int i = 0; i < INJECTOR_DIRECTIONS; i++) {
		if (!injector_modes_wanted(&session->settings.modes) && !session->settings.modes.reorder)
			return 0;
		session->settings.modes.seed = (uint64_t)session->settings.seed + (uint64_t)i;
		session->settings.modes.start = &session->modes_start;
		session->modes[i] = injector_modes_create(&session->settings.modes, &session->clock, err);
		if (!session->modes[i])
			return -1;
	}
	return 0;
}

/* What is measured before the traffic: the loop's period, the rate of the NICs' clocks. */
static int prepare(struct session *session, struct error *err)
{
	if (session->settings.hardware_stamps) {
		if (injector_track_nic_clocks(session->injector, &session->tracker, session->ports, err))
			return -1;
		nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
		if (injector_track_nic_clocks(session->injector, &session->tracker, session->ports, err))
			return -1;
	}
	if (session->settings.calibrate)
		log_info("a packet waits %.0f ns on average to be received: taken off",
			 injector_calibrate(session->injector));
	return 0;
}

static int start_injector(struct session *session, struct error *err)
{
	const struct settings *settings = &session->settings;
	unsigned int lcores[2] = {dp_eal_worker(0), dp_eal_worker(1)};
	struct injector_settings line = {
		.port_a = dp_port_id(session->ports[0]),
		.port_b = dp_port_id(session->ports[1]),
		.lcores = lcores,
		.lcore_count = (unsigned int)settings->lcores,
		.slots = slots(settings),
		.delay_us = {settings->delay_ab_us, settings->delay_ba_us},
		.subtract_ns = settings->subtract_ns,
		.transmit_is_system_call = bursts_are_system_calls(session),
		.stall_us = stall_threshold_us(session),
		.hiccup_ns = hiccup_threshold_ns(session),
		.nice = (int)settings->nice,
		.expected_pps = settings->expected_pps,
		.modes = {session->modes[0], session->modes[1]},
		.stamps = {{.offset = -1}, {.offset = -1}},
	};

	if (settings->capture) {
		session->capture = injector_capture_create(settings->capture, &session->clock, err);
		if (!session->capture)
			return -1;
		line.capture = session->capture;
	}
	for (int i = 0; i < INJECTOR_DIRECTIONS && settings->hardware_stamps; i++) {
		if (dp_port_stamps(session->ports[i], &line.stamps[i]) != 0)
			return error_set(err, ENOTSUP, "%s does not stamp what it receives", session->names[i]);
	}
	session->injector = injector_create(&line, &session->clock, err);
	if (!session->injector || prepare(session, err))
		return -1;
	session->monitor =
		injector_monitor_create(session->injector, session->ports[0], session->ports[1], session->capture, err);
	if (!session->monitor || (session->capture && injector_capture_start(session->capture, err)))
		return -1;
	return injector_start(session->injector, err);
}

static void announce(const struct session *session)
{
	const char *setter = injector_delay_setter(session->injector, INJECTOR_AB);
	struct dp_port_report a, b;
	char delay[64];

	if (setter)
		snprintf(delay, sizeof delay, "delays of --%s", setter);
	else
		snprintf(delay, sizeof delay, "%g us and %g us", session->settings.delay_ab_us,
			 session->settings.delay_ba_us);
	dp_port_report(session->ports[0], &a);
	dp_port_report(session->ports[1], &b);
	log_info("%s (%s) <-> %s (%s), %s, memory %s", a.name, a.driver, b.name, b.driver, delay,
		 dp_eal_has_hugepages() ? "from hugepages" : "without hugepages");
}

/* False when nobody reads any more. */
static bool print_sample(const struct session *session, const json_t *sample)
{
	return !session->settings.json ||
	       (json_dumpf(sample, stdout, JSON_COMPACT) == 0 && putchar('\n') != EOF && fflush(stdout) == 0);
}

/* One line of JSON, and the chores of once a second. False when nobody reads any more. */
static bool tick(struct session *session)
{
	struct error err = {0};
	json_t *sample;
	bool ok;

	if (session->settings.hardware_stamps &&
	    injector_track_nic_clocks(session->injector, &session->tracker, session->ports, &err))
		log_warning("%s", err.text);
	sample = injector_monitor_sample(session->monitor, &err);
	if (!sample) {
		log_warning("%s", err.text);
		return true;
	}
	ok = print_sample(session, sample);
	json_decref(sample);
	return ok;
}

static void serve(struct session *session)
{
	struct ns start = ns_now_monotonic(), next = ns_add(start, (struct ns){INT64_C(1000000000)});
	struct ns end = {start.v + (int64_t)(session->settings.duration_s * 1e9)};

	while (!interrupted && !injector_monitor_stopped(session->monitor)) {
		struct ns now = ns_now_monotonic();
		int64_t wait_ns = POLL_NS;

		if (session->settings.duration_s > 0) {
			if (now.v >= end.v)
				return;
			if (end.v - now.v < wait_ns)
				wait_ns = end.v - now.v;
		}
		if (session->control)
			control_poll(session->control, (struct ns){wait_ns});
		else
			nanosleep(&(struct timespec){.tv_nsec = wait_ns}, NULL);
		if (ns_now_monotonic().v < next.v)
			continue;
		next.v += INT64_C(1000000000);
		if (!tick(session))
			return;
	}
}

/* Once the loop has ended: what is held then never leaves. */
static void conclude(struct session *session)
{
	struct error err = {0};
	json_t *sample = injector_monitor_sample(session->monitor, &err);
	char text[800];

	if (!sample) {
		log_warning("%s", err.text);
		return;
	}
	print_sample(session, sample);
	injector_monitor_summary(sample, text, sizeof text);
	log_info("%s", text);
	json_decref(sample);
}

static int close_session(struct session *session, struct error *err)
{
	int status;

	control_server_destroy(session->control);
	if (session->injector)
		injector_stop(session->injector);
	status = injector_capture_close(session->capture, err);
	injector_monitor_destroy(session->monitor);
	injector_destroy(session->injector);
	for (int i = 0; i < 2; i++) {
		injector_modes_destroy(session->modes[i]);
		dp_port_close(session->ports[i]);
	}
	if (session->eal) {
		dp_pool_free(session->pool);
		dp_eal_stop();
	}
	return status;
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal}, hangup;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	/* What nohup ignores stays ignored. */
	if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int run(struct session *session, const struct option_operands *operands, struct error *err)
{
	int status;

	catch_signals();
	if ((session->settings.modes.steps || session->settings.modes.replay) &&
	    (session->settings.delay_ab_us > 0 || session->settings.delay_ba_us > 0))
		return error_set(err, EINVAL,
				 "a fixed delay and --%s overlap: each decides the delay of a packet; choose one",
				 session->settings.modes.steps ? "steps" : "replay");
	if (session->settings.calibrate && session->settings.subtract_ns > 0)
		return error_set(err, EINVAL,
				 "--calibrate and --subtract-ns overlap: one is measured, the other given");
	if (strcmp(session->names[0], session->names[1]) == 0)
		return error_set(err, EINVAL, "PORT_A and PORT_B are both %s: expected two ports", session->names[0]);
	status = open_control(session, err);
	if (!status)
		status = start_eal(session, operands, err);
	if (!status)
		status = create_modes(session, err);
	if (status)
		return status;
	if (open_ports(session, err) || start_injector(session, err))
		return -1;
	announce(session);
	serve(session);
	injector_stop(session->injector);
	status = injector_capture_finish(session->capture, err); /* before its counters are told */
	conclude(session);
	return status;
}

int command_inject(int argc, char **argv)
{
	struct session session = {
		.settings = {.delay_ab_us = NOT_GIVEN,
			     .delay_ba_us = NOT_GIVEN,
			     .mtu = 1500,
			     .lcores = 1,
			     .nice = -20,
			     .seed = 1,
			     .modes.replay_interval_us = 1e6},
	};
	struct settings *settings = &session.settings;
	struct option_operands operands = {0};
	struct error err = {0}, close_err = {0};
	int status;

	log_set_program("nomora inject");
	status = command_parse(&usage, argc, argv, settings, &operands);
	if (status >= 0)
		return status;
	session.names[0] = operands.items[0];
	session.names[1] = operands.items[1];
	if (settings->delay_ab_us < 0)
		settings->delay_ab_us = settings->delay_us;
	if (settings->delay_ba_us < 0)
		settings->delay_ba_us = settings->delay_us;
	status = COMMAND_OK;
	if (run(&session, &operands, &err))
		status = command_fail(&err, err.code == EINVAL || err.code == ERANGE ? COMMAND_USAGE : COMMAND_FAILED);
	if (close_session(&session, &close_err) && status == COMMAND_OK)
		status = command_fail(&close_err, COMMAND_FAILED);
	options_free(&operands);
	return status;
}
