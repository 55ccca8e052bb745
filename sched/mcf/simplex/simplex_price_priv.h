/* SPDX-License-Identifier: BSD-3-Clause */
/* Pricing of a range of arcs, with 64-bit costs and potentials or, by the widest vectors there are, with 32-bit ones.
 */
#ifndef MCF_SIMPLEX_PRICE_PRIV_H
#define MCF_SIMPLEX_PRICE_PRIV_H

#include "simplex_priv.h"

/*
 * Makes *best the most attractive of arcs begin..end-1 where it beats what is there; of equals the first, whatever the
 * processor: every machine pivots alike.
 */
void simplex_price_wide(const struct mcf_simplex *simplex, int32_t begin, int32_t end, struct entering_arc *best);
void simplex_price_narrow(const struct mcf_simplex *simplex, int32_t begin, int32_t end, struct entering_arc *best);

/*
 * Before a narrow solve: whether vectors that gather potentials are the quicker of its two ways, tried on the first
 * arcs, and again when there are twice as many. On processors whose microcode guards gathers they are not, by up to a
 * third. Both ways pick the same arcs.
 */
void simplex_choose_pricing(struct mcf_simplex *simplex);

/* Two ways of the narrow one. */
void simplex_price_portable(const struct mcf_simplex *simplex, int32_t begin, int32_t end, struct entering_arc *best);
#if defined(__x86_64__)
void simplex_price_avx512(const struct mcf_simplex *simplex, int32_t begin, int32_t end, struct entering_arc *best);
#endif

#endif
