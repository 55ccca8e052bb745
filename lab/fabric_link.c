/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes links of a routed lab up and down, and changes their rates. */
#include "lab_priv.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <lab/transfer.h>

/*
 * Prints shell lines that take a link up or down, as link->up says. They change the port at end b, a switch. When this
 * port goes down, end a loses its carrier and keeps its addresses, as when a cable is pulled, and b's kernel deletes
 * its routes over the link.
 */
static void print_state(const struct lab *lab, const struct lab_link *link, FILE *out)
{
	fprintf(out, "ip -n %s -batch - <<'END'\n", fabric_node_netns(lab, link->b));
	if (link->up)
		fabric_print_port(lab, link, link->b, out);
	else
		fprintf(out, "link set %s down\n", fabric_port(lab, link, link->b));
	fputs("END\n", out);
}

int fabric_set_links(const struct lab *lab, struct error *err)
{
	struct lab_script script;
	int code = lab_script_open(lab, &script, err);

	if (code)
		return code;
	fputs("set -e\n", script.out);
	for (int l = 0; l < lab->link_count; l++)
		if (!lab->links[l].up)
			print_state(lab, &lab->links[l], script.out);
	fabric_print_routes(lab, script.out);
	return lab_script_run(lab, &script, "set the routes of the lab", err);
}

static int apply(const struct lab *lab, const struct lab_link *link, const struct lab_link_change *change,
		 struct error *err)
{
	struct lab_script script;
	int code = lab_script_open(lab, &script, err);

	if (code)
		return code;
	fputs("set -e\n", script.out);
	if (change->action == LAB_LINK_RATE) {
		links_print_limits(lab, link, script.out);
	} else {
		print_state(lab, link, script.out);
		if (!change->keep_routes)
			fabric_print_routes(lab, script.out);
	}
	return lab_script_run(lab, &script, "change the link of the lab", err);
}

static int find_link(const struct lab *lab, const char *a, const char *b, struct error *err)
{
	const char *names[] = {a, b};
	int nodes[2], link;

	if (lab->switch_count == 0)
		return error_set(
			err, EINVAL,
			"lab '%s' has bridges; only a lab of 'nomora lab up --spines N' or --fabric has links to "
			"change",
			lab->name);
	for (int i = 0; i < 2; i++) {
		nodes[i] = fabric_find_node(lab, names[i]);
		if (nodes[i] < 0)
			return error_set(err, EINVAL, "lab '%s' has no host or switch '%s'", lab->name, names[i]);
	}
	link = fabric_find_link(lab, nodes[0], nodes[1]);
	return link >= 0 ? link : error_set(err, EINVAL, "lab '%s' has no link '%s' - '%s'", lab->name, a, b);
}

static int change_locked(const char *name, const char *a, const char *b, const struct lab_link_change *change,
			 struct error *err)
{
	struct lab lab;
	int code = lab_read(name, &lab, err), link = code ? code : find_link(&lab, a, b, err);

	if (link < 0)
		return link;
	if (change->action == LAB_LINK_RATE)
		lab.links[link].MBps = lab.links[link].back_MBps = change->MBps;
	else
		lab.links[link].up = change->action == LAB_LINK_UP;
	code = apply(&lab, &lab.links[link], change, err);
	return code ? code : lab_write_state(&lab, err);
}

int lab_change_link(const char *name, const char *a, const char *b, const struct lab_link_change *change,
		    struct error *err)
{
	int lock, code;

	if (geteuid() != 0)
		return error_set(err, EPERM, "changing a lab needs root: run it with sudo");
	lock = lab_lock(err);
	if (lock < 0)
		return lock;
	code = change_locked(name, a, b, change, err);
	close(lock);
	return code;
}

static int change_fabric(const struct lab *lab, int host, bool up, struct error *err)
{
	struct lab_link_change change = {.action = up ? LAB_LINK_UP : LAB_LINK_DOWN};

	for (int l = 0; l < lab->link_count; l++)
		if (lab->links[l].a == host)
			return lab_change_link(lab->name, lab->hosts[host].name, lab_node_name(lab, lab->links[l].b),
					       &change, err);
	return 0;
}

int lab_change_host_link(const struct lab *lab, int host, bool up, struct error *err)
{
	char line[200];

	if (lab->switch_count > 0)
		return change_fabric(lab, host, up, err);
	snprintf(line, sizeof line, "ip -n %s link set %s %s", lab->switch_netns, lab->hosts[host].name,
		 up ? "up" : "down");
	return links_run(line, err);
}
