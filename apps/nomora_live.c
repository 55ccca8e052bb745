/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora-live: the daemons that serve or use other systems: browsers, Prometheus, NATS, Kubernetes. */
#include "commands.h"

static const struct command commands[] = {
	{"k8s-agent", "report the nodes and pods of Kubernetes to a running schedd", command_k8s_agent, NULL},
	{"serve", "serve a live matrix as web pages and metrics", command_mesh_serve, NULL},
	{"publish", "publish the rows of a live matrix over NATS", command_mesh_publish, NULL},
	{"collect", "collect rows from NATS into a live matrix", command_mesh_collect, NULL},
	{"join", "make this host a member of a mesh", command_mesh_join, NULL},
	{"leave", "end a host's membership", command_mesh_leave, NULL},
	{"members", "keep the list of a mesh's members", command_mesh_members, NULL},
	{NULL, NULL, NULL, NULL},
};

int main(int argc, char **argv)
{
	return command_dispatch("nomora-live", "Live data to and from other systems.", commands, argc, argv);
}
