/* SPDX-License-Identifier: BSD-3-Clause */
#include "lab_commands.h"

#include <stdio.h>

enum { LABS_MAXIMUM = 256 };

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

static int run(void *context, const struct option_operands *operands, struct error *err)
{
	static char names[LABS_MAXIMUM][LAB_NAME_MAXIMUM + 1];
	const struct lab_settings *settings = context;
	json_t *labs = json_array();
	int count = settings->name ? 1 : lab_list(names, LABS_MAXIMUM, err);
	int code = count < 0 ? COMMAND_FAILED : COMMAND_OK;

	(void)operands;
	for (int i = 0; i < count; i++) {
		struct error reason = {0};
		struct lab lab;

		/* Report an incomplete lab, then go on with the others. */
		if (lab_read(settings->name ? settings->name : names[i], &lab, &reason) != 0)
			code = command_fail(&reason, COMMAND_FAILED);
		else if (settings->json)
			json_array_append_new(labs, lab_to_json(&lab));
		else
			lab_print(&lab, stdout);
	}
	if (settings->json)
		return command_print_json(lab_list_to_json(labs)) == COMMAND_OK ? code : COMMAND_FAILED;
	json_decref(labs);
	if (count == 0)
		printf("there is no lab\n");
	return code;
}

int command_lab_status(int argc, char **argv)
{
	struct lab_settings settings = {0};

	return command_run(&status_usage, argc, argv, &settings, run);
}
