/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits the rates of a lab's links, by `tc`. */
#include <lab/transfer.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/process.h>
#include <base/text_stream.h>

#include "lab_priv.h"

static const double tc_timeout_us = 10e6;

/*
 * A token bucket holds the data that its rate allows in burst_s, but at least burst_minimum_bytes. So a sender that did
 * not get the processor for a while can catch up. Measured with 16 transfers of 2 to 10 s while two other processes
 * kept both processors busy: the worst transfer ended 2.8 % late with buckets of 1 ms, and 1.0 % early with 10 ms.
 */
static const double burst_s = 0.01, burst_minimum_bytes = 6144;

double links_wire_bits(double MBps)
{
	return 1e6 * MBps / topology_payload_MBps(1);
}

double links_burst_bytes(double bits)
{
	return fmax(burst_minimum_bytes, bits / 8 * burst_s);
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

static void print_limit(const char *netns, const char *device, double MBps, FILE *out)
{
	const double with_acknowledgements = 1.03;
	double bits = links_wire_bits(MBps) * with_acknowledgements, burst = links_burst_bytes(bits);

	if (MBps <= 0) {
		fprintf(out, "tc -n %s qdisc del dev %s root 2>/dev/null || :\n", netns, device);
		return;
	}
	/*
	 * Class 1:2 is for packets that belong to no transfer (acknowledgements, ARP); it may use the whole link while
	 * the other classes do not use it. Class 1:3 is for packets with LAB_CONTROL_PRIORITY.
	 */
	fprintf(out,
		"tc -n %s -batch - <<'END'\nqdisc replace dev %s root handle 1: htb default 2\n"
		"class replace dev %s parent 1: classid 1:1 htb rate %.0fbit ceil %.0fbit burst %.0f cburst %.0f\n"
		"class replace dev %s parent 1:1 classid 1:2 htb rate %.0fbit ceil %.0fbit burst %.0f cburst %.0f\n"
		"class replace dev %s parent 1:1 classid 1:3 htb rate %.0fbit ceil %.0fbit burst %.0f cburst "
		"%.0f\nEND\n",
		netns, device, device, bits, bits, burst, burst, device, bits / 100, bits, burst, burst, device,
		bits / 100, bits, burst, burst);
}

/* Prints shell lines that limit both ends of a routed lab's link. */
void links_print_limits(const struct lab *lab, const struct lab_link *link, FILE *out)
{
	print_limit(fabric_node_netns(lab, link->a), fabric_port(lab, link, link->a), link->MBps, out);
	print_limit(fabric_node_netns(lab, link->b), fabric_port(lab, link, link->b), link->back_MBps, out);
}

static int limit_fabric(const struct lab *lab, struct error *err)
{
	struct lab_script script;
	int code = lab_script_open(lab, &script, err);

	if (code)
		return code;
	fputs("set -e\n", script.out);
	for (int l = 0; l < lab->link_count; l++)
		if (lab->links[l].MBps > 0 || lab->links[l].back_MBps > 0)
			links_print_limits(lab, &lab->links[l], script.out);
	return lab_script_run(lab, &script, "limit the links of the lab", err);
}

int lab_limit_links(const struct lab *lab, double MBps, struct error *err)
{
	char *line = NULL;
	size_t bytes = 0;
	FILE *out;
	int code;

	if (lab->switch_count > 0)
		return limit_fabric(lab, err);
	out = text_stream_open(&line, &bytes);
	if (!out)
		return error_set(err, ENOMEM, "out of memory");
	fputs("set -e\n", out);
	for (int i = 0; i < lab->host_count; i++) {
		print_limit(lab->hosts[i].netns, "eth0", MBps, out);
		print_limit(lab->switch_netns, lab->hosts[i].name, MBps, out);
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
			return error_set(
				err, ENOENT,
				"the link of host %s is not limited: create the lab with 'nomora lab up --racks 1 "
				"--link-MBps R'",
				lab->hosts[i].name);
	}
	return 0;
}
