/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slurm's topology, from `scontrol show topology`: "SwitchName=rack1 Level=0 LinkSpeed=1 Nodes=n[2-4]". libslurm has a
 * function for it, but in Debian's 24.11 it cannot load the plug-in that reads slurmctld's answer.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/log.h>
#include <base/process.h>

#include "rules.h"
#include "view.h"

static const struct ns patience = {10 * NS_PER_S};

/*
 * Returns scontrol's text, "" without one. NULL: it could not be run, which may succeed later; schedd would keep a node
 * without its rack.
 */
static char *read_topology(void)
{
	static const char *const words[] = {"scontrol", "--oneliner", "show", "topology", NULL};
	const struct process_options options = {.argv = words, .discard_stderr = true};
	struct process_result result = {0};
	struct error err = {0};
	char *text = NULL;
	int code = process_run(&options, patience, &result, &err);

	if (code < 0)
		log_warning("no racks: %s", err.text);
	if (code == -ENOENT || (code == 0 && !result.timed_out))
		text = strdup(code == 0 && result.exit_code == 0 ? result.output : "");
	process_result_free(&result);
	return text;
}

/* Copies the value of NAME=value in the line to `value`; "" if there is none. */
static void find_value(const char *line, size_t length, const char *name, char *value, size_t bytes)
{
	const size_t name_length = strlen(name);

	value[0] = '\0';
	for (size_t at = 0; at < length;) {
		size_t word = strcspn(line + at, " \n");

		if (word > name_length && strncmp(line + at, name, name_length) == 0 && word - name_length < bytes) {
			memcpy(value, line + at + name_length, word - name_length);
			value[word - name_length] = '\0';
			return;
		}
		at += word + 1;
	}
}

char *slurm_view_rack(struct slurm_view *view, const char *node)
{
	char name[256], level[16], *nodes;
	bool found = false;

	if (!view->topology)
		view->topology = read_topology();
	nodes = view->topology ? malloc(strlen(view->topology) + 1) : NULL;
	if (!nodes)
		return NULL;
	for (const char *line = view->topology; !found && *line;) {
		size_t length = strcspn(line, "\n");

		find_value(line, length, "SwitchName=", name, sizeof name);
		find_value(line, length, "Level=", level, sizeof level);
		find_value(line, length, "Nodes=", nodes, strlen(view->topology) + 1);
		found = name[0] && strcmp(level, "0") == 0 && nodes[0] && shares_has_node(nodes, node);
		line += length + (line[length] == '\n');
	}
	free(nodes);
	return strdup(found ? name : "");
}
