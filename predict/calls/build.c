/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rank goes on until it needs something that another rank has not done; that rank's turn wakes it. */
#include "calls_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/hash_table.h>
#include <predict/graph/graph.h>

/* What a rank waits for, or has a request for: a message, or a collective. It is used again after both ends took it. */
struct pending {
	uint32_t nodes[2]; /* message: sent, posted; after the match: done, arrived */
	uint32_t ranks[2]; /* message: sender, receiver */
	uint32_t next;     /* in the list of unused ones: number + 1 */
	uint32_t users;    /* ends that have not taken their node */
	uint64_t bytes;
	bool synchronous, matched;
	/* collective */
	struct collective collective;
	uint32_t entered;
	uint32_t line, first_rank; /* of the first call, for errors */
	uint32_t *moments;         /* NULL: a message */
};

struct rank_state {
	size_t at;     /* call */
	uint32_t part; /* request of an CALL_WAIT */
	uint32_t node;
	double clock_us;
	bool begun;       /* the call's first part is done */
	uint32_t pending; /* of the call that has begun */
	bool sends;
	struct hash_table requests; /* request to number of pending * 2 + (1 for a send) */
	struct hash_table sequence; /* communicator to the number of collectives in it */
	bool queued;
};

struct builder {
	const struct mpi_run *run;
	const struct loggps *model;
	struct collective_choice *choice;
	struct execution_graph *graph;
	struct error *err;
	struct rank_state *ranks;
	uint32_t *queue; /* ring of ranks that may go on */
	uint32_t queue_first, queue_count;
	struct matcher matcher;
	struct pending *pending;
	size_t pending_count, pending_capacity;
	uint32_t unused;
	struct hash_table collectives; /* of a communicator's n-th collective */
};

static int fail(const struct builder *builder, uint32_t rank, const char *text)
{
	const struct mpi_rank *list = &builder->run->ranks[rank];
	const struct mpi_call *call = &list->calls[builder->ranks[rank].at];

	return error_at(builder->err, (struct error_place){list->file, call->line, call_kind_name(call->kind)}, EINVAL,
			"rank %u: %s", rank, text);
}

static void wake(struct builder *builder, uint32_t rank)
{
	if (builder->ranks[rank].queued)
		return;
	builder->ranks[rank].queued = true;
	builder->queue[(builder->queue_first + builder->queue_count++) % builder->run->rank_count] = rank;
}

/* Returns the number of an unused pending, or UINT32_MAX if out of memory. */
static uint32_t new_pending(struct builder *builder, uint32_t users)
{
	uint32_t number = builder->unused;
	struct pending *all;

	if (number) {
		number--;
		builder->unused = builder->pending[number].next;
	} else {
		all = array_grow(builder->pending, builder->pending_count, &builder->pending_capacity, sizeof *all);
		if (!all || builder->pending_count >= UINT32_MAX / 2)
			return UINT32_MAX;
		builder->pending = all;
		number = (uint32_t)builder->pending_count++;
	}
	builder->pending[number] = (struct pending){.users = users};
	return number;
}

static void take(struct builder *builder, uint32_t number)
{
	struct pending *pending = &builder->pending[number];

	if (--pending->users)
		return;
	free(pending->moments);
	pending->moments = NULL;
	pending->next = builder->unused;
	builder->unused = number + 1;
}

/* Both ends of a message are there. */
static int transfer(struct builder *builder, uint32_t number)
{
	struct pending *pending = &builder->pending[number];
	struct envelope envelope = {.from = pending->ranks[0], .to = pending->ranks[1]};
	struct loggps model = *builder->model;
	struct message_ends ends;

	if (pending->synchronous)
		model.eager_bytes = 0;
	if (message_transfer(builder->graph, &model, &envelope, pending->bytes, pending->nodes[0], pending->nodes[1],
			     &ends) < 0)
		return -ENOMEM;
	pending->nodes[0] = ends.sender_done;
	pending->nodes[1] = ends.arrived;
	pending->matched = true;
	wake(builder, envelope.from);
	wake(builder, envelope.to);
	return 0;
}

/* Brings in a rank's end of a message. */
static int begin_message(struct builder *builder, uint32_t rank, const struct mpi_call *call)
{
	struct rank_state *state = &builder->ranks[rank];
	bool send = call->kind != CALL_RECEIVE;
	struct envelope envelope = {
		.from = send ? rank : (uint32_t)call->peer,
		.to = send ? (uint32_t)call->peer : rank,
		.tag = call->tag,
		.communicator = (uint32_t)hash_mix(call->communicator),
	};
	uint32_t number = new_pending(builder, 2), other = 0;
	struct pending *pending;
	int code = number == UINT32_MAX ? -ENOMEM : matcher_meet(&builder->matcher, envelope, send, number, &other);

	if (code < 0)
		return code;
	if (code == 1) {
		builder->pending[number].users = 1;
		take(builder, number);
		number = other;
	}
	pending = &builder->pending[number];
	pending->line = pending->line ? pending->line : call->line;
	if (send)
		state->node = execution_after(builder->graph, rank, state->node, builder->model->overhead_ns);
	if (!state->node)
		return -ENOMEM;
	pending->ranks[!send] = rank;
	pending->nodes[!send] = state->node;
	if (send) {
		pending->bytes = call->bytes;
		pending->synchronous = call->kind == CALL_SSEND;
	}
	state->pending = number;
	state->sends = send;
	return code == 1 ? transfer(builder, number) : 0;
}

/* The rank's number in the collective; the readers made sure that it is a member. */
static uint32_t member_of(const struct collective *collective, uint32_t rank)
{
	uint32_t member = 0;

	if (rank < collective->ranks && collective->members[rank] == rank)
		return rank;
	while (collective->members[member] != rank)
		member++;
	return member;
}

static int finish_collective(struct builder *builder, struct pending *pending)
{
	int code =
		collective_run(builder->graph, builder->model, builder->choice, &pending->collective, pending->moments);

	pending->matched = true;
	for (uint32_t member = 0; member < pending->collective.ranks; member++)
		wake(builder, pending->collective.members[member]);
	return code;
}

/* Returns the number of the collective that the rank's call takes part in, or UINT32_MAX if out of memory. */
static uint32_t find_collective(struct builder *builder, uint32_t rank, const struct mpi_call *call)
{
	struct hash_table *sequence = &builder->ranks[rank].sequence;
	const struct mpi_group *group = &builder->run->groups[call->group];
	uint32_t at = hash_table_first(sequence, call->communicator), turn = 0, number;
	uint64_t key;

	if (at == HASH_TABLE_NONE) {
		if (hash_table_insert(sequence, call->communicator, 1) < 0)
			return UINT32_MAX;
	} else {
		turn = hash_table_value(sequence, at);
		hash_table_set_value(sequence, at, turn + 1);
	}
	key = hash_mix(call->communicator) + turn;
	number = hash_table_find(&builder->collectives, key);
	if (number != HASH_TABLE_NONE)
		return number;
	number = new_pending(builder, group->size);
	if (number == UINT32_MAX || hash_table_insert(&builder->collectives, key, number) < 0)
		return UINT32_MAX;
	builder->pending[number].collective =
		(struct collective){call->kind, (uint32_t)call->peer, call->bytes, group->size, group->members};
	builder->pending[number].line = call->line;
	builder->pending[number].first_rank = rank;
	builder->pending[number].moments = calloc(group->size, sizeof *builder->pending[number].moments);
	return builder->pending[number].moments ? number : UINT32_MAX;
}

static int begin_collective(struct builder *builder, uint32_t rank, const struct mpi_call *call)
{
	struct rank_state *state = &builder->ranks[rank];
	uint32_t number = find_collective(builder, rank, call);
	struct pending *pending;
	char text[160];

	if (number == UINT32_MAX)
		return -ENOMEM;
	pending = &builder->pending[number];
	if (pending->collective.kind != call->kind || pending->collective.root != (uint32_t)call->peer) {
		snprintf(text, sizeof text, "rank %u is in %s with root %u at that point (line %u)",
			 pending->first_rank, call_kind_name(pending->collective.kind), pending->collective.root,
			 pending->line);
		return fail(builder, rank, text);
	}
	if (call->bytes > pending->collective.bytes)
		pending->collective.bytes = call->bytes;
	pending->moments[member_of(&pending->collective, rank)] = state->node;
	state->pending = number;
	state->sends = false;
	return ++pending->entered == pending->collective.ranks ? finish_collective(builder, pending) : 0;
}

/* Keeps what the call has begun under its request. A request that was never waited for is forgotten. */
static int keep_request(struct builder *builder, struct rank_state *state, uint64_t request)
{
	uint32_t value = state->pending * 2 + state->sends, at = hash_table_first(&state->requests, request);

	if (at == HASH_TABLE_NONE)
		return hash_table_insert(&state->requests, request, value);
	take(builder, hash_table_value(&state->requests, at) / 2);
	hash_table_set_value(&state->requests, at, value);
	return 0;
}

/* Finds what the rank waits for. Returns 1, or 0 if the request is null. */
static int begin_wait(struct rank_state *state, uint64_t request)
{
	uint32_t at = hash_table_first(&state->requests, request), value;

	if (at == HASH_TABLE_NONE)
		return 0;
	value = hash_table_value(&state->requests, at);
	hash_table_remove(&state->requests, at);
	state->pending = value / 2;
	state->sends = value & 1;
	return 1;
}

/* The node at which the rank has what it waits for, EXECUTION_START if that is not there yet. */
static uint32_t ready_node(const struct builder *builder, uint32_t rank)
{
	const struct rank_state *state = &builder->ranks[rank];
	const struct pending *pending = &builder->pending[state->pending];

	if (state->sends && !pending->synchronous && pending->bytes <= builder->model->eager_bytes)
		return pending->nodes[0];
	if (!pending->matched)
		return EXECUTION_START;
	return pending->moments ? pending->moments[member_of(&pending->collective, rank)]
				: pending->nodes[state->sends ? 0 : 1];
}

/* The computation before the call, and the call's first part. Returns 1 if it must wait, 0 if it is over, or -errno. */
static int begin(struct builder *builder, uint32_t rank, const struct mpi_call *call)
{
	struct rank_state *state = &builder->ranks[rank];
	double us = call->begin_us - state->clock_us;
	bool is_first = state->part == 0;
	int code;

	if (is_first && us < -1)
		return fail(builder, rank, "begins before the end of the call before it: the clock went back");
	if (is_first && us > 0)
		state->node = execution_after(builder->graph, rank, state->node, us * 1000);
	if (!state->node)
		return -ENOMEM;
	if (call->kind == CALL_WAIT)
		return call->count ? begin_wait(state, call->request + (uint64_t)state->part * CALL_REQUEST_BYTES) : 0;
	code = call->kind < CALL_WAIT ? begin_message(builder, rank, call) : begin_collective(builder, rank, call);
	if (code < 0 || call->request == CALL_NO_REQUEST)
		return code < 0 ? code : 1;
	return keep_request(builder, state, call->request);
}

/* The rank takes what it has waited for; a received message costs its overhead. Returns the node after that. */
static uint32_t receive(struct builder *builder, uint32_t rank, uint32_t ready)
{
	struct rank_state *state = &builder->ranks[rank];
	bool message = !state->sends && !builder->pending[state->pending].moments;
	double ns = message ? builder->model->overhead_ns : 0;

	take(builder, state->pending);
	return execution_add(builder->graph, rank, (struct execution_edge){.from = state->node, .ns = ns},
			     (struct execution_edge){.from = ready, .ns = ns});
}

/* Lets a rank go on as far as it can. */
static int advance(struct builder *builder, uint32_t rank)
{
	struct rank_state *state = &builder->ranks[rank];
	const struct mpi_rank *list = &builder->run->ranks[rank];

	while (state->at < list->count) {
		const struct mpi_call *call = &list->calls[state->at];
		int code = state->begun ? 1 : begin(builder, rank, call);
		uint32_t ready;

		if (code < 0)
			return code;
		state->begun = code == 1;
		ready = state->begun ? ready_node(builder, rank) : EXECUTION_START;
		if (state->begun && ready == EXECUTION_START)
			return 0;
		if (state->begun)
			state->node = receive(builder, rank, ready);
		state->begun = false;
		if (call->kind == CALL_WAIT && state->part + 1 < call->count) {
			state->part++;
		} else {
			state->part = 0;
			state->clock_us = call->end_us;
			state->at++;
		}
		if (!state->node)
			return -ENOMEM;
	}
	return 0;
}

/* A message that nobody received is an error too. */
static int check_messages(const struct builder *builder)
{
	for (size_t i = 0; i < builder->pending_count; i++) {
		const struct pending *pending = &builder->pending[i];
		uint32_t rank = pending->ranks[pending->nodes[0] ? 0 : 1];

		if (pending->users && !pending->moments && !pending->matched)
			return error_at(builder->err,
					(struct error_place){builder->run->ranks[rank].file, pending->line, NULL},
					EINVAL, "rank %u: the other end of this message is missing", rank);
	}
	return 0;
}

/* All ranks have gone as far as they could. Each must be at its end; then comes its last computation. */
static int finish(struct builder *builder)
{
	for (uint32_t rank = 0; rank < builder->run->rank_count; rank++) {
		struct rank_state *state = &builder->ranks[rank];
		const struct mpi_rank *list = &builder->run->ranks[rank];

		if (state->at < list->count)
			return fail(builder, rank,
				    "waits for ever: its other end is missing, or ranks wait for each other");
		if (list->end_us > state->clock_us &&
		    !execution_after(builder->graph, rank, state->node, (list->end_us - state->clock_us) * 1000))
			return -ENOMEM;
	}
	return check_messages(builder);
}

static int build(struct builder *builder)
{
	uint32_t ranks = builder->run->rank_count;
	int code = 0;

	for (uint32_t rank = 0; rank < ranks && code == 0; rank++) {
		struct rank_state *state = &builder->ranks[rank];

		state->clock_us = builder->run->ranks[rank].start_us;
		state->node = execution_after(builder->graph, rank, EXECUTION_START, 0);
		code = state->node ? 0 : -ENOMEM;
		wake(builder, rank);
	}
	while (code == 0 && builder->queue_count > 0) {
		uint32_t rank = builder->queue[builder->queue_first];

		builder->queue_first = (builder->queue_first + 1) % ranks;
		builder->queue_count--;
		builder->ranks[rank].queued = false;
		code = advance(builder, rank);
	}
	return code < 0 ? code : finish(builder);
}

static void free_builder(struct builder *builder)
{
	for (uint32_t rank = 0; builder->ranks && rank < builder->run->rank_count; rank++) {
		hash_table_free(&builder->ranks[rank].requests);
		hash_table_free(&builder->ranks[rank].sequence);
	}
	for (size_t i = 0; i < builder->pending_count; i++)
		free(builder->pending[i].moments);
	free(builder->pending);
	free(builder->ranks);
	free(builder->queue);
	hash_table_free(&builder->collectives);
	matcher_free(&builder->matcher);
}

int mpi_build(struct mpi_run *run, const struct loggps *model, struct execution_graph *graph, struct error *err)
{
	struct builder builder = {.run = run, .model = model, .choice = &run->choice, .graph = graph, .err = err};
	int code = execution_graph_init(graph, run->rank_count);

	builder.ranks = calloc(run->rank_count, sizeof *builder.ranks);
	builder.queue = calloc(run->rank_count, sizeof *builder.queue);
	if (!builder.ranks || !builder.queue)
		code = -ENOMEM;
	if (code == 0)
		code = loggps_check(model, run->rank_count, err);
	if (code == 0)
		code = build(&builder);
	if (code == -ENOMEM)
		error_set(err, ENOMEM, "out of memory");
	free_builder(&builder);
	return code;
}
