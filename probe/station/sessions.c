/* SPDX-License-Identifier: BSD-3-Clause */
/* The sessions that `nomora probe --twamp` requests from the TWAMP servers of its peers. */
#include "station_priv.h"

#include <errno.h>
#include <stdlib.h>

enum { PORTS_MAXIMUM = 256 }; /* of --paths */

/* A server that is there answers within a round trip. */
static const struct ns patience = {5 * NS_PER_S};

struct station_session {
	const char *name;
	struct twamp_wish wish;
	struct twamp_connection connection;
};

struct station_sessions {
	uint16_t ports[PORTS_MAXIMUM];
	size_t count;
	struct station_session items[];
};

/* The bytes of a probe after the first 14 of a TWAMP-Test packet. */
static uint32_t padding_of(const struct agent_options *options)
{
	size_t bytes = options->packet_bytes ? options->packet_bytes : agent_packet_minimum(options);

	return (uint32_t)(bytes - (address_is_ipv4(options->address) ? 28 : 48) - STAMP_REQUEST_MINIMUM);
}

static int request_of(struct station *station, const struct peer *peer, struct error *err)
{
	const struct agent_options *options = &station->options;
	struct station_sessions *sessions = station->sessions;
	struct station_session *session = &sessions->items[sessions->count];
	uint16_t port;
	int code;

	session->name = peer->name;
	session->wish = (struct twamp_wish){
		.sender = options->address,
		.receiver = peer->address,
		.sender_ports = sessions->ports,
		.sessions = options->paths,
		.receiver_port = options->udp_port,
		.padding = padding_of(options),
		.timeout = options->timeout,
		.dscp = options->dscp,
	};
	code = twamp_connect(&session->connection, &session->wish, TWAMP_CONTROL_PORT, patience, err);
	if (code)
		return code;
	sessions->count++;
	port = session->connection.client.receiver_port;
	if (port == sessions->items[0].connection.client.receiver_port)
		return 0;
	return error_set(
		err, EPROTO,
		"peer '%s': its TWAMP server wants probes on UDP port %u, that of '%s' on %u; probe one at a time",
		peer->name, port, sessions->items[0].name, sessions->items[0].connection.client.receiver_port);
}

int station_request_sessions(struct station *station, uint16_t *udp_port, struct error *err)
{
	const struct peers *peers = station->peers;
	int code = 0;

	*udp_port = station->options.udp_port;
	station->sessions = calloc(1, sizeof *station->sessions + peers->count * sizeof *station->sessions->items);
	if (!station->sessions)
		return error_set(err, ENOMEM, "out of memory");
	for (uint32_t path = 0; path < station->options.paths; path++)
		station->sessions->ports[path] = agent_source_port(station->agent, path);
	for (size_t i = 0; !code && i < peers->count; i++)
		if (peers->items[i].address != station->options.address)
			code = request_of(station, &peers->items[i], err);
	if (!code && station->sessions->count)
		*udp_port = station->sessions->items[0].connection.client.receiver_port;
	return code;
}

void station_end_sessions(struct station *station)
{
	for (size_t i = 0; station->sessions && i < station->sessions->count; i++)
		twamp_disconnect(&station->sessions->items[i].connection);
	free(station->sessions);
	station->sessions = NULL;
}
