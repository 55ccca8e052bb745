/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints an answer, its proof, and its comparison with other placements. Private. */
#ifndef SCHED_RECOVER_PRIV_H
#define SCHED_RECOVER_PRIV_H

#include <jansson.h>

#include <sched/recover/recover.h>

/* The answer as text. 0 or -ENOMEM. */
int recover_print(const struct recovery_scenario *scenario, const struct recovery_answer *answer, FILE *out);
/* The answer as nomora.recover/1; NULL if out of memory. */
json_t *recover_json(const struct recovery_scenario *scenario, const struct recovery_answer *answer,
		     const struct recover_settings *settings);
void recover_print_proof(const struct recovery_scenario *scenario, const struct recovery_answer *answer, FILE *out);

/*
 * Compares the answer with other placements and sharings. Prints the result to `out`, or adds it to `root` if that is
 * not NULL. 0 or -errno with err set.
 */
int recover_compare(const struct recovery_scenario *scenario, const struct recovery_answer *answer,
		    const struct recover_settings *settings, json_t *root, FILE *out, struct error *err);

#endif
