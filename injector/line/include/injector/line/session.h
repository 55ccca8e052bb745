/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a whole injector, from opening the ports to logging the last summary. It starts DPDK and creates two ports, the
 * modes, the capture, the control socket and the delay line between the ports. `nomora inject` adds only the option
 * table. Runs on the control thread; one session per process, because DPDK can be started only once.
 */
#ifndef INJECTOR_SESSION_H
#define INJECTOR_SESSION_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include <base/error.h>
#include <injector/line/mode.h>
#include <model/injector_state.h>

/* The settings of `nomora inject`. Strings are borrowed. */
struct injector_session_settings {
	const char *ports[2];                      /* names of port A and port B, in the syntax of dp/port.h */
	double delay_us, delay_ab_us, delay_ba_us; /* delay_ab_us or delay_ba_us < 0: use delay_us for this direction */
	double subtract_ns, stall_us, hiccup_ns;   /* stall_us, hiccup_ns: 0 = the default of line.h */
	double late_limit_us;                      /* 0 = no limit */
	double expected_pps;                       /* 0 = not known */
	double duration_s;                         /* 0 = until stopped */
	int64_t slots; /* size of each direction's ring, packets; 0 = the default of line.h */
	/* number of lcores, 1 or 2; their nice value; MTU of the ports, bytes; seed of the modes */
	int64_t lcores, nice, mtu, seed;
	const char *control, *capture, *cpus; /* NULL = no socket, no capture, any CPUs */
	int driver;                           /* enum dp_port_driver */
	bool take_interface;                  /* also accept a Linux interface that the host itself uses */
	bool calibrate, hardware_stamps, trust_counter, verbose;
	struct injector_mode_settings modes;
	const char *const *rules; /* texts of rules (mode.h); they apply to both directions */
	size_t rule_count;
	char **eal_arguments;
	int eal_argument_count;
	/* Set `stop` to end the session after the held packets, and `hurry` to end it without them; not NULL. */
	const volatile sig_atomic_t *stop, *hurry;
	/* Called once a second and at the end; the session ends if it returns false. May be NULL. */
	bool (*on_sample)(void *context, const struct injector_state *state);
	void *context;
};

extern const struct injector_session_settings injector_session_defaults;

/*
 * Runs until `stop` is set, the control socket receives "stop", or duration_s has passed. Returns 0, or -errno with err
 * set; -EINVAL or -ERANGE if settings contradict each other or are out of range.
 */
int injector_session_run(const struct injector_session_settings *settings, struct error *err);

#endif
