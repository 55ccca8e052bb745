/* SPDX-License-Identifier: BSD-3-Clause */
#include "probe_station.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/address.h>
#include <base/file.h>
#include <base/log.h>
#include <base/name.h>
#include <base/number.h>
#include <base/progress.h>
#include <base/stop.h>
#include <dp/eal.h>
#include <probe/agent/capture_file.h>
#include <probe/agent/group.h>
#include <probe/agent/sample_file.h>
#include <probe/mesh/watch.h>

#include "command.h"

enum {
	MEMORY_MIB = 64,
	SMALL_BUFFER = 2048,
	SAMPLES_KEPT = 1 << 16,
	FRAMES_KEPT = 1 << 14,
	SESSIONS_FINE = 1024,
	ALLOW_MAXIMUM = 64
};

const char *const station_format_names[] = {"ptp", "ntp", NULL};

const struct station_settings station_defaults = {
	.udp_port = STAMP_PORT,
	.paths = "1",
	.slot_ms = 1000,
	.interval_us = 10000,
	.timeout_ms = 1000,
	.duration_s = 10,
	.wait_s = 10,
	.linger_ms = 500,
	.ttl = 255,
	.mtu = 1500,
	.probe_pps = 1000000,
	.source_pps = 100000,
	.window_s = 10,
	.live_hosts = 4096,
	.live_racks = 256,
	.live_pairs = 1 << 17,
	.driver = DP_PORT_AF_PACKET,
};

struct station {
	const struct station_settings *settings;
	const struct peers *peers;
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
	struct agent *agent; /* the group's first */
	struct station_result result;
};

static int bad_option(struct error *err, const char *name, const char *expected, const char *found)
{
	return error_set(err, EINVAL, "--%s: expected %s, found '%.80s'", name, expected, found);
}

static int read_address(const struct station_settings *settings, struct agent_options *options, struct error *err)
{
	char text[64];
	const char *slash;
	int64_t bits = 0;

	if (!settings->address)
		return error_set(err, EINVAL, "--address is missing: the IP address of this host on the port");
	slash = strchr(settings->address, '/');
	snprintf(text, sizeof text, "%.*s",
		 (int)(slash ? slash - settings->address : (ptrdiff_t)strlen(settings->address)), settings->address);
	if (address_parse(text, &options->address) || options->address == 0 ||
	    (slash && (number_parse_i64(slash + 1, &bits) || bits < 1 || bits > address_bits(options->address))))
		return bad_option(err, "address", "an IP address such as 10.0.0.1, 10.0.0.1/24 or 2001:db8::1/64",
				  settings->address);
	options->prefix_bits = (int)bits;
	if (!settings->gateway)
		return 0;
	if (address_parse(settings->gateway, &options->gateway) ||
	    address_is_ipv4(options->gateway) != address_is_ipv4(options->address))
		return bad_option(err, "gateway", "an address such as 10.0.0.254, of --address's family",
				  settings->gateway);
	return slash ? 0 : error_set(err, EINVAL, "--gateway needs --address with /BITS, to know who is off the link");
}

/* "10.0.0.0/24,10.1.2.3" */
static int read_allow(struct station *station, struct error *err)
{
	char text[1024], *fields[ALLOW_MAXIMUM + 1];
	size_t count;

	if (!station->settings->allow)
		return 0;
	snprintf(text, sizeof text, "%s", station->settings->allow);
	count = file_split(text, ',', fields, ALLOW_MAXIMUM + 1);
	for (size_t i = 0; i < count && i < ALLOW_MAXIMUM; i++) {
		char *slash = strchr(fields[i], '/');
		ip_address *address = &station->allow[i].address;
		int64_t bits;

		if (slash)
			*slash++ = '\0';
		if (address_parse(fields[i], address) ||
		    (slash && (number_parse_i64(slash, &bits) || bits < 0 || bits > address_bits(*address))))
			return bad_option(err, "allow", "addresses or prefixes such as 10.0.0.0/24,10.1.2.3",
					  station->settings->allow);
		station->allow[i].bits = slash ? (int)bits : address_bits(*address);
	}
	if (count > ALLOW_MAXIMUM)
		return error_set(err, E2BIG, "--allow: more than %d prefixes", ALLOW_MAXIMUM);
	station->options.allow = station->allow;
	station->options.allow_count = count;
	return 0;
}

/* "2/8": the second of eight. */
static int read_slot(const struct station_settings *settings, struct agent_options *options, struct error *err)
{
	unsigned int slot, slots;
	char rest;

	options->slots = 1;
	options->slot_length = (struct ns){settings->slot_ms * NS_PER_MS};
	if (!settings->slot)
		return 0;
	if (sscanf(settings->slot, "%5u/%5u%c", &slot, &slots, &rest) != 2 || slot < 1 || slot > slots)
		return bad_option(err, "slot", "I/N with 1 <= I <= N, such as 2/8", settings->slot);
	options->slot = slot - 1;
	options->slots = slots;
	return 0;
}

/* "100" or "100,5": VLAN and priority. */
static int read_vlan(const struct station_settings *settings, struct agent_options *options, struct error *err)
{
	unsigned int vlan, priority = 0;
	char rest;
	int got;

	if (!settings->vlan)
		return 0;
	got = sscanf(settings->vlan, "%4u,%1u%c", &vlan, &priority, &rest);
	if (got < 1 || got > 2 || (got == 1 && settings->vlan[strspn(settings->vlan, "0123456789")]) ||
	    vlan >= FRAME_VLAN_MASK || priority > 7)
		return bad_option(err, "vlan", "ID or ID,PRIORITY with ID 0..4094 and PRIORITY 0..7", settings->vlan);
	options->tagged = true;
	options->tag_control = (uint16_t)(priority << 13 | vlan);
	return 0;
}

/* "class,direct" */
static int read_tlvs(const struct station_settings *settings, struct agent_options *options, struct error *err)
{
	char text[128], *fields[TLV_TYPES];
	size_t count;

	if (!settings->tlvs)
		return 0;
	snprintf(text, sizeof text, "%s", settings->tlvs);
	count = file_split(text, ',', fields, TLV_TYPES);
	for (size_t i = 0; i < count; i++) {
		int type = TLV_TYPES - 1;

		while (type > 0 &&
		       (i >= TLV_TYPES || type == TLV_HMAC || type == TLV_PADDING || !tlv_name((enum tlv_type)type) ||
			strcmp(tlv_name((enum tlv_type)type), fields[i]) != 0))
			type--;
		if (!type)
			return bad_option(err, "tlv",
					  "names such as location,timestamp,class,direct,follow-up,destination",
					  settings->tlvs);
		options->tlvs |= UINT32_C(1) << type;
	}
	return 0;
}

static int read_keys(struct station *station, struct error *err)
{
	const struct station_settings *settings = station->settings;
	struct agent_options *options = &station->options;
	int code;

	if (!settings->keys_path)
		return 0;
	code = stamp_keys_read(settings->keys_path, &station->keys, err);
	if (code)
		return code;
	options->keys = &station->keys;
	options->key = settings->session ? stamp_keys_find(&station->keys, options->session) : station->keys.items;
	return options->key ? 0
			    : error_set(err, ENOENT, "%s: there is no key of session %d (--ssid)", settings->keys_path,
					(int)settings->session);
}

static int check_size(const struct station_settings *settings, const struct agent_options *options, struct error *err)
{
	int smallest = (int)agent_packet_minimum(options);
	int64_t more = settings->packet_bytes - smallest;

	if (settings->packet_bytes && (more < 0 || (more > 0 && more < 4)))
		return error_set(err, EINVAL, "--size: expected %d, or %d and more, found %d", smallest, smallest + 4,
				 (int)settings->packet_bytes);
	if (settings->packet_bytes > settings->mtu)
		return error_set(err, EINVAL, "--size %d is more than --mtu %d", (int)settings->packet_bytes,
				 (int)settings->mtu);
	return 0;
}

static int read_paths(const struct station_settings *settings, struct agent_options *options, struct error *err)
{
	int64_t paths;

	options->find_paths = strcmp(settings->paths, "auto") == 0;
	options->paths = AGENT_AUTO_PATHS;
	if (options->find_paths && settings->keys_path)
		return error_set(err, EINVAL, "--paths auto and --keys are mutually exclusive");
	if (options->find_paths)
		return 0;
	if (number_parse_i64(settings->paths, &paths) || paths < 1 || paths > 256)
		return bad_option(err, "paths", "1 to 256, or auto", settings->paths);
	options->paths = (uint32_t)paths;
	return 0;
}

static int read_settings(struct station *station, struct error *err)
{
	const struct station_settings *settings = station->settings;
	struct agent_options *options = &station->options;
	int code;

	*options = (struct agent_options){
		.udp_port = (uint16_t)settings->udp_port,
		.reflect = settings->reflect,
		.interval = ns_from_us(settings->interval_us),
		.timeout = ns_from_us(settings->timeout_ms * 1e3),
		.count = (uint64_t)settings->count,
		.source_pps = (uint32_t)settings->source_pps,
		.total_pps = (uint32_t)settings->total_pps,
		.samples = settings->samples_path ? SAMPLES_KEPT : 0,
		.frames = settings->capture_path ? FRAMES_KEPT : 0,
		.poll = (enum agent_poll)settings->poll,
		.stamps = (enum agent_stamps)settings->stamps,
		.format = settings->format == 1 ? STAMP_NTP : STAMP_PTP,
		.seed = settings->seed ? (uint64_t)settings->seed
				       : (uint64_t)ns_now_wall().v ^ (uint64_t)getpid() << 48,
		.probe_pps = (uint32_t)settings->probe_pps,
		.session = (uint16_t)settings->session,
		.stateless = settings->stateless,
		.poisson = settings->poisson,
		.dscp = (uint8_t)settings->dscp,
		.ecn = (uint8_t)settings->ecn,
		.ttl = (uint8_t)settings->ttl,
		.may_fragment = settings->may_fragment,
		.packet_bytes = (uint16_t)settings->packet_bytes,
		.queues = (uint16_t)settings->queues,
	};
	if (settings->queues > 1 && (settings->samples_path || settings->capture_path))
		return error_set(err, EINVAL, "--%s needs --queues 1", settings->samples_path ? "samples" : "capture");
	if (settings->name && !name_is_valid(settings->name, LATENCY_NAME_BYTES))
		return bad_option(err, "name", "one word without commas and quotes", settings->name);
	code = read_paths(settings, options, err);
	options->digits = station->peers && station->peers->count * options->paths > SESSIONS_FINE ? 2 : 3;
	if (!code)
		code = read_address(settings, options, err);
	if (!code)
		code = read_allow(station, err);
	if (!code)
		code = read_vlan(settings, options, err);
	if (!code)
		code = read_tlvs(settings, options, err);
	return code ? code : read_slot(settings, options, err);
}

static void show_progress(void *context, double share, const char *phase)
{
	struct station *station = context;

	progress_update(station->progress, share < 0 ? 0 : (uint64_t)(share * 1000), phase);
}

/* Fail early if an output is not writable. */
static int open_outputs(struct station *station, struct error *err)
{
	const struct station_settings *settings = station->settings;

	if (settings->row_path && file_writer_try(settings->row_path, err) < 0)
		return -err->code;
	if (settings->samples_path && !(station->samples = file_writer_open(settings->samples_path, err)))
		return -err->code;
	if (settings->capture_path && !(station->capture = file_writer_open(settings->capture_path, err)))
		return -err->code;
	return 0;
}

static int open_port(struct station *station, const struct option_operands *operands, struct error *err)
{
	const char *const ports[] = {operands->items[0]};
	uint16_t bytes = dp_pool_bytes((uint16_t)station->settings->mtu, ports, 1);
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
					  .driver = (enum dp_port_driver)station->settings->driver};
	int code = dp_eal_start(&eal, err);

	if (code)
		return code;
	station->pool = dp_pool_create("probe", AGENT_BUFFERS, bytes, err);
	if (!station->pool)
		return -err->code;
	options.pool = station->pool;
	station->port = dp_port_open(&options, err);
	if (!station->port)
		return -err->code;
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

/* Without an end, into a live matrix. */
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

	code = open_agent(station, err);
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
		code = report_json(result, err);
	else if (!code && !settings->quiet)
		report_text(result, stdout);
	return code;
}

static void close_station(struct station *station)
{
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

int station_run(const struct station_settings *settings, const struct option_operands *operands,
		const struct peers *peers)
{
	struct station station = {.settings = settings, .peers = peers};
	struct error err = {0};
	size_t silent = 0;
	int code;

	if (settings->quiet)
		log_set_level(LOG_LEVEL_ERROR);
	if (read_settings(&station, &err))
		return command_fail(&err, COMMAND_USAGE);
	code = read_keys(&station, &err);
	if (code || check_size(settings, &station.options, &err)) {
		stamp_keys_free(&station.keys);
		return command_fail(&err, code ? COMMAND_FAILED : COMMAND_USAGE);
	}
	stop_catch_signals();
	if (!(code = open_outputs(&station, &err)) && !(code = open_port(&station, operands, &err)) &&
	    !(code = settings->live_path ? run_watch(&station, &err) : run_agent(&station, &err)) &&
	    !(settings->live_path || (code = report(&station, &err))))
		silent = report_silent_peers(&station.result);
	close_station(&station);
	if (code)
		return command_fail(&err, COMMAND_FAILED);
	return silent ? COMMAND_NEGATIVE : COMMAND_OK;
}
