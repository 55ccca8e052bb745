/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes our probes: headers from a template, base packet, TLVs. */
#include "agent_priv.h"

#include <string.h>

#include <dp/packet.h>

void agent_add_tag(const struct agent *agent, struct frame *frame)
{
	frame->tags = agent->options.tagged;
	frame->tag[0] = (struct frame_tag){FRAME_TAG_TYPE, agent->options.tag_control};
}

/* Returns the TLVs that follow the base packet of a probe. */
static struct tlv_request tlvs_of(const struct agent *agent, const struct prober_probe *probe)
{
	const struct agent_options *options = &agent->options;

	if (probe->ttl)
		return (struct tlv_request){.padding = probe->padding};
	return (struct tlv_request){
		.wanted = options->tlvs,
		.key = options->key,
		.sequence = probe->request.sequence,
		.dscp = options->dscp,
		.sent = probe->request.sequence + 1,
		.destination = probe->target->address,
		.member = options->member,
		.peer_member = probe->target->peer_member,
		.padding = agent->padding,
	};
}

/* The fields that the frames of all probes share. */
static struct frame probe_frame(const struct agent *agent)
{
	struct frame frame = {
		.kind = FRAME_UDP,
		.source_address = agent->options.address,
		.destination_address = agent->options.address, /* a placeholder of the right IP version */
		.destination_port = agent->options.udp_port,
		.ttl = agent->options.ttl,
		.dscp = agent->options.dscp,
		.ecn = agent->options.ecn,
		.may_fragment = agent->options.may_fragment,
	};

	agent_add_tag(agent, &frame);
	memcpy(frame.source_mac, agent->mac, FRAME_MAC_BYTES);
	return frame;
}

void agent_make_template(struct agent *agent)
{
	const struct agent_options *options = &agent->options;
	const struct tlv_request tlvs = {.wanted = options->tlvs,
					 .key = options->key,
					 .destination = options->address,
					 .padding = agent->padding};
	struct frame frame = probe_frame(agent);

	frame.payload_bytes = stamp_bytes(options->key);
	if (options->tlvs || agent->padding)
		frame.payload_bytes += tlv_request_bytes(&tlvs);
	frame_template_make(&frame, &agent->probe_template);
}

/*
 * Copies the header template and writes the base packet and the TLVs. The header fields that differ between probes are
 * written by write_headers().
 */
static void write_probe(const struct agent *agent, const struct prober_probe *probe, struct dp_packet *packet)
{
	struct stamp_request request = probe->request;
	uint8_t *bytes = dp_packet_bytes(packet), *payload = bytes + agent->probe_template.headers;
	size_t length = stamp_bytes(request.authenticated);

	frame_template_copy(&agent->probe_template, bytes);
	request.error = agent->error_estimate;
	stamp_write_request(&request, payload);
	if (request.authenticated)
		stamp_sign(probe->ttl ? agent->prober.trace_key : agent->options.key, payload);
	if (agent->options.tlvs || agent->padding || probe->padding) {
		const struct tlv_request tlvs = tlvs_of(agent, probe);

		tlv_write_request(&tlvs, payload + length);
		length += tlv_request_bytes(&tlvs);
	}
	dp_packet_set_length(packet, length);
}

/* Writes the headers of a path-discovery probe, which has its own TTL and length. */
static size_t write_trace(const struct agent *agent, const struct prober_probe *probe, const uint8_t *mac,
			  struct dp_packet *packet)
{
	struct frame frame = probe_frame(agent);

	frame.destination_address = probe->target->address;
	frame.source_port = probe->source_port;
	frame.ttl = probe->ttl;
	frame.payload = dp_packet_bytes(packet) + agent->probe_template.headers;
	frame.payload_bytes = dp_packet_length(packet);
	memcpy(frame.destination_mac, mac, FRAME_MAC_BYTES);
	return frame_write_udp(&frame, dp_packet_bytes(packet), dp_packet_room(packet));
}

/* Writes the headers of a packet that already has its payload's length. */
static void write_headers(const struct agent *agent, const struct prober_probe *probe, struct dp_packet *packet)
{
	const uint8_t *mac = agent->neighbours.items[probe->target->neighbour].mac;
	size_t length = probe->ttl ? write_trace(agent, probe, mac, packet)
				   : frame_template_finish(&agent->probe_template, mac, probe->target->address,
							   probe->source_port, dp_packet_bytes(packet));

	dp_packet_set_length(packet, length);
}

void agent_write_probes(const struct agent *agent, const struct prober_probe *probes, struct dp_packet **packets,
			uint16_t count)
{
	/*
	 * Writes all payloads before it computes the first checksum: a checksum loads wide words, which stalls while
	 * narrower stores to the same bytes are pending.
	 */
	for (uint16_t i = 0; i < count; i++)
		write_probe(agent, &probes[i], packets[i]);
	for (uint16_t i = 0; i < count; i++)
		write_headers(agent, &probes[i], packets[i]);
}
