/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits on the links of a lab's hosts, by `tc`. */
#include <lab/transfer.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/process.h>

#include "links_priv.h"

static const double tc_timeout_us = 10e6;

double links_wire_bits(double MBps)
{
	const double frame_bytes = 1514, payload_bytes = 1448; /* Ethernet header, IP, TCP with time stamps */

	return MBps * 8e6 * frame_bytes / payload_bytes;
}

int links_run(const char *line, struct error *err)
{
	struct process_options options = {.shell = line};
	struct process_result result = {0};
	int code = process_run(&options, ns_from_us(tc_timeout_us), &result, err);

	if (code == 0 && (result.timed_out || result.exit_code != 0))
		code = error_set(err, EIO, "cannot limit links: tc says: %.400s",
				 result.output ? result.output : "nothing");
	process_result_free(&result);
	return code;
}

static void print_limit(FILE *out, const char *netns, const char *device, double MBps)
{
	const double with_acknowledgements = 1.03;
	double bits = links_wire_bits(MBps) * with_acknowledgements;

	/* Class 1:2 is for what belongs to no transfer: acknowledgements, ARP. It may borrow the whole link. */
	fprintf(out,
		"tc -n %s -batch - <<'END'\nqdisc replace dev %s root handle 1: htb default 2\n"
		"class replace dev %s parent 1: classid 1:1 htb rate %.0fbit ceil %.0fbit burst 16k cburst 16k\n"
		"class replace dev %s parent 1:1 classid 1:2 htb rate %.0fbit ceil %.0fbit burst 16k cburst 16k\nEND\n",
		netns, device, device, bits, bits, device, bits / 100, bits);
}

int lab_limit_links(const struct lab *lab, double MBps, struct error *err)
{
	char *line = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&line, &bytes);
	int code;

	if (!out)
		return error_set(err, ENOMEM, "out of memory");
	fputs("set -e\n", out);
	for (int i = 0; i < lab->host_count; i++) {
		print_limit(out, lab->hosts[i].netns, "eth0", MBps);
		print_limit(out, lab->switch_netns, lab->hosts[i].name, MBps);
	}
	fclose(out);
	code = line ? links_run(line, err) : error_set(err, ENOMEM, "out of memory");
	free(line);
	return code;
}

int lab_check_links(const struct lab *lab, struct error *err)
{
	for (int i = 0; i < lab->host_count; i++) {
		char line[200];

		snprintf(line, sizeof line, "tc -n %s qdisc show dev eth0 | grep -q 'htb 1: root'",
			 lab->hosts[i].netns);
		if (links_run(line, NULL) != 0)
			return error_set(err, ENOENT,
					 "the link of host %s is not limited: make the lab by 'nomora lab up --racks 1 "
					 "--link-MBps R'",
					 lab->hosts[i].name);
	}
	return 0;
}

int lab_cut_link(const struct lab *lab, int host, struct error *err)
{
	char line[200];

	snprintf(line, sizeof line, "ip -n %s link set %s down", lab->switch_netns, lab->hosts[host].name);
	return links_run(line, err);
}
