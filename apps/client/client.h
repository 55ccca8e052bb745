/* SPDX-License-Identifier: BSD-3-Clause */
/* What the commands that ask a running nomora schedd share. */
#ifndef APPS_CLIENT_H
#define APPS_CLIENT_H

#include <client/request.h>

/* Prints the answer as JSON text with indent. */
void client_print_json(const json_t *answer);

#endif
