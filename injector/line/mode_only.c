/* SPDX-License-Identifier: BSD-3-Clause */
/* Filter: delays only the packets that match one of its conditions; all others pass at once. */
#include <errno.h>
#include <stdlib.h>

#include "rule_priv.h"
#include "mode_priv.h"

static int only_create(const struct mode_context *context, const char *specification, void **state, struct error *err)
{
	struct match_list *only = malloc(sizeof *only);
	int status =
		only ? match_parse("only", specification, only, err) : error_set(err, ENOMEM, "no memory for --only");

	(void)context;
	if (status)
		free(only);
	else
		*state = only;
	return status;
}

static void only_apply(void *state, const struct dp_packet *packet, uint64_t now, struct verdict *verdict)
{
	const struct match_list *only = state;

	(void)now;
	verdict->bypass = match_first(&only, 1, packet) == 1;
}

const struct injector_mode mode_only = {
	.name = "only",
	.create = only_create,
	.apply = only_apply,
	.destroy = free,
	.thins = true,
};
