#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The default policy on seeded clusters: no other policy has a better mean or a better worst task, and no swap of two
# tasks is an improvement.
. "$(dirname "$0")/lib.sh"

run python3 "$source_root/benchmarks/sched/policies.py" "$nomora" "$source_root" 3
check "every policy places three clusters" test "$code" -le 1
[ "$(grep -c ': 0 improving moves or swaps' <<<"$err")" -eq 3 ] && pass "no move and no swap improves the default's answer" ||
	fail "no move and no swap improves the default's answer" "$err"
[ "$code" -eq 0 ] && pass "the default has the best mean and the best worst task" || fail "the default has the best mean and the best worst task" "$out"
plan
