/* SPDX-License-Identifier: BSD-3-Clause */
#include <lab/lab.h>

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/number.h>

#include "lab_priv.h"

int lab_check_name(const char *name, struct error *err)
{
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789");

	if (length == 0 || length > LAB_NAME_MAXIMUM || name[length] != '\0' || isdigit((unsigned char)name[0]))
		return error_set(err, EINVAL,
				 "lab name '%s': expected 1 to %d characters of a-z and 0-9, a letter first", name,
				 LAB_NAME_MAXIMUM);
	return 0;
}

/*
 * Returns the number after `prefix` in a place, such as 2 in "rack2" or 3 in "h3"; 0 if there is none within
 * 1..maximum.
 */
static int numbered(const char *place, const char *prefix, int maximum)
{
	size_t length = strlen(prefix);
	int64_t number;

	if (strncmp(place, prefix, length) != 0 || !isdigit((unsigned char)place[length]) || place[length] == '0' ||
	    number_parse_i64(place + length, &number) != 0 || number > maximum)
		return 0;
	return (int)number;
}

/*
 * Returns true if two different places are on the same link. If there are two racks, one link connects them, and the
 * places "core" and "rack1" are both in rack 1's half of it.
 */
static bool same_link(const char *one, const char *other)
{
	return (strcmp(one, "core") == 0 && strcmp(other, "rack1") == 0) ||
	       (strcmp(one, "rack1") == 0 && strcmp(other, "core") == 0);
}

static int add_place(const char *lab_name, const char *place, struct lab *lab, struct error *err)
{
	struct lab_injector *injector = &lab->injectors[lab->injector_count];

	if (strcmp(place, "core") == 0 && lab->rack_count != 2)
		return error_set(err, EINVAL,
				 "an injector at 'core' sits between two racks and there %s %d: use --racks 2, or "
				 "rackN for the uplink of one rack",
				 lab->rack_count == 1 ? "is" : "are", lab->rack_count);
	if (numbered(place, "rack", LAB_RACKS_MAXIMUM) && lab->rack_count == 1)
		return error_set(err, EINVAL, "'%s': with one rack there is no uplink to inject on; use --racks 2",
				 place);
	if (strcmp(place, "core") != 0 && !numbered(place, "rack", lab->rack_count) &&
	    !numbered(place, "h", lab->host_count))
		return error_set(err, EINVAL, "no place '%s' for an injector: expected h1..h%d, rack1..rack%d or core",
				 place, lab->host_count, lab->rack_count);
	if (lab->injector_count == LAB_INJECTORS_MAXIMUM)
		return error_set(err, EINVAL, "more than %d injectors", LAB_INJECTORS_MAXIMUM);
	for (size_t i = 0; i < lab->injector_count; i++)
		if (strcmp(lab->injectors[i].place, place) == 0 || same_link(lab->injectors[i].place, place))
			return error_set(err, EINVAL, "injectors at '%s' and at '%s': both are on the same link",
					 lab->injectors[i].place, place);
	snprintf(injector->place, sizeof injector->place, "%s", place);
	snprintf(injector->port_a, sizeof injector->port_a, "%s-a", place);
	snprintf(injector->port_b, sizeof injector->port_b, "%s-b", place);
	snprintf(injector->control, sizeof injector->control, LAB_FOLDER "/%s-%s.sock", lab_name, place);
	lab->injector_count++;
	return 0;
}

static void add_host(struct lab *lab, int index)
{
	struct lab_host *host = &lab->hosts[index];
	int per_rack = (lab->host_count + lab->rack_count - 1) / lab->rack_count;

	host->rack = index / per_rack + 1;
	snprintf(host->name, sizeof host->name, "h%d", index + 1);
	snprintf(host->netns, sizeof host->netns, "%s-h%d", lab->name, index + 1);
	lab_name_host(host, index % per_rack + 1);
}

static int plan_bridges(const struct lab_spec *spec, struct lab *lab)
{
	snprintf(lab->switch_netns, sizeof lab->switch_netns, "%s-sw", spec->name);
	lab->host_count = spec->hosts;
	lab->rack_count = spec->racks;
	for (int i = 0; i < spec->hosts; i++)
		add_host(lab, i);
	return 0;
}

static int check_racks(const struct lab_spec *spec, struct error *err)
{
	int per_rack, filled;

	if (spec->hosts < 1 || spec->hosts > LAB_HOSTS_MAXIMUM)
		return error_set(err, EINVAL, "%d hosts: expected 1 to %d", spec->hosts, LAB_HOSTS_MAXIMUM);
	if (spec->racks < 1 || spec->racks > LAB_RACKS_MAXIMUM || spec->racks > spec->hosts)
		return error_set(err, EINVAL, "%d racks for %d hosts: expected 1 to %d racks, none of them empty",
				 spec->racks, spec->hosts, LAB_RACKS_MAXIMUM);
	per_rack = (spec->hosts + spec->racks - 1) / spec->racks;
	filled = (spec->hosts + per_rack - 1) / per_rack;
	if (filled < spec->racks)
		return error_set(err, EINVAL, "%d hosts, %d in each rack, fill only %d of %d racks: expected %d racks",
				 spec->hosts, per_rack, filled, spec->racks, filled);
	return 0;
}

int lab_plan(const struct lab_spec *spec, struct lab *lab, struct error *err)
{
	bool routed = spec->fabric || spec->spines > 0;
	int code = lab_check_name(spec->name, err);

	memset(lab, 0, sizeof *lab);
	if (!code && !spec->fabric)
		code = check_racks(spec, err);
	if (code)
		return code;
	snprintf(lab->name, sizeof lab->name, "%s", spec->name);
	snprintf(lab->injector_netns, sizeof lab->injector_netns, "%s-inj", spec->name);
	lab->slots = spec->slots;
	lab->mtu_bytes = spec->mtu_bytes;
	code = routed ? fabric_plan(spec, lab, err) : plan_bridges(spec, lab);
	for (size_t i = 0; i < spec->place_count && !code; i++)
		code = routed ? fabric_add_place(spec->places[i], lab, err)
			      : add_place(spec->name, spec->places[i], lab, err);
	return code;
}

const struct lab_host *lab_find_host(const struct lab *lab, const char *name)
{
	for (int i = 0; i < lab->host_count; i++)
		if (strcmp(lab->hosts[i].name, name) == 0 || strcmp(lab->hosts[i].netns, name) == 0)
			return &lab->hosts[i];
	return NULL;
}

const char *lab_find_netns(const struct lab *lab, const char *name)
{
	const struct lab_host *host = lab_find_host(lab, name);

	if (host)
		return host->netns;
	for (int s = 0; s < lab->switch_count; s++)
		if (strcmp(lab->switches[s].name, name) == 0 || strcmp(lab->switches[s].netns, name) == 0)
			return lab->switches[s].netns;
	if (strcmp(name, "sw") == 0 && lab->switch_count == 0)
		return lab->switch_netns;
	return strcmp(name, "inj") == 0 ? lab->injector_netns : NULL;
}
