/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIMULATE_PRIV_H
#define SIMULATE_PRIV_H

#include <jansson.h>

#include <sched/simulate/simulate.h>

/* output.c: of nomora.simulate/1; NULL = out of memory. */
json_t *simulate_settings_json(const struct simulate *simulate);

/* day.c: NULL is legal. made: the folder is new. 0 or -errno with err set. */
int simulate_make_folder(const char *folder, bool *made, struct error *err);
/* A run that failed leaves no empty folder. */
void simulate_drop_folder(const char *folder, bool made);

/* checkpoint.c: of one policy. */
struct simulate_checkpoint {
	const struct simulate *simulate;
	size_t number; /* of the policy */
	const char *folder;
	struct sim_history history;
};
/* With --resume reads the history, if there is a file. 0 or -errno. Free the history in both cases. */
int simulate_checkpoint_begin(struct simulate_checkpoint *checkpoint, struct sim_watch *watch, struct error *err);

#endif
