/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A whole injector: DPDK, two ports, modes, capture, control socket and the delay line between the ports, from opening
 * to the last summary. `nomora inject` is its option table. Control thread; one session per process, as DPDK starts
 * once.
 */
#ifndef INJECTOR_SESSION_H
#define INJECTOR_SESSION_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include <base/error.h>
#include <injector/line/mode.h>
#include <model/injector_state.h>

/* Strings are borrowed. */
struct injector_session_settings {
	const char *ports[2];                      /* as dp/port.h names them: A, B */
	double delay_us, delay_ab_us, delay_ba_us; /* of one direction: negative = delay_us */
	double subtract_ns, stall_us, hiccup_ns;   /* thresholds: 0 = the default of sizing.h */
	double expected_pps;                       /* 0 = not known */
	double duration_s;                         /* 0 = until stopped */
	int64_t slots;                             /* per direction; 0 = the default of sizing.h */
	int64_t lcores, nice, mtu, seed;
	const char *control, *capture, *cpus; /* NULL = none, none, any */
	int driver;                           /* enum dp_port_driver */
	bool take_interface;                  /* also an interface that the host uses */
	bool calibrate, hardware_stamps, trust_counter, verbose;
	struct injector_mode_settings modes;
	char **eal_arguments;
	int eal_argument_count;
	const volatile sig_atomic_t *stop; /* set it to end the session; not NULL */
	/* Called once a second and at the end; false ends the session. May be NULL. */
	bool (*on_sample)(void *context, const struct injector_state *state);
	void *context;
};

extern const struct injector_session_settings injector_session_defaults;

/*
 * Runs until stopped, by `stop`, by the control socket's "stop" or after duration_s. 0 or -errno with err set: -EINVAL
 * and -ERANGE are settings that contradict each other or do not fit.
 */
int injector_session_run(const struct injector_session_settings *settings, struct error *err);

#endif
