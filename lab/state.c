/* SPDX-License-Identifier: BSD-3-Clause */
#include <lab/lab.h>

#include <errno.h>
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

json_t *lab_to_json(const struct lab *lab)
{
	return json_pack("{s:s,s:s,s:i,s:i,s:i,s:s,s:s,s:o,s:o}", "schema", "nomora.lab/1", "name", lab->name, "racks",
			 lab->rack_count, "slots", lab->slots, "mtu_bytes", lab->mtu_bytes, "switch_netns",
			 lab->switch_netns, "injector_netns", lab->injector_netns, "hosts", hosts_to_json(lab),
			 "injectors", injectors_to_json(lab));
}

int lab_write_state(const struct lab *lab, struct error *err)
{
	char path[128];
	json_t *root = lab_to_json(lab);
	int code;

	if (!root)
		return error_set(err, ENOMEM, "out of memory");
	lab_state_path(lab->name, path, sizeof path);
	code = json_write_file(path, root, err);
	json_decref(root);
	return code;
}

/* All else follows from the spec, so that a state file holds nothing that could disagree with it. */
int lab_from_json(const char *file, const json_t *root, struct lab *lab, struct error *err)
{
	struct json_reader reader = {.file = file, .err = err};
	const char *places[LAB_INJECTORS_MAXIMUM];
	struct lab_spec spec = {.places = places};
	const json_t *hosts, *injectors;

	json_need_schema(&reader, root, "nomora.lab/1");
	spec.name = json_need_string(&reader, root, "", "name");
	spec.racks = (int)json_need_integer(&reader, root, "", "racks", 1, LAB_RACKS_MAXIMUM);
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
	if (lab_plan(&spec, lab, err) != 0)
		return error_prefix(err, "%s", file);
	return 0;
}

static int check_netns(const char *netns, struct error *err)
{
	char path[sizeof NETNS_FOLDER + 32];

	snprintf(path, sizeof path, "%s/%s", NETNS_FOLDER, netns);
	return access(path, F_OK) == 0 ? 0 : error_set(err, ENXIO, "the namespace %s is gone", netns);
}

/* What the state file says, and whether all of that is still there. */
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
		code = error_set(err, EINVAL, "%s is about a lab '%s'", path, lab->name);
	for (int i = 0; !code && i < lab->host_count; i++)
		code = check_netns(lab->hosts[i].netns, err);
	if (!code)
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
		return error_set(err, ENOENT, "there is no lab '%s': make it by 'nomora lab up --name %s'", name, name);
	if (read_whole(name, path, lab, err) != 0)
		return error_prefix(err, "lab '%s' is not whole, remove it by 'nomora lab down --name %s'", name, name);
	return 0;
}
