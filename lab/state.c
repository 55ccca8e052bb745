/* SPDX-License-Identifier: BSD-3-Clause */
#include <lab/lab.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/json.h>

#include "lab_priv.h"

void lab_state_path(const char *name, char *path, size_t bytes)
{
	snprintf(path, bytes, LAB_FOLDER "/%s.json", name);
}

static json_t *hosts_to_json(const struct lab *lab)
{
	json_t *hosts = json_array();

	for (int i = 0; i < lab->host_count; i++) {
		const struct lab_host *host = &lab->hosts[i];

		json_array_append_new(hosts,
				      json_pack("{s:s,s:i,s:s,s:s,s:s,s:s,s:s}", "name", host->name, "rack", host->rack,
						"netns", host->netns, "interface", "eth0", "address", host->address,
						"probe_address", host->probe_address, "mac", host->mac));
		if (host->address6[0]) {
			json_t *added = json_array_get(hosts, (size_t)i);

			json_object_set_new(added, "address6", json_string(host->address6));
			json_object_set_new(added, "probe_address6", json_string(host->probe_address6));
		}
	}
	return hosts;
}

static json_t *injectors_to_json(const struct lab *lab)
{
	json_t *injectors = json_array();

	for (size_t i = 0; i < lab->injector_count; i++) {
		const struct lab_injector *injector = &lab->injectors[i];
		char run[256];

		snprintf(run, sizeof run, "ip netns exec %s nomora inject %s %s --delay-us D --mtu %d --control %s",
			 lab->injector_netns, injector->port_a, injector->port_b, lab->mtu_bytes, injector->control);
		json_array_append_new(injectors,
				      json_pack("{s:s,s:s,s:s,s:s,s:s,s:s}", "place", injector->place, "netns",
						lab->injector_netns, "port_a", injector->port_a, "port_b",
						injector->port_b, "control", injector->control, "run", run));
	}
	return injectors;
}

static json_t *switches_to_json(const struct lab *lab)
{
	json_t *switches = json_array();

	for (int i = 0; i < lab->switch_count; i++) {
		const struct lab_switch *node = &lab->switches[i];

		json_array_append_new(switches, json_pack("{s:s,s:i,s:s,s:s}", "name", node->name, "rack", node->rack,
							  "netns", node->netns, "address", node->address));
	}
	return switches;
}

/*
 * Adds the switches of a routed lab, and its network in the form of a topology file, to the state. Returns root, or
 * NULL if out of memory.
 */
static json_t *add_fabric(const struct lab *lab, json_t *root)
{
	struct topology *topology = root ? lab_topology(lab) : NULL;
	json_t *fabric = topology ? topology_to_json(topology) : NULL;

	topology_destroy(topology);
	if (fabric && json_object_set_new(root, "switches", switches_to_json(lab)) == 0 &&
	    json_object_set(root, "fabric", fabric) == 0 && json_object_del(root, "switch_netns") == 0) {
		json_decref(fabric);
		return root;
	}
	json_decref(fabric);
	json_decref(root);
	return NULL;
}

static json_t *base_to_json(const struct lab *lab)
{
	return json_pack("{s:s,s:s,s:i,s:i,s:i,s:s,s:s,s:o,s:o}", "schema", "nomora.lab/1", "name", lab->name, "racks",
			 lab->rack_count, "slots", lab->slots, "mtu_bytes", lab->mtu_bytes, "switch_netns",
			 lab->switch_netns, "injector_netns", lab->injector_netns, "hosts", hosts_to_json(lab),
			 "injectors", injectors_to_json(lab));
}

int lab_write_state(const struct lab *lab, struct error *err)
{
	char path[128];

	lab_state_path(lab->name, path, sizeof path);
	return json_write_file_new(path, lab_to_json(lab), err);
}

json_t *lab_to_json(const struct lab *lab)
{
	json_t *root = base_to_json(lab);

	return lab->switch_count > 0 ? add_fabric(lab, root) : root;
}

json_t *lab_list_to_json(json_t *labs)
{
	return json_pack("{s:s, s:o}", "schema", "nomora.labs/1", "labs", labs);
}

static struct topology *read_fabric(const char *file, const json_t *fabric, struct error *err)
{
	char *text = json_dumps(fabric, JSON_INDENT(1));
	struct topology *topology = text ? topology_parse(file, text, strlen(text), err) : NULL;

	if (!text)
		error_set(err, EINVAL, "%s: fabric: expected an object", file);
	free(text);
	return topology;
}

/*
 * Reads only the values of the spec and computes all others from them, so that parts of a state file cannot contradict
 * each other.
 */
int lab_from_json(const char *file, const json_t *root, struct lab *lab, struct error *err)
{
	struct json_reader reader = {.file = file, .err = err};
	const char *places[LAB_INJECTORS_MAXIMUM];
	struct lab_spec spec = {.places = places};
	const json_t *hosts, *injectors, *fabric = json_object_get(root, "fabric");
	struct topology *topology = NULL;
	int code;

	json_need_schema(&reader, root, "nomora.lab/1");
	spec.name = json_need_string(&reader, root, "", "name");
	spec.racks =
		(int)json_need_integer(&reader, root, "", "racks", 1, fabric ? LAB_HOSTS_MAXIMUM : LAB_RACKS_MAXIMUM);
	spec.slots = (int)json_need_integer(&reader, root, "", "slots", 0, 1000000);
	spec.mtu_bytes = (int)json_need_integer(&reader, root, "", "mtu_bytes", 68, 65535);
	hosts = json_need_array(&reader, root, "", "hosts");
	injectors = json_need_array(&reader, root, "", "injectors");
	if (reader.failed)
		return error_code(err, EIO);
	spec.hosts = (int)json_array_size(hosts);
	if (json_array_size(injectors) > LAB_INJECTORS_MAXIMUM)
		json_fail(&reader, "", "injectors", "expected at most %d", LAB_INJECTORS_MAXIMUM);
	for (size_t i = 0; i < json_array_size(injectors) && !reader.failed; i++) {
		char where[32];

		snprintf(where, sizeof where, "injectors[%zu]", i);
		places[spec.place_count++] = json_need_string(&reader, json_array_get(injectors, i), where, "place");
	}
	if (reader.failed)
		return error_code(err, EIO);
	if (fabric) {
		topology = read_fabric(file, fabric, err);
		if (!topology)
			return error_code(err, EIO);
		spec.fabric = topology;
	}
	code = lab_plan(&spec, lab, err);
	topology_destroy(topology);
	return code ? error_prefix(err, "%s", file) : 0;
}

static int check_netns(const char *netns, struct error *err)
{
	char path[sizeof NETNS_FOLDER + 32];

	snprintf(path, sizeof path, "%s/%s", NETNS_FOLDER, netns);
	return access(path, F_OK) == 0 ? 0 : error_set(err, ENXIO, "the namespace %s is gone", netns);
}

/* Reads the state file and checks that all of the lab's namespaces still exist. */
static int read_whole(const char *name, const char *path, struct lab *lab, struct error *err)
{
	json_t *root;
	int code;

	if (access(path, F_OK) != 0)
		return error_set(err, ENXIO, "%s is gone", path);
	root = json_read_file(path, err);
	if (!root)
		return error_code(err, EIO);
	code = lab_from_json(path, root, lab, err);
	json_decref(root);
	if (!code && strcmp(lab->name, name) != 0)
		code = error_set(err, EINVAL, "%s describes another lab, '%s'", path, lab->name);
	for (int i = 0; !code && i < lab->host_count; i++)
		code = check_netns(lab->hosts[i].netns, err);
	for (int i = 0; !code && i < lab->switch_count; i++)
		code = check_netns(lab->switches[i].netns, err);
	if (!code && lab->switch_count == 0)
		code = check_netns(lab->switch_netns, err);
	return code ? code : check_netns(lab->injector_netns, err);
}

int lab_read(const char *name, struct lab *lab, struct error *err)
{
	char path[128];
	int code = lab_check_name(name, err);

	if (code)
		return code;
	lab_state_path(name, path, sizeof path);
	if (access(path, F_OK) != 0 && !lab_has_netns(name))
		return error_set(err, ENOENT, "there is no lab '%s': create it with 'nomora lab up --name %s'", name,
				 name);
	if (read_whole(name, path, lab, err) != 0)
		return error_prefix(err, "lab '%s' is incomplete, remove it with 'nomora lab down --name %s'", name,
				    name);
	return 0;
}
