/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks whether a host is ready to measure. The checks read files of /proc, /sys, /dev and /usr below a root folder,
 * which may be a copy of another host's files, and change nothing. They append their findings (<model/findings.h>) to a
 * list. Only doctor_measure_stalls() starts threads; it joins them before it returns.
 */
#ifndef DOCTOR_DOCTOR_H
#define DOCTOR_DOCTOR_H

#include <stdbool.h>

#include <base/error.h>
#include <model/findings.h>

struct doctor_options {
	const char *root;              /* "" = this host */
	enum findings_purpose purpose; /* decides whether some findings are warnings or failures */
	const char *port;              /* examine only this interface; NULL = all hardware interfaces */
};

/* Returns true if there is a network interface of this name. */
bool doctor_has_port(const struct doctor_options *options, const char *port);

/* Runs all checks and appends their findings. Returns 0 or -ENOMEM with err set. */
int doctor_examine(const struct doctor_options *options, struct findings *findings, struct error *err);

/*
 * Polls the time stamp counter for `seconds` on all CPUs of `cpus` at once. `cpus` is a list such as "2-3,5"; NULL
 * means the isolated CPUs or, if there are none, all CPUs that this process may use. Appends a finding for each CPU;
 * gaps over 1 us are stalls. Works for this host only. Returns 0, -EINVAL for a bad list, or -errno, with err set.
 */
int doctor_measure_stalls(double seconds, const char *cpus, struct findings *findings, struct error *err);

#endif
