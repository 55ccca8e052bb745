/* SPDX-License-Identifier: BSD-3-Clause */
#include "loop_world.h"

#include <string.h>

#include <criterion/criterion.h>

struct loop_world world;
struct worker worker;
struct line lines[2];

static struct dp_packet flood;

static void jump(void)
{
	if (world.jump && world.now >= world.jump_at) {
		world.now += world.jump;
		world.jump = world.jump_again;
		world.jump_again = 0;
	}
}

uint64_t dp_cycles(void)
{
	world.now += STEP;
	if (!world.jump_in_receive && !world.jump_in_transmit)
		jump();
	return world.now;
}

uint16_t dp_receive(uint16_t port, uint16_t queue, struct dp_packet **packets, uint16_t count)
{
	uint16_t received = 0;

	cr_assert_eq(queue, 0);
	world.now += port == 1 ? world.other_port : 0;
	if (world.stop_at && world.now >= world.stop_at)
		atomic_store(&worker.stop, true);
	for (; port == 1 && world.flood && received < count; received++)
		packets[received] = &flood;
	while (port == 0 && received < count && world.next_in < world.count &&
	       world.packets[world.next_in].arrives <= world.now) {
		world.packets[world.next_in].received = world.now;
		packets[received++] = &world.packets[world.next_in++];
	}
	if (world.jump_in_receive && port == 0)
		jump();
	return received;
}

uint16_t dp_transmit(uint16_t port, uint16_t queue, struct dp_packet **packets, uint16_t count)
{
	uint16_t sent = world.refusals > 0 && count > 7 ? count - 7 : count;

	cr_assert_eq(queue, 0);
	if (port == 0 && world.flood)
		return count;
	cr_assert_eq(port, 1);
	if (world.now >= world.refuse_from && world.now < world.refuse_until)
		return 0;
	if (world.jump_in_transmit)
		jump();
	world.refusals -= world.refusals > 0;
	for (uint16_t i = 0; i < sent; i++) {
		while (world.packets[world.left].freed)
			world.left++;
		cr_assert_eq(packets[i], &world.packets[world.left], "order");
		world.left++;
		packets[i]->left = world.now;
		packets[i]->gone = true;
	}
	world.now += world.send;
	return sent;
}

void dp_transmit_poll(uint16_t port, uint16_t queue)
{
	cr_assert_eq(queue, 0);
	if (port == 0)
		return;
	if (world.left > 0)
		world.packets[world.left - 1].prepared = world.now;
	world.preparations++;
	world.now += world.prepare;
}

void dp_packet_free(struct dp_packet *packet)
{
	packet->freed = true;
}

void dp_packets_free(struct dp_packet **packets, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		dp_packet_free(packets[i]);
}

struct dp_packet *dp_packet_copy(const struct dp_packet *packet)
{
	(void)packet;
	return NULL;
}

uint8_t *dp_packet_bytes(const struct dp_packet *packet)
{
	static uint8_t none;

	(void)packet;
	return &none;
}

uint16_t dp_packet_contiguous(const struct dp_packet *packet)
{
	(void)packet;
	return 0;
}

uint32_t dp_packet_length(const struct dp_packet *packet)
{
	(void)packet;
	return FRAME_BYTES;
}

bool dp_packet_stamp(const struct dp_packet *packet, const struct dp_stamps *stamps, uint64_t *nic)
{
	(void)stamps;
	*nic = packet->stamp;
	return packet->stamp != 0;
}

static struct dp_packet *slots[2][SLOTS + LINE_RX_BURST];
static struct line_burst bursts[2][SLOTS];
static struct queue_entry ring[2][SLOTS];
static struct queue_node nodes[2][SLOTS + 1];
static struct queue_wheel wheels[2];
bool modal;

void loop_make(bool with_modal, size_t count, uint64_t gap)
{
	memset(&world, 0, sizeof world);
	memset(lines, 0, sizeof lines);
	memset(&worker, 0, sizeof worker);
	memset(nodes, 0, sizeof nodes);
	memset(wheels, 0, sizeof wheels);
	modal = with_modal;
	world.now = 1;
	world.count = count;
	for (size_t i = 0; i < count; i++)
		world.packets[i].arrives = 1000 + i * gap;
	for (unsigned int d = 0; d < 2; d++) {
		if (modal)
			lines[d].queue = (struct queue){
				.ring = ring[d], .nodes = nodes[d], .wheel = &wheels[d], .capacity = SLOTS};
		else
			lines[d].packets = slots[d];
		lines[d].bursts = bursts[d];
		lines[d].mask = SLOTS - 1;
		lines[d].rx_port = (uint16_t)d;
		lines[d].tx_port = (uint16_t)!d;
		lines[d].delay_cycles = DELAY;
		lines[d].late_cycles = INT64_MAX;
		worker.lines[d] = &lines[d];
	}
	worker.line_count = 2;
	worker.modal = modal;
	worker.last_look = world.now;
	worker.gap_cycles = GAP;
	worker.stall_gap_cycles = STALL;
	worker.wait_cycles = WAIT;
	worker.prepare_cycles = PREPARE;
	worker.chunk_cycles = UINT64_MAX;
}

void loop_round(void)
{
	if (modal)
		worker_modal_rounds(&worker, 1);
	else
		worker_fixed_rounds(&worker, 1);
}

void loop_run(void)
{
	for (int i = 0; i < 1000000 && world.left < world.count; i++)
		loop_round();
	cr_assert_eq(world.left, world.count);
	worker_answer(&worker);
	cr_assert_eq(worker.snapshot.count[0].tx_packets, world.count);
	cr_assert_eq(worker.snapshot.held[0], 0);
}

uint64_t loop_due(const struct dp_packet *packet)
{
	return packet->received + STEP + DELAY;
}

uint64_t lateness_count(const uint64_t *buckets)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < LATENESS_BUCKETS; i++)
		count += buckets[i];
	return count;
}
