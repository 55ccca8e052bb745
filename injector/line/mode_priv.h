/* SPDX-License-Identifier: BSD-3-Clause */
/* Modes of the injector, with the queue and the compiler hints that the hot loops use. */
#ifndef LINE_MODE_PRIV_H
#define LINE_MODE_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <base/file.h>
#include <dp/clock.h>
#include <dp/packet.h>
#include <injector/line/mode.h>

/* Compiler hints for the hot loops. */

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define ALWAYS_INLINED inline __attribute__((always_inline))
#define NOT_INLINED __attribute__((noinline, cold))
#define CACHE_ALIGNED __attribute__((aligned(64)))

/* Both arguments are evaluated more than once. */
#define MIN(a, b) ((a) < (b) ? (a) : (b))

/*
 * Packets ordered by due time, then by arrival; of fixed capacity, used only by the modal loop. A packet that is due
 * after all that wait in the ring goes there, which takes a few ns; in order, all packets do. The others go to a timing
 * wheel (Varghese and Lauck 1987): a bucket has the packets that are due in one slice of each turn, as a list in order.
 * A zeroed structure with zeroed arrays is an empty queue. Each queue belongs to one lcore.
 */

struct queue_entry {
	uint64_t due;           /* TSC */
	uint64_t sequence : 63; /* order of arrival */
	uint64_t disturbed : 1; /* arrived during a gap */
	struct dp_packet *packet;
};

struct queue_node {
	struct queue_entry entry;
	uint32_t next; /* in the circular list of a bucket, or in the list of free nodes */
};

enum {
	/*
	 * A bucket has 512 cycles, about 0.2 us, of a turn of 67 million. At up to 3.3 GHz, no delay with jitter, 20
	 * ms, is longer than a turn; packets of later turns cost time when their bucket is passed.
	 */
	QUEUE_BUCKET_BITS = 9,
	QUEUE_BUCKETS = 1 << 17,
};

struct queue_wheel {
	uint32_t last[QUEUE_BUCKETS];              /* last node of a bucket's list; 0 = it is empty */
	uint64_t occupied[QUEUE_BUCKETS / 64];     /* a bit for each bucket */
	uint64_t words[QUEUE_BUCKETS / (64 * 64)]; /* a bit for each word of occupied[] */
};

struct queue {
	struct queue_entry *ring; /* [capacity] */
	struct queue_node *nodes; /* [capacity + 1]; the first is not used */
	struct queue_wheel *wheel;
	uint32_t capacity;
	uint32_t count;       /* in both */
	uint32_t wheel_count; /* in the wheel */
	uint32_t head, tail;  /* of the ring: places of the next packet to push and to remove */
	uint32_t first;       /* node of the first packet in the wheel, if there is one */
	uint32_t free, fresh; /* first node of those that are free again, 0 = none; number of nodes used so far */
};

static inline bool queue_before(const struct queue_entry *a, const struct queue_entry *b)
{
	int64_t difference = (int64_t)(a->due - b->due);

	return difference < 0 || (difference == 0 && a->sequence < b->sequence);
}

static inline uint32_t queue_bucket(uint64_t due)
{
	return (uint32_t)(due >> QUEUE_BUCKET_BITS) & (QUEUE_BUCKETS - 1);
}

static inline void queue_mark(struct queue_wheel *wheel, uint32_t bucket)
{
	wheel->occupied[bucket / 64] |= UINT64_C(1) << bucket % 64;
	wheel->words[bucket / 4096] |= UINT64_C(1) << bucket / 64 % 64;
}

static inline void queue_clear(struct queue_wheel *wheel, uint32_t bucket)
{
	wheel->last[bucket] = 0;
	wheel->occupied[bucket / 64] &= ~(UINT64_C(1) << bucket % 64);
	if (wheel->occupied[bucket / 64] == 0)
		wheel->words[bucket / 4096] &= ~(UINT64_C(1) << bucket / 64 % 64);
}

/* Returns the next bucket with packets, from `bucket` on; the wheel is not empty. */
static inline uint32_t queue_next_bucket(const struct queue_wheel *wheel, uint32_t bucket)
{
	uint64_t bits = wheel->occupied[bucket / 64] >> bucket % 64;
	uint32_t word = bucket / 64 + 1;

	if (bits)
		return bucket + (uint32_t)__builtin_ctzll(bits);
	while ((bits = wheel->words[word / 64 % (QUEUE_BUCKETS / 4096)] >> word % 64) == 0)
		word = (word / 64 + 1) * 64;
	word = (word + (uint32_t)__builtin_ctzll(bits)) % (QUEUE_BUCKETS / 64);
	return word * 64 + (uint32_t)__builtin_ctzll(wheel->occupied[word]);
}

/* Returns the node of the first packet in the wheel, which is not empty; none is due before `due`. */
static inline uint32_t queue_seek(const struct queue *queue, uint64_t due)
{
	uint64_t start = due >> QUEUE_BUCKET_BITS << QUEUE_BUCKET_BITS;
	uint32_t from = queue_bucket(due), ahead = 0, before, best = 0;

	do {
		uint32_t bucket = queue_next_bucket(queue->wheel, (from + ahead) % QUEUE_BUCKETS);
		uint32_t node = queue->nodes[queue->wheel->last[bucket]].next;

		before = ahead;
		ahead = (bucket - from) % QUEUE_BUCKETS + 1;
		if (LIKELY(queue->nodes[node].entry.due - start < (uint64_t)ahead << QUEUE_BUCKET_BITS))
			return node;
		if (best == 0 || queue_before(&queue->nodes[node].entry, &queue->nodes[best].entry))
			best = node;
	} while (ahead > before);
	return best; /* all are due in later turns */
}

static inline void queue_push_wheel(struct queue *queue, struct queue_entry entry)
{
	uint32_t bucket = queue_bucket(entry.due), index = queue->free ? queue->free : ++queue->fresh;
	uint32_t before = queue->wheel->last[bucket];
	struct queue_node *nodes = queue->nodes;

	queue->free = nodes[index].next;
	nodes[index] = (struct queue_node){entry, index};
	if (before == 0) {
		queue->wheel->last[bucket] = before = index;
		queue_mark(queue->wheel, bucket);
	} else if (!queue_before(&entry, &nodes[before].entry)) {
		queue->wheel->last[bucket] = index;
	} else {
		while (!queue_before(&entry, &nodes[nodes[before].next].entry))
			before = nodes[before].next;
	}
	nodes[index].next = nodes[before].next;
	nodes[before].next = index;
	if (queue->wheel_count++ == 0 || queue_before(&entry, &nodes[queue->first].entry))
		queue->first = index;
}

static inline void queue_pop_wheel(struct queue *queue)
{
	struct queue_node *node = &queue->nodes[queue->first];
	uint32_t bucket = queue_bucket(node->entry.due), index = queue->first;

	if (node->next == index)
		queue_clear(queue->wheel, bucket);
	else
		queue->nodes[queue->wheel->last[bucket]].next = node->next; /* the first follows the last */
	node->next = queue->free;
	queue->free = index;
	if (--queue->wheel_count > 0)
		queue->first = queue_seek(queue, node->entry.due);
}

static inline bool queue_ring_is_empty(const struct queue *queue)
{
	return queue->count == queue->wheel_count;
}

/* The queue must not be full; sequences must ascend. */
static inline void queue_push(struct queue *queue, struct queue_entry entry)
{
	const struct queue_entry *last = &queue->ring[(queue->head ? queue->head : queue->capacity) - 1];

	if (UNLIKELY(!queue_ring_is_empty(queue) && (int64_t)(entry.due - last->due) < 0)) {
		queue_push_wheel(queue, entry);
	} else {
		queue->ring[queue->head] = entry;
		queue->head = queue->head + 1 == queue->capacity ? 0 : queue->head + 1;
	}
	queue->count++;
}

/* Returns the first packet, or NULL. It is valid until the next call. */
static inline const struct queue_entry *queue_first(const struct queue *queue)
{
	const struct queue_entry *in_ring = &queue->ring[queue->tail], *in_wheel;

	if (queue->count == 0)
		return NULL;
	if (LIKELY(queue->wheel_count == 0))
		return in_ring;
	in_wheel = &queue->nodes[queue->first].entry;
	return queue_ring_is_empty(queue) || queue_before(in_wheel, in_ring) ? in_wheel : in_ring;
}

/* Removes the first packet; the queue must not be empty. */
static inline struct queue_entry queue_pop(struct queue *queue)
{
	const struct queue_entry *first = queue_first(queue);
	struct queue_entry entry = *first;

	if (first != &queue->ring[queue->tail])
		queue_pop_wheel(queue);
	else
		queue->tail = queue->tail + 1 == queue->capacity ? 0 : queue->tail + 1;
	queue->count--;
	return entry;
}

/*
 * A mode parses its specification once, and then decides about each packet on the lcore. apply() makes no system call,
 * takes no lock and uses no floating point: values that need a logarithm are in tables.
 */

/* A link of limited rate, which transmits one packet after the other. */
struct wire {
	uint64_t free_at; /* TSC: end of the last transmission */
};

/* The decision about one packet. The modes of the set change it one after the other. */
struct verdict {
	uint64_t delay_cycles; /* starts as the configured delay */
	uint32_t copies;       /* additional packets */
	/* the packet is dropped; passes without a delay; may leave before packets that arrived earlier */
	bool lost, bypass, overtake;
	bool corrupt; /* a bit of the packet is flipped: `random` decides which */
	uint64_t random;
	struct wire *wire;    /* link that limits the packet and its copies; NULL = none */
	uint64_t wire_cycles; /* transmission time on that link */
};

/*
 * Returns the departure time of a packet that is due at `due`. The packet then occupies the link, so call this only for
 * packets that are kept.
 */
static inline uint64_t verdict_leave(const struct verdict *verdict, uint64_t due)
{
	if (!verdict->wire)
		return due;
	if ((int64_t)(due - verdict->wire->free_at) < 0)
		due = verdict->wire->free_at;
	verdict->wire->free_at = due + verdict->wire_cycles;
	return due;
}

/* The time of the first packet, at which the schedules of a set of modes start. */
struct mode_clock {
	_Atomic uint64_t *shared, own; /* the time, TSC; 0 before the first packet. `shared` points to the settings'
					  `start` or, if there is none, to `own`. */
	uint64_t start;                /* copy of *shared; 0 = not known yet */
};

static inline void mode_clock_init(struct mode_clock *clock, _Atomic uint64_t *shared)
{
	clock->shared = shared ? shared : &clock->own;
}

/* Returns the cycles since the first packet of either direction; 0 if this packet is the first. */
static inline uint64_t mode_elapsed(struct mode_clock *clock, uint64_t now)
{
	uint64_t none = 0;

	if (UNLIKELY(clock->start == 0))
		clock->start = atomic_compare_exchange_strong(clock->shared, &none, now) ? now : none;
	/* If the other lcore has set start, `now` may be before it. */
	return (int64_t)(now - clock->start) > 0 ? now - clock->start : 0;
}

struct mode_context {
	const struct injector_mode_settings *settings;
	const struct dp_clock *clock;
	uint64_t seed; /* a different one for each mode */
};

struct injector_mode {
	const char *name; /* name of the mode and of its option */
	/* Modes of one group exclude each other; NULL = may be combined with all others. */
	const char *group;
	int (*create)(const struct mode_context *context, const char *specification, void **state, struct error *err);
	/* `now`: TSC at which the packet arrived */
	void (*apply)(void *state, const struct dp_packet *packet, uint64_t now, struct verdict *verdict);
	void (*destroy)(void *state);
	/*
	 * Returns the longest delay that a packet can get from this mode if its delay was `cycles` before; NULL = the
	 * mode does not change the delay.
	 */
	uint64_t (*longest)(const void *state, uint64_t cycles);
	bool sets_delay; /* the mode sets the delay, so the configured delay has no effect */
	bool reorders;   /* with settings->reorder, packets may leave before packets that arrived earlier */
	/* Returns the mean number of packets that the mode makes of one packet; NULL = 1. */
	double (*multiple)(const void *state);
	/* Returns the maximum packets per second that the mode lets through in the long run; NULL = no limit. */
	double (*limit_pps)(const void *state);
	bool thins; /* the mode drops or exempts packets, so the modes after it do not see all of them */
};

#define MODE_DECLARATION(name, argument, help) extern const struct injector_mode mode_##name;
INJECTOR_MODES(MODE_DECLARATION)
#undef MODE_DECLARATION

#define MODE_ONE(name, argument, help) +1
enum { MODES = 0 INJECTOR_MODES(MODE_ONE) }; /* number of modes */
#undef MODE_ONE

struct injector_modes {
	unsigned int count;
	struct {
		const struct injector_mode *mode;
		void *state;
	} items[MODES];
};

/* Returns the name of the mode that replaces the configured delay, or NULL if there is none. */
const char *modes_delay_setter(const struct injector_modes *modes);

/* Returns the longest delay that a packet can get if the configured delay is `cycles`. */
uint64_t modes_longest(const struct injector_modes *modes, uint64_t cycles);

/*
 * Returns the mean number of packets that the modes make of one packet. Drops are not subtracted, because the ring must
 * also hold the packets of a period without loss.
 */
double modes_multiple(const struct injector_modes *modes);

/*
 * Returns the packet rate, copies included, above which the modes hold packets back even if all packets have the
 * minimum size; INFINITY if there is no limit or it is not known.
 */
double modes_limit_pps(const struct injector_modes *modes);

static inline void modes_apply(const struct injector_modes *modes, const struct dp_packet *packet, uint64_t now,
			       struct verdict *verdict)
{
	for (unsigned int i = 0; i < modes->count && !verdict->bypass && !verdict->lost; i++)
		modes->items[i].mode->apply(modes->items[i].state, packet, now, verdict);
}

/*
 * Parses a percentage, 0..100, into a threshold for 64 random bits: the event (a loss, say) occurs if their value is
 * below the threshold. Used by loss, gilbert and duplicate. Returns 0, or -EINVAL with err set.
 */
int mode_parse_percent(const char *mode, const char *text, uint64_t *threshold, struct error *err);

/*
 * Call it after an error in a file that a specification names. If `status` is -EINVAL, returns -EBADMSG and sets that
 * code in err, because the file is bad and not the specification. Otherwise returns `status`.
 */
int mode_blame_file(int status, struct error *err);

/*
 * Distributions of a delay, as a table of their quantiles. The specification of a distribution is that of --jitter
 * (mode.h).
 */

enum { DISTRIBUTION_CELL_BITS = 14, DISTRIBUTION_CELLS = 1 << DISTRIBUTION_CELL_BITS };

/*
 * Fills quantiles_us[i], i = 0 to DISTRIBUTION_CELLS, with the quantile i / DISTRIBUTION_CELLS, us; they ascend.
 * Infinite tails are cut off in the middle of the outer cells, at the 99.997th percentile; all values are cut off at
 * plus or minus INJECTOR_DELAY_MAXIMUM_US. Returns 0, or -errno with err set: -EINVAL (a bad specification), -EBADMSG
 * (a bad file), -ENOENT, -ENOMEM.
 */
int distribution_read(const char *specification, double quantiles_us[DISTRIBUTION_CELLS + 1], struct error *err);

/* A series of numbers from text, for the modes steps, replay and jitter. */

/* Rows of `columns` (1 or 2) numbers each, at values[row * columns + column]; the caller frees `values`. */
struct series {
	double *values;
	size_t rows, capacity; /* capacity in values */
};

/*
 * Reads a file of rows with columns separated by `separator`; skips blank lines and # comments. Refuses any other text;
 * the error names file, line and field. Returns 0, or -errno with err set; -EINVAL also if there is no row.
 */
int series_read(const char *path, size_t columns, char separator, struct series *series, struct error *err);

/*
 * Like series_read(), but reads rows from `text`, separated by commas: "0:10,5:20". Error texts contain `name` and the
 * number of the row.
 */
int series_parse(const char *name, const char *text, size_t columns, char separator, struct series *series,
		 struct error *err);

/* A distribution table of netem has multiples of 1/8192 of the standard deviation. */
enum { SERIES_NETEM_SCALE = 8192 };

/*
 * Reads a distribution table of netem (tc-netem(8), `distribution`): at most 16384 integers of -32768 to 32767,
 * separated by white space; # starts a comment. Otherwise like series_read(); series_parse_netem() reads given lines.
 */
int series_read_netem(const char *path, struct series *series, struct error *err);
int series_parse_netem(struct file_lines *lines, struct series *series, struct error *err);

#endif
