/* SPDX-License-Identifier: BSD-3-Clause */
#include "lab_commands.h"

#include <errno.h>
#include <stdio.h>

#include <base/control.h>

enum { LABS_MAXIMUM = 256 };

static void show_switches(const struct lab *lab)
{
	if (lab->switch_count > 0)
		printf("  %-15s %-15s %-12s %s\n", "switch", "namespace", "address", "rack");
	for (int s = 0; s < lab->switch_count; s++) {
		const struct lab_switch *node = &lab->switches[s];
		char rack[16] = "-";

		if (node->rack > 0)
			snprintf(rack, sizeof rack, "rack%d", node->rack);
		printf("  %-15s %-15s %-12s %s\n", node->name, node->netns, node->address, rack);
	}
	for (int l = 0; l < lab->link_count; l++)
		if (!lab->links[l].up)
			printf("  link %s - %s is down\n", lab_node_name(lab, lab->links[l].a),
			       lab_node_name(lab, lab->links[l].b));
}

void lab_show(const struct lab *lab)
{
	printf("lab %s: %d hosts in %d rack%s, %d slots each, MTU %d\n", lab->name, lab->host_count, lab->rack_count,
	       lab->rack_count == 1 ? "" : "s", lab->slots, lab->mtu_bytes);
	printf("  %-5s %-6s %-15s %-12s %-12s %s\n", "host", "rack", "namespace", "address", "for probes", "MAC");
	for (int i = 0; i < lab->host_count; i++)
		printf("  %-5s rack%-2d %-15s %-12s %-12s %s\n", lab->hosts[i].name, lab->hosts[i].rack,
		       lab->hosts[i].netns, lab->hosts[i].address, lab->hosts[i].probe_address, lab->hosts[i].mac);
	show_switches(lab);
	for (size_t i = 0; i < lab->injector_count; i++) {
		const struct lab_injector *injector = &lab->injectors[i];
		json_t *stats = control_request(injector->control, "stats", (struct ns){NS_PER_S}, NULL);

		printf("  injector at %s: ports %s and %s in %s, %s\n", injector->place, injector->port_a,
		       injector->port_b, lab->injector_netns,
		       stats ? "running; talk to it by" : "not running; start it by");
		if (stats)
			printf("    nomora inject-ctl %s stats\n", injector->control);
		else
			printf("    ip netns exec %s nomora inject %s %s --delay-us 10 --mtu %d --control %s\n",
			       lab->injector_netns, injector->port_a, injector->port_b, lab->mtu_bytes,
			       injector->control);
		json_decref(stats);
	}
	printf("  run something on a host: nomora lab exec h1 --name %s -- COMMAND\n", lab->name);
}

int lab_show_json(json_t *value)
{
	struct error err = {0};

	if (!value) {
		error_set(&err, ENOMEM, "out of memory");
		return command_fail(&err, COMMAND_FAILED);
	}
	json_dumpf(value, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(value);
	return COMMAND_OK;
}

static const struct option_row status_rows[] = {
	OPTION_STRING(struct lab_settings, name, "name", 'n', "NAME", "only this lab"),
	OPTION_FLAG(struct lab_settings, json, "json", 'j', "print JSON"),
	OPTION_END,
};

static const struct option_usage status_usage = {
	.command = "nomora lab status",
	.operands = "",
	.summary = "Shows the labs: hosts, racks, addresses, injector ports, and how to run things in them.",
	.teach = "  nomora lab status\n  nomora lab status --name lab0 --json",
	.rows = status_rows,
};

int lab_command_status(int argc, char **argv)
{
	static char names[LABS_MAXIMUM][LAB_NAME_MAXIMUM + 1];
	struct lab_settings settings = {0};
	struct option_operands operands;
	struct error err = {0};
	json_t *labs = NULL;
	int count, code = command_parse(&status_usage, argc, argv, &settings, &operands);

	if (code >= 0)
		return code;
	labs = json_array();
	count = settings.name ? 1 : lab_list(names, LABS_MAXIMUM, &err);
	code = count < 0 ? command_fail(&err, COMMAND_FAILED) : COMMAND_OK;
	for (int i = 0; i < count; i++) {
		struct lab lab;

		/* One that is not whole is reported and does not hide the others. */
		if (lab_read(settings.name ? settings.name : names[i], &lab, &err) != 0)
			code = command_fail(&err, COMMAND_FAILED);
		else if (settings.json)
			json_array_append_new(labs, lab_to_json(&lab));
		else
			lab_show(&lab);
	}
	if (settings.json &&
	    lab_show_json(json_pack("{s:s,s:O}", "schema", "nomora.labs/1", "labs", labs)) != COMMAND_OK)
		code = COMMAND_FAILED;
	if (!settings.json && count == 0)
		printf("there is no lab\n");
	json_decref(labs);
	options_free(&operands);
	return code;
}
