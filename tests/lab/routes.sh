#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Chosen routes in the kernels of a routed lab: a controller killed during an update leaves no loop and no black hole.
# NOMORA_KILLS=N kills it N times instead of 10.
. "$(dirname "$0")/../cli/lib.sh"
flip=$3

[ "$(id -u)" -eq 0 ] || skip_all "network namespaces need root"
lab=rt$((RANDOM % 1000))
"$nomora" lab up --name $lab --fabric fattree:4 >/dev/null 2>"$scratch/said" || skip_all "no lab here: $(head -c 200 "$scratch/said")"
at_exit "$nomora" lab down --name $lab
check "killed in mid-update, taken over, removed" "$flip" $lab "${NOMORA_KILLS:-10}"
rules() { for ns in /run/netns/$lab-s*; do ip -N -n "$(basename "$ns")" "$@"; done | grep -c 'proto 78'; }
check "no rule is left" test "$(rules rule show)" -eq 0
check "no route is left" test "$(rules route show table all)" -eq 0
plan
