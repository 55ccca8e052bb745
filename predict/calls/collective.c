/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The algorithms of collectives, as Open MPI's and MPICH's decision functions choose them at few ranks: Thakur et al.,
 * "Optimization of Collective Communication Operations in MPICH", IJHPCA 19(1), 2005. All work on ranks relative to the
 * root, in rounds; a rank's sends of a round come before its receives.
 */
#include "calls_priv.h"

#include <errno.h>
#include <stdlib.h>

#include <predict/graph/match.h>

enum { RING_BYTES = 10000 }; /* from this size on, an allreduce and an allgather go around a ring */

struct transfer {
	uint32_t from, to; /* members, relative to the root */
	uint64_t bytes;
	uint32_t sent; /* node */
	struct message_ends ends;
};

struct round {
	struct execution_graph *graph;
	const struct loggps *model;
	const struct collective *collective;
	uint32_t *moments;
	struct transfer *transfers;
	size_t count, capacity; /* capacity: a rank sends at most one message a round */
	int code;
};

static uint32_t member_of(const struct round *round, uint32_t relative)
{
	return (uint32_t)(((uint64_t)relative + round->collective->root) % round->collective->ranks);
}

static void plan(struct round *round, uint32_t from, uint32_t to, uint64_t bytes)
{
	if (round->count < round->capacity)
		round->transfers[round->count++] = (struct transfer){.from = from, .to = to, .bytes = bytes};
}

static uint32_t after_overhead(const struct round *round, uint32_t member, uint32_t from)
{
	return execution_after(round->graph, round->collective->members[member], from, round->model->overhead_ns);
}

static int send(struct round *round, struct transfer *transfer)
{
	uint32_t member = member_of(round, transfer->from);

	transfer->sent = round->moments[member] = after_overhead(round, member, round->moments[member]);
	return transfer->sent ? 0 : -ENOMEM;
}

/* The receives of a round are posted at once: no one's wait for its own send holds up what it receives. */
static int carry(struct round *round, struct transfer *transfer)
{
	const uint32_t *members = round->collective->members;
	uint32_t from = member_of(round, transfer->from), to = member_of(round, transfer->to);
	struct envelope envelope = {.from = members[from], .to = members[to]};

	return message_transfer(round->graph, round->model, &envelope, transfer->bytes, transfer->sent,
				round->moments[to], &transfer->ends);
}

static int end(struct round *round, struct transfer *transfer)
{
	const uint32_t *members = round->collective->members;
	uint32_t from = member_of(round, transfer->from), to = member_of(round, transfer->to);
	uint32_t *sender = &round->moments[from], *receiver = &round->moments[to];

	*receiver = execution_last(round->graph, members[to], (uint32_t[]){*receiver, transfer->ends.arrived}, 2);
	*receiver = after_overhead(round, to, *receiver);
	if (transfer->ends.sender_done != transfer->sent)
		*sender = execution_last(round->graph, members[from], (uint32_t[]){*sender, transfer->ends.sender_done},
					 2);
	return *receiver && *sender ? 0 : -ENOMEM;
}

/* Makes the planned messages, and begins a new round. */
static void finish(struct round *round)
{
	static int (*const steps[])(struct round *, struct transfer *) = {send, carry, end};

	for (int step = 0; step < 3; step++)
		for (size_t i = 0; i < round->count && round->code == 0; i++)
			round->code = steps[step](round, &round->transfers[i]);
	round->count = 0;
}

static void dissemination(struct round *round, uint64_t bytes, bool grows)
{
	uint32_t ranks = round->collective->ranks;

	for (uint64_t step = 1; step < ranks; step *= 2) {
		uint64_t parts = step < ranks - step ? step : ranks - step;

		for (uint32_t rank = 0; rank < ranks; rank++)
			plan(round, rank, (uint32_t)((rank + step) % ranks), grows ? parts * bytes : bytes);
		finish(round);
	}
}

/* From the root down, each rank passes on what it and those below it need. */
static void tree_down(struct round *round, uint64_t bytes, bool parts)
{
	uint64_t ranks = round->collective->ranks, step = 1;

	while (step < ranks)
		step *= 2;
	for (step /= 2; step > 0; step /= 2) {
		for (uint64_t rank = 0; rank + step < ranks; rank += 2 * step) {
			uint64_t below = ranks - rank - step < step ? ranks - rank - step : step;

			plan(round, (uint32_t)rank, (uint32_t)(rank + step), parts ? below * bytes : bytes);
		}
		finish(round);
	}
}

static void tree_up(struct round *round, uint64_t bytes, bool parts)
{
	uint64_t ranks = round->collective->ranks;

	for (uint64_t step = 1; step < ranks; step *= 2) {
		for (uint64_t rank = 0; rank + step < ranks; rank += 2 * step) {
			uint64_t below = ranks - rank - step < step ? ranks - rank - step : step;

			plan(round, (uint32_t)(rank + step), (uint32_t)rank, parts ? below * bytes : bytes);
		}
		finish(round);
	}
}

static void ring(struct round *round, uint32_t rounds, uint64_t bytes)
{
	uint32_t ranks = round->collective->ranks;

	for (uint32_t i = 0; i < rounds; i++) {
		for (uint32_t rank = 0; rank < ranks; rank++)
			plan(round, rank, (rank + 1) % ranks, bytes);
		finish(round);
	}
}

/* Ranks beyond the largest power of two give their part to a neighbour first, and get the result last. */
static void doubling(struct round *round, uint64_t bytes)
{
	uint32_t ranks = round->collective->ranks, power = 1, rest;

	while (power <= ranks / 2)
		power *= 2;
	rest = ranks - power;
	for (uint32_t i = 0; i < rest; i++)
		plan(round, power + i, i, bytes);
	finish(round);
	for (uint32_t step = 1; step < power; step *= 2) {
		for (uint32_t rank = 0; rank < power; rank++)
			plan(round, rank, rank ^ step, bytes);
		finish(round);
	}
	for (uint32_t i = 0; i < rest; i++)
		plan(round, i, power + i, bytes);
	finish(round);
}

static void pairwise(struct round *round, uint64_t bytes)
{
	uint32_t ranks = round->collective->ranks;

	for (uint32_t step = 1; step < ranks; step++) {
		for (uint32_t rank = 0; rank < ranks; rank++)
			plan(round, rank, (rank + step) % ranks, bytes);
		finish(round);
	}
}

static void chain(struct round *round, uint64_t bytes)
{
	for (uint32_t rank = 0; rank + 1 < round->collective->ranks; rank++) {
		plan(round, rank, rank + 1, bytes);
		finish(round);
	}
}

static void run(struct round *round)
{
	const struct collective *collective = round->collective;
	uint32_t ranks = collective->ranks;
	uint64_t bytes = collective->bytes;

	switch (collective->kind) {
	case CALL_BARRIER:
		dissemination(round, 0, false);
		break;
	case CALL_BROADCAST:
		tree_down(round, bytes, false);
		break;
	case CALL_REDUCE:
		tree_up(round, bytes, false);
		break;
	case CALL_ALLREDUCE:
		if (bytes < RING_BYTES)
			doubling(round, bytes);
		else
			ring(round, 2 * (ranks - 1), (bytes + ranks - 1) / ranks);
		break;
	case CALL_GATHER:
		tree_up(round, bytes, true);
		break;
	case CALL_SCATTER:
		tree_down(round, bytes, true);
		break;
	case CALL_ALLGATHER:
		if (bytes * ranks < RING_BYTES)
			dissemination(round, bytes, true);
		else
			ring(round, ranks - 1, bytes);
		break;
	case CALL_ALLTOALL:
		pairwise(round, bytes);
		break;
	case CALL_SCAN:
		chain(round, bytes);
		break;
	case CALL_SEND:
	case CALL_SSEND:
	case CALL_RECEIVE:
	case CALL_WAIT:
		break;
	}
}

int collective_run(struct execution_graph *graph, const struct loggps *model, const struct collective *collective,
		   uint32_t *moments)
{
	struct round round = {
		.graph = graph,
		.model = model,
		.collective = collective,
		.moments = moments,
		.transfers = calloc(collective->ranks, sizeof *round.transfers),
		.capacity = collective->ranks,
	};

	if (!round.transfers)
		return -ENOMEM;
	run(&round);
	free(round.transfers);
	return round.code;
}
