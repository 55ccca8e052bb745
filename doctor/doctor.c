/* SPDX-License-Identifier: BSD-3-Clause */
#include "doctor_priv.h"

#include <errno.h>

static void (*const checks[])(struct doctor *doctor) = {
	doctor_check_cpu,    doctor_check_memory, doctor_check_host,
	doctor_check_kernel, doctor_check_nic,    doctor_check_quiet,
};

bool doctor_has_port(const struct doctor_options *options, const char *port)
{
	const struct doctor doctor = {.root = options->root};

	return doctor_exists(&doctor, "/sys/class/net/%s", port);
}

int doctor_examine(const struct doctor_options *options, struct findings *findings, struct error *err)
{
	struct doctor doctor = {
		.root = options->root, .purpose = options->purpose, .port = options->port, .findings = findings};

	findings->purpose = options->purpose;
	for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
		checks[i](&doctor);
	return doctor.out_of_memory ? error_set(err, ENOMEM, "out of memory") : 0;
}
