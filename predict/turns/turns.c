/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/json.h>
#include <base/number.h>

#include "turns_priv.h"

/* Returns the port with the most messages of servers, 0 if there is none, or -ENOMEM. */
static int find_port(const struct flows *flows)
{
	uint64_t *messages = calloc(UINT16_MAX + 1, sizeof *messages);
	int best = 0;

	if (!messages)
		return -ENOMEM;
	for (size_t i = 0; i < flows->count; i++) {
		const struct side *server = &flows->items[i].sides[!flows->items[i].client];

		messages[server->port] += server->count;
		if (messages[server->port] > messages[best])
			best = server->port;
	}
	free(messages);
	return best;
}

static int check_packets(const char *name, const struct flows *flows, struct error *err)
{
	if (flows->count > 0)
		return 0;
	if (flows->broken > 0)
		return error_set(err, EINVAL,
				 "%s: no TCP packets; %" PRIu64 " of %" PRIu64
				 " packets are cut short or fragmented: capture at least 54 bytes of each (IPv6: 74)",
				 name, flows->broken, flows->packets);
	return error_set(err, EINVAL, "%s: no TCP packets among %" PRIu64 " packets", name, flows->packets);
}

/* Connections of which only one direction was captured. */
static int check_directions(const char *name, const struct flows *flows, uint16_t port, struct error *err)
{
	uint64_t one = 0, both = 0;

	for (size_t i = 0; i < flows->count; i++) {
		const struct flow *flow = &flows->items[i];

		if (port && flow->sides[0].port != port && flow->sides[1].port != port)
			continue;
		if (flow->sides[0].seen && flow->sides[1].seen)
			both++;
		else
			one += flow->sides[0].count + flow->sides[1].count > 0;
	}
	if (one > both)
		return error_set(err, EINVAL,
				 "%s: %" PRIu64 " of %" PRIu64
				 " connections have packets in one direction only: capture both directions",
				 name, one, one + both);
	return 0;
}

static int compare_starts(const void *a, const void *b)
{
	const uint64_t *p = a, *q = b;

	return *p < *q ? -1 : *p > *q;
}

/* A connection that was captured on both sides of an address translation has the same sequence numbers twice. */
static int check_copies(const char *name, const struct flows *flows, struct error *err)
{
	uint64_t *starts = calloc(flows->count + 1, sizeof *starts), copies = 0;
	size_t count = 0;

	if (!starts)
		return error_set(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < flows->count; i++) {
		const struct flow *flow = &flows->items[i];

		if (flow->sides[0].greeted && flow->sides[1].greeted)
			starts[count++] =
				(uint64_t)flow->sides[flow->client].start << 32 | flow->sides[!flow->client].start;
	}
	qsort(starts, count, sizeof *starts, compare_starts);
	for (size_t i = 1; i < count; i++)
		copies += starts[i] == starts[i - 1];
	free(starts);
	if (copies == 0)
		return 0;
	return error_set(err, EINVAL,
			 "%s: %" PRIu64
			 " connection%s in the capture twice, with other addresses (address translation): "
			 "capture on one interface",
			 name, copies, copies == 1 ? " is" : "s are");
}

static int check_turns(const char *name, const struct turns *turns, struct error *err)
{
	if (turns->repeated * 5 > turns->segments * 2)
		return error_set(err, EINVAL,
				 "%s: %" PRIu64 " of %" PRIu64
				 " segments are in the capture more than once: capture on one interface",
				 name, turns->repeated, turns->segments);
	if (!isfinite(turns->service_ns))
		return error_set(err, EINVAL, "%s: no request to port %u has a response", name, turns->port);
	return 0;
}

int turns_read(struct packets *packets, const char *name, uint16_t port, struct turns *turns, struct error *err)
{
	struct flows flows = {0};
	int code = packets ? flows_read(packets, &flows, err) : error_code(err, EINVAL), served;

	*turns = (struct turns){0};
	if (code == 0)
		code = check_packets(name, &flows, err);
	if (code == 0)
		code = check_directions(name, &flows, port, err);
	if (code == 0)
		code = check_copies(name, &flows, err);
	served = code == 0 && port == 0 ? find_port(&flows) : port;
	if (code == 0 && (served < 0 || flows_pair(&flows, (uint16_t)served, turns) < 0))
		code = error_set(err, ENOMEM, "out of memory");
	if (code == 0)
		code = check_turns(name, turns, err);
	flows_free(&flows);
	packets_close(packets);
	return code;
}

void turns_free(struct turns *turns)
{
	free(turns->hosts);
	free(turns->connections);
	free(turns->turns);
	*turns = (struct turns){0};
}

bool turns_is_capture(const char *path)
{
	/* Of pcap with stamps of us and ns, in both byte orders, and of pcapng. */
	static const unsigned char magic[][4] = {{0xa1, 0xb2, 0xc3, 0xd4},
						 {0xd4, 0xc3, 0xb2, 0xa1},
						 {0xa1, 0xb2, 0x3c, 0x4d},
						 {0x4d, 0x3c, 0xb2, 0xa1},
						 {0x0a, 0x0d, 0x0d, 0x0a}};
	FILE *file = fopen(path, "rb");
	unsigned char found[4];
	bool is = false;

	if (!file)
		return false;
	if (fread(found, sizeof found, 1, file) == 1)
		for (size_t i = 0; i < sizeof magic / sizeof magic[0]; i++)
			is = is || memcmp(found, magic[i], sizeof found) == 0;
	fclose(file);
	return is;
}

/* Connections by how their turns were found, and the most requests that one had outstanding. */
static void describe_connections(const struct turns *turns, size_t *by_messages, uint32_t *outstanding)
{
	*by_messages = *outstanding = 0;
	for (size_t i = 0; i < turns->connection_count; i++) {
		*by_messages += turns->connections[i].by_messages;
		if (turns->connections[i].outstanding > *outstanding)
			*outstanding = turns->connections[i].outstanding;
	}
}

/* Prints a count and a text if the count is not 0. */
static void print_count(uint64_t count, const char *one, const char *several, FILE *out)
{
	if (count > 0)
		fprintf(out, "%" PRIu64 " %s\n", count, count == 1 ? one : several);
}

static void print_host(const struct turns *turns, const struct turns_host *host, FILE *out)
{
	char address[ADDRESS_TEXT_BYTES];

	address_print(host->address, address);
	fprintf(out, "%s %s: ", host->server ? "Server" : "Client", address);
	if (host->overlapping == 0)
		fputs("requests never overlap", out);
	else
		fprintf(out, "%s: %.3g %% of %" PRIu64 " overlapping requests leave in another order than they came",
			host->serial ? "one request at a time" : "in parallel, or in batches",
			100 * (double)host->overtaken / (double)host->overlapping, host->overlapping);
	if (host->server && host->serial)
		fprintf(out, "; busy %.3g %% of the run", 100 * host->busy_ns / turns->run_ns);
	else if (host->server)
		fprintf(out, "; %.3g requests there on average", host->busy_ns / turns->run_ns);
	else
		fprintf(out, "; round trip from the capture point %.4g us to the client, %.4g us to the server",
			host->client_ns / 1000, host->server_ns / 1000);
	fputc('\n', out);
}

enum { HOSTS_PRINTED = 8 };

void turns_print(const struct turns *turns, FILE *out)
{
	uint32_t outstanding;
	size_t by_messages;

	describe_connections(turns, &by_messages, &outstanding);
	fprintf(out, "Port %u: %zu connection%s, %zu turns (%zu connection%s by single messages), ", turns->port,
		turns->connection_count, number_s(turns->connection_count), turns->turn_count, by_messages,
		number_s(by_messages));
	fprintf(out, "at most %u outstanding on one\n", outstanding);
	if (turns->loop == TURNS_OPEN)
		fputs("Open loop: requests do not wait for responses, so that added latency is added to each response "
		      "and does not slow the run\n",
		      out);
	else
		fprintf(out,
			"Closed loop: requests wait for responses; think time %.4g us, response time %.4g us "
			"(medians)\n",
			turns->think_ns / 1000, turns->service_ns / 1000);
	for (size_t i = 0; i < turns->host_count && i < HOSTS_PRINTED; i++)
		print_host(turns, &turns->hosts[i], out);
	if (turns->host_count > HOSTS_PRINTED)
		fprintf(out, "and %zu more hosts\n", turns->host_count - HOSTS_PRINTED);
	print_count(turns->repeated, "segment was retransmitted: its delay counts as computation",
		    "segments were retransmitted: their delay counts as computation", out);
	print_count(turns->missing, "segment was not captured", "segments were not captured", out);
	print_count(turns->unanswered, "request has no response in the capture",
		    "requests have no response in the capture", out);
	print_count(turns->long_messages, "message is above 14,480 bytes: further round trips in it are not modelled",
		    "messages are above 14,480 bytes: further round trips in them are not modelled", out);
	print_count(turns->partial, "connection began before the capture", "connections began before the capture", out);
	print_count(turns->others, "connection to another port is not used", "connections to other ports are not used",
		    out);
}

static json_t *hosts_json(const struct turns *turns)
{
	json_t *array = json_array();

	for (size_t i = 0; i < turns->host_count; i++) {
		const struct turns_host *host = &turns->hosts[i];
		char address[ADDRESS_TEXT_BYTES];

		address_print(host->address, address);
		json_array_append_new(array,
				      json_pack("{s:s, s:b, s:b, s:I, s:I, s:o, s:o, s:o}", "address", address,
						"server", host->server, "serial", host->serial, "overlapping",
						(json_int_t)host->overlapping, "overtaken", (json_int_t)host->overtaken,
						"busy_share",
						json_number_or_null(host->server ? host->busy_ns / turns->run_ns : NAN),
						"client_rtt_us", json_number_or_null(host->client_ns / 1000),
						"server_rtt_us", json_number_or_null(host->server_ns / 1000)));
	}
	return array;
}

json_t *turns_json(const struct turns *turns)
{
	uint32_t outstanding;
	size_t by_messages;

	describe_connections(turns, &by_messages, &outstanding);
	return json_pack("{s:i, s:s, s:I, s:I, s:I, s:i, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I}", "port",
			 turns->port, "loop", turns->loop == TURNS_OPEN ? "open" : "closed", "connections",
			 (json_int_t)turns->connection_count, "by_messages", (json_int_t)by_messages, "turns",
			 (json_int_t)turns->turn_count, "outstanding", (int)outstanding, "think_us",
			 json_number_or_null(turns->think_ns / 1000), "response_us",
			 json_number_or_null(turns->service_ns / 1000), "hosts", hosts_json(turns), "retransmitted",
			 (json_int_t)turns->repeated, "missing", (json_int_t)turns->missing, "unanswered",
			 (json_int_t)turns->unanswered, "long_messages", (json_int_t)turns->long_messages, "partial",
			 (json_int_t)turns->partial, "other_connections", (json_int_t)turns->others);
}
