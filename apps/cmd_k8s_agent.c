/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora k8s-agent: keeps schedd in line with the pods and nodes of a Kubernetes cluster. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/stop.h>
#include <client/request.h>
#include <integrations/kubernetes/agent.h>

#include "commands.h"

/* Of a pod's service account. */
#define ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount/"

static const char teach[] =
	"Inside a pod server, token and CA come from its service account.\n"
	"  # nomora k8s-agent --server https://10.0.0.1:6443 --ca-file /etc/kubernetes/pki/ca.crt --token-file token\n"
	"  $ nomora nodes; nomora explain k8s-default.web/web-server\n"
	"\n"
	"Exit status: 0 ended by a signal, 1 failed, 2 usage.\n";

/* The API server of the cluster that we run in; the caller frees. NULL: we don't. */
static char *find_server(void)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST"), *port = getenv("KUBERNETES_SERVICE_PORT");
	char *server = NULL;

	if (!host || !port ||
	    asprintf(&server, strchr(host, ':') ? "https://[%s]:%s" : "https://%s:%s", host, port) < 0)
		return NULL;
	return server;
}

static int serve(struct k8s_agent_options *options)
{
	struct error err = {0};
	char *server = options->server ? NULL : find_server();

	if (server)
		*options = (struct k8s_agent_options){.server = server,
						      .token_file = options->token_file ? options->token_file
											: ACCOUNT "token",
						      .ca_file = options->ca_file ? options->ca_file : ACCOUNT "ca.crt",
						      .schedd = options->schedd,
						      .resync_s = options->resync_s};
	if (!options->server)
		error_set(&err, EINVAL, "missing option --server URL; not inside a pod");
	else if (strncmp(options->server, "https://", 8) != 0 && strncmp(options->server, "http://", 7) != 0)
		error_set(&err, EINVAL, "bad server '%s'; expected https://HOST:PORT", options->server);
	if (err.code) {
		free(server);
		return command_fail(&err, COMMAND_USAGE);
	}
	if (options->token_file && access(options->token_file, R_OK) < 0)
		error_set(&err, errno, "%s: %s", options->token_file, strerror(errno));
	stop_catch_signals();
	if (!err.code)
		k8s_agent_run(options, stop_flag(), &err);
	free(server);
	return err.code ? command_fail(&err, COMMAND_FAILED) : COMMAND_OK;
}

int command_k8s_agent(int argc, char **argv)
{
	const struct option_row rows[] = {
		OPTION_STRING(struct k8s_agent_options, server, "server", 'u', "URL", "of the API server"),
		OPTION_STRING(struct k8s_agent_options, token_file, "token-file", 't', "FILE",
			      "bearer token, read for each request"),
		OPTION_STRING(struct k8s_agent_options, ca_file, "ca-file", 'c', "FILE",
			      "that signed the server's certificate (PEM)"),
		OPTION_STRING(struct k8s_agent_options, schedd, "schedd", 's', "PATH",
			      "schedd's socket; default $NOMORA_SCHEDD, else " CLIENT_SOCKET),
		OPTION_DOUBLE(struct k8s_agent_options, resync_s, "resync", 0, "S", 0.1, 3600,
			      "between comparisons with schedd when nothing changes"),
		OPTION_END,
	};
	const struct option_usage usage = {
		.command = "nomora k8s-agent",
		.operands = "",
		.summary = "Keep a running nomora schedd in line with a Kubernetes cluster: its nodes, and the pods "
			   "that run on them.",
		.teach = teach,
		.rows = rows,
	};
	struct k8s_agent_options options = {.resync_s = 10};
	struct option_operands operands;
	int code = command_parse(&usage, argc, argv, &options, &operands);

	if (code >= 0)
		return code;
	options_free(&operands);
	return serve(&options);
}
