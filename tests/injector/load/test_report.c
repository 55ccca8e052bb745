/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>

#include <injector/load/report.h>

static void expect(const char *text, const char *host, const char *port)
{
	char copy[64];
	const char *found_host, *found_port;
	struct error err = {0};

	strcpy(copy, text);
	cr_assert_eq(load_split_server(copy, &found_host, &found_port, &err), 0, "'%s': %s", text, err.text);
	cr_assert_str_eq(found_host, host);
	cr_assert_str_eq(found_port, port);
}

Test(report, a_server_is_a_host_and_perhaps_a_port)
{
	char bad[] = "h1:0";
	const char *host, *port;
	struct error err = {0};

	expect("h1", "h1", "11211");
	expect("10.0.0.1:7000", "10.0.0.1", "7000");
	expect("[fd00::1]:7000", "fd00::1", "7000");
	expect("fd00::1", "fd00::1", "11211");
	cr_assert_eq(load_split_server(bad, &host, &port, &err), -EINVAL);
}
