/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/verdict/patterns.h>

#include <base/address.h>

static void print_host(const struct latency_matrix *live, uint32_t host, FILE *out)
{
	uint32_t rack = latency_live_rack_of(live, host);

	fputs(latency_matrix_host(live, host), out);
	if (rack != LATENCY_NO_RACK)
		fprintf(out, " in rack %s", latency_live_rack_name(live, rack));
}

static void print_stall(const struct latency_matrix *live, const struct pattern *pattern, FILE *out)
{
	fputs("Host ", out);
	print_host(live, pattern->from, out);
	fprintf(out, " stalls: it holds %.0f %% of the probes for over %d ms, up to %.0f ms; this is not the network",
		100 * pattern->share, LATENCY_STALL_US / 1000, pattern->us / 1e3);
}

static void print_hops(const struct pattern *pattern, FILE *out)
{
	char texts[2][ADDRESS_TEXT_BYTES];

	address_print(pattern->hop, texts[0]);
	address_print(pattern->next_hop, texts[1]);
	if (pattern->kind == PATTERN_LINK)
		fprintf(out, "The link between routers %s and %s ", texts[0], texts[1]);
	else
		fprintf(out, "Router %s ", texts[0]);
	if (pattern->us > 0)
		fprintf(out, "adds %.0f us to", pattern->us);
	else
		fprintf(out, "loses %.1f %% of the probes of", 100 * pattern->share);
	fprintf(out, " %u pairs that cross it", pattern->pairs);
}

static void print_place(const struct latency_matrix *live, const struct pattern *pattern, FILE *out)
{
	const char *rack = pattern->kind == PATTERN_HOST ? "" : latency_live_rack_name(live, pattern->from);

	if (pattern->kind == PATTERN_RACK) {
		fprintf(out, "Bad rack %s: bad inside and to other racks; with other racks", rack);
	} else if (pattern->kind == PATTERN_UPLINK) {
		fprintf(out, "Bad uplink of rack %s: good inside; with other racks", rack);
	} else if (pattern->kind == PATTERN_PATH) {
		fprintf(out, "Bad path from rack %s to rack %s:", rack, latency_live_rack_name(live, pattern->to));
	} else {
		fputs("Bad host ", out);
		print_host(live, pattern->from, out);
		fputs(pattern->end == PATTERN_SOURCE        ? ", when it probes others, not when they probe it:"
		      : pattern->end == PATTERN_DESTINATION ? ", when others probe it, not when it probes them:"
							    : ":",
		      out);
	}
	fprintf(out, " %u of %u pairs are bad", pattern->bad, pattern->pairs);
	if (pattern->unreachable)
		fprintf(out, ", %u of them unreachable", pattern->unreachable);
}

void pattern_print(const struct latency_matrix *live, const struct pattern *pattern, FILE *out)
{
	switch (pattern->kind) {
	case PATTERN_STALL:
		print_stall(live, pattern, out);
		break;
	case PATTERN_ROUTER:
	case PATTERN_LINK:
		print_hops(pattern, out);
		break;
	case PATTERN_RACK:
	case PATTERN_UPLINK:
	case PATTERN_HOST:
	case PATTERN_PATH:
	case PATTERN_KINDS:
		print_place(live, pattern, out);
		break;
	}
}

void pattern_print_name(const struct latency_matrix *live, const struct pattern *pattern, FILE *out)
{
	char texts[2][ADDRESS_TEXT_BYTES];

	switch (pattern->kind) {
	case PATTERN_HOST:
	case PATTERN_STALL:
		fputs(latency_matrix_host(live, pattern->from), out);
		break;
	case PATTERN_ROUTER:
	case PATTERN_LINK:
		address_print(pattern->hop, texts[0]);
		address_print(pattern->next_hop, texts[1]);
		fputs(texts[0], out);
		if (pattern->kind == PATTERN_LINK)
			fprintf(out, " to %s", texts[1]);
		break;
	case PATTERN_RACK:
	case PATTERN_UPLINK:
	case PATTERN_PATH:
		fputs(latency_live_rack_name(live, pattern->from), out);
		if (pattern->kind == PATTERN_PATH)
			fprintf(out, " to %s", latency_live_rack_name(live, pattern->to));
		break;
	case PATTERN_KINDS:
		break;
	}
}
