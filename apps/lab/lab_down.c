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
	.teach = "Needs only the lab's name, so it also works after a crash. Every process in the lab's namespaces "
		 "gets SIGTERM,\n"
		 "after two seconds SIGKILL. Exit 0 also when there was nothing to remove.\n"
		 "  nomora lab down --name lab0",
	.rows = down_rows,
};

static int run(void *context, const struct option_operands *operands, struct error *err)
{
	const struct lab_settings *settings = context;
	int removed = lab_down(settings->name, err);

	(void)operands;
	if (removed == 0)
		log_info("there is no lab '%s'", settings->name);
	return removed >= 0 ? COMMAND_OK : err->code == EINVAL ? COMMAND_USAGE : COMMAND_FAILED;
}

int command_lab_down(int argc, char **argv)
{
	struct lab_settings settings = {.name = LAB_NAME_DEFAULT};

	return command_run(&down_usage, argc, argv, &settings, run);
}
