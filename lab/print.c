/* SPDX-License-Identifier: BSD-3-Clause */
#include <lab/lab.h>

#include <base/number.h>
#include <client/request.h>

static void print_switches(const struct lab *lab, FILE *out)
{
	if (lab->switch_count > 0)
		fprintf(out, "  %-15s %-15s %-12s %s\n", "switch", "namespace", "address", "rack");
	for (int s = 0; s < lab->switch_count; s++) {
		const struct lab_switch *node = &lab->switches[s];
		char rack[16] = "-";

		if (node->rack > 0)
			snprintf(rack, sizeof rack, "rack%d", node->rack);
		fprintf(out, "  %-15s %-15s %-12s %s\n", node->name, node->netns, node->address, rack);
	}
	for (int l = 0; l < lab->link_count; l++)
		if (!lab->links[l].up)
			fprintf(out, "  link %s - %s is down\n", lab_node_name(lab, lab->links[l].a),
				lab_node_name(lab, lab->links[l].b));
}

void lab_print(const struct lab *lab, FILE *out)
{
	fprintf(out, "lab %s: %d host%s in %d rack%s, %d slot%s each, MTU %d\n", lab->name, lab->host_count,
		number_s((uint64_t)lab->host_count), lab->rack_count, number_s((uint64_t)lab->rack_count), lab->slots,
		number_s((uint64_t)lab->slots), lab->mtu_bytes);
	fprintf(out, "  %-5s %-6s %-15s %-12s %-12s %s\n", "host", "rack", "namespace", "address", "for probes", "MAC");
	for (int i = 0; i < lab->host_count; i++)
		fprintf(out, "  %-5s rack%-2d %-15s %-12s %-12s %s\n", lab->hosts[i].name, lab->hosts[i].rack,
			lab->hosts[i].netns, lab->hosts[i].address, lab->hosts[i].probe_address, lab->hosts[i].mac);
	print_switches(lab, out);
	for (size_t i = 0; i < lab->injector_count; i++) {
		const struct lab_injector *injector = &lab->injectors[i];
		json_t *stats = client_ask_injector(injector->control, "stats", NULL, (struct ns){NS_PER_S}, NULL);

		fprintf(out, "  injector at %s: ports %s and %s in %s, %s\n", injector->place, injector->port_a,
			injector->port_b, lab->injector_netns,
			stats ? "running; query it with" : "not running; start it with");
		if (stats)
			fprintf(out, "    nomora inject-ctl %s stats\n", injector->control);
		else
			fprintf(out, "    ip netns exec %s nomora inject %s %s --delay-us 10 --mtu %d --control %s\n",
				lab->injector_netns, injector->port_a, injector->port_b, lab->mtu_bytes,
				injector->control);
		json_decref(stats);
	}
	fprintf(out, "  run something on a host: nomora lab exec h1 --name %s -- COMMAND\n", lab->name);
}
