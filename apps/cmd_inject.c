/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora inject: runs the delay line between two ports. */
#include "commands.h"

#include <errno.h>
#include <stdio.h>

#include <base/log.h>
#include <base/stop.h>
#include <dp/port.h>
#include <injector/line/line.h>
#include <injector/line/session.h>

struct settings {
	struct injector_session_settings session;
	struct option_list rules;
	bool json;
};

#define ROW(kind, field, ...) OPTION_##kind(struct settings, session.field, __VA_ARGS__)
#define MODE_ROW(name, argument, help) ROW(STRING, modes.name, #name, 0, argument, help),

static const struct option_row rows[] = {
	ROW(DOUBLE, delay_us, "delay-us", 'd', "US", 0, INJECTOR_DELAY_MAXIMUM_US,
	    "delay of each direction, steps of 0.1 us"),
	ROW(DOUBLE, delay_ab_us, "delay-ab-us", 0, "US", -1, INJECTOR_DELAY_MAXIMUM_US,
	    "from PORT_A to PORT_B (-1: same as --delay-us)"),
	ROW(DOUBLE, delay_ba_us, "delay-ba-us", 0, "US", -1, INJECTOR_DELAY_MAXIMUM_US,
	    "from PORT_B to PORT_A (-1: same as --delay-us)"),
	ROW(DOUBLE, duration_s, "duration", 't', "S", 0, 1e9, "stop after S seconds; 0: run until stopped"),
	ROW(STRING, control, "control", 'c', "PATH", "control socket, for nomora inject-ctl and nomora sweep"),
	OPTION_FLAG(struct settings, json, "json", 0, "print one line of JSON per second, schema nomora.inject/1"),
	ROW(STRING, capture, "capture", 0, "FILE",
	    "pcapng of the packets that enter and leave, for nomora inject-check"),
	OPTION_HEADING("Modes"),
	INJECTOR_MODES(MODE_ROW)
		OPTION_LIST(struct settings, rules, "rule", 0, "RULE",
			    "delay and modes of some packets, as 'udp:53 delay=20 loss=1'; may be given 16 times"),
	/* settings of the modes */
	ROW(DOUBLE, modes.replay_interval_us, "replay-interval-us", 0, "US", 1, 1e12,
	    "time for which each value of --replay applies"),
	ROW(DOUBLE, modes.jitter_wave_us, "jitter-wave-us", 0, "US", 0, 1e9,
	    "mean time of a rise and fall of --jitter in order; 0: as short as the order permits"),
	ROW(FLAG, modes.reorder, "reorder", 0, "let packets of --jitter or --replay overtake each other"),
	ROW(INTEGER, seed, "seed", 0, "N", 0, 9007199254740992.0, "seed of the random modes"),
	OPTION_HEADING("Ports and memory"),
	ROW(CHOICE, driver, "driver", 0, "NAME", dp_port_driver_names, "driver for a Linux interface"),
	ROW(FLAG, take_interface, "take-interface", 0,
	    "use an interface even if it has an address or a route of this host, which then no longer works"),
	ROW(INTEGER, mtu, "mtu", 0, "BYTES", 68, DP_MTU_MAXIMUM,
	    "largest frames to support; interface MTUs are not changed"),
	ROW(INTEGER, slots, "slots", 0, "N", 1024, 4194304,
	    "maximum number of packets held per direction (default 16384)"),
	ROW(DOUBLE, expected_pps, "expect-pps", 0, "N", 0, 1e9,
	    "expected packets per second; delays and a --rate at which the ring would overflow are refused; 0: not "
	    "known"),
	ROW(INTEGER, lcores, "lcores", 0, "N", 1, 2,
	    "number of busy CPUs: 1 serves both directions; of 2, each serves one"),
	ROW(STRING, cpus, "cpus", 0, "LIST", "CPUs of the busy threads, as 2,4-5; default: isolated CPUs, else any"),
	ROW(INTEGER, nice, "nice", 0, "N", -20, 19, "priority of the busy threads, if permitted; 0: unchanged"),
	ROW(DOUBLE, stall_us, "stall-us", 0, "US", 0, 1e6,
	    "a gap in the polling longer than this is a stall; 0: 1, or 20 if bursts are system calls"),
	ROW(DOUBLE, hiccup_ns, "hiccup-ns", 0, "NS", 0, 1e9,
	    "packets that arrive or leave during a longer gap count as disturbed; 0: 300, or as --stall-us if bursts "
	    "are system calls"),
	ROW(DOUBLE, late_limit_us, "late-limit-us", 0, "US", 0, 1e12,
	    "drop and count packets that could leave only later than this after they are due; 0: no limit"),
	ROW(DOUBLE, subtract_ns, "subtract-ns", 0, "NS", 0, 1e6,
	    "delay of the path with --delay-us 0; subtracted from each delay"),
	ROW(FLAG, calibrate, "calibrate", 0, "measure how long packets wait to be received, and subtract it"),
	ROW(FLAG, hardware_stamps, "hardware-stamps", 0,
	    "hold packets from the NIC's receive stamp on, not from their reception by the CPU"),
	ROW(FLAG, trust_counter, "trust-counter", 0,
	    "use the time stamp counter even if the CPU does not report it as invariant"),
	ROW(FLAG, verbose, "verbose", 'v', "print DPDK's own messages"),
	OPTION_END,
};

static const char teach[] =
	"A port is a PCI address (0000:03:00.0), a virtual device with its arguments\n"
	"(net_af_packet0,iface=va) or a Linux interface (va). Words after -- go to DPDK's EAL.\n"
	"The round trip grows by twice the delay. A stall is a gap in the polling; packets that were\n"
	"held during a stall count as disturbed. If many packets are disturbed, repeat the measurement.\n\n"
	"  ip netns exec tor nomora inject va vb --delay-us 20 --control /run/inj.sock --json\n"
	"  nomora inject-ctl /run/inj.sock set delay_us=50\n"
	"  nomora inject 0000:03:00.0 0000:03:00.1 --delay-us 100 --cpus 3 -- -n 4\n";

static const struct option_usage usage = {
	.command = "nomora inject",
	.operands = "PORT_A PORT_B [-- EAL-ARGUMENT...]",
	.summary = "Hold every packet between two ports for exactly D us, in both directions.",
	.teach = teach,
	.rows = rows,
	.operands_minimum = 2,
	.operands_maximum = 2,
	.takes_rest = true,
};

/*
 * Prints the state as one line of JSON. Returns false if printing fails: for example, the reader has closed the pipe.
 */
static bool print_sample(void *context, const struct injector_state *state)
{
	json_t *sample = injector_state_to_json(state);
	bool printed =
		sample && json_dumpf(sample, stdout, JSON_COMPACT) == 0 && putchar('\n') != EOF && fflush(stdout) == 0;

	(void)context;
	json_decref(sample);
	return printed;
}

static int run(void *context, const struct option_operands *operands, struct error *err)
{
	struct settings *settings = context;

	stop_catch_signals();
	signal(SIGPIPE, SIG_IGN);
	settings->session.ports[0] = operands->items[0];
	settings->session.ports[1] = operands->items[1];
	settings->session.eal_arguments = operands->rest;
	settings->session.eal_argument_count = operands->rest_count;
	settings->session.rules = settings->rules.items;
	settings->session.rule_count = settings->rules.count;
	settings->session.stop = stop_flag();
	settings->session.hurry = stop_second_flag();
	settings->session.on_sample = settings->json ? print_sample : NULL;
	if (injector_session_run(&settings->session, err))
		return err->code == EINVAL || err->code == ERANGE ? COMMAND_USAGE : COMMAND_FAILED;
	return COMMAND_OK;
}

int command_inject(int argc, char **argv)
{
	struct settings settings = {.session = injector_session_defaults};

	log_set_program("nomora inject");
	return command_run(&usage, argc, argv, &settings, run);
}
