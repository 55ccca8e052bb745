/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The algorithms of collectives, as Open MPI's and MPICH's decision functions choose them at few ranks: Thakur et al.,
 * "Optimization of Collective Communication Operations in MPICH", IJHPCA 19(1), 2005. All work on ranks relative to the
 * root, in rounds; a rank's sends of a round come before its receives.
 */
#include "calls_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <predict/graph/graph.h>

enum { RING_BYTES = 10000 };

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
	size_t count, capacity;
	int code;
};

static uint32_t member_of(const struct round *round, uint32_t relative)
{
	return (uint32_t)(((uint64_t)relative + round->collective->root) % round->collective->ranks);
}

static void plan(struct round *round, uint32_t from, uint32_t to, uint64_t bytes)
{
	struct transfer *all = array_grow(round->transfers, round->count, &round->capacity, sizeof *all);

	if (!all) {
		round->code = -ENOMEM;
		return;
	}
	round->transfers = all;
	all[round->count++] = (struct transfer){.from = from, .to = to, .bytes = bytes};
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

/* A message that has arrived costs its overhead, whether or not the rank's own sends are over. */
static int receive(struct round *round, struct transfer *transfer)
{
	uint32_t to = member_of(round, transfer->to), *moment = &round->moments[to];

	*moment = execution_later(round->graph, round->collective->members[to], *moment, transfer->ends.arrived);
	*moment = after_overhead(round, to, *moment);
	return *moment ? 0 : -ENOMEM;
}

static int complete(struct round *round, struct transfer *transfer)
{
	uint32_t from = member_of(round, transfer->from), *moment = &round->moments[from];

	if (transfer->ends.sender_done != transfer->sent)
		*moment = execution_later(round->graph, round->collective->members[from], *moment,
					  transfer->ends.sender_done);
	return *moment ? 0 : -ENOMEM;
}

/* Makes the planned messages, and begins a new round. */
static void finish(struct round *round)
{
	static int (*const steps[])(struct round *, struct transfer *) = {send, carry, receive, complete};

	for (size_t step = 0; step < sizeof steps / sizeof *steps; step++)
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
static void doubling(struct round *round)
{
	uint64_t bytes = round->collective->bytes;
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

static void alltoall_pairwise(struct round *round)
{
	uint32_t ranks = round->collective->ranks;

	for (uint32_t step = 1; step < ranks; step++) {
		for (uint32_t rank = 0; rank < ranks; rank++)
			plan(round, rank, (rank + step) % ranks, round->collective->bytes);
		finish(round);
	}
}

static void broadcast_chain(struct round *round)
{
	for (uint32_t rank = 0; rank + 1 < round->collective->ranks; rank++) {
		plan(round, rank, rank + 1, round->collective->bytes);
		finish(round);
	}
}

static void reduce_chain(struct round *round)
{
	for (uint32_t rank = round->collective->ranks - 1; rank > 0; rank--) {
		plan(round, rank, rank - 1, round->collective->bytes);
		finish(round);
	}
}

/* The root sends to, or receives from, one rank after the other. */
static void linear(struct round *round, uint64_t bytes, bool up)
{
	for (uint32_t rank = 1; rank < round->collective->ranks; rank++)
		plan(round, up ? rank : 0, up ? 0 : rank, bytes);
	finish(round);
}

/* ---- the algorithms of each call ---- */

static void dissemination_of_nothing(struct round *round)
{
	dissemination(round, 0, false);
}

static void broadcast_tree(struct round *round)
{
	tree_down(round, round->collective->bytes, false);
}

static void broadcast_linear(struct round *round)
{
	linear(round, round->collective->bytes, false);
}

static void reduce_tree(struct round *round)
{
	tree_up(round, round->collective->bytes, false);
}

static void reduce_linear(struct round *round)
{
	linear(round, round->collective->bytes, true);
}

static void up_and_down(struct round *round)
{
	reduce_tree(round);
	broadcast_tree(round);
}

static void allreduce_ring(struct round *round)
{
	uint32_t ranks = round->collective->ranks;

	ring(round, 2 * (ranks - 1), (round->collective->bytes + ranks - 1) / ranks);
}

static void gather_tree(struct round *round)
{
	tree_up(round, round->collective->bytes, true);
}

static void scatter_tree(struct round *round)
{
	tree_down(round, round->collective->bytes, true);
}

static void allgather_dissemination(struct round *round)
{
	dissemination(round, round->collective->bytes, true);
}

static void allgather_ring(struct round *round)
{
	ring(round, round->collective->ranks - 1, round->collective->bytes);
}

/* All messages at once. */
static void alltoall_linear(struct round *round)
{
	uint32_t ranks = round->collective->ranks;

	for (uint32_t step = 1; step < ranks; step++)
		for (uint32_t rank = 0; rank < ranks; rank++)
			plan(round, rank, (rank + step) % ranks, round->collective->bytes);
	finish(round);
}

/* from: the size of a whole result in bytes from which on this is the algorithm if none was chosen. */
static const struct algorithm {
	enum call_kind kind;
	const char *call, *name;
	void (*run)(struct round *);
	uint64_t from;
} algorithms[COLLECTIVE_ALGORITHMS] = {
	{CALL_BARRIER, "barrier", "dissemination", dissemination_of_nothing, 0},
	{CALL_BARRIER, "barrier", "doubling", doubling, UINT64_MAX},
	{CALL_BARRIER, "barrier", "tree", up_and_down, UINT64_MAX},
	{CALL_BROADCAST, "bcast", "tree", broadcast_tree, 0},
	{CALL_BROADCAST, "bcast", "chain", broadcast_chain, UINT64_MAX},
	{CALL_BROADCAST, "bcast", "linear", broadcast_linear, UINT64_MAX},
	{CALL_REDUCE, "reduce", "tree", reduce_tree, 0},
	{CALL_REDUCE, "reduce", "chain", reduce_chain, UINT64_MAX},
	{CALL_REDUCE, "reduce", "linear", reduce_linear, UINT64_MAX},
	{CALL_ALLREDUCE, "allreduce", "doubling", doubling, 0},
	{CALL_ALLREDUCE, "allreduce", "ring", allreduce_ring, RING_BYTES},
	{CALL_ALLREDUCE, "allreduce", "tree", up_and_down, UINT64_MAX},
	{CALL_GATHER, "gather", "tree", gather_tree, 0},
	{CALL_GATHER, "gather", "linear", reduce_linear, UINT64_MAX},
	{CALL_SCATTER, "scatter", "tree", scatter_tree, 0},
	{CALL_SCATTER, "scatter", "linear", broadcast_linear, UINT64_MAX},
	{CALL_ALLGATHER, "allgather", "dissemination", allgather_dissemination, 0},
	{CALL_ALLGATHER, "allgather", "ring", allgather_ring, RING_BYTES},
	{CALL_ALLTOALL, "alltoall", "pairwise", alltoall_pairwise, 0},
	{CALL_ALLTOALL, "alltoall", "linear", alltoall_linear, UINT64_MAX},
	{CALL_SCAN, "scan", "chain", broadcast_chain, 0},
};

const char *collective_name(size_t index, const char **call)
{
	*call = algorithms[index].call;
	return algorithms[index].name;
}

int collective_choose(struct collective_choice *choice, const char *text, struct error *err)
{
	char known[512] = "";
	size_t length = 0;

	for (size_t i = 0; i < COLLECTIVE_ALGORITHMS; i++) {
		const struct algorithm *algorithm = &algorithms[i];
		size_t call = strlen(algorithm->call);

		length += (size_t)snprintf(known + length, sizeof known - length, "%s%s=%s", i ? ", " : "",
					   algorithm->call, algorithm->name);
		if (strncmp(text, algorithm->call, call) == 0 && text[call] == '=' &&
		    strcmp(text + call + 1, algorithm->name) == 0) {
			choice->chosen[algorithm->kind] = (uint8_t)(i + 1);
			return 0;
		}
	}
	return error_set(err, EINVAL, "'%.40s' is no algorithm of a collective: expected one of %s", text, known);
}

/* The algorithm of a collective: the chosen one, else the last one from whose size on it is. */
static size_t find_algorithm(const struct collective_choice *choice, const struct collective *collective)
{
	uint64_t bytes = collective->bytes * (collective->kind == CALL_ALLGATHER ? collective->ranks : 1);
	size_t found = 0;

	if (choice->chosen[collective->kind])
		return choice->chosen[collective->kind] - 1U;
	for (size_t i = 0; i < COLLECTIVE_ALGORITHMS; i++)
		if (algorithms[i].kind == collective->kind && bytes >= algorithms[i].from)
			found = i;
	return found;
}

int collective_run(struct execution_graph *graph, const struct loggps *model, struct collective_choice *choice,
		   const struct collective *collective, uint32_t *moments)
{
	struct round round = {.graph = graph, .model = model, .collective = collective, .moments = moments};
	size_t algorithm = find_algorithm(choice, collective);

	choice->used[algorithm]++;
	algorithms[algorithm].run(&round);
	free(round.transfers);
	return round.code;
}
