/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora k8s-agent: reports the nodes and pods of a Kubernetes cluster to schedd. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/stop.h>
#include <client/request.h>
#include <integrations/kubernetes/agent.h>

#include "commands.h"

/* Folder of the pod's service account. */
#define ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount/"

static const char teach[] =
	"Inside a pod, server, token and CA come from the pod's service account.\n"
	"  # nomora k8s-agent --server https://10.0.0.1:6443 --ca-file /etc/kubernetes/pki/ca.crt --token-file token\n"
	"  $ nomora nodes; nomora explain k8s-default.web/web-server\n"
	"\n"
	"Exit status: 0 ended by a signal, 1 failed, 2 usage.\n";

/*
 * Returns the URL of the API server of the cluster that this pod runs in, which the caller frees, or NULL outside a
 * pod.
 */
static char *find_server(void)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST"), *port = getenv("KUBERNETES_SERVICE_PORT");
	char *server = NULL;

	if (!host || !port ||
	    asprintf(&server, strchr(host, ':') ? "https://[%s]:%s" : "https://%s:%s", host, port) < 0)
		return NULL;
	return server;
}

static int run(void *context, const struct option_operands *operands, struct error *err)
{
	struct k8s_agent_options *options = context;
	char *server = options->server ? NULL : find_server();
	int code = 0;

	(void)operands;
	if (server) {
		options->server = server;
		options->token_file = options->token_file ? options->token_file : ACCOUNT "token";
		options->ca_file = options->ca_file ? options->ca_file : ACCOUNT "ca.crt";
	}
	if (!options->server)
		code = command_misused(err, "missing option --server URL (not needed inside a pod)");
	else if (strncmp(options->server, "https://", 8) != 0 && strncmp(options->server, "http://", 7) != 0)
		code = command_misused(err, "bad server '%s'; expected https://HOST:PORT", options->server);
	else if (options->token_file && access(options->token_file, R_OK) < 0)
		code = error_set(err, errno, "%s: %s", options->token_file, strerror(errno));
	if (code == 0) {
		stop_catch_signals();
		k8s_agent_run(options, stop_flag(), err);
		code = err->code ? COMMAND_FAILED : COMMAND_OK;
	}
	free(server);
	return code;
}

int command_k8s_agent(int argc, char **argv)
{
	const struct option_row rows[] = {
		OPTION_STRING(struct k8s_agent_options, server, "server", 'u', "URL", "URL of the API server"),
		OPTION_STRING(struct k8s_agent_options, token_file, "token-file", 't', "FILE",
			      "file with the bearer token; read for each request"),
		OPTION_STRING(struct k8s_agent_options, ca_file, "ca-file", 'c', "FILE",
			      "certificate of the CA that signed the server's certificate (PEM)"),
		OPTION_STRING(struct k8s_agent_options, schedd, "schedd", 's', "PATH",
			      "schedd's socket; default $NOMORA_SCHEDD, else " CLIENT_SOCKET),
		OPTION_DOUBLE(struct k8s_agent_options, resync_s, "resync", 0, "S", 0.1, 3600,
			      "time between comparisons with schedd when nothing changes"),
		OPTION_END,
	};
	const struct option_usage usage = {
		.command = "nomora k8s-agent",
		.operands = "",
		.summary = "Report the nodes and pods of Kubernetes to a running schedd.",
		.teach = teach,
		.rows = rows,
	};
	struct k8s_agent_options options = {.resync_s = 10};

	return command_run(&usage, argc, argv, &options, run);
}
