/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state file of a lab: what is read is written and read again as the same lab, and the script that root's shell
 * runs has no name with other characters than those of names.
 */
#include <string.h>

#include <base/json.h>
#include <lab/lab.h>

#include "fuzz_events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_plain(const char *name)
{
	return name[0] && name[0] != '-' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:-") == strlen(name);
}

static void check_names(const struct lab *lab)
{
	law(is_plain(lab->name) && lab->host_count <= LAB_HOSTS_MAXIMUM && lab->switch_count <= LAB_SWITCHES_MAXIMUM);
	law(lab->link_count <= LAB_LINKS_MAXIMUM && lab->injector_count <= LAB_INJECTORS_MAXIMUM);
	for (int i = 0; i < lab->host_count; i++)
		law(is_plain(lab->hosts[i].name) && is_plain(lab->hosts[i].netns) && is_plain(lab->hosts[i].mac));
	for (int i = 0; i < lab->switch_count; i++)
		law(is_plain(lab->switches[i].name) && is_plain(lab->switches[i].netns));
	for (size_t i = 0; i < lab->injector_count; i++)
		law(is_plain(lab->injectors[i].place) && is_plain(lab->injectors[i].port_a));
	for (int i = 0; i < lab->link_count; i++)
		law(lab->links[i].a >= 0 && lab->links[i].a < lab->host_count + lab->switch_count &&
		    lab->links[i].b >= lab->host_count && lab->links[i].b < lab->host_count + lab->switch_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct lab lab, again;
	struct error err = {0};
	json_t *root = json_read_text("fuzz", 0, (const char *)data, size, &err), *first, *second;
	int code = root ? lab_from_json("fuzz", root, &lab, &err) : -1;
	FILE *out;

	json_decref(root);
	if (code < 0) {
		law(err.text[0]);
		return 0;
	}
	check_names(&lab);
	out = fopen("/dev/null", "w");
	lab_print_script(&lab, out);
	fclose(out);
	first = lab_to_json(&lab);
	law(first && lab_from_json("again", first, &again, &err) == 0);
	second = lab_to_json(&again);
	law(json_equal(first, second));
	json_decref(first);
	json_decref(second);
	return 0;
}
