/* SPDX-License-Identifier: BSD-3-Clause */
/* The station's state: settings.c reads the options into it, station.c runs it, report.c prints its result. */
#ifndef PROBE_STATION_STATION_PRIV_H
#define PROBE_STATION_STATION_PRIV_H

#include <base/progress.h>
#include <probe/agent/agent.h>
#include <probe/mesh/row.h>
#include <probe/station/station.h>
#include <probe/twamp/twamp.h>

struct station_result {
	ip_address address;
	struct dp_port_report port;
	struct ns started_at, finished_at; /* wall clock */
	struct ns measured;
	struct agent_summary summary;
	bool serves_twamp;
	struct twamp_service_counters twamp;
	struct mesh_row row;
};

enum { ALLOW_MAXIMUM = 64 };

struct station {
	const struct station_settings *settings;
	const struct peers *peers;
	FILE *out;
	struct agent_options options;
	struct reflector_prefix allow[ALLOW_MAXIMUM];
	struct stamp_keys keys;
	struct progress *progress;
	struct file_writer *samples, *capture;
	struct capture_file *capture_file;
	struct sample_file *sample_file;
	struct dp_pool *pool;
	struct dp_port *port;
	struct dp_clock clock;
	struct agent_group *group;
	struct agent *agent; /* the first of the group */
	struct twamp_service *twamp;
	struct station_sessions *sessions;
	struct station_result result;
};

/* Reads options, allowed sources and keys. The caller must call stamp_keys_free() in any case. */
enum station_outcome station_read_settings(struct station *station, struct error *err);

/*
 * Requests a session from each peer's TWAMP server and starts it. The agent must be open, for its source ports. Stores
 * the UDP port of the reflectors in *udp_port. Returns 0 or -errno; end the sessions in any case.
 */
int station_request_sessions(struct station *station, uint16_t *udp_port, struct error *err);
void station_end_sessions(struct station *station);

void station_report_text(const struct station_result *result, FILE *out);
int station_report_json(const struct station_result *result, struct error *err);

#endif
