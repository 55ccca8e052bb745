/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passes the changes to the structured solver, which has one group for each class of a job. Without preemption, a
 * placed task is pinned: it leaves its group, and its slot is subtracted from the capacity of its machine (a "column"
 * of the solver), so that the solver contains only tasks that may still move.
 */
#include <errno.h>
#include <stdlib.h>

#include "flownet_priv.h"

static struct net_class *add_class(struct flownet *net, uint32_t job, const struct net_member *member)
{
	struct net_job *entry = &net->jobs[job];
	struct net_class *added;

	if (entry->class_count > entry->more_room) {
		struct net_class *more = reallocarray(entry->more, entry->class_count, sizeof *more);

		if (!more)
			return NULL;
		entry->more = more;
		entry->more_room = entry->class_count;
	}
	added = net_class_at(entry, entry->class_count);
	*added = (struct net_class){.root = member->root, .unscheduled_cost = member->unscheduled_cost};
	if (net_group_take(net, job, &added->group) != 0)
		return NULL;
	entry->class_count++;
	return added;
}

/*
 * Collects the running arcs (from tasks to the machines where they run) of members first..end-1. Members with equal
 * machine and cost share one arc. A member needs no running arc if the row has an arc to its machine at the same cost:
 * the solver keeps the member's unit on the machine over that arc. Returns the number of arcs, or -ENOMEM.
 */
static int32_t collect_running(struct flownet *net, int32_t machine_limit, size_t first, size_t end)
{
	size_t count = 0;

	if (net_reserve((void **)&net->running, &net->running_room, end - first, sizeof *net->running) != 0)
		return -ENOMEM;
	for (size_t i = first; i < end; i++) {
		const struct net_member *member = &net->members[i];
		struct structured_running *last = count > 0 ? &net->running[count - 1] : NULL;

		if (member->running_cost == FLOWNET_NONE ||
		    (!member->discounted && member->running_cost <= machine_limit))
			continue;
		if (last && last->column == member->machine && last->cost == member->running_cost)
			last->units++;
		else
			net->running[count++] = (struct structured_running){member->machine, member->running_cost, 1};
	}
	return (int32_t)count;
}

/* FNV-1a over the arcs; 0 when there are none. */
static uint64_t digest_running(const struct flownet *net, int32_t count)
{
	uint64_t digest = count > 0 ? UINT64_C(0xcbf29ce484222325) : 0;

	for (int32_t i = 0; i < count; i++) {
		const int32_t words[] = {net->running[i].column, net->running[i].cost, net->running[i].units};

		for (int w = 0; w < 3; w++)
			digest = (digest ^ (uint32_t)words[w]) * UINT64_C(0x100000001b3);
	}
	return digest;
}

static int32_t unscheduled_capacity(const struct flownet *net, const struct net_job *job)
{
	int32_t capacity = 1;

	if (net->settings.unscheduled_capacity > 0)
		return net->settings.unscheduled_capacity;
	while (capacity < (int32_t)job->task_limit)
		capacity *= 2; /* a power of two, so that the capacity seldom changes */
	return capacity;
}

/* Appends the arcs, times the weight, to net->weighted, which has space for them. Returns their new place. */
static const struct arc *weigh(struct flownet *net, const struct arc *arcs, size_t count, int32_t weight, size_t *used)
{
	struct arc *out = net->weighted + *used;

	if (weight == 1)
		return arcs;
	for (size_t i = 0; i < count; i++)
		out[i] = (struct arc){arcs[i].target, arcs[i].cost * weight};
	*used += count;
	return out;
}

/* `weight`: of the class's job. */
static int set_whole_row(struct flownet *net, const struct net_class *entry, const struct cost_row *costs,
			 int32_t weight, int32_t running_count)
{
	size_t used = 0;
	struct structured_row row = {
		.aggregator_cost = 0,
		.unscheduled_cost = entry->unscheduled_cost * weight,
		.unscheduled_capacity = entry->unscheduled_capacity,
		.running_count = running_count,
		.running = net->running,
	};

	if (net_reserve((void **)&net->weighted, &net->weighted_room, costs->machine_count + costs->rack_count + 1,
			sizeof *net->weighted) != 0)
		return -ENOMEM;
	if (!entry->root) {
		row.aggregator_cost = costs->cluster_cost == COST_ABSENT ? ARC_ABSENT : costs->cluster_cost * weight;
		row.columns = weigh(net, costs->machines, costs->machine_count, weight, &used);
		row.column_count = (int32_t)costs->machine_count;
		row.blocks = weigh(net, costs->racks, costs->rack_count, weight, &used);
		row.block_count = (int32_t)costs->rack_count;
	}
	return structured_set_row(net->solver, entry->group, &row);
}

/* The row of costs of a class of the job. */
static const struct cost_row *class_row(struct flownet *net, uint32_t job, bool root)
{
	static const struct cost_row root_row = {.machine_limit = -1};

	if (root)
		return &root_row;
	return net->policy.row(net->policy.context, job, net_root_machine(&net->jobs[job]));
}

/* Passes to the solver the arcs to the racks that have changed since it got the row, and all running arcs. */
static int set_changed_racks(struct flownet *net, const struct net_class *entry, const struct cost_row *costs,
			     int32_t weight, int32_t running_count)
{
	size_t used = 0;
	struct structured_row_change change = {
		.block_count = (int32_t)costs->changed_count,
		.running_count = running_count,
		.running = net->running,
	};

	if (net_reserve((void **)&net->racks, &net->rack_room, costs->changed_count, sizeof *net->racks) != 0 ||
	    net_reserve((void **)&net->weighted, &net->weighted_room, costs->machine_count + 1,
			sizeof *net->weighted) != 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < costs->changed_count; i++) {
		struct block_arcs *rack = &net->racks[i];

		*rack = cost_row_rack(costs, costs->changed[i]);
		rack->cost = rack->cost == ARC_ABSENT ? ARC_ABSENT : rack->cost * weight;
		rack->columns = weigh(net, rack->columns, (size_t)rack->column_count, weight, &used);
	}
	change.blocks = net->racks;
	return structured_change_row(net->solver, entry->group, &change);
}

/* The part of a class's arcs that must be passed to the solver. */
enum telling { TELL_RUNNING, TELL_CHANGED_RACKS, TELL_ROW };

static enum telling what_to_tell(const struct net_class *known, const struct cost_row *row)
{
	if (!row || (row->version != 0 && row->version == known->row_version))
		return TELL_RUNNING;
	return row->mended_from != 0 && row->mended_from == known->row_version ? TELL_CHANGED_RACKS : TELL_ROW;
}

/* Passes to the solver the part of the class's arcs that has changed. Returns 0 or -errno. */
static int tell_arcs(struct flownet *net, struct net_class *known, const struct cost_row *row, int32_t weight,
		     int32_t running, int32_t capacity)
{
	uint64_t digest = digest_running(net, running);
	bool same_capacity = known->unscheduled_capacity == capacity;
	enum telling telling = what_to_tell(known, row);
	int code = 0;

	known->unscheduled_capacity = capacity;
	known->row_version = row ? row->version : known->row_version;
	for (int32_t i = 0; i < running; i++)
		net->running[i].cost *= weight;
	if (telling == TELL_ROW) {
		code = set_whole_row(net, known, row, weight, running);
	} else {
		if (telling == TELL_CHANGED_RACKS)
			code = set_changed_racks(net, known, row, weight, running);
		else if (digest != known->running_digest)
			code = structured_set_running(net->solver, known->group, net->running, running);
		if (code == 0 && !same_capacity)
			code = structured_set_unscheduled(net->solver, known->group, known->unscheduled_cost * weight,
							  capacity);
	}
	known->running_digest = digest;
	return code;
}

/* Passes one class, members first..end-1, to the solver. arcs: the class's row may have changed. */
static int apply_class(struct flownet *net, uint32_t job, size_t first, size_t end, bool arcs)
{
	const struct net_member *member = &net->members[first];
	struct net_class *known = net_class_find(&net->jobs[job], member->root, member->unscheduled_cost);
	const struct cost_row *row = arcs || !known ? class_row(net, job, member->root) : NULL;
	bool added = !known;
	int32_t running;
	int code;

	if (added && !row)
		return -ENOMEM;
	if (added)
		known = add_class(net, job, member);
	if (!known || (arcs && !row))
		return -ENOMEM;
	if (row)
		known->machine_limit = row->machine_limit;
	running = collect_running(net, known->machine_limit, first, end);
	if (running < 0)
		return -ENOMEM;
	/*
	 * A known class gets its new number of units before its arcs, so that the units of running tasks take the
	 * running arcs that are passed next. A new class gets its arcs first.
	 */
	code = added ? 0 : structured_set_supply(net->solver, known->group, (int32_t)(end - first));
	if (code == 0)
		code = tell_arcs(net, known, row, net->ages[job].weight, running,
				 unscheduled_capacity(net, &net->jobs[job]));
	known->kept = true;
	return code == 0 && added ? structured_set_supply(net->solver, known->group, (int32_t)(end - first)) : code;
}

/*
 * If only the number of the tasks that may move can have changed since the last solve, so that no other update is
 * needed, returns this number. Otherwise returns 0.
 */
static uint32_t recounted(const struct flownet *net, const struct net_job *job)
{
	if (job->recount || !net_job_uniform(net, job) || job->first.running_digest != 0)
		return 0;
	return job->waiting + job->running - (net->policy.root_first && !job->root_ended);
}

static int apply_count(struct flownet *net, struct net_job *job, uint32_t count)
{
	int32_t weight = net->ages[job - net->jobs].weight;
	struct net_class *known = &job->first;
	int32_t capacity = unscheduled_capacity(net, job);
	int code = 0;

	if (known->unscheduled_capacity != capacity)
		code = structured_set_unscheduled(net->solver, known->group, known->unscheduled_cost * weight,
						  capacity);
	known->unscheduled_capacity = capacity;
	return code == 0 ? structured_set_supply(net->solver, known->group, (int32_t)count) : code;
}

static int apply_job(struct flownet *net, uint32_t job, bool arcs)
{
	struct net_job *entry = &net->jobs[job];
	uint32_t left = 0, alike = arcs ? 0 : recounted(net, entry);
	int64_t count;
	int code;

	if (alike > 0)
		return apply_count(net, entry, alike);
	entry->recount = false;
	net->row = arcs && net_job_open(net, entry) && net_job_active(net, entry) ? class_row(net, job, false) : NULL;
	count = net_members(net, job);
	net->row = NULL;
	code = count < 0 ? (int)count : 0;

	for (uint32_t c = 0; c < entry->class_count; c++)
		net_class_at(entry, c)->kept = false;
	for (size_t first = 0; code == 0 && first < (size_t)count;) {
		size_t end = net_class_end(net, first, (size_t)count);

		code = apply_class(net, job, first, end, arcs);
		first = end;
	}
	for (uint32_t c = 0; code == 0 && c < entry->class_count; c++) {
		const struct net_class *known = net_class_at(entry, c);

		if (!known->kept)
			code = net_group_give_back(net, known->group);
		else if (left++ != c)
			*net_class_at(entry, left - 1) = *known;
	}
	if (code == 0)
		entry->class_count = left;
	return code;
}

/*
 * Makes the solver get all rows again. Needed when the number of a removed machine is reused in another rack: passing
 * only the changed racks would leave arcs to the old machine.
 */
static void forget_rows(struct flownet *net)
{
	for (size_t i = 0; i < net->live.count; i++) {
		struct net_job *job = &net->jobs[net->live.jobs[i]];

		for (uint32_t c = 0; c < job->class_count; c++)
			net_class_at(job, c)->row_version = 0;
	}
}

static int apply_capacity(struct flownet *net, uint32_t machine)
{
	struct net_machine *entry = &net->machines[machine];
	int32_t capacity = entry->present ? net_machine_capacity(entry) : FLOWNET_NONE;
	int code = 0;

	if (capacity == entry->told && entry->rack == entry->told_rack)
		return 0;
	if (entry->told != FLOWNET_NONE && (capacity == FLOWNET_NONE || entry->rack != entry->told_rack))
		code = structured_remove_column(net->solver, (int32_t)machine);
	if (code == 0 && capacity != FLOWNET_NONE)
		code = structured_set_column(net->solver, (int32_t)machine, (int32_t)entry->rack, capacity);
	if (entry->told != FLOWNET_NONE && entry->rack != entry->told_rack)
		forget_rows(net);
	entry->told = capacity;
	entry->told_rack = entry->rack;
	return code;
}

/* Lists the jobs with changes, each once. */
static int list_changed_jobs(struct flownet *net)
{
	net->changed.count = 0;
	for (size_t i = 0; i < net->pending_count; i++) {
		const struct flownet_change *change = &net->pending[i];
		const struct net_job *job =
			change->kind == FLOWNET_CHANGE_CAPACITY ? NULL : net_job_at(net, change->subject);

		if (job && (change->kind == FLOWNET_CHANGE_ARCS || job->pending_arcs == 0) &&
		    net_walk_add(&net->changed, change->subject) != 0)
			return -ENOMEM;
	}
	return net_walk_sort(net, &net->changed);
}

/*
 * Updates the jobs that have tasks on machines that were shut (see net_machine_is_shut()) or opened again. Tasks that
 * may move are part of the flow network only while their machine is not shut. All these machines are handled in one
 * pass over the jobs.
 */
static int apply_flipped(struct flownet *net)
{
	int code = 0;

	for (size_t i = 0; net->flipped_count > 0 && net->preemptible_jobs > 0 && i < net->live.count && code == 0;
	     i++) {
		struct net_job *job = &net->jobs[net->live.jobs[i]];
		bool concerned = false;

		for (uint32_t t = 0; job->preemptible && t < job->task_limit; t++) {
			if (!net_task_runs(&job->tasks[t]) || !net->machines[job->tasks[t].machine].flipped)
				continue;
			net_wake(net, net->live.jobs[i], t); /* a shut machine's tasks are pinned */
			concerned = true;
		}
		if (!concerned)
			continue;
		job->recount = true;
		code = net_change_job(net, net->live.jobs[i], FLOWNET_CHANGE_UNITS, FLOWNET_SLOTS_CHANGED);
	}
	for (uint32_t i = 0; i < net->flipped_count; i++) {
		net->machines[net->flipped[i]].flipped = false;
		if (code == 0)
			code = net_change_machine(net, net->flipped[i], FLOWNET_SLOTS_CHANGED);
	}
	net->flipped_count = 0;
	return code;
}

/* Passes capacities first, because rows may name new machines. */
int net_groups_apply(struct flownet *net)
{
	int code = apply_flipped(net);

	for (size_t i = 0; i < net->pending_count && code == 0; i++) {
		if (net->pending[i].kind == FLOWNET_CHANGE_CAPACITY)
			code = apply_capacity(net, net->pending[i].subject);
	}
	if (code == 0)
		code = list_changed_jobs(net);
	for (size_t i = 0; i < net->changed.count && code == 0; i++) {
		uint32_t number = net->changed.jobs[i];
		struct net_job *job = &net->jobs[number];

		net_walk_fetch(net, &net->changed, i, NET_WALK_APPLY);
		code = net_rest_job(net, number);
		if (code == 0)
			code = apply_job(net, number, job->pending_arcs != 0);
		if (code == 0 && job->look)
			code = net_touch(net, number);
		job->look = false;
	}
	return code == 0 ? net_resting_apply(net) : code;
}

int net_groups_apply_woken(struct flownet *net)
{
	int code = 0;

	for (size_t i = 0; i < net->changed.count && code == 0; i++) {
		code = apply_job(net, net->changed.jobs[i], false);
		if (code == 0)
			code = net_touch(net, net->changed.jobs[i]);
	}
	return code == 0 ? net_resting_apply(net) : code;
}
