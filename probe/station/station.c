/* SPDX-License-Identifier: BSD-3-Clause */
#include "station_priv.h"

#include <errno.h>
#include <stdio.h>

#include <base/address.h>
#include <base/file.h>
#include <base/log.h>
#include <base/stop.h>
#include <dp/eal.h>
#include <probe/mesh/watch.h>

enum { MEMORY_MIB = 64, SMALL_BUFFER = 2048 };

/* TWAMP reflectors answer only the source ports of their sessions, and thus no greetings. */
static const struct ns twamp_greeting = {NS_PER_S};

static void show_progress(void *context, double share, const char *phase)
{
	struct station *station = context;

	progress_update(station->progress, share < 0 ? 0 : (uint64_t)(share * 1000), phase);
}

/* Opens the outputs in advance, to fail early if one is not writable. */
static int open_outputs(struct station *station, struct error *err)
{
	const struct station_settings *settings = station->settings;

	if (settings->row_path && file_writer_try(settings->row_path, err) < 0)
		return error_code(err, EIO);
	if (settings->samples_path && !(station->samples = file_writer_open(settings->samples_path, err)))
		return error_code(err, EIO);
	if (settings->capture_path && !(station->capture = file_writer_open(settings->capture_path, err)))
		return error_code(err, EIO);
	return 0;
}

static int open_port(struct station *station, const struct option_operands *operands, struct error *err)
{
	const char *const ports[] = {operands->items[0]};
	uint16_t bytes = dp_pool_bytes((uint16_t)station->settings->mtu);
	struct dp_eal_options eal = {
		.program = "nomora-probe",
		.ports = ports,
		.port_count = 1,
		.workers = station->settings->queues > 1 ? (unsigned int)station->settings->queues - 1 : 0,
		.cpus = station->settings->cpus,
		.memory_MiB = MEMORY_MIB + (bytes > SMALL_BUFFER ? (AGENT_BUFFERS * (unsigned int)bytes) >> 20 : 0),
		.extra = operands->rest,
		.extra_count = operands->rest_count,
	};
	struct dp_port_options options = {.name = ports[0],
					  .queues = (uint16_t)station->settings->queues,
					  .mtu = (uint16_t)station->settings->mtu,
					  .hardware_rx_stamps = station->settings->stamps == AGENT_STAMPS_NIC,
					  .driver = (enum dp_port_driver)station->settings->driver};
	int code = dp_eal_start(&eal, err);

	if (code)
		return code;
	station->pool = dp_pool_create("probe", AGENT_BUFFERS, bytes, err);
	if (!station->pool)
		return error_code(err, EIO);
	options.pool = station->pool;
	station->port = dp_port_open(&options, err);
	if (!station->port)
		return error_code(err, EIO);
	dp_port_report(station->port, &station->result.port);
	if (station->result.port.mtu && station->settings->packet_bytes > station->result.port.mtu)
		return error_set(err, EINVAL, "--size %d is more than the MTU of %s, %u",
				 (int)station->settings->packet_bytes, ports[0], station->result.port.mtu);
	code = dp_port_start(station->port, err);
	return code ? code : dp_clock_calibrate(&station->clock, (struct ns){50 * NS_PER_MS}, err);
}

static void name_row(const struct station *station, char *name)
{
	const struct peer *self = station->peers ? peers_find(station->peers, station->options.address) : NULL;

	if (station->settings->name || self)
		snprintf(name, LATENCY_NAME_BYTES, "%s",
			 station->settings->name ? station->settings->name : self->name);
	else
		address_print(station->options.address, name);
}

static int add_peers(struct station *station, struct error *err)
{
	int code = 0;

	for (size_t i = 0; !code && station->peers && i < station->peers->count; i++)
		if (station->peers->items[i].address != station->options.address)
			code = agent_group_add_peer(station->group, &station->peers->items[i], err);
	return code;
}

static int collect(struct station *station, struct error *err)
{
	struct agent_row *window = agent_row_create(station->agent);
	struct mesh_row *row = &station->result.row;
	int code = window ? 0 : -ENOMEM;

	for (size_t i = 0; !code && i < agent_group_peer_count(station->group); i++) {
		agent_group_window(station->group, i, window);
		code = mesh_row_add(row, window);
	}
	agent_row_destroy(window);
	agent_group_summarise(station->group, &station->result.summary);
	return code ? error_set(err, ENOMEM, "out of memory") : 0;
}

static int open_agent(struct station *station, struct error *err)
{
	station->group = agent_group_create(&station->options, station->port, station->pool, &station->clock, err);
	if (!station->group)
		return error_code(err, ENOMEM);
	station->agent = agent_group_first(station->group);
	return 0;
}

static int start_twamp(struct station *station, struct error *err)
{
	const struct twamp_terms terms = {
		.address = station->options.address,
		.udp_port = station->options.udp_port,
		.allow = station->options.allow,
		.allow_count = station->options.allow_count,
		.started_at = ns_now_wall(),
	};

	station->twamp = twamp_service_start(&terms, TWAMP_CONTROL_PORT, err);
	station->result.serves_twamp = station->twamp;
	return station->twamp ? 0 : error_code(err, EIO);
}

/*
 * A server may choose another UDP port than the agent has. The new agent has the same source ports, because it has the
 * same seed.
 */
static int ask_twamp(struct station *station, struct error *err)
{
	uint16_t udp_port;
	int code = station_request_sessions(station, &udp_port, err);

	if (code || udp_port == station->options.udp_port)
		return code;
	for (uint32_t path = 0; path < station->options.paths; path++)
		if (agent_source_port(station->agent, path) == udp_port)
			return error_set(err, EADDRINUSE,
					 "the TWAMP server chose UDP port %u, which is one of our "
					 "source ports: try another --seed",
					 udp_port);
	agent_group_destroy(station->group);
	station->options.udp_port = udp_port;
	return open_agent(station, err);
}

/* Measures continuously into a live matrix. */
static int run_watch(struct station *station, struct error *err)
{
	const struct station_settings *settings = station->settings;
	const struct latency_live_size size = {.hosts = (uint32_t)settings->live_hosts,
					       .racks = (uint32_t)settings->live_racks,
					       .pairs = (uint64_t)settings->live_pairs};
	struct latency_matrix *live = latency_live_open(settings->live_path, &size, err);
	struct mesh_watch watch = {
		.host = station->result.row.host,
		.address = station->options.address,
		.peers_path = settings->peers_path,
		.window = ns_from_us(settings->window_s * 1e6),
		.live = live,
	};
	struct mesh_recorder_options history = settings->history;
	struct mesh_recorder *recorder = NULL;
	int code = live ? 0 : -err->code;

	history.live_path = settings->live_path;
	if (!code && history.store_path) {
		recorder = mesh_recorder_start(&history, err);
		code = recorder ? 0 : error_code(err, EIO);
	}
	if (!code)
		code = open_agent(station, err);
	if (!code) {
		agent_summarise(station->agent, &station->result.summary);
		watch.error_us = ns_to_us(station->result.summary.error_bound);
		name_row(station, station->result.row.host);
		log_info("%s measures the peers of %s into %s", watch.host, settings->peers_path, settings->live_path);
		code = mesh_watch_run(station->agent, station->peers, &watch, stop_flag(), err);
		log_info("%s published %llu windows, %llu late", watch.host, (unsigned long long)watch.state.windows,
			 (unsigned long long)watch.state.late);
	}
	mesh_recorder_stop(recorder);
	latency_matrix_destroy(live);
	return code;
}

static int run_agent(struct station *station, struct error *err)
{
	const struct station_settings *settings = station->settings;
	struct agent_run run = {
		.duration = ns_from_us(settings->duration_s * 1e6),
		.patience = ns_from_us(settings->wait_s * 1e6),
		.linger = ns_from_us(settings->reflect ? settings->linger_ms * 1e3 : 0),
		.context = station,
	};
	int code;

	if (settings->twamp && station->peers && run.patience.v > twamp_greeting.v)
		run.patience = twamp_greeting;
	code = open_agent(station, err);
	if (!code && settings->twamp)
		code = station->peers ? ask_twamp(station, err) : start_twamp(station, err);
	if (!code)
		code = add_peers(station, err);
	if (!code && station->samples) {
		station->sample_file =
			sample_file_start(station->agent, station->peers, file_writer_stream(station->samples), err);
		code = station->sample_file ? 0 : -err->code;
	}
	if (!code && station->capture) {
		station->capture_file = capture_file_start(station->agent, file_writer_stream(station->capture), err);
		code = station->capture_file ? 0 : -err->code;
	}
	if (code)
		return code;
	if (!settings->quiet && !settings->json)
		station->progress = progress_create(stderr, station->peers ? "probe" : "reflect", 1000);
	if (station->progress)
		run.on_tick = show_progress;
	station->result.started_at = ns_now_wall();
	code = agent_group_run(station->group, &run, stop_flag(), err);
	station->result.finished_at = ns_now_wall();
	station->result.measured = run.measured;
	station_end_sessions(station);
	twamp_service_stop(station->twamp, &station->result.twamp);
	station->twamp = NULL;
	sample_file_stop(station->sample_file);
	capture_file_stop(station->capture_file);
	station->sample_file = NULL;
	station->capture_file = NULL;
	progress_destroy(station->progress);
	station->progress = NULL;
	return code ? code : collect(station, err);
}

static int report(struct station *station, struct error *err)
{
	const struct station_settings *settings = station->settings;
	struct station_result *result = &station->result;
	int code = 0;

	result->address = station->options.address;
	dp_port_report(station->port, &result->port);
	name_row(station, result->row.host);
	result->row.error_us = ns_to_us(result->summary.error_bound);
	if (station->samples) {
		code = file_writer_commit(station->samples, err);
		station->samples = NULL;
	}
	if (!code && station->capture) {
		code = file_writer_commit(station->capture, err);
		station->capture = NULL;
	}
	if (!code && settings->row_path)
		code = mesh_row_write(&result->row, settings->row_path, err);
	if (!code && settings->json)
		code = station_report_json(result, err);
	else if (!code && !settings->quiet)
		station_report_text(result, station->out);
	return code;
}

static void close_station(struct station *station)
{
	station_end_sessions(station);
	twamp_service_stop(station->twamp, NULL);
	sample_file_stop(station->sample_file);
	capture_file_stop(station->capture_file);
	file_writer_discard(station->samples);
	file_writer_discard(station->capture);
	progress_destroy(station->progress);
	mesh_row_clear(&station->result.row);
	agent_group_destroy(station->group);
	stamp_keys_free(&station->keys);
	dp_port_close(station->port);
	dp_pool_free(station->pool);
	dp_eal_stop();
}

/* Counts the peers that never answered. */
static size_t count_silent(const struct mesh_row *row)
{
	size_t silent = 0;

	for (size_t i = 0; i < row->count; i++)
		silent += row->pairs[i].counters.fresh == 0;
	return silent;
}

enum station_outcome station_run(const struct station_settings *settings, const struct option_operands *operands,
				 const struct peers *peers, FILE *out, struct error *err)
{
	struct station station = {.settings = settings, .peers = peers, .out = out};
	enum station_outcome outcome = station_read_settings(&station, err);
	size_t silent = 0;
	int code;

	if (outcome != STATION_DONE) {
		stamp_keys_free(&station.keys);
		return outcome;
	}
	if (!(code = open_outputs(&station, err)) && !(code = open_port(&station, operands, err)) &&
	    !(code = settings->live_path ? run_watch(&station, err) : run_agent(&station, err)) &&
	    !(settings->live_path || (code = report(&station, err))))
		silent = count_silent(&station.result.row);
	close_station(&station);
	return code ? STATION_FAILED : silent ? STATION_SILENT_PEERS : STATION_DONE;
}
