/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Round trips between every pair of machines, every second, with nothing stored per pair (NoMora section 6). Each
 * distance (same rack, same pod, other pod) has SIM_LATENCY_SERIES series with one value per second. A hash of the pair
 * of machines picks one of the series of its distance, and one of SIM_LATENCY_SCALES scales: 0.5 to 1 within a rack,
 * 0.8 to 1.2 between racks. So a table with one entry ("cell") for each distance, series and scale has all round trips.
 * It is computed once per second. Two tasks on one machine have a constant round trip.
 *
 * A series is level * spread * drift * noise * spike: `spread` is constant, log-normal; the drift is an
 * Ornstein-Uhlenbeck process in the logarithm with a time constant of one hour; the noise is log-normal, drawn each
 * second; a spike multiplies one second. Values are microseconds. One thread.
 *
 * If a workload has recorded round trips, a latency view of these replaces the series; a pair without a record has the
 * level of its distance.
 *
 * The policy may believe other round trips than those that count: older ones, with an error of measurement. The source
 * (sim_latency_source()) has these.
 */
#ifndef SIM_LATENCY_H
#define SIM_LATENCY_H

#include <stdbool.h>
#include <stdint.h>

#include <base/rng.h>
#include <model/rtt_series.h>
#include <model/workload.h>
#include <sched/cost/latency_view.h>
#include <sched/cost/layout.h>
#include <sched/cost/rows.h>

enum {
	SIM_LATENCY_SERIES = 42, /* the paper's 6 traces of 7 days */
	SIM_LATENCY_SCALES = 64,
	SIM_LATENCY_CLASS_CELLS = SIM_LATENCY_SERIES * SIM_LATENCY_SCALES,
};
enum sim_distance { SIM_SAME_RACK, SIM_SAME_POD, SIM_OTHER_POD, SIM_DISTANCES };
enum {
	SIM_SAME_MACHINE_CELL = SIM_DISTANCES * SIM_LATENCY_CLASS_CELLS,
	SIM_LATENCY_CELLS = SIM_SAME_MACHINE_CELL + 1,
};

struct sim_latency_settings {
	double level_us[SIM_DISTANCES];
	double same_machine_us;
	double spread, drift, noise; /* standard deviations of the logarithm */
	double spike_chance;         /* probability of a spike in each second of a series */
	double spike_factor;
	uint64_t seed;
	/*
	 * Borrowed; NULL = none. The 42 series of a distance use its recorded series in turn: each repeats one recorded
	 * series, beginning at a different second of it, without drift, noise and spikes. A recorded series of one
	 * value is used as the level of a drawn series with drift, noise and spikes.
	 */
	const struct rtt_series_set *recorded;
	/*
	 * What the policy believes: the round trips of age_s seconds ago (at most those of second 0), each series times
	 * exp(error * a normal random number), which is drawn again each second. Without effect on recorded round trips
	 * of a workload.
	 */
	uint32_t age_s;
	double error;
};
/* Levels 70, 200, 520 us (docs/reproduction.md), 1 us on one machine, spread 0.1, drift 0.1, noise 0.1, no spikes; the
 * policy believes the present round trips. */
void sim_latency_settings_default(struct sim_latency_settings *settings);

/*
 * Cache for one machine: the smallest and the largest scale among its pairs with the other present machines, for each
 * distance and series, or SIM_LATENCY_SCALES if no pair has the series. The values of distance d are valid if known[d]
 * is set; otherwise a query computes them. Adding a machine updates them. Removing a machine with an extreme scale
 * makes them invalid. listed: the machine is in asked[] of struct sim_latency.
 */
struct sim_reach {
	uint8_t least[SIM_DISTANCES][SIM_LATENCY_SERIES], most[SIM_DISTANCES][SIM_LATENCY_SERIES];
	bool known[SIM_DISTANCES], listed;
};

/* The round trips of one second. */
struct sim_latency_table {
	float rtt_us[SIM_LATENCY_CELLS];
	uint8_t order[SIM_DISTANCES][SIM_LATENCY_SERIES]; /* numbers of the series, in ascending order of round trip */
};

/* Must not be copied: it points into itself. */
struct sim_latency {
	struct sim_latency_settings settings;
	const struct cost_layout *layout; /* borrowed */
	const struct cluster *cluster;
	struct rng rng;
	double spread[SIM_DISTANCES][SIM_LATENCY_SERIES], drift[SIM_DISTANCES][SIM_LATENCY_SERIES];
	float scale[SIM_DISTANCES][SIM_LATENCY_SCALES];
	struct sim_latency_table now, seen; /* seen: what the policy believes, if that differs */
	struct sim_latency_table *believed; /* &now or &seen */
	double (*past)[SIM_DISTANCES]
		      [SIM_LATENCY_SERIES]; /* [age_s + 1] the series' values, by second modulo age_s + 1 */
	struct rng error_rng;
	struct sim_reach *reach;         /* [machines] */
	uint32_t *asked, asked_count;    /* [machines] list of the machines with a cached reach */
	bool *present;                   /* [machines] */
	struct latency_view *view;       /* NULL: round trips come from the tables above */
	const struct workload *recorded; /* source of the view's updates */
	size_t next;                     /* index in recorded->latencies of the next round trip to apply */
	uint64_t changes;                /* number of updates of the view */
	uint64_t second;
};

/* Starts at second 0. The layout and the workload (NULL: nothing recorded) must outlive `latency`. 0 or -ENOMEM. */
int sim_latency_start(struct sim_latency *latency, const struct sim_latency_settings *settings,
		      const struct cost_layout *layout, const struct workload *recorded);
void sim_latency_end(struct sim_latency *latency);
/*
 * Draws the round trips of the next second or, with a view, applies the recorded round trips up to now_us. Sets *moved
 * to whether any round trip changed. 0 or -ENOMEM.
 */
int sim_latency_next_second(struct sim_latency *latency, int64_t now_us, bool *moved);

/* Round trip at this second; INFINITY: unreachable. believed_us: what the policy believes. */
float sim_latency_rtt_us(const struct sim_latency *latency, uint32_t a, uint32_t b);
float sim_latency_believed_us(const struct sim_latency *latency, uint32_t a, uint32_t b);

/* Index in a table of the pair's round trip: the same for (a, b) and (b, a), and in every second. */
uint32_t sim_latency_cell(const struct sim_latency *latency, uint32_t a, uint32_t b);
struct cost_source sim_latency_source(struct sim_latency *latency); /* of the believed round trips */

/* Adds or removes a machine; all are absent at second 0. O(machines whose reach is cached). */
void sim_latency_set_present(struct sim_latency *latency, uint32_t machine, bool present);
/* Smallest round trip to any other present machine, INFINITY if there is none. O(series) while the reach is cached. */
float sim_latency_nearest_us(struct sim_latency *latency, uint32_t machine);

#endif
