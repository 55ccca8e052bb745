/* SPDX-License-Identifier: BSD-3-Clause */
/* Options shared by the commands that talk to a running nomora schedd. */
#ifndef APPS_CLIENT_H
#define APPS_CLIENT_H

#include <client/request.h>

/* Option rows of all these commands. */
#define CLIENT_SOCKET_ROW(settings)                                                                                    \
	OPTION_STRING(settings, socket, "socket", 's', "PATH",                                                         \
		      "the daemon's socket; default $NOMORA_SCHEDD, else " CLIENT_SOCKET)
#define CLIENT_JSON_ROW(settings) OPTION_FLAG(settings, json, "json", 'j', "print the daemon's answer as JSON")

#endif
