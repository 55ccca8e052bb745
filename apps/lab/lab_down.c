/* SPDX-License-Identifier: BSD-3-Clause */
#include "lab_commands.h"

#include <errno.h>

#include <base/log.h>

static const struct option_row down_rows[] = {
	OPTION_STRING(struct lab_settings, name, "name", 'n', "NAME", "name of the lab"),
	OPTION_END,
};

static const struct option_usage down_usage = {
	.command = "nomora lab down",
	.operands = "",
	.summary = "Ends what runs in the lab and removes it.",
	.teach =
		"Works by the names alone, so also after a crash. Every process in the lab's namespaces gets SIGTERM,\n"
		"after two seconds SIGKILL. Exit 0 also when there was nothing to remove.\n"
		"  nomora lab down --name lab0",
	.rows = down_rows,
};

int lab_command_down(int argc, char **argv)
{
	struct lab_settings settings = {.name = LAB_NAME_DEFAULT};
	struct option_operands operands;
	struct error err = {0};
	int removed, code = command_parse(&down_usage, argc, argv, &settings, &operands);

	if (code >= 0)
		return code;
	removed = lab_down(settings.name, &err);
	if (removed == 0)
		log_info("there is no lab '%s'", settings.name);
	code = removed < 0 ? command_fail(&err, err.code == EINVAL ? COMMAND_USAGE : COMMAND_FAILED) : COMMAND_OK;
	options_free(&operands);
	return code;
}
