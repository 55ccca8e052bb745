/* SPDX-License-Identifier: BSD-3-Clause */
#include "rings.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include <criterion/criterion.h>

#include <rte_cycles.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf_dyn.h>

#include <dp/eal.h>
#include <dp/port.h>
#include <injector/line/capture.h>

static struct rte_ring *make_ring(const char *name, unsigned int size)
{
	struct rte_ring *ring = rte_ring_create(name, size, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);

	cr_assert_not_null(ring);
	return ring;
}

static void make_port(struct rings *rings, int port, unsigned int out_ring)
{
	static const char *const names[] = {"portA", "portB"}, *const in[] = {"a_in", "b_in"},
				 *const out[] = {"a_out", "b_out"};
	struct rte_eth_conf configuration = {0};
	int id;

	rings->in[port] = make_ring(in[port], 8192);
	rings->out[port] = make_ring(out[port], out_ring ? out_ring : 8192);
	id = rte_eth_from_rings(names[port], &rings->in[port], 1, &rings->out[port], 1, 0);
	cr_assert_geq(id, 0);
	rings->ports[port] = (uint16_t)id;
	cr_assert_eq(rte_eth_dev_configure(rings->ports[port], 1, 1, &configuration), 0);
	cr_assert_eq(rte_eth_rx_queue_setup(rings->ports[port], 0, 512, 0, NULL, rings->pool), 0);
	cr_assert_eq(rte_eth_tx_queue_setup(rings->ports[port], 0, 512, 0, NULL), 0);
	cr_assert_eq(rte_eth_dev_start(rings->ports[port]), 0);
}

static void make_rules(struct rings *rings, int direction, const struct rings_options *options)
{
	struct error err = {0};
	size_t count = 0;

	while (count < sizeof options->rules / sizeof *options->rules && options->rules[count])
		count++;
	if (count == 0)
		return;
	rings->rules[direction] = injector_rules_create(options->rules, count, &options->modes, &rings->clock, &err);
	cr_assert_not_null(rings->rules[direction], "%s", err.text);
}

void rings_open(struct rings *rings, const struct rings_options *options)
{
	struct dp_eal_options eal = {.workers = 2, .memory_MiB = 128};
	unsigned int lcores[2];
	struct injector_settings settings = {
		.lcore_count = options->lcores ? options->lcores : 1,
		.slots = options->slots ? options->slots : 16384,
		.delay_us = {options->delay_us[0], options->delay_us[1]},
		.stall_us = options->stall_us > 0 ? options->stall_us : 1e6,
		.hiccup_ns = options->hiccup_ns > 0 ? options->hiccup_ns : 1e9,
		.stamps = {{.offset = -1}, {.offset = -1}},
	};
	struct error err = {0};

	memset(rings, 0, sizeof *rings);
	rings->frame_bytes = options->frame_bytes ? options->frame_bytes : 60;
	cr_assert_eq(dp_eal_start(&eal, &err), 0, "%s", err.text);
	rings->pool = (struct rte_mempool *)dp_pool_create("pool", options->frame_bytes ? 4095 : 32767,
							   options->frame_bytes ? dp_pool_bytes(9000) : 256, &err);
	cr_assert_not_null(rings->pool, "%s", err.text);
	cr_assert_eq(dp_clock_calibrate(&rings->clock, (struct ns){INT64_C(20000000)}, &err), 0);
	make_port(rings, 0, options->out_ring);
	make_port(rings, 1, options->out_ring);
	rings->stamps.offset = -1;
	if (options->stamps)
		cr_assert_eq(rte_mbuf_dyn_rx_timestamp_register(&rings->stamps.offset, &rings->stamps.flag), 0);
	for (int i = 0; i < 2; i++) {
		lcores[i] = dp_eal_worker((unsigned int)i);
		if (injector_modes_wanted(&options->modes)) {
			rings->modes[i] = injector_modes_create(&options->modes, &rings->clock, &err);
			cr_assert_not_null(rings->modes[i], "%s", err.text);
		}
		settings.modes[i] = rings->modes[i];
		make_rules(rings, i, options);
		settings.rules[i] = rings->rules[i];
		settings.stamps[i] = rings->stamps;
	}
	if (options->capture) {
		rings->capture = injector_capture_create(options->capture, &rings->clock, &err);
		cr_assert_not_null(rings->capture, "%s", err.text);
		cr_assert_eq(injector_capture_start(rings->capture, &err), 0, "%s", err.text);
		if (options->size_limit) {
			signal(SIGXFSZ, SIG_IGN);
			cr_assert_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){options->size_limit, RLIM_INFINITY}), 0);
		}
	}
	settings.capture = rings->capture;
	settings.port_a = rings->ports[0];
	settings.port_b = rings->ports[1];
	settings.lcores = lcores;
	rings->injector = injector_create(&settings, &rings->clock, &err);
	cr_assert_not_null(rings->injector, "%s", err.text);
	if (options->stamps) {
		for (int i = 0; i < 2; i++)
			injector_set_nic_clock(rings->injector, i, rte_rdtsc(), rte_rdtsc(), 1.0);
	}
}

void rings_start(struct rings *rings)
{
	struct error err = {0};

	cr_assert_eq(injector_start(rings->injector, &err), 0, "%s", err.text);
}

void rings_close(struct rings *rings)
{
	struct rte_mbuf *packet;
	struct error err = {0};

	injector_stop(rings->injector);
	cr_assert_eq(injector_capture_close(rings->capture, &err), 0, "%s", err.text);
	injector_destroy(rings->injector);
	for (int i = 0; i < 2; i++) {
		injector_modes_destroy(rings->modes[i]);
		injector_rules_destroy(rings->rules[i]);
		while (rte_ring_sc_dequeue(rings->in[i], (void **)&packet) == 0)
			rte_pktmbuf_free(packet);
		while (rte_ring_sc_dequeue(rings->out[i], (void **)&packet) == 0)
			rte_pktmbuf_free(packet);
		rte_eth_dev_stop(rings->ports[i]);
		rte_eth_dev_close(rings->ports[i]);
		rte_ring_free(rings->in[i]);
		rte_ring_free(rings->out[i]);
	}
	cr_assert_eq(rte_mempool_in_use_count(rings->pool), 0, "every buffer came back");
	rte_mempool_free(rings->pool);
	dp_eal_stop();
}

struct rings_payload *rings_payload(struct rte_mbuf *packet)
{
	return rte_pktmbuf_mtod(packet, struct rings_payload *);
}

bool rings_send(struct rings *rings, int port, uint64_t sequence)
{
	struct rte_mbuf *packet = rte_pktmbuf_alloc(rings->pool);
	struct rings_payload *payload;

	if (!packet)
		return false;
	payload = (struct rings_payload *)rte_pktmbuf_append(packet, (uint16_t)rings->frame_bytes);
	cr_assert_not_null(payload, "a buffer holds the frame");
	memset(payload, (int)(sequence & 0xff), rings->frame_bytes);
	payload->sequence = sequence;
	payload->sent = rte_rdtsc();
	if (rings->stamps.offset >= 0) {
		*RTE_MBUF_DYNFIELD(packet, rings->stamps.offset, uint64_t *) = payload->sent;
		packet->ol_flags |= rings->stamps.flag;
	}
	if (rte_ring_sp_enqueue(rings->in[port], packet) == 0)
		return true;
	rte_pktmbuf_free(packet);
	return false;
}

unsigned int rings_receive(struct rings *rings, int port, struct rte_mbuf **packets, unsigned int count)
{
	return rte_ring_sc_dequeue_burst(rings->out[port], (void **)packets, count, NULL);
}
