/* SPDX-License-Identifier: BSD-3-Clause */
#include "station_priv.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <base/address.h>
#include <base/file.h>
#include <base/name.h>
#include <base/number.h>

enum { SAMPLES_KEPT = 1 << 16, FRAMES_KEPT = 1 << 14, SESSIONS_FINE = 1024 };

const char *const station_format_names[] = {"ptp", "ntp", NULL};

const struct station_settings station_defaults = {
	.udp_port = STAMP_PORT,
	.paths = "1",
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
	if (address_parse(text, &options->address) || !address_is_host(options->address) ||
	    (slash && (number_parse_i64(slash + 1, &bits) || bits < 1 || bits > address_bits(options->address))))
		return bad_option(err, "address", "an IP address such as 10.0.0.1, 10.0.0.1/24 or 2001:db8::1/64",
				  settings->address);
	options->prefix_bits = (int)bits;
	if (!settings->gateway)
		return 0;
	if (address_parse(settings->gateway, &options->gateway) ||
	    address_is_ipv4(options->gateway) != address_is_ipv4(options->address) ||
	    !address_is_host(options->gateway) || options->gateway == options->address)
		return bad_option(err, "gateway", "an address such as 10.0.0.254, of --address's family",
				  settings->gateway);
	return slash ? 0
		     : error_set(err, EINVAL,
				 "--gateway needs --address ADDRESS/BITS: the prefix length shows which peers are not "
				 "on the link");
}

/* "10.0.0.0/24,10.1.2.3" */
static int read_allow(struct station *station, struct error *err)
{
	char text[ALLOW_MAXIMUM * (ADDRESS_TEXT_BYTES + 4)], *fields[ALLOW_MAXIMUM + 1];
	size_t count;

	if (!station->settings->allow)
		return 0;
	if (strlen(station->settings->allow) >= sizeof text) /* a truncated prefix might be wider */
		return error_set(err, E2BIG, "--allow: more than %d prefixes", ALLOW_MAXIMUM);
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

/* Reads this host's time slot: "2/8" is the second of eight slots. */
static int read_slot(const struct station_settings *settings, struct agent_options *options, struct error *err)
{
	unsigned int slot, slots;
	char rest;

	options->slots = 1;
	options->slot_length = ns_from_us(1e6);
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

/* "3" or "3,7": member links of a LAG, ours and the peers'. */
static int read_member(const struct station_settings *settings, struct agent_options *options, struct error *err)
{
	char text[16], *peer;
	int64_t ours, theirs = 0;

	if (!settings->member)
		return 0;
	snprintf(text, sizeof text, "%s", settings->member);
	peer = strchr(text, ',');
	if (peer)
		*peer++ = '\0';
	if (strlen(settings->member) >= sizeof text || number_parse_i64(text, &ours) || ours < 1 || ours > UINT16_MAX ||
	    (peer && (number_parse_i64(peer, &theirs) || theirs < 1 || theirs > UINT16_MAX)))
		return bad_option(err, "micro-session", "ID or ID,PEER, each 1 to 65535", settings->member);
	options->member = (uint16_t)ours;
	options->peer_member = (uint16_t)theirs;
	options->tlvs |= UINT32_C(1) << TLV_MICRO_SESSION;
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
		       (i >= TLV_TYPES || type == TLV_HMAC || type == TLV_PADDING || type == TLV_MICRO_SESSION ||
			!tlv_name((enum tlv_type)type) || strcmp(tlv_name((enum tlv_type)type), fields[i]) != 0))
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
	if (options->find_paths)
		return 0;
	if (number_parse_i64(settings->paths, &paths) || paths < 1 || paths > 256)
		return bad_option(err, "paths", "1 to 256, or auto", settings->paths);
	options->paths = (uint32_t)paths;
	return 0;
}

/* Also sets the format of RFC 5357's packets, which may be the only one that a TWAMP reflector knows. */
static int check_twamp(struct station *station, struct error *err)
{
	const struct station_settings *settings = station->settings;

	if (!settings->twamp)
		return 0;
	if (settings->keys_path)
		return error_set(err, EINVAL, "--twamp has only unauthenticated sessions: leave out --keys");
	if (!station->peers)
		return 0;
	if (settings->reflect)
		return error_set(err, EINVAL, "--twamp and --reflect are mutually exclusive");
	if (station->options.find_paths || settings->queues > 1)
		return error_set(err, EINVAL, "--twamp needs %s", settings->queues > 1 ? "--queues 1" : "--paths N");
	station->options.format = STAMP_NTP;
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
		.clock_error = ns_from_us(settings->clock_error_us),
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
		code = check_twamp(station, err);
	if (!code)
		code = read_address(settings, options, err);
	if (!code)
		code = read_allow(station, err);
	if (!code)
		code = read_vlan(settings, options, err);
	if (!code)
		code = read_tlvs(settings, options, err);
	if (!code)
		code = read_member(settings, options, err);
	return code ? code : read_slot(settings, options, err);
}

enum station_outcome station_read_settings(struct station *station, struct error *err)
{
	if (read_settings(station, err))
		return STATION_BAD_OPTION;
	if (read_keys(station, err))
		return STATION_FAILED;
	return check_size(station->settings, &station->options, err) ? STATION_BAD_OPTION : STATION_DONE;
}
